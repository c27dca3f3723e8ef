"""The engine's side of the segment: made or joined, mapped once, and never unmapped or shrunk while the process lives.

The first stage process of an engine creates the segment: under a name of its own, complete, and then linked to the final name, so
that nobody ever sees half a segment. Later stages join it. Each holds a lock on its byte for as long as it lives; a segment whose
stages hold none is dead and is replaced.
"""

import ctypes
import mmap
import os
import platform
import threading
import time

from . import wire
from .segment_file import create, open_checked, remove_if_dead, segment_path, try_lock
from .wire import WireError

_CONTROLLER_U32 = wire.CONTROLLER_OFFSET // 4
_CONTROLLER_I64 = wire.CONTROLLER_OFFSET // 8
_MODE = _CONTROLLER_U32 + 3
_PUBLISHED = _CONTROLLER_U32 + 4
_RESYNC = _CONTROLLER_U32 + 5
_SESSION = _CONTROLLER_U32 + 6
_BELL = wire.BOUNDARY_OFFSET // 4
_ANSWERED = (wire.BOUNDARY_OFFSET + 64) // 4
_FUTEX = {"x86_64": 202, "aarch64": 98}.get(platform.machine())
_FUTEX_WAIT, _FUTEX_WAKE = 0, 1
_STALE_NS = wire.CONTROLLER_STALE_MS * 1_000_000
# One that was silent for so long at most is still told what happens: it reads on in the ring when it runs again.
_HEARS_NS = 10_000_000_000
# The lock is held during these calls on purpose: releasing it beside one busy thread costs milliseconds to get it back.
_syscall = ctypes.PyDLL(None, use_errno=False).syscall
_syscall.restype = ctypes.c_long
monotonic_ns = time.monotonic_ns
_pack_event = wire.pack_event
_crc32 = wire.zlib.crc32


_DEVICE_VARIABLES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "ZE_AFFINITY_MASK")


def _device(environ=os.environ):
    """A number for the devices that this process may see; equal for processes that may see the same ones, and never 0."""
    text = next((environ[name] for name in _DEVICE_VARIABLES if environ.get(name)), "all")
    return _crc32(text.replace(" ", "").encode()) or 1


class StageHeldError(WireError):
    """The stage of a segment belongs to another process that lives."""


class _Timespec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_int64), ("ns", ctypes.c_int64)]


