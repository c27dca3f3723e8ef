"""Which ordinary long-path requests a cap lets through: the earliest deadlines. Kept from step to step, for little changes between."""

from heapq import heappop, heappush

from .waiting import LONG, ORDINARY

_LONG_ORDINARY = LONG * 3 + ORDINARY


class Chosen:
    """The requests chosen last, and all others by deadline. Entries that left are dropped when they are met."""

    def __init__(self):
        self._rest = []
        self._chosen = []
        #: The chosen in the base order.
        self.order = []

    def clear(self):
        self._rest, self._chosen, self.order = [], [], []

    def push(self, entry):
        """An entry became an ordinary long-path one."""
        heappush(self._rest, (entry.deadline, entry.key, entry))

    def first(self):
        for entry in self.order:
            if entry.where == _LONG_ORDINARY:
                return entry
        return None

    def choose(self, limit):
        """Brings the choice to the `limit` earliest deadlines."""
        rest = self._rest
        chosen = [e for e in self._chosen if e.where == _LONG_ORDINARY]
        while rest and not _is_candidate(rest[0]):
            heappop(rest)
        worst = max(((e.deadline, e.key) for e in chosen), default=None)
        if len(chosen) > limit or (worst is not None and rest and rest[0][:2] < worst):
            for entry in chosen:
                entry.chosen = False
                heappush(rest, (entry.deadline, entry.key, entry))
            chosen = []
        elif len(chosen) == len(self._chosen) == limit:
            return
        while len(chosen) < limit and rest:
            item = heappop(rest)
            if _is_candidate(item):
                item[2].chosen = True
                chosen.append(item[2])
        for entry in self._chosen:
            if entry.where != _LONG_ORDINARY:
                entry.chosen = False
        self._chosen = chosen
        self.order = sorted(chosen, key=_rank)


def _is_candidate(item):
    deadline, key, entry = item
    return entry.where == _LONG_ORDINARY and not entry.chosen and key == entry.key and deadline == entry.deadline


def _rank(entry):
    return entry.rank
