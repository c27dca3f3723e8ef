"""Nothing grows: the real scheduler, its model stubbed, never idle, under every part of the policy and in both modes. What lives is counted
by type, not by bytes, and the slope over the second half of the run must be zero.

Everyday: some thousands of requests each. `HORIZON_LONG=1`: 200,000 each, with payloads as images bring them.
"""

import gc
import random
import time

from harness import Loop, RequestStatus, make_request, make_scheduler
from suite import LONG, case, controller, segment_name, stop

from horizonserve import wire
from horizonserve.vllm import HorizonScheduler
from horizonserve.waiting import Entry, _List

REQUESTS = 200_000 if LONG else 1_000
WAITING = 40
PAYLOAD_BYTES = 1 << 20 if LONG else 1 << 12
SAMPLES = 20
#: More than what waits and runs: holes in lists, the steps under way.
SPARE = 400

OWN_COST = {
    "profile": {"text": {"shared": {"fixedMs": 5}}, "speech": {"shared": {"fixedMs": 10}, "downstream": {"fixedMs": 100}}},
}
PARTS = {
    "a cap of one": {"longPathCap": 1},
    "deadline order and a share floor": {"order": "deadline", "triage": {"shareFloor": 0.3}},
    # Everything is lost at once, and all of it stays in the heap of the lost.
    "all is late": {"classes": {"text": {"output": "text", "sloMs": 1}, "speech": {"output": "audio", "sloMs": 1}}, "uGuard": 0, "longPathCap": 1},
    "defaults": {},
    "a cap on prefills": {"longPathCap": 1, "capCounts": "prefill"},
    "no cap": {"longPathCap": False},
    "the literal preset": {"preset": "literal"},
    "no rotation": {"rotation": False, "longPathCap": 2},
    "no triage": {"triage": False, "longPathCap": 1},
}


class Payload:
    """A prompt's picture. A type of its own, to be counted."""

    def __init__(self):
        self.picture = bytes(PAYLOAD_BYTES)


def _alive():
    counts = {Payload: 0, Entry: 0, _List: 0}
    for each in gc.get_objects():
        kind = type(each)
        if kind in counts:
            counts[kind] += 1
    return {kind.__name__.lstrip("_").lower(): n for kind, n in counts.items()}


def _slope(rows, name):
    """Objects per thousand requests, by least squares over the second half."""
    half = rows[len(rows) // 2 :]
    xs, ys = [r["requests"] / 1000 for r in half], [r[name] for r in half]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys)) / sum((a - x) ** 2 for a in xs)


class _Never:
    """An engine that is never idle."""

    def __init__(self, label, mode, config):
        self.process = controller(segment_name(label), mode, {**OWN_COST, **config})
        self.scheduler = make_scheduler(HorizonScheduler, 4000, 16, 2048)
        self.shim = self.scheduler.horizon
        self.shim.settings.bound_us = 1_000_000
        wanted, end = (wire.MODE_PUBLISHED if mode == "published" else wire.MODE_LOCKSTEP), time.monotonic() + 120
        while self.shim.segment.controller_mode(time.monotonic_ns()) != wanted:
            assert time.monotonic() < end, "no controller"
            time.sleep(0.01)
        self.loop = Loop(self.scheduler, lag=0)
        self.random = random.Random(1)
        self.number = 0

    def top_up(self):
        while len(self.scheduler.waiting) < WAITING:
            self.number += 1
            long = self.random.random() < 0.4
            extra = {"modalities": ["audio" if long else "text"]}
            # Clients that name an SLO of their own, each another one.
            if self.random.random() < 0.3:
                extra["slo_ms"] = self.random.randrange(1, 80_000_000)
            request = make_request(f"m{self.number}", self.random.randrange(4, 60), 1 + self.number % 2, arrival=time.time(), extra_args=extra)
            request.payload = Payload()
            self.scheduler.add_request(request)

    def run(self):
        rows, every = [], REQUESTS // SAMPLES
        while self.number < REQUESTS:
            self.top_up()
            # A controller that comes and goes on a busy machine would have the lists made anew, and a leak hidden.
            self.shim.segment.i64[wire.CONTROLLER_OFFSET // 8] = time.monotonic_ns()
            self.loop.step()
            self.loop.finished.clear()
            if self.random.random() < 0.05:
                victim = next(iter(self.scheduler.waiting))
                self.scheduler.finish_requests(victim.request_id, RequestStatus.FINISHED_ABORTED)
            if self.number >= every * (len(rows) + 1):
                gc.collect()
                rows.append({"requests": self.number, **_alive()})
        return rows


def _never_grows(mode, parts):
    gc.collect()
    gc.freeze()
    report = {}
    # Everyday the two that leaked, and what stands furthest from them; all of them in the long suite.
    for number, (label, config) in enumerate(list(parts.items())[: None if LONG else 3]):
        engine = _Never(f"memory-{mode}-{number}", mode, config)
        rows = engine.run()
        last = rows[-1]
        assert last["payload"] <= WAITING + 16 + 8, f"{label}: {last['payload']} requests live while {WAITING} wait and 16 run: {rows}"
        assert last["entry"] <= 4 * (WAITING + 16) + SPARE and last["list"] <= 4 * (WAITING + 16) + SPARE, f"{label}: {rows}"
        slopes = {name: round(_slope(rows, name), 4) for name in ("payload", "entry", "list")}
        report[label] = {"requests": last["requests"], "steps": engine.loop.steps, "alive": last, "perThousand": slopes}
        if LONG:
            print(mode, label, report[label], flush=True)
            assert all(abs(slope) < 0.5 for slope in slopes.values()), (label, slopes, rows)
        engine.shim.segment.close()
        stop(engine.process)
    return report


@case
def nothing_grows_in_published_mode():
    return _never_grows("published", PARTS)


@case
def nothing_grows_in_lockstep():
    return _never_grows("lockstep", {"priority order, which does not compile": {"order": "priority"}, **({"defaults": {}, "a cap of one": {"longPathCap": 1}} if LONG else {})})
