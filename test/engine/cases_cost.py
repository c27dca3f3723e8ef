"""What the engine pays: `schedule()` under the shim minus vanilla, beside a naive filter that takes hidden requests out and puts them
back, all in one run, each one first, second and last equally often, so that the machine's noise falls on all alike. Twice: in blocks of
steps, one right after the other, where each has its code and data in the caches; and step by step in turn with pauses, where each finds
them cold, as in an engine that waits for its device. What the shim does after the step is on the device (`tell`), and what
`update_from_output` costs more, is told beside it.
"""

import gc
import time

from harness import Loop, make_request, make_scheduler
from suite import LONG, case, controller, segment_name, stop
from vllm.v1.core.sched.async_scheduler import AsyncScheduler

from horizonserve import wire
from horizonserve.vllm import HorizonScheduler

STEPS = 2000 if LONG else 200
SIZES = (64, 256, 1024, 10_000)
RUNNING = 64
BLOCK = 25


class NaiveScheduler(AsyncScheduler):
    """Takes every second waiting request out for a step and restores the order afterwards: what a filter without sub-queues does."""

    def schedule(self, *args, **kwargs):
        before = list(self.waiting)
        known = set(before)
        hidden = {r for i, r in enumerate(before) if i % 2}
        self.waiting.remove_requests(hidden)
        try:
            return super().schedule(*args, **kwargs)
        finally:
            left = set(self.waiting)
            order = [r for r in self.waiting if r not in known] + [r for r in before if r in hidden or r in left]
            self.waiting.clear()
            self.waiting.extend(order)


class Bench:
    """One scheduler with 64 decodes that never end; each step admits one request, which then ends at once."""

    def __init__(self, cls, waiting):
        self.scheduler = make_scheduler(cls, 20_000, RUNNING + 1, 2048)
        self.loop = Loop(self.scheduler, lag=0)
        self.number = 0
        for _ in range(RUNNING):
            self.add(2000)
        for _ in range(20):
            self.loop.step()
        while len(self.scheduler.waiting) < waiting:
            self.add(1)
        self.clear()

    def clear(self):
        self.samples, self.tells, self.updates, self.admitted = [], [], [], 0

    def add(self, max_tokens):
        self.number += 1
        self.scheduler.add_request(
            make_request(f"b{self.number}", 16 + self.number % 100, max_tokens, arrival=time.time(), extra_args={"modalities": ["text" if self.number % 2 else "audio"]})
        )

    def step(self):
        scheduler = self.scheduler
        start = time.perf_counter_ns()
        output = scheduler.schedule()
        took = time.perf_counter_ns() - start
        admitted = len(output.scheduled_new_reqs)
        self.admitted += admitted
        self.samples.append(took)
        start = time.perf_counter_ns()
        scheduler.get_grammar_bitmask(output)
        self.tells.append(time.perf_counter_ns() - start)
        start = time.perf_counter_ns()
        self.loop.deliver(output)
        self.updates.append(time.perf_counter_ns() - start)
        for _ in range(admitted):
            self.add(1)


def _quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))] / 1000


def _pair(values):
    return {"p50": round(_quantile(values, 0.5), 1), "p99": round(_quantile(values, 0.99), 1)}


def _row(ours, vanilla, naive, begins):
    def of(samples, minus=None):
        return _pair([a - b for a, b in zip(samples, minus)] if minus else samples)

    return {
        "steps": len(begins),
        "vanillaUs": of(vanilla.samples),
        "extraUs": of(ours.samples, vanilla.samples),
        "naiveExtraUs": of(naive.samples, vanilla.samples),
        "beginUs": of(begins),
        "tellUs": of(ours.tells, vanilla.tells),
        "updateExtraUs": of(ours.updates, vanilla.updates),
        "admissionsPerStep": round(ours.admitted / len(ours.samples), 2),
    }


def _measure(turns, ours, steps, block):
    """`block` steps of each in turn, until each has made `steps`; returns what the boundary took in ours."""
    for bench in turns:
        bench.clear()
    begins = []
    for _ in range(steps // block):
        turns.append(turns.pop(0))
        for bench in turns:
            for _ in range(block):
                bench.step()
                if bench is ours:
                    begins.append(bench.scheduler.horizon.boundary_ns)
        time.sleep(0.0005)
    return begins


def _cost(waiting, rhythm, block):
    name = segment_name(f"cost-{waiting}-{rhythm}")
    process = controller(name, "published", {"uGuard": 1.5})
    ours, vanilla, naive = (Bench(cls, waiting) for cls in (HorizonScheduler, AsyncScheduler, NaiveScheduler))
    shim = ours.scheduler.horizon
    end = time.monotonic() + 30
    while shim.mode != wire.MODE_PUBLISHED:
        assert time.monotonic() < end, "no controller"
        ours.step()
        time.sleep(0.005)
    for bench in (ours, vanilla, naive):
        for _ in range(50):
            bench.step()
    gc.collect()
    gc.disable()
    begins = _measure([ours, vanilla, naive], ours, STEPS if waiting <= 1024 else max(200, STEPS // 4), block)
    gc.enable()
    assert shim.mode == wire.MODE_PUBLISHED
    shim.segment.close()
    stop(process)
    return _row(ours, vanilla, naive, begins)


@case
def cost_on_the_engines_path():
    return {str(waiting): {rhythm: _cost(waiting, rhythm, block) for rhythm, block in (("warm", BLOCK), ("cold", 1))} for waiting in SIZES}
