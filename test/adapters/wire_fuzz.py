"""Random and mutated bytes into the Python readers: `wire_fuzz.py <runs> <seed>`. Only `WireError` may escape. Mutations repair magic
and checksums, so that the code behind them is reached. A mapped segment is read as the engine does it: its banks, the answer to a
step, and the class descriptions. Prints how many inputs of each kind were accepted and refused."""

import json
import os
import random
import struct
import sys
import time
import zlib
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from horizonserve import wire  # noqa: E402
from horizonserve.classes import ClassBook, Features  # noqa: E402
from horizonserve.segment import Segment  # noqa: E402

GOLDEN = (ROOT / "test/golden/wire/by-python.bin").read_bytes()
HEADER, BANK, EVENT = GOLDEN[:64], GOLDEN[64 : 64 + wire.BANK_BYTES], GOLDEN[64 + wire.BANK_BYTES :]
TEXT = json.dumps({"classes": [{"name": "a", "inputs": 1, "outputs": 1, "shared": {"fixedMs": 1, "promptTokens": [[1, 2], [10, 5]]}, "downstream": {}}]})
ROWS = [SimpleNamespace(priority=0)]


def mutate(rng, data):
    body = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 8))):
        at = rng.randrange(len(body))
        body[at] = rng.choice((0, 255, 127, 128, body[at] ^ (1 << rng.randrange(8)), rng.randrange(256)))
    return body


def header(rng, is_random):
    body = bytearray(rng.randbytes(64)) if is_random else mutate(rng, HEADER)
    if rng.random() < 0.8:
        body[0:8], body[8:16] = HEADER[0:8], HEADER[8:16]
        body[60:64] = struct.pack("<I", zlib.crc32(bytes(body[:60])))
    wire.check_header(bytes(body), rng.choice((64, 1 << 20, 1 << 40)))


def a_bank(rng, is_random):
    body = bytearray(rng.randbytes(wire.BANK_BYTES)) if is_random else mutate(rng, BANK)
    if rng.random() < 0.9:
        count = min(struct.unpack_from("<I", body, 16)[0], wire.MAX_CLASSES)
        body[0:4] = struct.pack("<I", zlib.crc32(bytes(body[4 : wire.BANK_SCALARS + count * wire.CLASS_ROW_BYTES])))
    return bytes(body)


def bank(rng, is_random):
    for row in wire.decode_state(a_bank(rng, is_random)).classes:
        protect, lose = row.offsets(12.5)
        assert protect >= lose


def event(rng, is_random):
    body = bytearray(rng.randbytes(64)) if is_random else mutate(rng, EVENT)
    if rng.random() < 0.9:
        body[60:64] = struct.pack("<I", zlib.crc32(bytes(body[:60])))
    wire.decode_event(bytes(body))


def classes(rng, is_random):
    text = (bytearray(rng.randbytes(80)) if is_random else mutate(rng, TEXT.encode())).decode("utf-8", "replace")
    book = ClassBook(text, ROWS)
    book.bucket_of(book.class_of(Features(outputs=rng.randrange(16))), Features(tokens=rng.randrange(1 << 31)))


class Mapped:
    """A segment of our own. What the controller would have written there is anything at all."""

    def __init__(self):
        self.segment = Segment.open(f"fuzz-{os.getpid()}", ring_slots=64)
        self.step = 0

    def bank(self, rng, is_random):
        segment, at = self.segment, wire.HEADER_BYTES
        body = bytearray(a_bank(rng, is_random))
        index = rng.choice((1 + rng.randrange(1 << 32) & 0xFFFFFFFF, struct.unpack_from("<I", body, 4)[0]))
        segment._map[at + (index & 1) * wire.BANK_BYTES : at + (index & 1) * wire.BANK_BYTES + wire.BANK_BYTES] = bytes(body)
        segment.u32[wire.CONTROLLER_OFFSET // 4 + 4] = index
        before, refused = segment.state, segment.refused
        state = segment.read_state()
        if segment.refused > refused:
            assert state is before, "a state that cannot be used must leave the one before"
            raise wire.WireError("refused")

    def answer(self, rng, is_random):
        segment, at = self.segment, wire.ANSWER_OFFSET
        self.step += 1
        count = rng.choice((0, 1, 7, wire.ANSWER_SLOTS, wire.ANSWER_SLOTS + 1, rng.randrange(1 << 32)))
        head = bytearray(wire._ANSWER.pack(0, self.step, self.step, count, rng.randrange(-1, 4), 0).ljust(wire.ANSWER_HEAD, b"\0"))
        head = bytearray(rng.randbytes(wire.ANSWER_HEAD)) if is_random else mutate(rng, head) if rng.random() < 0.5 else head
        if rng.random() < 0.9:
            count = min(struct.unpack_from("<I", head, 12)[0], wire.ANSWER_SLOTS)
            slots = segment._map[at + wire.ANSWER_HEAD : at + wire.ANSWER_HEAD + 4 * count]
            head[0:4] = struct.pack("<I", zlib.crc32(slots, zlib.crc32(bytes(head[4:]))))
        segment._map[at : at + wire.ANSWER_HEAD] = bytes(head)
        answer = segment._read_answer(self.step, self.step)
        if answer is None:
            raise wire.WireError("refused")
        assert len(answer[2]) <= wire.ANSWER_SLOTS

    def classes(self, rng, is_random):
        segment, at = self.segment, wire.CLASSES_OFFSET
        text = rng.randbytes(rng.randrange(200)) if is_random else bytes(mutate(rng, TEXT.encode()))
        head = bytearray(wire.CLASSES_STRUCT.pack(0, 7, len(text)).ljust(wire.CLASSES_HEAD, b"\0"))
        if rng.random() < 0.3:
            head = mutate(rng, head)
        segment._map[at + wire.CLASSES_HEAD : at + wire.CLASSES_HEAD + len(text)] = text
        if rng.random() < 0.9:
            head[0:4] = struct.pack("<I", zlib.crc32(text, zlib.crc32(bytes(head[4:]))))
        segment._map[at : at + wire.CLASSES_HEAD] = bytes(head)
        ClassBook(segment.read_classes(7), ROWS)


def main():
    runs, seed = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    mapped = Mapped()
    kinds = [
        ("event", event), ("event", event), ("event", event), ("event", event), ("event", event), ("event", event), ("event", event),
        ("header", header), ("bank", bank), ("bank", bank), ("classes", classes),
        ("bank in a segment", mapped.bank), ("bank in a segment", mapped.bank), ("answer", mapped.answer), ("answer", mapped.answer),
        ("classes in a segment", mapped.classes),
    ]
    said = {name: {"accepted": 0, "refused": 0} for name, _ in kinds}
    start = time.monotonic()
    for i in range(runs):
        name, read = kinds[i % len(kinds)]
        try:
            read(rng, rng.random() < 0.2)
            said[name]["accepted"] += 1
        except wire.WireError:
            said[name]["refused"] += 1
    mapped.segment.close()
    totals = {key: sum(each[key] for each in said.values()) for key in ("accepted", "refused")}
    print(json.dumps({"runs": runs, "seconds": round(time.monotonic() - start, 1), **totals, "kinds": said}))


if __name__ == "__main__":
    main()
