"""The published SM level, read in a stage's worker process, and what that process says back about it."""

import mmap
import os

from . import wire
from .level_refusal import code_of
from .segment import monotonic_ns
from .segment_file import open_checked, segment_path
from .wire import WireError

_STALE_NS = wire.CONTROLLER_STALE_MS * 1_000_000


class LevelReader:
    """Reads the published level; holds no lock and writes nothing but the level that was applied and why it was not."""

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
        #: SMs that the shared stage is to have in the level in force.
        self.sms = 0

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
                    self._level, self._seen, self.sms = state.level, index, state.levelSms
            except WireError:
                pass
        return self._level

    def tell(self, level, refusal="none"):
        self._u32[self._applied_at] = level & 0xFFFFFFFF
        self._u32[self._applied_at + 2] = code_of(refusal)


class LateReader:
    """The segment appears when the first stage's scheduler starts, which may be after this process; looks again now and then."""

    _EVERY_NS = 1_000_000_000

    def __init__(self, name, stage):
        self._name, self._stage, self._reader, self._next = name, stage, None, 0

    @property
    def sms(self):
        return 0 if self._reader is None else self._reader.sms

    def level(self):
        if self._reader is None and not self._find():
            return -1
        return self._reader.level()

    def tell(self, level, refusal="none"):
        if self._reader is not None:
            self._reader.tell(level, refusal)

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
