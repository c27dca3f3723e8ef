"""The shim's own share of an engine step, without an engine: `boundary_cost.py STEPS`. Standard library only. Prints ns as JSON."""

import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
os.environ["HORIZONSERVE_SEGMENT"] = f"bench-boundary-{os.getpid()}"

from horizonserve import wire  # noqa: E402
from horizonserve.classes import Features  # noqa: E402
from horizonserve.settings import Settings, open_segment  # noqa: E402
from horizonserve.shim import Shim  # noqa: E402

TEXT = json.dumps(
    {
        "classes": [
            {"name": "text", "outputs": 1, "shared": {"fixedMs": 5, "promptTokens": [[1, 0.1]]}, "downstream": {}},
            {"name": "speech", "outputs": 2, "shared": {"fixedMs": 10, "promptTokens": [[1, 0.2]]}, "downstream": {"fixedMs": 100}},
        ]
    }
).encode()


class Request:
    def __init__(self, number):
        self.request_id, self.number, self.arrival_time, self.status = f"r{number}", number, time.time(), "waiting"


def publish(segment):
    head = wire.CLASSES_STRUCT.pack(0, 1, len(TEXT)) + bytes(4)
    at = wire.CLASSES_OFFSET
    segment._map[at : at + 16] = wire._CRC.pack(wire.zlib.crc32(TEXT, wire.zlib.crc32(head[4:]))) + head[4:]
    segment._map[at + 16 : at + 16 + len(TEXT)] = TEXT
    rows = [wire.ClassRow(sloMs=200_000.0, slowdown=1.0, waitMs=0.0, uGuard=2.0, uLost=1.0, path=p, priority=0) for p in (0, 1)]
    state = wire.ControlState(**{n: 0 for n in wire.ControlState.__slots__ if n != "classes"}, classes=rows)
    state.m, state.nMin, state.nMax, state.longCap, state.classEpoch, state.tableEpoch = 2, 2, 8, 2, 1, 1
    state.flags = wire.ROTATE | wire.CYCLE | wire.WORK_CONSERVING | wire.LIMIT_LONG | wire.CAP_SHARED | wire.EXEMPT_PROTECTED | wire.TRIAGE
    bank = wire.HEADER_BYTES + wire.BANK_BYTES
    segment._map[bank : bank + wire.BANK_BYTES] = wire.encode_state(state, 1)
    segment.u32[wire.CONTROLLER_OFFSET // 4 + 4] = 1
    segment.u32[wire.CONTROLLER_OFFSET // 4 + 3] = wire.MODE_PUBLISHED


def measure(waiting, steps):
    segment = open_segment(Settings())
    publish(segment)
    shim = Shim(lambda r: Features(outputs=1 + r.number % 2, tokens=16 + r.number % 100), lambda r: r.status == "waiting", Settings(), False, segment)
    queue, number, running = shim.queue, 0, [None] * 64
    for number in range(waiting):
        queue.add_request(Request(number))
    samples = {"begin": [], "admit": [], "end": [], "tell": []}
    clock = time.perf_counter_ns
    for k in range(steps + 200):
        segment.i64[wire.CONTROLLER_OFFSET // 8] = time.monotonic_ns()
        segment.u32[segment._cursor] = segment.written
        a = clock()
        shim.begin_step(64)
        b = clock()
        request = queue.pop_request() if queue else None
        if request is not None:
            request.status = "running"
        c = clock()
        shim.end_step(100, running, "running")
        d = clock()
        shim.tell_step()
        e = clock()
        if k >= 200:
            for name, took in (("begin", b - a), ("admit", c - b), ("end", d - c), ("tell", e - d)):
                samples[name].append(took)
        if request is not None:
            shim.ended(request, False, 1)
            number += 1
            queue.add_request(Request(number))
        shim.after_output(lambda r: 1, lambda r: True)
    segment.close()
    result = {}
    for name, values in samples.items():
        values.sort()
        result[name] = {"p50": values[len(values) // 2], "p99": values[int(0.99 * len(values))], "min": values[0]}
    return result


print(json.dumps({str(waiting): measure(waiting, int(sys.argv[1])) for waiting in (64, 256, 1024, 10_000)}))
