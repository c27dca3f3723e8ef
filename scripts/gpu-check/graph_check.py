"""What CUDA graphs, attention and `Ladder.at` do on the rows of a ladder: the questions that the worker hook's rules rest on.

    python3 scripts/gpu-check/graph_check.py FOLDER   (reads FOLDER/description.json, writes FOLDER/graphs.json)

Expected on a GPU: a graph captured outside of a row takes the same time on every row (it ignores them), one captured on a row takes the
row's time whatever stream replays it. Both are checked where the rows differ enough to tell.
"""

from __future__ import annotations

import statistics
import sys
import time
import traceback
from collections.abc import Callable

from torch_result import QUICK, Result

RESULT = Result("graphs", sys.argv[1])
torch = RESULT.torch()
STEPS = 3 if QUICK else 20
KERNELS = 8


def timed(call: Callable[[], object], stream: object) -> float:
    """Mean ms of a call on a stream."""
    first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(stream):
        call()
        first.record(stream)
        for _ in range(STEPS):
            call()
        last.record(stream)
    torch.cuda.synchronize()
    return first.elapsed_time(last) / STEPS


def part(name: str, call: Callable[[], object]) -> None:
    """One question; that it fails is a result too, and the next one is asked."""
    try:
        RESULT.values[name] = call()
    except Exception:
        RESULT.failed.append(f"{name}: {traceback.format_exc()[-1500:]}")
    RESULT.write()


def main() -> None:
    from horizonserve.graph_watch import GraphWatch
    from horizonserve.green import Ladder

    size = 64 if QUICK else 4096
    matrix = torch.randn((size, size), dtype=torch.float16, device="cuda")
    out = torch.empty_like(matrix)
    heads = torch.randn((4, 16, 16 * size // 32, 128), dtype=torch.float16, device="cuda")

    def multiply() -> object:
        return torch.matmul(matrix, matrix, out=out)

    def attend() -> object:
        return torch.nn.functional.scaled_dot_product_attention(heads, heads, heads, is_causal=True)

    ladder = Ladder.from_description(RESULT.description(), "shared")
    levels = [level for level in range(len(ladder.rows)) if level != ladder.aggressive_index]
    streams = {level: ladder.torch_stream(level) for level in levels}
    other = torch.cuda.Stream()

    def capture(stream: object) -> object:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(stream):
            multiply()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(KERNELS):
                multiply()
        return graph

    def eager() -> object:
        return [
            {"sms": ladder.sms(level), "matmulMs": timed(multiply, streams[level]), "attentionMs": timed(attend, streams[level])}
            for level in levels
        ]

    def graphs() -> object:
        outside = capture(other)
        before = torch.cuda.mem_get_info()[0]
        inside = {level: capture(streams[level]) for level in levels}
        RESULT.values["graphBytesPerRow"] = (before - torch.cuda.mem_get_info()[0]) / len(levels)
        rows = [
            {
                "sms": ladder.sms(level),
                "capturedOutsideMs": timed(outside.replay, streams[level]) / KERNELS,
                "capturedOnRowMs": timed(inside[level].replay, streams[level]) / KERNELS,
                "sameReplayedElsewhereMs": timed(inside[level].replay, other) / KERNELS,
            }
            for level in levels
        ]
        lowest, whole = rows[0], rows[-1]
        if lowest["capturedOnRowMs"] > 1.3 * whole["capturedOnRowMs"]:
            if lowest["capturedOutsideMs"] > 1.15 * whole["capturedOutsideMs"]:
                RESULT.failed.append("a graph captured outside of a row was slowed by it: the hook's rule is too strict")
            if lowest["sameReplayedElsewhereMs"] < 1.15 * whole["capturedOnRowMs"]:
                RESULT.failed.append("a graph captured on a row did not keep to it")
        else:
            RESULT.values["rowsTooAlike"] = True
        return rows

    def watched() -> object:
        """The hook's watch on torch's own graph class: it must see what runs outside of the row in force."""
        watch = GraphWatch()
        watch.install(torch.cuda.CUDAGraph)
        watch.row = -1
        graph = capture(other)
        watch.row = 0
        graph.replay()
        seen, own = watch.foreign, capture(streams[0])
        own.replay()
        watch.row = -1
        torch.cuda.synchronize()
        if seen != 1 or watch.foreign != 1:
            RESULT.failed.append(f"foreign replays seen: {seen} and {watch.foreign}, expected 1 and 1")
        return {"foreign": watch.foreign}

    def at_cost() -> object:
        times = []
        for i in range(50 if QUICK else 2000):
            start = time.perf_counter_ns()
            with ladder.at(levels[i % len(levels)]):
                pass
            times.append(time.perf_counter_ns() - start)
        torch.cuda.synchronize()
        times.sort()
        return {"p50": statistics.median(times), "p99": times[len(times) * 99 // 100], "max": times[-1]}

    def memory() -> object:
        """What torch keeps for itself after work on each row: an allocator pool and a workspace for every stream."""
        torch.cuda.empty_cache()
        start, rows = torch.cuda.memory_reserved(), []
        for level in levels:
            with ladder.at(level):
                torch.matmul(matrix, matrix)
            torch.cuda.synchronize()
            rows.append({"sms": ladder.sms(level), "reservedBytes": torch.cuda.memory_reserved() - start})
        return rows

    def copy_order() -> object:
        """Model Runner V2's shape: a copy stream that waits for a cached stream. In order only when that is the row's."""
        copies, wrong = torch.cuda.Stream(), 0
        for i in range(3 if QUICK else 50):
            with ladder.at(0) as stream:
                for _ in range(KERNELS):
                    multiply()
                made = torch.full((1024,), i, device="cuda")
                copies.wait_stream(stream)
                with torch.cuda.stream(copies):
                    host = made.to("cpu")
            wrong += int((host != i).sum())
        if wrong:
            RESULT.failed.append(f"{wrong} values were copied before they existed")
        return {"wrong": wrong}

    for name, question in (("rows", eager), ("graphRows", graphs), ("watch", watched), ("atNs", at_cost), ("memoryRows", memory), ("copies", copy_order)):
        part(name, question)
    ladder.close()


try:
    main()
except Exception:
    RESULT.failed.append(traceback.format_exc())
RESULT.finish()
