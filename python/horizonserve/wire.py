"""The segment that an engine shares with its controller: layout, codecs and access. Standard library only.

This file and `src/adapters/layout.ts` own the two copies of the layout. Both build `LAYOUT_TEXT` from their own tables; its
checksum stands in every segment, so that two versions that disagree on one offset refuse each other.

Python has no fences. So a bank carries its sequence number and checksum inside, is copied with one slice, and read at most twice;
words that both sides touch are read and stored through memoryviews of the word's own type, never with `struct.pack_into`, which
clears the bytes first. Whatever cannot be used raises `WireError` and nothing else.
"""

import hashlib
import struct
import zlib

from .level_refusal import REFUSALS

MAGIC = 0x0156_5253_4E5A_5248
WIRE_VERSION = 1
MAX_STAGES = 8
MAX_CLASSES = 16
HEADER_BYTES = 4096
BANK_BYTES = 1024
NUM_BANKS = 2
BANK_SCALARS = 128
CLASS_ROW_BYTES = 48
EVENT_BYTES = 64
STAGE_BYTES = 64
CONTROLLER_OFFSET = 128
BOUNDARY_OFFSET = 256
STAGE_OFFSET = 512
ANSWER_OFFSET = 8192
ANSWER_HEAD = 32
ANSWER_SLOTS = 2000
CLASSES_OFFSET = 16384
CLASSES_HEAD = 16
CLASSES_BYTES = 32768
RINGS_OFFSET = 49152
MAX_KIND = 12
HEARTBEAT_MS = 100
STALE_MS = 250
# A controller beats every 50 ms at least. It is given up early enough for one more step to begin within STALE_MS of its last beat.
CONTROLLER_STALE_MS = 150
LOCK_JANITOR = 0
LOCK_CONTROLLER = 1
LOCK_STAGE0 = 16

ARRIVE, ADMIT, PREEMPT, FIRST_RESPONSE, FINISH, ABORT, STEP, ACTIVITY, SYNC_BEGIN, SYNC_END, PREFILLED, HANDED_OVER = range(1, 13)
MODE_NONE, MODE_PUBLISHED, MODE_LOCKSTEP = range(3)
ROTATE, CYCLE, WORK_CONSERVING, LIMIT_LONG, CAP_SHARED, EXEMPT_PROTECTED, TRIAGE, OBSERVE, DOWNSTREAM_ACTIVE, BY_DEADLINE = (
    1 << i for i in range(10)
)
ARRIVAL_RESYNC, ARRIVAL_RUNNING, ARRIVAL_ALWAYS, ARRIVAL_RESPONDED = 1, 2, 4, 8
TEXT, AUDIO, IMAGE, VIDEO = 1, 2, 4, 8


def _table(text):
    return [(n, t, int(at)) for n, rest in (f.split(":") for f in text.split()) for t, at in [rest.split("@")]]


