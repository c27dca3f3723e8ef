"""The shim's own share of an engine step, without an engine: `boundary_cost.py STEPS`. Standard library only. Prints as JSON ns, and the
Python instructions that each part takes, which no neighbour on the machine disturbs."""

import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
os.environ["HORIZONSERVE_SEGMENT"] = f"bench-boundary-{os.getpid()}"

from horizonserve import wire  # noqa: E402
from horizonserve.describe import describe  # noqa: E402
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


#: Turns before the clock runs, and turns counted instead of timed.
APART = 200


class Sampling:
    def __init__(self, modality):
        self.extra_args = {"modalities": [modality]}


class Request:
    """As much of an engine's request as the shim reads."""

    priority, mm_features = 0, ()

    def __init__(self, number):
        self.request_id, self.number, self.arrival_time, self.status = f"r{number}", number, time.time(), "waiting"
        self.num_prompt_tokens = 16 + number % 100
        self.sampling_params = Sampling("audio" if number % 2 else "text")


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


def timed(part):
    """Nanoseconds that a part takes."""
    start = time.perf_counter_ns()
    part()
    return time.perf_counter_ns() - start


def counted(part):
    """Python instructions that a part takes, of its functions and of what they call."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    sys.settrace(trace)
    try:
        part()
    finally:
        sys.settrace(None)
    return count


def measure(waiting, steps):
    segment = open_segment(Settings())
    publish(segment)
    shim = Shim(describe, lambda r: r.status == "waiting", Settings(), False, segment)
    queue, number, running = shim.queue, 0, [None] * 64
    for number in range(waiting):
        queue.add_request(Request(number))
    request = None

    def admit():
        nonlocal request
        request = queue.pop_request() if queue else None
        if request is not None:
            request.status = "running"

    def leave():
        if request is not None:
            shim.ended(request, False, 1)

    def arrive():
        if request is not None:
            queue.add_request(coming)

    parts = {
        "begin": lambda: shim.begin_step(64), "admit": admit, "end": lambda: shim.end_step(100, running, "running"), "tell": shim.tell_step,
        "leave": leave, "output": lambda: shim.after_output(lambda r: 1, lambda r: True), "arrive": arrive,
    }
    taken, instructions = {name: [] for name in parts}, {name: [] for name in parts}
    for k in range(steps + 2 * APART):
        segment.i64[wire.CONTROLLER_OFFSET // 8] = time.monotonic_ns()
        segment.u32[segment._cursor] = segment.written
        # The first warm up, and the last are counted: a trace makes everything slower.
        meter, into = (counted, instructions) if k >= steps + APART else (timed, taken)
        coming = Request(number := number + 1)
        for name, part in parts.items():
            cost = meter(part)
            if k >= APART:
                into[name].append(cost)
    segment.close()
    result = {}
    for name, values in taken.items():
        values.sort()
        result[name] = {"p50": values[len(values) // 2], "p99": values[int(0.99 * len(values))], "min": values[0], "instructions": sorted(instructions[name])[APART // 2]}
    return result


print(json.dumps({str(waiting): measure(waiting, int(sys.argv[1])) for waiting in (64, 256, 1024, 10_000)}))
