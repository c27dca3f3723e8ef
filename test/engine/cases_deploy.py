"""What the planner emits, loaded by the engines' own loaders: `horizonserve plan FILE --gpus N --emit …` and then the real parser."""

import subprocess
import tempfile
from pathlib import Path

from harness import ROOT
from suite import LONG, Skip, case

import check_deploy_yaml

PIPELINES = ("qwen2_5-omni", "qwen3-omni")
GPUS = (1, 2, 3, 4, 6, 8) if LONG else (2, 4)
OBJECTIVES = ("latency", "rate")


def _emit(target, folder):
    """The deploy files of all plans of the example pipelines. The built command line, or the sources where nothing is built yet."""
    built = ROOT / "dist/cli/main.js"
    command = ["node", str(built)] if built.exists() else ["node", "--import", "tsx", str(ROOT / "src/cli/main.ts")]
    files, refused = [], []
    for pipeline in PIPELINES:
        for gpus in GPUS:
            for objective in OBJECTIVES:
                out = Path(folder) / f"{pipeline}-{gpus}-{objective}"
                done = subprocess.run(
                    [*command, "plan", f"examples/pipelines/{pipeline}.yaml", "--gpus", str(gpus), "--hardware", "h100", "--objective", objective, "--emit", target, "--out", str(out)],
                    cwd=ROOT, capture_output=True, text=True, timeout=600,
                )  # fmt: skip
                emitted = sorted(out.glob("deploy*.yaml")) if out.exists() else []
                # A plan may not exist (too little memory); a command that breaks is another matter.
                if done.returncode != 0 or not emitted:
                    refused.append(f"{pipeline} on {gpus} ({objective}): {(done.stderr or done.stdout).strip()[-200:]}")
                files += emitted
    return files, refused


def _needs_the_models():
    """The loader imports the pipeline's model code, and that needs more than a scheduler does."""
    try:
        import torchvision  # noqa: F401
    except ImportError as error:
        raise Skip(f"the models of the pipelines cannot be imported: {error}") from None


@case
def emitted_vllm_omni_files_load_in_its_own_loader():
    _needs_the_models()
    with tempfile.TemporaryDirectory() as folder:
        files, refused = _emit("vllm-omni", folder)
        assert len(files) >= 2 * len(PIPELINES), f"too few files were emitted; refused: {refused}"
        stages = [line for path in files for line in check_deploy_yaml.check_vllm_omni(str(path))]
        assert not refused, refused
    return {"files": len(files), "stages": len(stages), "first": stages[0]}


@case
def the_example_loads_as_the_server_loads_it():
    """examples/vllm-omni/deploy.yaml, merged with the model's pipeline; without its `async_chunk: false` the merge refuses it, as the server did."""
    _needs_the_models()
    path = ROOT / "examples/vllm-omni/deploy.yaml"
    stages = check_deploy_yaml.check_vllm_omni(str(path))
    assert len(stages) == 3 and all("devices 0" in line for line in stages), stages
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(path.read_text().replace("async_chunk: false", ""))
        file.flush()
        try:
            check_deploy_yaml.check_vllm_omni(file.name)
        except ValueError as error:
            assert "async_chunk" in str(error), error
        else:
            raise AssertionError("a file without async_chunk was not refused")
    return stages


#: As the planner emits it, for one GPU.
GOOD = """
pipeline: qwen2_5_omni
async_chunk: false
connectors:
  shared_memory:
    name: SharedMemoryConnector
stages:
  - stage_id: 0
    devices: "0"
    gpu_memory_utilization: 0.5
  - stage_id: 1
    devices: "0"
    gpu_memory_utilization: 0.2
    input_connectors:
      from_stage_0: shared_memory
  - stage_id: 2
    devices: "0"
    gpu_memory_utilization: 0.1
"""


