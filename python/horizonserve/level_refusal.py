"""Why a stage's SM levels are not applied: codes for the stage line, sentences for the log.

A level that kernels ignore must never be reported as applied. What can be told from the engine's configuration is told before the first
step (`refusal_of`); graphs that models keep for themselves are caught when they are replayed (`graph_watch.py`).
"""

# The order is part of the wire (`LAYOUT_TEXT`): a code is a place in this list. 0 means that levels are applied or nothing is known.
REFUSALS = (
    "none",
    "graphs",
    "pipeline-parallel",
    "several-gpus",
    "ubatching",
    "no-mps",
    "no-ladder",
    "no-row",
    "unknown-stage",
    "driver",
)

SENTENCES = {
    "graphs": "this stage replays CUDA graphs, which keep the SMs they were captured with: start it with enforce_eager, or give it a fixed row",
    "pipeline-parallel": "pipeline parallel stages keep a stream of their own, which a level would not reach",
    "several-gpus": "this stage spans several GPUs, and a level belongs to one",
    "ubatching": "micro-batches run on streams of their own, which a level would not reach",
    "no-mps": "this process is no MPS client: stages take turns on the GPU, and a smaller share of it would only cost time",
    "no-ladder": "the ladder cannot be built",
    "no-row": "the ladder file has no row with the number of SMs that the controller asks for",
    "unknown-stage": "nothing says which stage this process runs: set HORIZONSERVE_STAGE",
    "driver": "the driver refused",
}


class Refused(Exception):
    """Levels cannot hold here. `name` is one of `REFUSALS`."""

    def __init__(self, name, detail=""):
        super().__init__(SENTENCES[name] + (f" ({detail})" if detail else ""))
        self.name = name


def code_of(name):
    return REFUSALS.index(name)


def stage_of_worker(worker, environ):
    """The stage: by environment, else what vLLM-Omni wrote into the worker's configuration; None where neither says."""
    text = environ.get("HORIZONSERVE_STAGE")
    if text is not None:
        return int(text)
    diffusion = getattr(worker, "od_config", None)
    if diffusion is not None:
        stage = getattr(diffusion, "stage_id", None)
        return stage if isinstance(stage, int) else None
    model = getattr(getattr(worker, "vllm_config", None), "model_config", None)
    # vLLM alone has one stage and no word for it.
    return None if model is None else getattr(model, "stage_id", 0)


def refusal_of(worker):
    """The first reason in the worker's configuration, or None. Understands vLLM's workers and vLLM-Omni's diffusion worker."""
    diffusion = getattr(worker, "od_config", None)
    if diffusion is not None:
        return "several-gpus" if _number(diffusion, "num_gpus") > 1 else None
    config = getattr(worker, "vllm_config", None)
    if config is None:
        return None
    parallel = getattr(config, "parallel_config", None)
    if _number(parallel, "pipeline_parallel_size") > 1:
        return "pipeline-parallel"
    if _number(parallel, "tensor_parallel_size") > 1:
        return "several-gpus"
    if getattr(parallel, "use_ubatching", False) is True:
        return "ubatching"
    return "graphs" if _uses_graphs(config) else None


def _uses_graphs(config):
    if getattr(getattr(config, "model_config", None), "enforce_eager", False):
        return False
    mode = getattr(getattr(config, "compilation_config", None), "cudagraph_mode", None)
    return mode is not None and getattr(mode, "name", str(mode)) != "NONE"


def _number(owner, name):
    value = getattr(owner, name, None)
    return value if isinstance(value, int) else 1
