"""What vLLM-Omni lacks to run without a GPU: a platform, workers, and a model small enough for two processors. For tests only."""


def platform():
    """Entry point `vllm_omni.platform_plugins`."""
    return "horizonserve_cpu.platform.CpuOmniPlatform"


def register():
    """Entry point `vllm.general_plugins`: the models and the pipelines."""
    from vllm import ModelRegistry

    registries = [ModelRegistry]
    try:
        from vllm_omni.model_executor.models import OmniModelRegistry

        from . import pipeline

        registries.append(OmniModelRegistry)
        pipeline.register()
    except ImportError:
        # Plain vLLM has neither.
        pass
    for registry in registries:
        for name in ("TinyThinker", "TinyVoice"):
            registry.register_model(name, f"horizonserve_cpu.model:{name}")
