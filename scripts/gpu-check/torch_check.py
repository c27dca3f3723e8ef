"""The ladder under torch streams: two stages in one process, co-running with and without a cap, and the cost of a switch from
Python. Writes one check result as JSON.

    python3 scripts/gpu-check/torch_check.py FOLDER   (reads FOLDER/description.json)
"""

from __future__ import annotations

import statistics
import sys
import time
import traceback

from torch_result import QUICK, Result

RESULT = Result("torch", sys.argv[1])
torch = RESULT.torch()


def run() -> None:
    from horizonserve.green import Ladder

    description = RESULT.description()
    words = 2**16 if QUICK else 2**28
    size = 64 if QUICK else 4096
    steps = 5 if QUICK else 40
    # Random, not zero: multiplying zeros takes less power, and the clocks rise.
    source = torch.randn(words, dtype=torch.float32, device="cuda")
    matrix = torch.randn((size, size), dtype=torch.float16, device="cuda")
    torch.cuda.synchronize()
    # Both sides in this process, each by its own split call, as two processes would.
    with Ladder.from_description(description, "shared") as shared, Ladder.from_description(description, "downstream") as downstream:

        def read() -> None:
            source.sum()

        def multiply() -> None:
            torch.matmul(matrix, matrix)

        def timed(work: object, stream: object, count: int, beside: object = None, other: object = None) -> float:
            """Median step in ms by events; `beside` is enqueued on `other` around every step, more than fits its time."""
            marks = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
            if beside is not None:
                enqueue(beside, other, 6)
            with torch.cuda.stream(stream):
                marks[0].record(stream)
            for i in range(count):
                with torch.cuda.stream(stream):
                    work()
                    marks[i + 1].record(stream)
                if beside is not None:
                    enqueue(beside, other, 6)
            torch.cuda.synchronize()
            return statistics.median(a.elapsed_time(b) for a, b in zip(marks, marks[1:]))

        def enqueue(work: object, stream: object, count: int) -> None:
            with torch.cuda.stream(stream):
                for _ in range(count):
                    work()

        rows = []
        for level, row in enumerate(shared.rows):
            if level == shared.aggressive_index:
                continue
            a, b = shared.torch_stream(level), downstream.torch_stream(level)
            timed(read, a, 3), timed(multiply, b, 3)
            rows.append(
                {
                    "sms": f"{shared.sms(level)}/{downstream.sms(level)}",
                    "kind": "off" if level == shared.off_index else "co-running",
                    "readAloneMs": timed(read, a, steps),
                    "multiplyAloneMs": timed(multiply, b, steps),
                    "readBesideMs": timed(read, a, steps, multiply, b),
                    "multiplyBesideMs": timed(multiply, b, steps, read, a),
                }
            )
        with shared.at(0):
            read()
        torch.cuda.synchronize()

        count, times = len(shared.rows), []
        for i in range(1000 if QUICK else 100_000):
            start = time.perf_counter_ns()
            shared.apply(i % count)
            times.append(time.perf_counter_ns() - start)
        if shared.read_back() != (len(times) - 1) % count:
            RESULT.failed.append("the row applied last is not in force")
        shared.apply(shared.off_index)
        times.sort()
        switch = {"p50": times[len(times) // 2], "p99": times[len(times) * 99 // 100], "max": times[-1]}
        RESULT.values.update(switchNs=switch, rows=rows)
        # Before the ladder closes, which can take the process with it.
        RESULT.write()


try:
    run()
except Exception:
    RESULT.failed.append(traceback.format_exc())
RESULT.finish()
