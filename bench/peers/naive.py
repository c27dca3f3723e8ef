"""What a user would write inside the engine: one Python list of waiting requests, looked at in each step.

Each step computes the slack of every waiting request, hides what the rotation and the long-path cap hide, takes 8 from what is left
in arrival order, and puts the hidden ones back. Eight classes as in bench/scheduler-workload.ts. Standard library only.
"""
import random
import time


class Request:
    __slots__ = ("deadline", "estimate", "long")

    def __init__(self, deadline, estimate, is_long):
        self.deadline = deadline
        self.estimate = estimate
        self.long = is_long


class NaiveScheduler:
    def __init__(self):
        self.waiting = []
        self.k = 0
        self.held = 0
        self.smooth = 0.0

    def step(self, now, pressure):
        protected_short = ordinary_short = 0
        for r in self.waiting:
            if not r.long:
                if r.deadline - now < 2.0 * r.estimate:
                    protected_short += 1
                else:
                    ordinary_short += 1
        total = protected_short + ordinary_short
        n = int(2 + (protected_short / total if total else 0.0) * 6 + 0.5)
        short_phase = self.k % (n + 2) < n
        self.k += 1
        room = max(0, 2 - self.held)
        allowed = None
        if not short_phase:
            ordinary_long = [r for r in self.waiting if r.long and r.deadline - now >= 2.0 * r.estimate]
            allowed = set(map(id, sorted(ordinary_long, key=lambda r: r.deadline)[:room]))
        view, hidden = [], []
        for r in self.waiting:
            if r.deadline - now < 2.0 * r.estimate:
                view.append(r)
            elif r.long:
                (view if not short_phase and id(r) in allowed else hidden).append(r)
            else:
                (view if short_phase else hidden).append(r)
        self.smooth = 0.4 * pressure + 0.6 * self.smooth
        level = min((40, 48, 56, 64, 80), key=lambda s: abs(s - (40 + min(1.0, self.smooth / 0.9) * 40)))
        return view, hidden, level


def measure(size, samples):
    rng = random.Random(12345)

    def make(now):
        is_long = rng.random() < 0.5
        estimate = (350.0 if is_long else 10.0) + 0.04 * (32 << rng.randrange(8))
        return Request(now + (4000.0 if is_long else 500.0) * max(1, size / 64), estimate, is_long)

    scheduler = NaiveScheduler()
    now = 0.0
    for _ in range(size):
        now += 1.0
        scheduler.waiting.append(make(now))
    times = []
    for _ in range(samples):
        start = time.perf_counter_ns()
        view, hidden, _ = scheduler.step(now, 0.5)
        taken = view[:8]
        chosen = set(map(id, taken))
        # Restore: what was not taken goes back in its old order.
        scheduler.waiting = [r for r in scheduler.waiting if id(r) not in chosen]
        times.append(time.perf_counter_ns() - start)
        for _ in taken:
            scheduler.waiting.append(make(now))
        now += 8.0
    return times
