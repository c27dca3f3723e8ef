"""Stands in for torch with CUDA in a dry run of scripts/gpu-check: the calls that script makes, and nothing behind them. Never a
source of numbers."""

import types

__version__ = "0.0-stand-in"
float16 = float32 = None


class _Tensor:
    def sum(self) -> "_Tensor":
        return self


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


def zeros(shape: object, dtype: object = None, device: object = None) -> _Tensor:
    return _Tensor()


def matmul(a: _Tensor, b: _Tensor) -> _Tensor:
    assert isinstance(a, _Tensor) and isinstance(b, _Tensor)
    return a


cuda = types.SimpleNamespace(
    is_available=lambda: True,
    synchronize=lambda: None,
    current_stream=lambda device=None: _Stream(),
    ExternalStream=_Stream,
    Event=_Event,
    stream=_Scope,
)