@case
def a_file_that_the_loader_should_refuse_is_refused():
    """The check can fail: an unknown pipeline, an unknown engine argument, an unknown connector."""
    _needs_the_models()
    said = {}
    for label, old, new in (
        (None, "", ""),
        ("pipeline", "qwen2_5_omni", "no_such_pipeline"),
        ("argument", "    devices", "    no_such_argument: 1\n    devices"),
        ("stage", "stage_id: 2", "stage_id: 7"),
        ("connector", "SharedMemoryConnector", "NoSuchConnector"),
    ):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(GOOD.replace(old, new, 1))
            file.flush()
            try:
                check_deploy_yaml.check_vllm_omni(file.name)
            except Exception as error:  # noqa: BLE001 - whatever the loader says against it
                assert label is not None, error
                said[label] = f"{type(error).__name__}: {error}"[:120]
            else:
                assert label is None, f"a wrong {label} was not refused"
    return said


@case
def emitted_sglang_omni_files_load_in_its_own_models():
    try:
        import sglang_omni  # noqa: F401
    except ImportError as error:
        raise Skip(f"sglang-omni cannot be imported ({error}); it is not among the packages of this environment") from None
    with tempfile.TemporaryDirectory() as folder:
        files, refused = _emit("sglang-omni", folder)
        lines = [line for path in files for line in check_deploy_yaml.check_sglang_omni(str(path))]
        assert files and not refused, refused
    return {"files": len(files), "stages": len(lines)}


#: What a plan decides; all else of a deploy file must come through unchanged.
PLANNED = {"devices", "num_replicas", "tensor_parallel_size", "parallel_config", "gpu_memory_utilization"}


def _differences(before, after):
    """Fields in which two loaded deploy files differ, stages by number, as `where: before -> after`."""
    import dataclasses

    one, two = dataclasses.asdict(before), dataclasses.asdict(after)
    stages_one = {stage["stage_id"]: stage for stage in one.pop("stages")}
    stages_two = {stage["stage_id"]: stage for stage in two.pop("stages")}
    assert stages_one.keys() <= stages_two.keys(), f"stages {stages_one.keys()} became {stages_two.keys()}"
    found = [("", key, one[key], two[key]) for key in one if one[key] != two[key]]
    for stage_id, stage in stages_one.items():
        after_stage = dict(stages_two[stage_id])
        extras_one, extras_two = dict(stage.pop("engine_extras")), dict(after_stage.pop("engine_extras"))
        for mine, theirs in ((stage, after_stage), (extras_one, extras_two)):
            found += [(stage_id, key, mine.get(key), theirs.get(key)) for key in mine.keys() | theirs.keys() if mine.get(key) != theirs.get(key)]
    return found


@case
def every_deploy_file_that_ships_comes_through_import_plan_and_emit():
    """Imported, planned, emitted, loaded by the engine: only what a plan decides differs, on the same GPUs and on others."""
    import json

    import vllm_omni
    from vllm_omni.config.stage_config import load_deploy_config

    folder = Path(vllm_omni.__file__).parent / "deploy"
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run(
            ["node", "--import", "tsx", str(ROOT / "test/engine/round-trip.ts"), str(folder), out],
            cwd=ROOT, capture_output=True, text=True, timeout=1800,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
        said = json.loads(done.stdout)
        refused = {name: one["refused"] for name, one in said.items() if "refused" in one}
        # One file holds no stage at all: settings of a stage that the server appends.
        assert set(refused) <= {"qwen3_tts_forced_aligner.yaml"}, refused
        changed, lost = 0, []
        for label in ("same", "other"):
            for name in said.keys() - refused.keys():
                after = load_deploy_config(str(Path(out) / label / name.removesuffix(".yaml") / "deploy.yaml"))
                for where, key, before, now in _differences(load_deploy_config(str(folder / name)), after):
                    changed += 1
                    if where == "" and key == "platforms":
                        continue
                    if key not in PLANNED:
                        lost.append(f"{label}/{name} stage {where} {key}: {before!r} -> {now!r}")
        assert not lost, lost[:20]
    return {"files": len(said), "refused": list(refused), "planned fields changed": changed}


@case
def the_registry_that_the_planner_knows_is_the_installed_one():
    from importlib.metadata import version

    import vllm_omni_registry

    text = (ROOT / "src/deploy/import/registry.ts").read_text()
    assert f"VLLM_OMNI_VERSION = '{version('vllm-omni')}'" in text, version("vllm-omni")
    missing = [row for row in vllm_omni_registry.rows() if f"\n{row}\n" not in text]
    assert not missing, missing
    return {"pipelines": len(vllm_omni_registry.rows())}
