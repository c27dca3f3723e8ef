"""Everything that an open view shows, in reading order, written down the obvious way: for tests and diagnosis, O(n log n)."""

from itertools import chain

from .queue import _MERGED, LONG_LOST, LONG_ORDINARY
from .waiting import ALWAYS, LOST


def visible(queue):
    """Entries, in the order in which the engine would meet them if it admitted all."""
    entries = list(chain(queue._order.values(), queue._front.values()))
    yield from sorted((e for e in entries if e.where == ALWAYS), key=lambda e: e.key)
    rescued = queue._rescued
    if rescued is not None:
        yield rescued
    merged = []
    for where in _MERGED:
        if queue._shown >> where & 1:
            limited = where == LONG_ORDINARY and queue._capped
            merged += [e for e in entries if e.where == where and (not limited or e.chosen)]
    yield from sorted(merged, key=lambda e: e.rank)
    left = 1 if queue._one_lost else len(entries)
    for entry in sorted((e for e in entries if e.where in (LOST, LONG_LOST) and queue._shown >> e.where & 1), key=lambda e: (e.deadline, e.key)):
        if entry.where == LONG_LOST:
            left -= 1
            if left < 0:
                continue
        if entry is not rescued:
            yield entry
