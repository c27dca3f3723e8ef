"""Writes or checks the golden bytes of the wire with the Python side: `wire_golden.py write|check <file>`. Standard library only."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from horizonserve import wire  # noqa: E402


def values():
    return json.loads((ROOT / "test/golden/wire/values.json").read_text())


def number(text):
    return int(text, 0) if isinstance(text, str) else text


def build():
    v = values()
    h, e, s = v["header"], v["event"], dict(v["state"])
    rows = [wire.ClassRow(**row) for row in s.pop("classes")]
    state = wire.ControlState(**{n: number(x) for n, x in s.items()}, seq=0, classes=rows)
    header = wire.encode_header(h["numStages"], h["ringSlots"], h["pid"], number(h["instance"]), number(h["createdNs"]))
    names = ("kind", "stage", "classIndex", "timeNs", "idHigh", "idLow", "a", "b", "c", "d", "e", "f")
    return header + wire.encode_state(state, v["seq"]) + wire.encode_event(e["seq"], *(number(e[n]) for n in names))


def check(data):
    v = values()
    stages, slots = wire.check_header(data[:64], 1 << 40)
    assert (stages, slots) == (v["header"]["numStages"], v["header"]["ringSlots"])
    state = wire.decode_state(data[64 : 64 + wire.BANK_BYTES])
    assert state.seq == v["seq"]
    for name, x in v["state"].items():
        if name != "classes":
            assert getattr(state, name) == number(x), name
    for row, expected in zip(state.classes, v["state"]["classes"], strict=True):
        for name, x in expected.items():
            assert getattr(row, name) == x, name
    event = wire.decode_event(data[64 + wire.BANK_BYTES :])
    names = ("seq", "kind", "stage", "classIndex", "timeNs", "idHigh", "idLow", "a", "b", "c", "d", "e", "f")
    assert list(event) == [number(v["event"][n]) for n in names]


if __name__ == "__main__":
    verb, path = sys.argv[1:]
    if verb == "write":
        Path(path).write_bytes(build())
    else:
        data = Path(path).read_bytes()
        check(data)
        assert data == build(), "the bytes differ from what Python writes"
    high, low = wire.request_hash(values()["hash"]["id"])
    print(json.dumps({"layout": wire.LAYOUT_TEXT, "hash": wire.LAYOUT_HASH, "high": hex(high), "low": hex(low)}))