HEADER = _table(
    "magic:u64@0 layoutHash:u32@8 version:u32@12 totalBytes:u32@16 numStages:u32@20 ringSlots:u32@24 creatorPid:u32@28"
    " instance:u64@32 createdNs:i64@40 crc:u32@60"
)
CONTROLLER = _table("heartbeatNs:i64@0 pid:u32@8 mode:u32@12 published:u32@16 resync:u32@20 session:u32@24 readCursor0:u32@32")
BOUNDARY = _table(
    "bell:u32@0 nowNs:i64@8 step:u32@16 running:u32@20 waiting:u32@24 cursor:u32@28 crc:u32@32 answered:u32@64 stop:u32@68"
)
STAGE = _table(
    "heartbeatNs:i64@0 pid:u32@8 written:u32@12 dropped:u32@16 running:u32@20 waiting:u32@24 tokens:u32@28 step:u32@32"
    " appliedLevel:i32@36 claimed:u32@40 levelRefusal:u32@44 device:u32@48"
)
BANK = _table(
    "crc:u32@0 seq:u32@4 publishedNs:i64@8 numClasses:u32@16 epoch:u32@20 tableEpoch:u32@24 classEpoch:u32@28 flags:u32@32"
    " n:u32@36 nMin:u32@40 nMax:u32@44 m:u32@48 longCap:u32@52 level:i32@56 levelSms:u32@60 headroomSms:u32@64"
    " longDownstream:u32@68 pressureRaw:f64@80 pressure:f64@88 shareFloor:f64@96"
)
CLASS_ROW = _table("sloMs:f64@0 slowdown:f64@8 waitMs:f64@16 uGuard:f64@24 uLost:f64@32 path:u32@40 priority:i32@44")
CLASSES = _table("crc:u32@0 classEpoch:u32@4 length:u32@8")
EVENT = _table(
    "seq:u32@0 kind:u8@4 stage:u8@5 classIndex:u16@6 timeNs:i64@8 idHigh:u64@16 idLow:u64@24 a:u32@32 b:u32@36 c:u32@40"
    " d:u32@44 e:u32@48 f:u32@52 crc:u32@60"
)
ANSWER = _table("crc:u32@0 bell:u32@4 step:u32@8 numSlots:u32@12 level:i32@16 flags:u32@20")

LAYOUT_TEXT = ";".join(
    [
        f"version={WIRE_VERSION}",
        "sizes=" + ",".join(map(str, [HEADER_BYTES, BANK_BYTES, BANK_SCALARS, CLASS_ROW_BYTES, EVENT_BYTES, STAGE_BYTES])),
        "places="
        + ",".join(
            map(str, [CONTROLLER_OFFSET, BOUNDARY_OFFSET, STAGE_OFFSET, ANSWER_OFFSET, ANSWER_HEAD, ANSWER_SLOTS, CLASSES_OFFSET, CLASSES_HEAD, CLASSES_BYTES, RINGS_OFFSET])
        ),
        "limits=" + ",".join(map(str, [MAX_STAGES, MAX_CLASSES, MAX_KIND])),
        "refusals=" + ",".join(REFUSALS),
    ]
    + [
        f"{name}=" + ",".join(f"{n}:{t}@{at}" for n, t, at in fields)
        for name, fields in (
            ("header", HEADER),
            ("controller", CONTROLLER),
            ("boundary", BOUNDARY),
            ("stage", STAGE),
            ("bank", BANK),
            ("class", CLASS_ROW),
            ("classes", CLASSES),
            ("event", EVENT),
            ("answer", ANSWER),
        )
    ]
)
LAYOUT_HASH = zlib.crc32(LAYOUT_TEXT.encode())

_CODES = {"u8": "B", "u16": "H", "u32": "I", "i32": "i", "i64": "q", "u64": "Q", "f64": "d"}


def _struct(fields):
    """A `struct.Struct` of a table, its holes as padding."""
    text, at = "<", 0
    for _, kind, offset in fields:
        text += "x" * (offset - at) + _CODES[kind]
        at = offset + struct.calcsize("<" + _CODES[kind])
    return struct.Struct(text)


def _offset(fields, name):
    return next(at for n, _, at in fields if n == name)


_HEADER, _BANK, _CLASS, _EVENT, _ANSWER = (_struct(f) for f in (HEADER, BANK, CLASS_ROW, EVENT[:-1] + [("reserved", "u32", 56)], ANSWER))
CLASSES_STRUCT = _struct(CLASSES)
_BOUNDARY = _struct([(n, t, at - 8) for n, t, at in BOUNDARY[1:6]])
_CRC = struct.Struct("<I")


class WireError(Exception):
    """What was found in a segment does not follow the protocol, or the segment may not be used."""


