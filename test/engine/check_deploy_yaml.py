"""Loads emitted deploy files with the engines' own loaders and says what they made of them.

    python check_deploy_yaml.py FILE...

A file with `config_cls` is sglang-omni's, any other is vLLM-Omni's. Exits 1 when a loader refuses a file, 3 when the loader of
vLLM-Omni is not installed. Files of sglang-omni are skipped, with the reason, where its package cannot be imported.
"""

import os
import sys

os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import yaml


def check_vllm_omni(path):
    """The deploy file alone, then merged with the pipeline it names, as the server does at start."""
    from transformers import AutoConfig
    from vllm_omni.config.pipeline_registry import OMNI_PIPELINES
    from vllm_omni.config.stage_config import load_deploy_config, merge_pipeline_deploy

    deploy = load_deploy_config(path)
    if deploy.pipeline not in OMNI_PIPELINES:
        raise ValueError(f"pipeline {deploy.pipeline!r} is not registered")
    pipeline = OMNI_PIPELINES[deploy.pipeline]
    if callable(pipeline):
        pipeline = pipeline(AutoConfig.for_model(deploy.pipeline))
    known = {stage.stage_id for stage in pipeline.stages}
    ours = {stage.stage_id for stage in deploy.stages}
    if ours != known:
        raise ValueError(f"stages {sorted(ours)} are not the pipeline's {sorted(known)}")
    from vllm_omni.distributed.omni_connectors.factory import OmniConnectorFactory

    for name, spec in (deploy.connectors or {}).items():
        if spec["name"] not in OmniConnectorFactory.list_registered_connectors():
            raise ValueError(f"connector {name}: {spec['name']} is unknown")
    merged = merge_pipeline_deploy(pipeline, deploy)
    for stage in merged:
        devices = str(stage.yaml_runtime["devices"]).split(",")
        degree = stage.yaml_engine_args.get("tensor_parallel_size") or 1
        if len(devices) % degree != 0:
            raise ValueError(f"stage {stage.stage_id}: tensor_parallel_size {degree} on devices {devices}")
        # The loader hands keys it does not know to the stage's engine: they must be arguments there.
        unknown = set(deploy_stage_of(deploy, stage.stage_id).engine_extras or {}) - engine_arguments()
        if unknown:
            raise ValueError(f"stage {stage.stage_id}: no engine argument is called {sorted(unknown)}")
    return [
        f"stage {stage.stage_id} ({stage.model_stage}): devices {stage.yaml_runtime['devices']}, "
        f"async_chunk {stage.yaml_engine_args['async_chunk']}, memory {stage.yaml_engine_args['gpu_memory_utilization']}"
        for stage in merged
    ]


def engine_arguments():
    import dataclasses

    from vllm_omni.engine.arg_utils import OmniEngineArgs

    return {field.name for field in dataclasses.fields(OmniEngineArgs)}


def deploy_stage_of(deploy, stage_id):
    return next(stage for stage in deploy.stages if stage.stage_id == stage_id)


def check_sglang_omni(path):
    from sglang_omni.config.manager import ConfigManager

    config = ConfigManager.from_file(path).config
    return [f"stage {stage.name}: gpu {stage.gpu}, tp_size {stage.tp_size}" for stage in config.stages]


def main(paths):
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    failed = 0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            sglang = "config_cls" in (yaml.safe_load(file) or {})
        try:
            lines = check_sglang_omni(path) if sglang else check_vllm_omni(path)
        except ImportError as error:
            if not sglang:
                print(f"{path}: vLLM-Omni is not installed: {error}", file=sys.stderr)
                return 3
            print(f"{path}: skipped, sglang-omni cannot be imported: {error}")
            continue
        except Exception as error:  # whatever the loader says against it
            failed += 1
            print(f"{path}: REFUSED: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        print(f"{path}: loaded")
        for line in lines:
            print(f"  {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
