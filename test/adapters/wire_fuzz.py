"""Random and mutated bytes into the Python readers: `wire_fuzz.py <runs> <seed>`. Only `WireError` may escape. Mutations repair magic
and checksums, so that the code behind them is reached. Prints how many inputs were accepted and refused."""

import json
import random
import struct
import sys
import zlib
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from horizonserve import wire  # noqa: E402
from horizonserve.classes import ClassBook, Features  # noqa: E402

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


def one(rng, kind, is_random):
    if kind == 0:
        body = bytearray(rng.randbytes(64)) if is_random else mutate(rng, HEADER)
        if rng.random() < 0.8:
            body[0:8], body[8:16] = HEADER[0:8], HEADER[8:16]
            body[60:64] = struct.pack("<I", zlib.crc32(bytes(body[:60])))
        wire.check_header(bytes(body), rng.choice((64, 1 << 20, 1 << 40)))
    elif kind == 1:
        body = bytearray(rng.randbytes(wire.BANK_BYTES)) if is_random else mutate(rng, BANK)
        if rng.random() < 0.9:
            count = min(struct.unpack_from("<I", body, 16)[0], wire.MAX_CLASSES)
            body[0:4] = struct.pack("<I", zlib.crc32(bytes(body[4 : wire.BANK_SCALARS + count * wire.CLASS_ROW_BYTES])))
        state = wire.decode_state(bytes(body))
        for row in state.classes:
            protect, lose = row.offsets(12.5)
            assert protect >= lose
    elif kind == 2:
        body = bytearray(rng.randbytes(64)) if is_random else mutate(rng, EVENT)
        if rng.random() < 0.9:
            body[60:64] = struct.pack("<I", zlib.crc32(bytes(body[:60])))
        wire.decode_event(bytes(body))
    else:
        text = mutate(rng, TEXT.encode()).decode("utf-8", "replace")
        book = ClassBook(text, ROWS)
        book.bucket_of(book.class_of(Features(outputs=rng.randrange(16))), Features(tokens=rng.randrange(1 << 31)))


def main():
    runs, seed = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    accepted = refused = 0
    for i in range(runs):
        try:
            one(rng, i & 3 if i % 16 else 3, rng.random() < 0.2)
            accepted += 1
        except wire.WireError:
            refused += 1
    print(json.dumps({"runs": runs, "accepted": accepted, "refused": refused}))


if __name__ == "__main__":
    main()