class Segment:
    """One stage's hold on the segment. Not for several threads, but for its own heartbeat."""

    def __init__(self, fd, path, stage):
        self.path = path
        self.stage = stage
        size = os.fstat(fd).st_size
        self.num_stages, self.ring_slots = wire.check_header(os.pread(fd, 64, 0), size)
        if not 0 <= stage < self.num_stages:
            raise WireError(f"stage {stage} of a segment with {self.num_stages} stages")
        # A mapping duplicates its descriptor, and with it the lock; so the lock is on an open file of its own.
        own = os.open(f"/proc/self/fd/{fd}", os.O_RDWR | os.O_CLOEXEC)
        self._map = mmap.mmap(own, size)
        os.close(own)
        self._fd = fd
        whole = memoryview(self._map)
        self.u32 = whole.cast("I")
        self.i64 = whole.cast("q")
        self._ring = wire.RINGS_OFFSET + stage * self.ring_slots * wire.EVENT_BYTES
        self._line = (wire.STAGE_OFFSET + stage * wire.STAGE_BYTES) // 4
        self._ring_mask = self.ring_slots - 1
        self._written_at = self._line + 3
        self._cursor = _CONTROLLER_U32 + 8 + stage
        self.written = self.u32[self._line + 3]
        self.dropped = 0
        self.state = None
        self._table = b""
        self.refused = 0
        self._seen = 0
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self._bell_at = ctypes.c_void_p(base + wire.BOUNDARY_OFFSET)
        self._answer_at = ctypes.c_void_p(base + wire.BOUNDARY_OFFSET + 64)
        self._timeout = _Timespec(0, 0)
        self._timeout_ref = ctypes.byref(self._timeout)
        os.register_at_fork(after_in_child=self._forget)
        self._stopped = threading.Event()
        self.activity = (0, 0, 0, 0)
        self.u32[self._line + 2] = os.getpid()
        # No level is applied until the process that launches the kernels says so.
        self.u32[self._line + 9] = 0xFFFFFFFF
        self.u32[self._line + 12] = _device()
        self.u32[self._line + 10] = 1
        self.beat()

    @classmethod
    def open(cls, name, stage=0, num_stages=wire.MAX_STAGES, ring_slots=4096):
        """Creates the segment, or joins the one that another stage of this engine made."""
        path = segment_path(name)
        for _ in range(8):
            remove_if_dead(path)
            try:
                fd = create(path, stage, num_stages, ring_slots)
            except FileExistsError:
                try:
                    fd = open_checked(path)
                except FileNotFoundError:
                    continue
                if not try_lock(fd, wire.LOCK_STAGE0 + stage):
                    os.close(fd)
                    raise StageHeldError(f"stage {stage} of {path} is held by another process; give every engine a name of its own") from None
                if os.fstat(fd).st_nlink == 0:
                    os.close(fd)
                    continue
            return cls(fd, path, stage)
        raise WireError(f"{path} is being made and removed by others; give every engine a name of its own")

    def start_heartbeat(self):
        """Beats every 100 ms from a thread of its own, for an idle engine takes no steps."""
        thread = threading.Thread(target=self._beat_until_stopped, name="horizonserve-heartbeat", daemon=True)
        thread.start()

    def _beat_until_stopped(self):
        while not self._stopped.wait(wire.HEARTBEAT_MS / 1000):
            self.beat()

    def _forget(self):
        """In a forked child: the lock belongs to the stage process, and must end with it even when a child lives on. Once: in a child of
        the child, or after `close`, the number may stand for somebody else's file."""
        self._stopped.set()
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def beat(self):
        """The heartbeat, and beside it what the stage holds: nobody needs that at every step."""
        self.set_activity(*self.activity)
        self.i64[self._line // 2] = monotonic_ns()

    def controller_mode(self, now_ns):
        """`MODE_NONE` without a controller that is alive by its heartbeat, else its mode. A heartbeat from the future is stale too."""
        if -_STALE_NS < now_ns - self.i64[_CONTROLLER_I64] < _STALE_NS:
            return self.u32[_MODE]
        return 0

    def hears(self, now_ns):
        """Whether a controller beat lately, though it may be too long ago to follow what it published."""
        return -_STALE_NS < now_ns - self.i64[_CONTROLLER_I64] < _HEARS_NS

    def look(self, now_ns):
        """`controller_mode`, and with a controller the newest readable `state`: what a step boundary asks, in one call."""
        if -_STALE_NS < now_ns - self.i64[_CONTROLLER_I64] < _STALE_NS:
            u32 = self.u32
            if u32[_PUBLISHED] != self._seen:
                self.read_state()
            return u32[_MODE]
        return 0

    def controller_pid(self):
        return self.u32[_CONTROLLER_U32 + 2]

    def is_answered(self):
        """Whether the controller has answered the last question, in time or not."""
        return self.u32[_ANSWERED] == self.u32[_BELL]

    def read_classes(self, epoch):
        """The text of the class descriptions of an epoch. Raises `WireError`."""
        head = self._map[wire.CLASSES_OFFSET : wire.CLASSES_OFFSET + wire.CLASSES_HEAD]
        crc, of_epoch, length = wire.CLASSES_STRUCT.unpack_from(head)
        if of_epoch != epoch:
            raise WireError(f"the class descriptions are of epoch {of_epoch}, expected {epoch}")
        if length > wire.CLASSES_BYTES - wire.CLASSES_HEAD:
            raise WireError(f"the class descriptions claim {length} bytes")
        at = wire.CLASSES_OFFSET + wire.CLASSES_HEAD
        text = self._map[at : at + length]
        if wire.zlib.crc32(text, wire.zlib.crc32(head[4:])) != crc:
            raise WireError("the checksum of the class descriptions is wrong")
        try:
            return text.decode()
        except UnicodeDecodeError:
            raise WireError("the class descriptions are not UTF-8") from None

    def session(self):
        """Changes when another controller attaches or asks to be told again."""
        return self.u32[_SESSION] + self.u32[_RESYNC]

    def read_state(self):
        """The last control state that could be read, or None. At most two tries: a torn or broken bank leaves the one before."""
        index = self.u32[_PUBLISHED]
        if index == self._seen:
            return self.state
        for _ in range(2):
            at = wire.HEADER_BYTES + (index & 1) * wire.BANK_BYTES
            bank = self._map[at : at + wire.BANK_BYTES]
            last = self.state
            try:
                state = wire.decode_state(bank, self._table, last.classes if last is not None else ())
                if state.seq == index:
                    self.state = state
                    self._table = wire.table_of(bank, len(state.classes))
                    self._seen = index
                    return state
            except WireError:
                pass
            index = self.u32[_PUBLISHED]
        self.refused += 1
        self._seen = index
        return self.state

    def post(self, kind, class_index, time_ns, id_high=0, id_low=0, a=0, b=0, c=0, d=0, e=0, f=0):
        """Appends an event; drops it when the ring is full. What is lost costs accuracy, never a request."""
        written, u32 = self.written, self.u32
        if (written - u32[self._cursor]) & 0xFFFFFFFF >= self.ring_slots:
            self.dropped += 1
            u32[self._line + 4] = self.dropped & 0xFFFFFFFF
            return False
        at = self._ring + ((written & self._ring_mask) << 6)
        body = _pack_event(written, kind, self.stage, class_index, time_ns, id_high, id_low, a, b, c, d, e, f, 0)
        self._map[at : at + 60] = body
        u32[(at + 60) >> 2] = _crc32(body)
        self.written = written = (written + 1) & 0xFFFFFFFF
        u32[self._written_at] = written
        return True

    def set_activity(self, running, waiting, tokens, step):
        u32, line = self.u32, self._line
        u32[line + 5] = running
        u32[line + 6] = waiting
        u32[line + 7] = tokens
        u32[line + 8] = step & 0xFFFFFFFF

    def report_activity(self, running, waiting, tokens, step):
        """One step of a stage after the shared one."""
        self.activity = (running, waiting, tokens, step)
        self.set_activity(running, waiting, tokens, step)
        now_ns = monotonic_ns()
        if self.controller_mode(now_ns):
            level = self.u32[self._line + 9]
            self.post(wire.ACTIVITY, 0, now_ns, 0, 0, step & 0xFFFFFFFF, tokens, running, waiting, level + 1 & 0xFFFFFFFF)

    def set_applied_level(self, level):
        self.u32[self._line + 9] = level & 0xFFFFFFFF

    def ask(self, now_ns, step, running, waiting, bound_us, spin_us=0):
        """Posts a step boundary and waits at most `bound_us` for its answer: (level, flags, slots), or None when none came."""
        u32 = self.u32
        body = wire._BOUNDARY.pack(now_ns, step & 0xFFFFFFFF, running, waiting, self.written)
        self._map[wire.BOUNDARY_OFFSET + 8 : wire.BOUNDARY_OFFSET + 36] = body + wire._CRC.pack(wire.zlib.crc32(body))
        bell = (u32[_BELL] + 1) & 0xFFFFFFFF
        u32[_BELL] = bell
        _syscall(_FUTEX, self._bell_at, _FUTEX_WAKE, 1, None, None, 0)
        end = monotonic_ns() + bound_us * 1000
        spin_end = monotonic_ns() + spin_us * 1000
        while True:
            answered = u32[_ANSWERED]
            if answered == bell:
                break
            now = monotonic_ns()
            if now >= end:
                return None
            if now < spin_end:
                continue
            self._timeout.ns = end - now
            _syscall(_FUTEX, self._answer_at, _FUTEX_WAIT, ctypes.c_uint32(answered), self._timeout_ref, None, 0)
        return self._read_answer(bell, step)

    def _read_answer(self, bell, step):
        head = self._map[wire.ANSWER_OFFSET : wire.ANSWER_OFFSET + wire.ANSWER_HEAD]
        crc, of_bell, of_step, count, level, flags = wire._ANSWER.unpack_from(head)
        if of_bell != bell or of_step != step & 0xFFFFFFFF or count > wire.ANSWER_SLOTS:
            return None
        slots = self._map[wire.ANSWER_OFFSET + wire.ANSWER_HEAD : wire.ANSWER_OFFSET + wire.ANSWER_HEAD + 4 * count]
        if wire.zlib.crc32(slots, wire.zlib.crc32(head[4:])) != crc:
            return None
        return level, flags, memoryview(slots).cast("I")

    def close(self):
        """Stops the heartbeat and removes the segment when no other stage lives. The mapping stays: views of it may be in use."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        self.i64[self._line // 2] = 0
        self.u32[self._line + 10] = 0
        fd, self._fd = self._fd, -1
        os.close(fd)
        remove_if_dead(self.path)
