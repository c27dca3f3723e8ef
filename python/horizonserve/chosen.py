"""Which ordinary long-path requests a cap lets through: the earliest deadlines. Kept from step to step, for little changes between."""

from collections import deque
from heapq import heappop, heappush
from operator import attrgetter

from .sub_queue import sweep, tidy
from .waiting import LONG, ORDINARY

_LONG_ORDINARY = LONG * 3 + ORDINARY
_NONE = (-float("inf"),)
_rank = attrgetter("rank")


class Chosen:
    """The requests chosen last, and all others by deadline. Entries that left are dropped when they are met."""

    __slots__ = ("stale", "limit", "_in_order", "_last", "_others", "_bound", "_line_bound", "_chosen", "_has_room", "_worst", "_upset")

    def __init__(self):
        self.clear()

    def clear(self):
        #: Whether something happened since `choose` that may change the choice. The queue sets it when a chosen entry leaves.
        self.stale = True
        self.limit = -1
        # Most come in the order of their deadlines and cost nothing that grows; the others stand in a heap.
        self._in_order, self._last = deque(), None
        self._others, self._bound, self._line_bound = [], 64, 64
        #: In the base order, with those that left since.
        self._chosen = []
        self._has_room = True
        #: None chosen is later than this; whether one came since that is earlier.
        self._worst, self._upset = _NONE, False

    def push(self, entry):
        """An entry became an ordinary long-path one."""
        item = (entry.deadline, entry.key, entry)
        if item < self._worst:
            self.stale = self._upset = True
        elif self._has_room:
            self.stale = True
        self._keep(item)

    def first(self):
        for entry in self._chosen:
            if entry.where == _LONG_ORDINARY:
                return entry
        return None

    def choose(self, limit):
        """Brings the choice to the `limit` earliest deadlines."""
        chosen = []
        for entry in self._chosen:
            if entry.where == _LONG_ORDINARY:
                chosen.append(entry)
            else:
                entry.chosen = False
        if self._upset or len(chosen) > limit:
            for entry in chosen:
                entry.chosen = False
                self._keep((entry.deadline, entry.key, entry))
            chosen, self._worst, self._upset = [], _NONE, False
        self._has_room = False
        if len(chosen) < limit:
            while len(chosen) < limit:
                item = self._next()
                if item is None:
                    self._has_room = True
                    break
                item[2].chosen = True
                chosen.append(item[2])
                self._worst = item
            if len(chosen) > 1:
                chosen.sort(key=_rank)
        self._chosen = chosen
        self.limit = limit
        self.stale = False

    def _keep(self, item):
        line = self._in_order
        if not line or item > self._last:
            self._last = item
            line.append(item)
            if len(line) > self._line_bound:
                self._line_bound = sweep(line, _is_candidate)
            return
        others = self._others
        heappush(others, item)
        if len(others) > self._bound:
            self._bound = tidy(others, _is_candidate)

    def _next(self):
        """Takes the earliest deadline of those not chosen, or None."""
        line, others = self._in_order, self._others
        while line and not _is_candidate(line[0]):
            line.popleft()
        while others and not _is_candidate(others[0]):
            heappop(others)
        if line and not (others and others[0] < line[0]):
            return line.popleft()
        return heappop(others) if others else None


def _is_candidate(item):
    deadline, key, entry = item
    return entry.where == _LONG_ORDINARY and not entry.chosen and key == entry.key and deadline == entry.deadline
