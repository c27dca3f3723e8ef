"""The shapes of the pipelines that the installed vLLM-Omni registers, one a line, as `src/deploy/import/registry.ts` writes them down.

    python test/engine/vllm_omni_registry.py
"""

import os

os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")


def pipeline_of(name):
    """A registered pipeline; some are made for a checkpoint's configuration, of which the type is all that matters here."""
    from transformers import AutoConfig, PretrainedConfig
    from vllm_omni.config.pipeline_registry import OMNI_PIPELINES

    found = OMNI_PIPELINES[name]
    if not callable(found):
        return found
    try:
        config = AutoConfig.for_model(name)
    except ValueError:
        config = PretrainedConfig()
        config.model_type = name
    return found(config)


def row_of(name):
    pipeline = pipeline_of(name)
    stages = []
    for stage in pipeline.stages:
        text = f"{stage.stage_id}:{stage.model_stage}:{stage.execution_type.value}"
        if stage.input_sources:
            text += "<" + ",".join(map(str, stage.input_sources))
        if stage.final_output:
            text += "=" + (stage.final_output_type or "text")
        if stage.async_chunk_process_next_stage_input_func:
            text += "~"
        stages.append(text)
    return " ".join([name, pipeline.default_deploy_config_name or "-", *stages])


def rows():
    from vllm_omni.config.pipeline_registry import OMNI_PIPELINES

    return [row_of(name) for name in sorted(OMNI_PIPELINES)]


if __name__ == "__main__":
    print("\n".join(rows()))
