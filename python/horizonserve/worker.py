"""Applies the published SM level around model execution, in the process that launches the kernels.

A level counts for the kernels of the stream that owns it, so `execute_model` and `sample_tokens`, two separate calls, both run on the
level's stream. CUDA graphs keep the partition they were captured in: cap eager stages, or start them with `enforce_eager`. Between
processes levels only divide the GPU when both run under MPS; without it they take turns and a cap costs time for nothing.

Entry point `vllm.general_plugins`: nothing happens unless HORIZONSERVE_LADDER names the file that `horizonserve doctor --ladder` wrote.
"""

import functools
import json
import logging
import mmap
import os

from . import wire
from .segment import monotonic_ns
from .segment_file import open_checked, segment_path
from .wire import WireError

log = logging.getLogger("horizonserve")
_STALE_NS = wire.CONTROLLER_STALE_MS * 1_000_000


class LevelReader:
    """Reads the published level; holds no lock and writes nothing but the level that was applied."""

    def __init__(self, name, stage):
        fd = open_checked(segment_path(name))
        size = os.fstat(fd).st_size
        wire.check_header(os.pread(fd, 64, 0), size)
        self._map = mmap.mmap(fd, size)
        os.close(fd)
        self._u32 = memoryview(self._map).cast("I")
        self._i64 = memoryview(self._map).cast("q")
        self._applied_at = (wire.STAGE_OFFSET + stage * wire.STAGE_BYTES + 36) // 4
        self._seen = -1
        self._level = -1

    def level(self):
        """The level in force; -1 without a controller that lives, or while none is set."""
        age = monotonic_ns() - self._i64[wire.CONTROLLER_OFFSET // 8]
        if not -_STALE_NS < age < _STALE_NS:
            self._seen = -1
            return -1
        index = self._u32[wire.CONTROLLER_OFFSET // 4 + 4]
        if index != self._seen:
            at = wire.HEADER_BYTES + (index & 1) * wire.BANK_BYTES
            try:
                state = wire.decode_state(self._map[at : at + wire.BANK_BYTES])
                if state.seq == index:
                    self._level, self._seen = state.level, index
            except WireError:
                pass
        return self._level

    def tell(self, level):
        self._u32[self._applied_at] = level & 0xFFFFFFFF


class LevelHook:
    """Runs calls at the published level. `make_ladder()` builds the ladder on the first call, when the CUDA context exists."""

    def __init__(self, reader, make_ladder):
        self._reader = reader
        self._make_ladder = make_ladder
        self._ladder = None
        self._off = False

    def run(self, call):
        if self._off:
            return call()
        level = self._reader.level()
        if level < 0:
            self._reader.tell(-1)
            return call()
        try:
            if self._ladder is None:
                self._ladder = self._make_ladder()
            at = self._ladder.at(level)
        except Exception as error:  # noqa: BLE001 - whatever the driver says, the stage must run
            self._off = True
            log.error("horizonserve: SM levels are off in this process: %s", error)
            return call()
        with at:
            self._reader.tell(level)
            return call()


def wrap_worker(worker_class, hook):
    """Wraps `execute_model` and `sample_tokens` of a worker class, once."""
    for name in ("execute_model", "sample_tokens"):
        plain = getattr(worker_class, name, None)
        if plain is None or getattr(plain, "horizonserve", False):
            continue

        def wrapped(self, *args, _plain=plain, **kwargs):
            return hook.run(functools.partial(_plain, self, *args, **kwargs))

        functools.update_wrapper(wrapped, plain)
        wrapped.horizonserve = True
        setattr(worker_class, name, wrapped)


def register(environ=os.environ):
    """The plugin. Quiet where it is not asked for."""
    ladder_file = environ.get("HORIZONSERVE_LADDER")
    if not ladder_file or "HORIZONSERVE_SEGMENT" not in environ:
        return
    try:
        with open(ladder_file, encoding="utf-8") as file:
            description = json.load(file)
        stage = int(environ.get("HORIZONSERVE_STAGE", "0"))
        hook = LevelHook(_LateReader(environ["HORIZONSERVE_SEGMENT"], stage), lambda: _ladder(description, stage))
        from vllm.v1.worker.gpu_worker import Worker
    except (OSError, ValueError, ImportError) as error:
        log.error("horizonserve: SM levels are off in this process: %s", error)
        return
    wrap_worker(Worker, hook)


def _ladder(description, stage):
    from .green import Ladder

    return Ladder.from_description(description, "shared" if stage == 0 else "downstream")


class _LateReader:
    """The segment appears when the first stage's scheduler starts, which may be after this process; looks again now and then."""

    _EVERY_NS = 1_000_000_000

    def __init__(self, name, stage):
        self._name, self._stage, self._reader, self._next = name, stage, None, 0

    def level(self):
        if self._reader is None and not self._find():
            return -1
        return self._reader.level()

    def tell(self, level):
        if self._reader is not None:
            self._reader.tell(level)

    def _find(self):
        now = monotonic_ns()
        if now < self._next:
            return False
        self._next = now + self._EVERY_NS
        try:
            self._reader = LevelReader(self._name, self._stage)
            return True
        except (OSError, WireError):
            return False
