"""vLLM's CPU platform with what vLLM-Omni asks of one."""

import psutil
import torch
from vllm.platforms.cpu import CpuPlatform
from vllm_omni.platforms.interface import OmniPlatform, OmniPlatformEnum


class CpuOmniPlatform(OmniPlatform, CpuPlatform):
    _omni_enum = OmniPlatformEnum.OOT

    @classmethod
    def get_omni_ar_worker_cls(cls):
        return "horizonserve_cpu.workers.ArWorker"

    @classmethod
    def get_omni_generation_worker_cls(cls):
        return "horizonserve_cpu.workers.GenerationWorker"

    @classmethod
    def get_default_stage_config_path(cls):
        return "vllm_omni/deploy"

    @classmethod
    def supports_torch_inductor(cls):
        return False

    @classmethod
    def get_torch_device(cls, local_rank=None):
        return torch.device("cpu")

    @classmethod
    def get_device_count(cls):
        return 1

    @classmethod
    def get_device_version(cls):
        return None

    @classmethod
    def synchronize(cls):
        pass

    @classmethod
    def get_free_memory(cls, device=None):
        return psutil.virtual_memory().available

    @classmethod
    def get_device_memory(cls, device=None):
        memory = psutil.virtual_memory()
        return memory.available, memory.total

    @classmethod
    def set_device_control_env_var(cls, devices):
        pass

    @classmethod
    def unset_device_control_env_var(cls):
        pass