class ClassRow:
    """One class; the fields are those of `CLASS_ROW`."""

    __slots__ = [n for n, _, _ in CLASS_ROW]

    def __init__(self, **values):
        for name in self.__slots__:
            setattr(self, name, values[name])

    def offsets(self, bucket_ms):
        """(protectMs, loseMs) of a bucket, by the arithmetic of the controller's core, to the last bit."""
        estimate = self.slowdown * bucket_ms + self.waitMs
        lose = self.uLost * estimate if self.uLost > 0 else -_INF
        protect = self.uGuard * estimate if self.uGuard > 0 else -_INF
        return (lose if protect < lose else protect), lose


class ControlState:
    """What the controller published last; the fields are those of `BANK`, and `classes`."""

    __slots__ = [n for n, _, _ in BANK if n not in ("crc", "numClasses")] + ["classes"]

    def __init__(self, **values):
        for name in self.__slots__:
            setattr(self, name, values[name])


_INF = float("inf")
_BANK_NAMES = [n for n, _, _ in BANK]
_ROW_NAMES = [n for n, _, _ in CLASS_ROW]
_STATE_NAMES = [n for n in _BANK_NAMES if n not in ("crc", "numClasses")]
_COUNT_AT = _BANK_NAMES.index("numClasses") - 1


def encode_state(state, seq):
    """The bytes of a bank."""
    values = {n: getattr(state, n, 0) for n in _BANK_NAMES}
    values.update(crc=0, seq=seq, numClasses=len(state.classes))
    body = bytearray(BANK_BYTES)
    body[0 : _BANK.size] = _BANK.pack(*(values[n] for n in _BANK_NAMES))
    for c, row in enumerate(state.classes):
        at = BANK_SCALARS + c * CLASS_ROW_BYTES
        body[at : at + _CLASS.size] = _CLASS.pack(*(getattr(row, n) for n in _ROW_NAMES))
    body[0:4] = _CRC.pack(zlib.crc32(body[4 : BANK_SCALARS + len(state.classes) * CLASS_ROW_BYTES]))
    return bytes(body)


def decode_state(bank, last_table=b"", last_classes=()):
    """Reads a copy of a bank. Raises `WireError`. Classes whose bytes are those of `last_table` are `last_classes` themselves: most
    states differ from the one before in their numbers alone."""
    if len(bank) != BANK_BYTES:
        raise WireError(f"a bank has {len(bank)} bytes, expected {BANK_BYTES}")
    crc, *numbers = _BANK.unpack_from(bank)
    count = numbers.pop(_COUNT_AT)
    if count > MAX_CLASSES:
        raise WireError(f"numClasses: {count} is more than {MAX_CLASSES}")
    if zlib.crc32(memoryview(bank)[4 : BANK_SCALARS + count * CLASS_ROW_BYTES]) != crc:
        raise WireError("the checksum of a bank is wrong")
    state = ControlState.__new__(ControlState)
    for name, value in zip(_STATE_NAMES, numbers):
        setattr(state, name, value)
    _check_state(state)
    if count and table_of(bank, count) == last_table:
        state.classes = last_classes
    else:
        state.classes = [
            ClassRow(**dict(zip(_ROW_NAMES, _CLASS.unpack_from(bank, BANK_SCALARS + c * CLASS_ROW_BYTES)))) for c in range(count)
        ]
        _check_classes(state.classes)
    return state


def table_of(bank, count):
    """The bytes of the classes in a bank."""
    return bank[BANK_SCALARS : BANK_SCALARS + count * CLASS_ROW_BYTES]


def _check_state(s):
    """A checksum can be right over nonsense; what would make a decision meaningless is refused here."""
    if not 1 <= s.m <= 1024 or s.nMax > 1024 or s.nMin > s.nMax or s.n > 1024:
        raise WireError(f"impossible rotation: n {s.n} in [{s.nMin}, {s.nMax}], m {s.m}")
    if not -1 <= s.level <= 255:
        raise WireError(f"impossible level {s.level}")
    for name, value in (("pressureRaw", s.pressureRaw), ("pressure", s.pressure)):
        if value == value and not 0 <= value <= 1:
            raise WireError(f"{name}: {value} is not in [0, 1]")
    if not 0 <= s.shareFloor <= 1:
        raise WireError(f"shareFloor: {s.shareFloor} is not in [0, 1]")


