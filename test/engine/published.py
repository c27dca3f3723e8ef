"""A published state without a controller behind it, so that a case can say step by step what is in force."""

import json
import time

from horizonserve import wire

TEXT_AND_LONG = ("text", "image")


class Published:
    """Writes classes and state into a segment, and beats. Two classes: text on the short path, the other on the long one."""

    def __init__(self, segment, cap=2, flags=wire.LIMIT_LONG | wire.CAP_SHARED | wire.WORK_CONSERVING, second=("image", wire.IMAGE), slo_ms=60_000.0, **more):
        self.segment, self.seq, self.more = segment, 0, {"m": 1, "longCap": cap, "flags": flags, **more}
        text = json.dumps({"classes": [{"name": "text", "outputs": wire.TEXT}, {"name": second[0], "outputs": second[1]}]}).encode()
        body = wire.CLASSES_STRUCT.pack(0, 1, len(text)) + bytes(wire.CLASSES_HEAD - wire.CLASSES_STRUCT.size) + text
        body = wire._CRC.pack(wire.zlib.crc32(body[4:])) + body[4:]
        segment._map[wire.CLASSES_OFFSET : wire.CLASSES_OFFSET + len(body)] = body
        self.rows = [wire.ClassRow(sloMs=slo_ms, slowdown=1.0, waitMs=0.0, uGuard=0.0, uLost=0.0, path=path, priority=10 * path) for path in (0, 1)]
        segment.u32[wire.CONTROLLER_OFFSET // 4 + 3] = wire.MODE_PUBLISHED
        self.publish()

    def publish(self, **more):
        self.more.update(more)
        state = wire.ControlState(**{n: 0 for n in wire.ControlState.__slots__ if n != "classes"}, classes=self.rows)
        for name, value in {"classEpoch": 1, "tableEpoch": 1, **self.more}.items():
            setattr(state, name, value)
        self.seq += 1
        at = wire.HEADER_BYTES + (self.seq & 1) * wire.BANK_BYTES
        self.segment._map[at : at + wire.BANK_BYTES] = wire.encode_state(state, self.seq)
        self.segment.u32[wire.CONTROLLER_OFFSET // 4 + 4] = self.seq
        self.beat()

    def beat(self):
        self.segment.i64[wire.CONTROLLER_OFFSET // 8] = time.monotonic_ns()

    def stop(self):
        self.segment.i64[wire.CONTROLLER_OFFSET // 8] = 0

    def silent_for(self, seconds):
        """The last beat was so long ago."""
        self.segment.i64[wire.CONTROLLER_OFFSET // 8] = time.monotonic_ns() - int(seconds * 1e9)


def events_of(segment):
    """(kind, slot, flags, id) of everything told so far."""
    told = []
    for k in range(segment.written):
        at = segment._ring + (k & segment._ring_mask) * 64
        _, kind, _, _, _, _, low, a, _, _, _, _, f = wire.decode_event(segment._map[at : at + 64])
        told.append((kind, a, f, low))
    return [each for each in told if each[0] not in (wire.STEP, wire.ACTIVITY)]
