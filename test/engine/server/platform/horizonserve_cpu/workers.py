"""vLLM's CPU worker around vLLM-Omni's model runners. What those do with CUDA streams and events means nothing here, where every call
ends before it returns."""

import contextlib

import torch
from vllm.v1.worker.cpu_model_runner import CPUModelRunner
from vllm.v1.worker.cpu_worker import CPUWorker
from vllm_omni.worker.gpu_ar_model_runner import GPUARModelRunner
from vllm_omni.worker.gpu_generation_model_runner import GPUGenerationModelRunner
from vllm_omni.worker.mixins import OmniWorkerMixin


class _Event:
    def __init__(self, *args, **kwargs):
        pass

    def record(self, *args):
        pass

    def wait(self, *args):
        pass

    def synchronize(self):
        pass

    def query(self):
        return True


class _Stream:
    device = torch.device("cpu")

    def __init__(self, *args, **kwargs):
        pass

    def wait_stream(self, *args):
        pass

    def wait_event(self, *args):
        pass

    def synchronize(self):
        pass

    def record_event(self, *args):
        return _Event()


def _without_cuda():
    stream = _Stream()
    torch.cuda.Stream, torch.cuda.Event, torch.Event = _Stream, _Event, _Event
    torch.cuda.current_stream = torch.cuda.default_stream = lambda *args, **kwargs: stream
    torch.cuda.stream = lambda _stream: contextlib.nullcontext()
    torch.cuda.set_device = lambda *args, **kwargs: None


_without_cuda()


class ArRunner(CPUModelRunner, GPUARModelRunner):
    pass


class GenerationRunner(CPUModelRunner, GPUGenerationModelRunner):
    pass


class _Worker(OmniWorkerMixin, CPUWorker):
    runner = None

    def init_device(self):
        self.use_v2_model_runner = False
        super().init_device()
        self.model_runner = self.runner(self.vllm_config, torch.device("cpu"))


class ArWorker(_Worker):
    runner = ArRunner


class GenerationWorker(_Worker):
    runner = GenerationRunner
