"""Waiting requests of one (path, status) in the base order. Most come in order and go into a deque, at no cost that grows with their
number; what comes out of order, because its status changed, goes into a heap beside it. An entry that left is dropped when it is met, and
what nobody asks for is tidied as it grows: no more stands here than twice what waits, and a little.
"""

from collections import deque
from heapq import heapify, heappop, heappush


class SubQueue:
    """Of the entries whose `where` is this sub-queue's."""

    __slots__ = ("where", "is_used", "_in_order", "_last", "_others", "_bound", "_line_bound")

    def __init__(self, where):
        self.where = where
        #: False only when it is empty for certain: a cheap look before `head`.
        self.is_used = False
        self._in_order = deque()
        self._last = None
        self._others = []
        self._bound = self._line_bound = 64

    def clear(self):
        self._in_order.clear()
        self._others.clear()
        self._bound = self._line_bound = 64
        self.is_used = False

    def push(self, entry):
        rank = entry.rank
        self.is_used = True
        line = self._in_order
        if not line or rank > self._last:
            self._last = rank
            line.append((rank, entry))
            if len(line) > self._line_bound:
                self._line_bound = sweep(line, self._is_here)
            return
        others = self._others
        heappush(others, (rank, entry))
        if len(others) > self._bound:
            self._bound = tidy(others, self._is_here)

    def head(self):
        """The first entry, or None."""
        line, where, first = self._in_order, self.where, None
        while line:
            rank, entry = line[0]
            if entry.where == where and entry.rank == rank:
                first = entry
                break
            line.popleft()
        others = self._others
        while others:
            rank, entry = others[0]
            if entry.where == where and entry.rank == rank:
                return entry if first is None or rank < first.rank else first
            heappop(others)
        if first is None:
            self.is_used = False
        return first

    def _is_here(self, item):
        rank, entry = item
        return entry.where == self.where and entry.rank == rank


def sweep(line, is_live):
    """Drops from a deque what left; returns the length at which to do so again."""
    kept = [item for item in line if is_live(item)]
    line.clear()
    line.extend(kept)
    return 64 + 2 * len(line)


def tidy(heap, is_live):
    """Drops from a heap of `(rank…, entry)` what left and what stands there twice; returns the length at which to do so again."""
    once = {id(item[-1]): item for item in heap if is_live(item)}
    heap[:] = once.values()
    heapify(heap)
    return 64 + 2 * len(heap)