def _check_classes(rows):
    for c, row in enumerate(rows):
        if not 0 < row.sloMs < 1e12:
            raise WireError(f"classes.{c}.sloMs: impossible value {row.sloMs}")
        for name in _ROW_NAMES[1:5]:
            if not 0 <= getattr(row, name) < 1e12:
                raise WireError(f"classes.{c}.{name}: impossible value {getattr(row, name)}")
        if row.path > 1:
            raise WireError(f"classes.{c}.path: {row.path} is neither 0 nor 1")


def encode_event(seq, kind, stage, class_index, time_ns, id_high, id_low, a=0, b=0, c=0, d=0, e=0, f=0):
    """The bytes of an event, checksum included."""
    body = pack_event(seq, kind, stage, class_index, time_ns, id_high, id_low, a, b, c, d, e, f, 0)
    return body + _CRC.pack(zlib.crc32(body))


#: An event up to its checksum, which is the CRC-32 of these 60 bytes: the arguments of `encode_event` and a reserved 0.
pack_event = _EVENT.pack


def decode_event(body):
    """(seq, kind, stage, class, timeNs, idHigh, idLow, a … f) of a copy of an event. Raises `WireError`."""
    if len(body) != EVENT_BYTES:
        raise WireError(f"an event has {len(body)} bytes, expected {EVENT_BYTES}")
    if zlib.crc32(body[:60]) != _CRC.unpack_from(body, 60)[0]:
        raise WireError("the checksum of an event is wrong")
    values = _EVENT.unpack_from(body)[:-1]
    if not 1 <= values[1] <= MAX_KIND:
        raise WireError(f"unknown kind of event {values[1]}")
    if values[2] >= MAX_STAGES:
        raise WireError(f"impossible stage {values[2]}")
    return values


def request_hash(external_id):
    """A request across stages: (high, low) 64 bits of the first 128 of the SHA-256 of its external id."""
    digest = hashlib.sha256(external_id.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:16], "big")


def encode_header(num_stages, ring_slots, pid, instance, created_ns):
    total = RINGS_OFFSET + num_stages * ring_slots * EVENT_BYTES
    body = _HEADER.pack(MAGIC, LAYOUT_HASH, WIRE_VERSION, total, num_stages, ring_slots, pid, instance, created_ns, 0)[:60]
    return body + _CRC.pack(zlib.crc32(body))


def check_header(header, size):
    """(numStages, ringSlots) of a segment of `size` bytes. Raises `WireError`."""
    if len(header) < 64:
        raise WireError(f"the segment has {size} bytes, less than a header")
    magic, layout, version, total, stages, slots, _, _, _, crc = _HEADER.unpack_from(header)
    if magic != MAGIC:
        raise WireError(f"not a segment of ours: magic {magic:#x}, expected {MAGIC:#x}")
    if version != WIRE_VERSION or layout != LAYOUT_HASH:
        raise WireError(
            f"another version: {version} with layout {layout:#x}, expected {WIRE_VERSION} with {LAYOUT_HASH:#x};"
            " install the Python package that ships with the controller"
        )
    if crc != zlib.crc32(header[:60]):
        raise WireError("the checksum of the header is wrong")
    if not 1 <= stages <= MAX_STAGES or not 1 <= slots <= 1 << 20 or slots & (slots - 1):
        raise WireError(f"impossible sizes: {stages} stages, {slots} slots")
    if total != RINGS_OFFSET + stages * slots * EVENT_BYTES or total > size:
        raise WireError(f"the segment has {size} bytes, its header says {total}")
    return stages, slots
