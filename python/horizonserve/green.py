"""The SM ladder inside a stage process: the same rows as the controller describes, and a level switch.

Standard library only: ctypes on libcuda, and torch streams when torch is already there. Build it once, after the stage's CUDA
context exists and on the thread that launches kernels; a Green Context is current to one thread at a time.

Two processes are complementary only when both make the *same* split call: the description holds that call (total, minimum count) and
per row the number of groups; one process takes the first groups, the other all the rest. What the driver makes of it is
read back and compared, and a difference is an error rather than an overlap nobody sees.

A test runs both languages against one double of the driver.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .green_description import Row, check_description
from .green_driver import (
    DEFAULT_STREAM,
    GROUP_PARAMS_BYTES,
    MPS_ENABLED,
    NON_BLOCKING,
    RESOURCE_BYTES,
    TYPE_SM,
    Driver,
    GreenError,
    resources,
    sms_of,
)

__all__ = ["GreenError", "Ladder", "Row"]


class _Made(NamedTuple):
    green: int
    context: int
    stream: int


class Ladder:
    """The rows of one side in this process. Use `from_description`; `close()` or a `with` block ends it."""

    def __init__(self, driver: Driver, device: int, description: Mapping[str, Any], side: str, priority: int) -> None:
        self._driver = driver
        # The ordinal is not promised to be the handle.
        handle = ctypes.c_int()
        driver.call("cuDeviceGet", ctypes.byref(handle), ctypes.c_int(device))
        self._device = handle
        self._ordinal = device
        # torch objects of `at`, made once: a step allocates none.
        self._torch_streams: dict[int, Any] = {}
        self._events: tuple[Any, Any] | None = None
        self._thread = threading.get_ident()
        self._closed = False
        self._made: list[_Made | None] = []
        self._level = -1
        self.side = side
        self._checked = checked = check_description(description)
        self.total_sms = checked.total_sms
        self._description = description
        whole = Row("whole", 0, self.total_sms, 0)
        self.rows: list[Row] = [*checked.levels, checked.aggressive, whole]
        self.aggressive_index = len(checked.levels)
        self.off_index = len(checked.levels) + 1
        primary = ctypes.c_void_p()
        driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(primary), self._device)
        self._primary = primary.value or 0
        try:
            self._primary_stream = self._stream_in(self._primary, priority)
            self._build(priority)
        except BaseException:
            self.close()
            raise

    @classmethod
    def from_description(
        cls,
        description: Mapping[str, Any],
        side: str,
        device: int = 0,
        library: str | None = None,
        priority: int = 0,
    ) -> "Ladder":
        """Builds the rows of `side` ('shared' or 'downstream') exactly as described, or raises."""
        if side not in ("shared", "downstream"):
            raise GreenError("ERR_GPU_SIDE", f"side: expected 'shared' or 'downstream', got {side!r}")
        driver = Driver(library or os.environ.get("HORIZON_LIBCUDA") or "libcuda.so.1")
        driver.call("cuInit", 0)
        count = ctypes.c_int()
        driver.call("cuDeviceGetCount", ctypes.byref(count))
        if not 0 <= device < count.value:
            raise GreenError("ERR_GPU_DEVICE_INDEX", f"device: expected 0 to {count.value - 1}, got {device}")
        return cls(driver, device, description, side, priority)

    def describe(self) -> Mapping[str, Any]:
        """The description it was built from."""
        return self._description

    def sms(self, level: int) -> int:
        """SMs of this side in a row."""
        row = self._row(level)
        return row.shared_sms if self.side == "shared" or row.method == "whole" else row.downstream_sms

    def apply(self, level: int) -> None:
        """Makes the row current on this thread: what is launched from here on runs on its SMs. For code that launches by the driver
        interface; with torch use `at`."""
        self._mine()
        made = self._made[level] if 0 <= level < len(self._made) else self._no_row(level)
        self._driver.check("cuCtxSetCurrent", self._driver.set_current(made.context if made is not None else self._primary))
        self._level = level

    def read_back(self) -> int:
        """The row that is current on this thread, -1 for a context outside the ladder."""
        self._mine()
        current = ctypes.c_void_p()
        self._driver.check("cuCtxGetCurrent", self._driver.get_current(ctypes.byref(current)))
        contexts = [made.context if made is not None else self._primary for made in self._made]
        value = current.value or 0
        if 0 <= self._level < len(contexts) and contexts[self._level] == value:
            return self._level
        return contexts.index(value) if value in contexts else -1

    def stream(self, level: int) -> int:
        """`CUstream` of a row, as an integer."""
        self._row(level)
        made = self._made[level]
        return made.stream if made is not None else self._primary_stream

    def torch_stream(self, level: int) -> Any:
        """The row's stream for torch. Kernels launched on it keep to the row's SMs; so do CUDA graphs captured on it, for good."""
        import torch

        stream = self._torch_streams.get(level)
        if stream is None:
            self._torch_streams[level] = stream = torch.cuda.ExternalStream(self.stream(level), device=self._ordinal)
        return stream

    @contextlib.contextmanager
    def at(self, level: int) -> Iterator[Any]:
        """`with ladder.at(level):` runs torch work on the row's stream, ordered after what the current stream holds and before what
        follows on it, also when the work raises. Another thread that reads a tensor made inside must wait for an event recorded after
        it, or take it after the block: the NULL stream orders nothing against a row."""
        import torch

        before = torch.cuda.current_stream(self._ordinal)
        stream = self.torch_stream(level)
        if self._events is None:
            self._events = (torch.cuda.Event(), torch.cuda.Event())
        enter, leave = self._events
        enter.record(before)
        stream.wait_event(enter)
        try:
            with torch.cuda.stream(stream):
                yield stream
        finally:
            leave.record(stream)
            before.wait_event(leave)

    def has_mps(self) -> bool:
        """True where this process is a client of an MPS daemon: only then do two processes hold their rows at the same time."""
        value = ctypes.c_int()
        self._driver.call("cuDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(MPS_ENABLED), self._device)
        return value.value == 1

    def close(self) -> None:
        """Destroys streams and contexts and leaves the primary context current. Idempotent; on the thread that built it."""
        if self._closed:
            return
        self._mine()
        self._closed = True
        # Results are not checked: after a sticky error every call fails, and closing must still be possible.
        self._driver.set_current(self._primary)
        library = self._driver.blocking
        for made in self._made:
            if made is not None:
                library.cuStreamDestroy_v2(ctypes.c_void_p(made.stream))
                library.cuGreenCtxDestroy(ctypes.c_void_p(made.green))
        if getattr(self, "_primary_stream", 0):
            library.cuStreamDestroy_v2(ctypes.c_void_p(self._primary_stream))
        library.cuDevicePrimaryCtxRelease_v2(self._device)

    def __enter__(self) -> "Ladder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _mine(self) -> None:
        if self._closed:
            raise GreenError("ERR_GPU_LADDER_CLOSED", "the ladder is closed: build a new one")
        if threading.get_ident() != self._thread:
            raise GreenError(
                "ERR_GPU_CONTEXT_IN_USE", "a Green Context is current to one thread at a time: build one ladder per thread from the description"
            )

    def _row(self, level: int) -> Row:
        if self._closed:
            raise GreenError("ERR_GPU_LADDER_CLOSED", "the ladder is closed: build a new one")
        return self.rows[level] if 0 <= level < len(self.rows) else self._no_row(level)

    def _no_row(self, level: int) -> Any:
        raise GreenError("ERR_GPU_LEVELS", f"level: expected 0 to {len(self.rows) - 1}, got {level!r}")

    def _build(self, priority: int) -> None:
        device = resources(1)
        self._driver.call("cuDeviceGetDevResource", self._device, device, TYPE_SM)
        self._match("totalSms", self.total_sms, sms_of(device, 0))
        capacity = max(1, self.total_sms // self._checked.min_count)
        groups, remaining = self._split_by_count(device, capacity, self._checked.min_count)
        self._match("numGroups", self._checked.num_groups, len(groups) * 8 // RESOURCE_BYTES)
        self._match("groupSms", self._checked.group_sms, sms_of(groups, 0))
        for row in self.rows:
            if row.method == "whole":
                self._made.append(None)
                continue
            if row.method == "groups":
                first, parts, rest = row.groups, groups, remaining
            elif row.method == "pair":
                first, (parts, rest) = 1, self._split_by_count(device, 1, row.shared_sms)
            else:
                first, (parts, rest) = 1, self._split_one(device, row.shared_sms)
            count = len(parts) * 8 // RESOURCE_BYTES
            taken = range(0, first) if self.side == "shared" else range(first, count)
            chosen = [bytes(parts)[i * RESOURCE_BYTES : (i + 1) * RESOURCE_BYTES] for i in taken]
            if self.side == "downstream" and sms_of(rest, 0) > 0:
                chosen.append(bytes(rest))
            self._made.append(self._create(b"".join(chosen), len(chosen), row, priority))

    def _split_by_count(self, device: Any, capacity: int, count: int) -> tuple[Any, Any]:
        groups, remaining, made = resources(capacity), resources(1), ctypes.c_uint(capacity)
        self._driver.call(
            "cuDevSmResourceSplitByCount", groups, ctypes.byref(made), device, remaining, ctypes.c_uint(0), ctypes.c_uint(count)
        )
        used = resources(min(made.value, capacity))
        ctypes.memmove(used, groups, ctypes.sizeof(used))
        return used, remaining

    def _split_one(self, device: Any, sms: int) -> tuple[Any, Any]:
        group, remaining = resources(1), resources(1)
        params = (ctypes.c_uint32 * (GROUP_PARAMS_BYTES // 4))()
        params[0] = sms
        self._driver.call("cuDevSmResourceSplit", group, ctypes.c_uint(1), device, remaining, ctypes.c_uint(0), params)
        return group, remaining

    def _create(self, parts: bytes, count: int, row: Row, priority: int) -> _Made:
        driver = self._driver
        # An array of words rather than bytes, for its alignment; the driver may write to it.
        array = resources(count)
        ctypes.memmove(array, parts, len(parts))
        descriptor, green, context = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        driver.call("cuDevResourceGenerateDesc", ctypes.byref(descriptor), array, ctypes.c_uint(count))
        driver.call("cuGreenCtxCreate", ctypes.byref(green), descriptor, self._device, ctypes.c_uint(DEFAULT_STREAM))
        try:
            driver.call("cuCtxFromGreenCtx", ctypes.byref(context), green)
            back = resources(1)
            driver.call("cuGreenCtxGetDevResource", green, back, TYPE_SM)
            expected = row.shared_sms if self.side == "shared" else row.downstream_sms
            self._match(f"{self.side} SMs of the row with {row.shared_sms}", expected, sms_of(back, 0))
            if driver.has("cuGreenCtxStreamCreate"):
                stream = ctypes.c_void_p()
                driver.call(
                    "cuGreenCtxStreamCreate", ctypes.byref(stream), green, ctypes.c_uint(NON_BLOCKING), ctypes.c_int(priority)
                )
                handle = stream.value or 0
            else:
                handle = self._stream_in(context.value or 0, priority)
        except BaseException:
            driver.blocking.cuGreenCtxDestroy(green)
            raise
        return _Made(green.value or 0, context.value or 0, handle)

    def _stream_in(self, context: int, priority: int) -> int:
        stream, popped = ctypes.c_void_p(), ctypes.c_void_p()
        self._driver.call("cuCtxPushCurrent_v2", ctypes.c_void_p(context))
        try:
            self._driver.call("cuStreamCreateWithPriority", ctypes.byref(stream), ctypes.c_uint(NON_BLOCKING), ctypes.c_int(priority))
        finally:
            self._driver.call("cuCtxPopCurrent_v2", ctypes.byref(popped))
        return stream.value or 0

    def _match(self, field: str, expected: int, got: int) -> None:
        if expected != got:
            raise GreenError(
                "ERR_GPU_LADDER_MISMATCH",
                f"{field}: the description says {expected}, this device makes {got}; both processes need the same GPU, driver and MPS settings",
            )
