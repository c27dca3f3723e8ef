"""A real scheduler in real time, for the cases that break something around it."""

import gc
import logging
import random
import time

from harness import Loop, RequestStatus, make_request, make_scheduler
from suite import LONG
from workload import workload

from horizonserve import wire
from horizonserve.vllm import HorizonScheduler

#: Far beyond what anything takes; a machine that is busy with something else must not fail a case.
WAIT_S = 400


class Lines(logging.Handler):
    """What the engine's side says."""

    def __init__(self):
        super().__init__()
        self.said = []
        logging.getLogger("horizonserve").addHandler(self)

    def emit(self, record):
        self.said.append(record.getMessage())


class Engine:
    """A real scheduler in real time, with work that never runs dry."""

    def __init__(self, seed=1):
        self.scheduler = make_scheduler(HorizonScheduler, 90, 16, 256)
        # As vLLM's engine process does before it serves; a full collection over all that was imported takes half a second.
        gc.collect()
        gc.freeze()
        self.shim = self.scheduler.horizon
        self.blocks = self.scheduler.kv_cache_manager.block_pool.get_num_free_blocks()
        self.loop = Loop(self.scheduler, seed=seed)
        self.items = workload(seed, 200_000 if LONG else 20_000)
        self.at = 0
        self.longest_ms = 0.0
        #: What the shim added to one step, at most.
        self.extra_ms = 0.0
        self.step_extra_ns = 0
        for name in ("begin_step", "end_step", "tell_step"):
            self._time(name)
        self.lines = Lines()
        self.start = time.monotonic()
        self.aborted = set()
        self.random = random.Random(seed)

    def _time(self, name):
        """Counts what a part of the shim takes."""
        plain = getattr(self.shim, name)

        def timed(*args):
            start = time.perf_counter_ns()
            try:
                return plain(*args)
            finally:
                self.step_extra_ns += time.perf_counter_ns() - start

        setattr(self.shim, name, timed)

    def mode(self):
        return self.shim.segment.controller_mode(time.monotonic_ns())

    def step(self):
        while len(self.scheduler.waiting) < 40:
            item = self.items[self.at]
            self.at += 1
            self.scheduler.add_request(make_request(item.id, item.tokens, item.max_tokens, item.priority, time.time(), extra_args={"modalities": ["audio" if item.long else "text"]}))
        heartbeat = self.shim.segment.i64[wire.CONTROLLER_OFFSET // 8]
        stale = time.monotonic_ns() - heartbeat > wire.CONTROLLER_STALE_MS * 1_000_000
        self.step_extra_ns = 0
        start = time.perf_counter()
        self.loop.step()
        if stale and self.shim.segment.i64[wire.CONTROLLER_OFFSET // 8] == heartbeat:
            assert self.shim.mode == wire.MODE_NONE, "a step followed a controller whose heartbeat is stale"
            everything_is_visible(self)
        self.longest_ms = max(self.longest_ms, (time.perf_counter() - start) * 1000)
        self.extra_ms = max(self.extra_ms, self.step_extra_ns / 1e6)
        if self.random.random() < 0.02:
            victim = next(iter(self.scheduler.waiting))
            self.scheduler.finish_requests(victim.request_id, RequestStatus.FINISHED_ABORTED)
            self.aborted.add(victim.request_id)

    def run(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.step()
            time.sleep(0.001)

    def until(self, wanted, seconds=WAIT_S):
        """Steps until the shim follows a mode; returns how long it took, ms."""
        start = time.monotonic()
        while self.shim.mode != wanted:
            assert time.monotonic() - start < seconds, f"mode {self.shim.mode} instead of {wanted} after {seconds} s"
            self.step()
            time.sleep(0.001)
        return (time.monotonic() - start) * 1000

    def until_visible(self):
        """Steps until a step follows nobody; ms since the controller's last sign of life when that step began to schedule, and since now."""
        start = time.monotonic_ns()
        beat = self.shim.segment.i64[wire.CONTROLLER_OFFSET // 8]
        self.until(wire.MODE_NONE)
        now = self.shim.teller.now_ns
        return (now - beat) / 1e6, (now - start) / 1e6

    def finish(self):
        """Everything that was ever added ends once, and nothing leaks."""
        while self.scheduler.has_unfinished_requests():
            self.loop.step()
        self.loop.drain()
        self.loop.step()
        finished = self.loop.finished
        expected = {i.id for i in self.items[: self.at]} - self.aborted
        assert len(finished) == len(set(finished)) and expected <= set(finished), "a request was lost or finished twice"
        assert self.scheduler.kv_cache_manager.block_pool.get_num_free_blocks() == self.blocks, "KV blocks leaked"
        assert not self.shim.entries and len(self.shim.queue) == 0
        self.shim.segment.close()
        complaints = [line for line in self.lines.said if "controller" not in line]
        # Trouble of one kind is told once in ten seconds.
        assert len(complaints) <= 4 * (1 + (time.monotonic() - self.start) / 10), complaints[-10:]
        return {
            "requests": self.at, "steps": self.loop.steps, "longestStepMs": round(self.longest_ms, 2), "longestExtraStepMs": round(self.extra_ms, 2),
            "dropped": self.shim.segment.dropped, "refusedStates": self.shim.segment.refused, "engineComplaints": len(complaints),
        }


def everything_is_visible(engine):
    """After a controller is gone, the queue reads like the engine's own."""
    queue = engine.shim.queue
    assert not queue.set.classes and sum(queue.set.counts) == 0
