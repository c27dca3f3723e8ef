"""Stands in for torch with CUDA in a dry run of scripts/gpu-check: the calls that script makes, and nothing behind them. Never a
source of numbers."""

import types

__version__ = "0.0-stand-in"
float16 = float32 = None


class _Tensor:
    def sum(self) -> "_Tensor":
        return self

    def to(self, device: str) -> "_Tensor":
        return self

    def __ne__(self, other: object) -> "_Tensor":  # type: ignore[override]
        return self

    def __int__(self) -> int:
        return 0


class _Stream:
    def __init__(self, handle: int = 0, device: int = 0) -> None:
        assert isinstance(handle, int)

    def wait_stream(self, other: "_Stream") -> None:
        assert isinstance(other, _Stream)

    def wait_event(self, event: "_Event") -> None:
        assert event.recorded


class _Event:
    def __init__(self, enable_timing: bool = False) -> None:
        self.recorded = False

    def record(self, stream: _Stream) -> None:
        assert isinstance(stream, _Stream)
        self.recorded = True

    def elapsed_time(self, end: "_Event") -> float:
        assert self.recorded and end.recorded
        return 1.0


class _Scope:
    def __init__(self, stream: _Stream) -> None:
        assert isinstance(stream, _Stream)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


class _Graph:
    def capture_begin(self) -> None:
        self.captured = True

    def replay(self) -> None:
        assert self.captured


class _Capture:
    def __init__(self, graph: _Graph, stream: _Stream) -> None:
        assert isinstance(stream, _Stream)
        self.graph = graph

    def __enter__(self) -> None:
        self.graph.capture_begin()

    def __exit__(self, *_: object) -> None:
        pass


def randn(shape: object, dtype: object = None, device: object = None) -> _Tensor:
    return _Tensor()


def full(shape: object, value: object, device: object = None) -> _Tensor:
    return _Tensor()


def empty_like(tensor: _Tensor) -> _Tensor:
    return _Tensor()


def matmul(a: _Tensor, b: _Tensor, out: object = None) -> _Tensor:
    assert isinstance(a, _Tensor) and isinstance(b, _Tensor)
    return a


nn = types.SimpleNamespace(functional=types.SimpleNamespace(scaled_dot_product_attention=lambda *tensors, is_causal: tensors[0]))
cuda = types.SimpleNamespace(
    is_available=lambda: True,
    synchronize=lambda: None,
    current_stream=lambda device=None: _Stream(),
    ExternalStream=_Stream,
    Stream=_Stream,
    Event=_Event,
    stream=_Scope,
    CUDAGraph=_Graph,
    graph=_Capture,
    mem_get_info=lambda: (0, 0),
    memory_reserved=lambda: 0,
    empty_cache=lambda: None,
)
