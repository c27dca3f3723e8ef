"""The engine's waiting queue, with a view: hiding is a flag on one of eight sub-queues, and restoring costs nothing.

Sub-queues stand for (path, status), for what must always be visible, and for the long-path requests chosen within the cap. Outside a
step everything is visible. In a step the queue reads: what is always visible, the rescued lost request, all shown requests in the
base order, then lost ones by deadline; that is the reading order of the controller's core.

No vLLM import: `horizonserve.vllm` mixes this with the engine's own `RequestQueue`.
"""

from heapq import heappop, heappush
from itertools import chain

from .chosen import Chosen
from .waiting import ALWAYS, GONE, LONG, LOST, ORDINARY, PROTECTED, SHORT, WaitingSet

_LONG_ORDINARY = LONG * 3 + ORDINARY
_SHOWN_ALL = (True,) * 6
_MERGED = (SHORT * 3 + ORDINARY, SHORT * 3 + PROTECTED, _LONG_ORDINARY, LONG * 3 + PROTECTED)
_LOST = (SHORT * 3 + LOST, LONG * 3 + LOST)


class HorizonQueue:
    """A drop-in for the engine's FCFS and priority queues. `rules` decides what of a request the queue needs to know."""

    def __init__(self, rules, by_priority=False):
        self.rules = rules
        self.by_priority = by_priority
        self.set = WaitingSet(self._moved)
        self._heaps = [[] for _ in range(6)]
        self._always = []
        self._long = Chosen()
        self._lost_by_deadline = []
        self._order = {}
        self._front = {}
        self._next = 0
        self._first = 0
        self._keep_deadlines = False
        self._rank_by_deadline = False
        # The view of the step under way.
        self.viewing = False
        self._shown = _SHOWN_ALL
        self._limit = -1
        self._rescued = None
        self._slots = None
        self._slot_at = 0
        self._top = None
        self._one_lost = False
        self.popped = []
        self.preempted = []

    # -- the engine's verbs ------------------------------------------------------------------------------------------------------

    def add_request(self, request):
        entry = self.rules.entry_of(request)
        if self.by_priority:
            entry.key = (request.priority, request.arrival_time, str(request.request_id))
        else:
            self._next += 1
            entry.key = self._next
        self._order[request] = entry
        self._insert(entry)

    def prepend_request(self, request):
        if self.by_priority:
            return self.add_request(request)
        entry = self.rules.entry_of(request)
        self._first -= 1
        entry.key = self._first
        self._front[request] = entry
        if self.viewing:
            self.preempted.append(entry)
        self._insert(entry)

    def prepend_requests(self, requests):
        for request in list(requests):
            self.prepend_request(request)

    def peek_request(self):
        entry = self._peek()
        if entry is None:
            raise IndexError("peek from an empty queue")
        return entry.request

    def pop_request(self):
        entry = self._peek()
        if entry is None:
            raise IndexError("pop from an empty queue")
        if self.viewing:
            where = entry.where
            self.popped.append((entry, where))
            if where == LONG * 3 + LOST and self._shown is not _SHOWN_ALL and self._one_lost:
                self._shown[where] = False
        self._take(entry)
        return entry.request

    def remove_request(self, request):
        entry = self._order.get(request) or self._front.get(request)
        if entry is None:
            raise ValueError(f"request {request.request_id} is not in the queue")
        self._take(entry)

    def remove_requests(self, requests):
        for request in requests:
            entry = self._order.get(request) or self._front.get(request)
            if entry is not None:
                self._take(entry)

    def __contains__(self, request):
        return request in self._order or request in self._front

    def __len__(self):
        return len(self._order) + len(self._front)

    def __bool__(self):
        if self.viewing:
            return self._top is not None or self._peek() is not None
        return bool(self._order) or bool(self._front)

    def __iter__(self):
        if self.by_priority:
            return iter(sorted(chain(self._order, self._front), key=lambda r: self.rules.entry_of(r).key))
        if not self._front:
            return iter(self._order)
        return chain(reversed(self._front), self._order)

    def __reversed__(self):
        return reversed(list(self))

    # -- the view ----------------------------------------------------------------------------------------------------------------

    def begin(self, shown, limit, rescue=False, one_lost=False):
        """Opens the view of a step. `shown` by `path * 3 + status`; `limit` caps ordinary long-path requests, -1 for no cap;
        `one_lost` lets at most one lost long-path request through."""
        self.viewing = True
        self._one_lost = one_lost and type(shown) is list
        self._shown = shown
        self._limit = limit
        self._slots = None
        self._top = None
        self._rescued = self._first_lost() if rescue else None
        if limit >= 0 and shown[_LONG_ORDINARY]:
            self._long.choose(limit)

    def begin_slots(self, slots, entries):
        """Opens a view that names its requests: engine slots, in the order to try them."""
        self.viewing = True
        self._slots = slots
        self._slot_at = 0
        self._entries = entries
        self._top = None
        self._rescued = None

    def end(self):
        """Closes the view; everything is visible again."""
        self.viewing = False
        self._top = None
        popped, self.popped = self.popped, []
        preempted, self.preempted = self.preempted, []
        return popped, preempted

    def reclassify(self, rows, now, limits=False, by_deadline=False):
        """Classes changed, or the controller left (no rows): every waiting request is put in again."""
        self._keep_deadlines = limits
        self._rank_by_deadline = by_deadline
        self.set.set_classes(rows)
        for heap in self._heaps:
            heap.clear()
        self._long.clear()
        self._lost_by_deadline.clear()
        self._always = []
        for entry in chain(self._order.values(), self._front.values()):
            entry.where = GONE
            entry.ticket = 0
            entry.chosen = False
            self._insert(entry)
        self.set.refresh(now)

    def waiting_always(self):
        """Whether anything waits that must stay visible."""
        return bool(self._always) and self._head(self._always, ALWAYS) is not None

    def _insert(self, entry):
        self._top = None
        if self.set.classes and self.rules.may_hide(entry.request):
            self.rules.classify(self.set, entry)
        else:
            entry.where = ALWAYS
            heappush(self._always, (entry.key, entry))

    def _take(self, entry):
        if entry is self._top:
            self._top = None
        request = entry.request
        if self._order.pop(request, None) is None:
            self._front.pop(request, None)
        self.set.remove(entry)

    def _moved(self, entry, where):
        if where == LOST or where == LONG * 3 + LOST:
            heappush(self._lost_by_deadline, (entry.deadline, entry.key, entry))
        else:
            entry.rank = rank = (entry.deadline, entry.key) if self._rank_by_deadline else entry.key
            heappush(self._heaps[where], (rank, entry))
            if where == _LONG_ORDINARY and self._keep_deadlines:
                self._long.push(entry)

    def _peek(self):
        """The next request of the view, or of the whole queue when no view is open."""
        top = self._top
        if top is not None:
            return top
        if not self.viewing:
            top = self._first_of_all()
        elif self._slots is not None:
            top = self._first_slot()
        elif self._always and self._head(self._always, ALWAYS) is not None:
            top = self._always[0][1]
        elif self._rescued is not None and self._rescued.where != GONE:
            top = self._rescued
        else:
            top = self._first_shown()
            if top is None and self._lost_by_deadline:
                top = self._first_lost(self._shown)
        self._top = top
        return top

    def _head(self, heap, where):
        """The first entry of a sub-queue; what left it since is dropped on the way."""
        while heap:
            rank, entry = heap[0]
            if entry.where == where and (entry.key if where == ALWAYS else entry.rank) == rank:
                return entry
            heappop(heap)
        return None

    def _first_shown(self):
        best, best_rank, shown, heaps = None, None, self._shown, self._heaps
        limited = self._limit >= 0
        for where in _MERGED:
            if not shown[where]:
                continue
            if limited and where == _LONG_ORDINARY:
                entry = self._long.first()
                if entry is not None and (best is None or entry.rank < best_rank):
                    best, best_rank = entry, entry.rank
                continue
            heap = heaps[where]
            while heap:
                rank, entry = heap[0]
                if entry.where == where and entry.rank == rank:
                    if best is None or rank < best_rank:
                        best, best_rank = entry, rank
                    break
                heappop(heap)
        return best

    def _first_of_all(self):
        """Without a view: the engine's own order. Rare once classes are known; without classes all is in one sub-queue."""
        best = self._head(self._always, ALWAYS)
        if self.set.classes:
            for entry in chain(self._order.values(), self._front.values()):
                if best is None or entry.key < best.key:
                    best = entry
        return best

    def _first_slot(self):
        if self.waiting_always():
            return self._always[0][1]
        slots, entries = self._slots, self._entries
        while self._slot_at < len(slots):
            entry = entries.get(slots[self._slot_at])
            if entry is not None and entry.where != GONE:
                return entry
            self._slot_at += 1
        return None

    def _first_lost(self, shown=_SHOWN_ALL):
        heap, kept, found = self._lost_by_deadline, [], None
        while heap:
            head = heap[0]
            where = head[2].where
            if where not in _LOST or head[0] != head[2].deadline or head[1] != head[2].key:
                heappop(heap)
            elif shown[where]:
                found = head[2]
                break
            else:
                # Lost requests of a hidden path stand in front; they are put back below.
                kept.append(heappop(heap))
        for item in kept:
            heappush(heap, item)
        return found
