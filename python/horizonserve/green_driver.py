"""libcuda by ctypes: loading, checked calls, and the few bytes of its structs that are read.

Layouts: cuda.h 12.4 to 13.5, see src/gpu/abi.ts.
"""

from __future__ import annotations

import ctypes
from typing import Any

RESOURCE_BYTES = 144
TYPE_SM = 1
_COUNT_OFFSET = 96
GROUP_PARAMS_BYTES = 64
DEFAULT_STREAM = 1
NON_BLOCKING = 1
# CU_DEVICE_ATTRIBUTE_MPS_ENABLED, cuda.h from 12.4 on.
MPS_ENABLED = 133

_CODES = {
    1: "ERR_GPU_INVALID_VALUE",
    2: "ERR_GPU_OUT_OF_MEMORY",
    3: "ERR_GPU_NOT_INITIALIZED",
    100: "ERR_GPU_DEVICE_UNAVAILABLE",
    101: "ERR_GPU_DEVICE_INDEX",
    201: "ERR_GPU_CONTEXT_CLOSED",
    216: "ERR_GPU_CONTEXT_IN_USE",
    400: "ERR_GPU_CONTEXT_CLOSED",
    700: "ERR_GPU_STICKY",
    709: "ERR_GPU_CONTEXT_CLOSED",
    719: "ERR_GPU_STICKY",
    801: "ERR_GPU_GREEN_CONTEXT_UNAVAILABLE",
    914: "ERR_GPU_GREEN_CONTEXT_UNAVAILABLE",
    915: "ERR_GPU_LEVEL_REFUSED",
}


class GreenError(RuntimeError):
    """An error with the same codes as the TypeScript side; `result` is the driver's own number, 0 where none was involved."""

    def __init__(self, code: str, message: str, result: int = 0) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.result = result


class Driver:
    """libcuda by ctypes. Calls that block release the GIL (CDLL); the level switch does not (PyDLL), so that a busy thread beside it
    cannot delay a step by taking the GIL in between."""

    def __init__(self, path: str) -> None:
        try:
            self.blocking = ctypes.CDLL(path)
            quick = ctypes.PyDLL(path)
        except OSError as error:
            raise GreenError("ERR_GPU_DRIVER_UNAVAILABLE", f"the CUDA driver library {path} does not load: {error}") from error
        self.path = path
        try:
            self.set_current = quick.cuCtxSetCurrent
            self.get_current = quick.cuCtxGetCurrent
        except AttributeError as error:
            raise GreenError("ERR_GPU_LIBRARY_FOREIGN", f"{path} is no CUDA driver: {error}") from error
        self.set_current.argtypes = [ctypes.c_void_p]
        self.get_current.argtypes = [ctypes.POINTER(ctypes.c_void_p)]

    def call(self, name: str, *args: Any) -> None:
        function = getattr(self.blocking, name, None)
        if function is None:
            raise GreenError(
                "ERR_GPU_GREEN_CONTEXT_UNAVAILABLE", f"the driver behind {self.path} has no {name}: driver 550 or newer is needed"
            )
        self.check(name, function(*args))

    def has(self, name: str) -> bool:
        return getattr(self.blocking, name, None) is not None

    def check(self, name: str, result: int) -> None:
        if result != 0:
            raise GreenError(_CODES.get(result, "ERR_GPU_CALL"), f"{name} returned {result}", result)


def resources(count: int) -> Any:
    # 64-bit words, since the struct holds a pointer from 13.1 on and must be 8-aligned.
    return (ctypes.c_uint64 * (count * RESOURCE_BYTES // 8))()


def sms_of(array: Any, index: int) -> int:
    words = ctypes.cast(array, ctypes.POINTER(ctypes.c_uint32))
    base = index * RESOURCE_BYTES // 4
    return int(words[base + _COUNT_OFFSET // 4]) if words[base] == TYPE_SM else 0
