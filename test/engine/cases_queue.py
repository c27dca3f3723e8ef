"""The queue alone, without an engine: what it gives out is what the obvious sort says, whatever came, left, crossed or was put back."""

import random
from types import SimpleNamespace

from suite import LONG, case

from horizonserve import waiting
from horizonserve.queue import HorizonQueue
from horizonserve.visible import visible
from horizonserve.waiting import ALWAYS, GONE, LOST, ORDINARY, PROTECTED, Entry, bucket_of
from horizonserve.wire import ClassRow

SEEDS, STEPS = (200, 1500) if LONG else (12, 400)


class _Request(SimpleNamespace):
    def __init__(self, number, c, at, work, slo, priority):
        super().__init__(number=number, request_id=f"q{number}", c=c, at=at, work=work, slo=slo, priority=priority, arrival_time=at, ran=False, entry=None)

    __hash__ = object.__hash__
    __eq__ = object.__eq__


class _Rules:
    """What the shim tells its queue, without an engine behind it."""

    def __init__(self):
        self.now = 0.0

    def entry_of(self, request):
        if request.entry is None:
            request.entry = Entry(request, None, 0, (0, 0), request.number)
        return request.entry

    def may_hide(self, request):
        return not request.ran

    def classify(self, known, entry):
        slo = entry.request.slo or known.classes[entry.request.c].sloMs
        entry.deadline = entry.request.at + slo
        known.add(entry, entry.request.c, slo, bucket_of(entry.request.work))


def _rows(rng):
    return [
        ClassRow(sloMs=slo, slowdown=rng.choice((1.0, 1.0, 1.5, 0.7, 4.0)), waitMs=rng.choice((0.0, 0.0, 80.0)), uGuard=2.0, uLost=1.0, path=path, priority=path)
        for slo, path in ((200.0, 0), (1000.0, 1), (500.0, 1))
    ]


def _check_statuses(queue, now):
    """Every status and every count, by the definition."""
    counts = [0] * 6
    for entry in [*queue._order.values(), *queue._front.values()]:
        if entry.where == ALWAYS:
            continue
        row, left = queue.set.classes[entry.class_index], entry.deadline - now
        protect, lose = row.offsets(entry.list.bucket_ms)
        status = LOST if left < lose else PROTECTED if left < protect else ORDINARY
        assert entry.where == row.path * 3 + status, (entry.where, status)
        counts[entry.where] += 1
    assert counts == queue.set.counts, (counts, queue.set.counts)


def _history(seed, by_priority):
    rng = random.Random(seed)
    rules = _Rules()
    queue = HorizonQueue(rules, by_priority)
    rows, by_deadline, keeps = _rows(rng), rng.random() < 0.5, True
    queue.reclassify(rows, 0.0, keeps, by_deadline)
    now, number, running, popped_in_all = 0.0, 0, [], 0
    for _ in range(STEPS):
        now = rules.now = now + rng.expovariate(1 / 8)
        for _ in range(rng.choice((0, 0, 1, 2, 5))):
            number += 1
            # Requests reach the engine out of order now and then, and a few bring an SLO of their own.
            at = now - rng.choice((0.0, 0.0, 0.0, rng.uniform(0, 300)))
            queue.add_request(_Request(number, rng.randrange(3), at, rng.choice((5.0, 17.0, 90.0, 200.0)), rng.choice((0, 0, 0, 250, 4000)), rng.randrange(3)))
        if rng.random() < 0.05:
            was, rows = rows, _rows(rng)
            queue.set.set_coefficients(rows, now)
            assert was is not rows
        if rng.random() < 0.01:
            by_deadline, rows = rng.random() < 0.5, _rows(rng)
            queue.reclassify(rows, now, keeps, by_deadline)
        queue.set.refresh(now)
        _check_statuses(queue, now)
        shown, limit = rng.randrange(64), rng.choice((-1, -1, 0, 1, 2, 4, 7))
        queue.begin(shown, limit, rng.random() < 0.2, rng.random() < 0.5)
        _check_choice(queue, shown, limit)
        expected = [e.request for e in visible(queue)]
        assert bool(queue) == bool(expected)
        for request in expected[: rng.choice((0, 0, 1, 1, 2, 5, 10_000))]:
            assert queue.peek_request() is request, "the view gave another request than it should"
            assert queue.pop_request() is request
            request.ran = True
            popped_in_all += 1
            if rng.random() < 0.6:
                running.append(request)
        while running and rng.random() < 0.3:
            # Preempted, in the middle of a step.
            queue.prepend_request(running.pop(rng.randrange(len(running))))
        queue.close()
        queue.take_changes()
        if rng.random() < 0.3 and len(queue):
            queue.remove_request(rng.choice(list(queue)))
        assert len(list(queue)) == len(queue)
        for sub in queue._sub:
            live = sum(1 for e in [*queue._order.values(), *queue._front.values()] if e.where == sub.where)
            assert len(sub._others) <= 64 + 3 * max(live, sub._bound), "what left is kept"
    while len(queue):
        queue.pop_request()
    assert queue.set.counts == [0] * 6 and all(e.where == GONE for e in (r.entry for r in running))
    return popped_in_all


def _check_choice(queue, shown, limit):
    """Within a cap stand the earliest deadlines of the ordinary long-path requests."""
    if limit < 0 or not shown >> 3 & 1:
        return
    ordinary = [e for e in [*queue._order.values(), *queue._front.values()] if e.where == 3]
    wanted = sorted(ordinary, key=lambda e: (e.deadline, e.key))[:limit]
    assert {id(e) for e in ordinary if e.chosen} == {id(e) for e in wanted}, "another choice than the earliest deadlines"


@case
def the_queue_gives_out_what_the_obvious_sort_says():
    popped = 0
    for seed in range(SEEDS):
        # Lists are tidied seldom; in every second history, often.
        waiting._MANY_HOLES = 2 if seed % 2 else 32
        popped += _history(seed, seed % 3 == 0)
    assert popped > SEEDS * 100
    return {"histories": SEEDS, "steps": SEEDS * STEPS, "popped": popped}
