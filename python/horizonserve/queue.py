"""The engine's waiting queue, with a view: hiding is a bit in a mask of six sub-queues, and restoring costs nothing.

Sub-queues stand for (path, status), and one more for what must always be visible; the long-path requests that a cap lets through are
chosen apart. Outside a step everything is visible. In a step the queue reads: what is always visible, the rescued lost request, all
shown requests in the base order, then lost ones by deadline; that is the reading order of the controller's core.

The engine's loop asks `bool`, `peek`, `pop` and `bool` again for every request that it admits, so the next one is kept once found.

No vLLM import: `horizonserve.vllm` mixes this with the engine's own `RequestQueue`.
"""

from heapq import heappop, heappush
from itertools import chain

from .chosen import Chosen
from .sub_queue import SubQueue, tidy
from .waiting import ALWAYS, ATTACHED, GONE, LONG, LOST, ORDINARY, PROTECTED, SHORT, WaitingSet

#: A mask that shows every (path, status); bit `path * 3 + status`.
SHOWN_ALL = 63
LONG_ORDINARY = LONG * 3 + ORDINARY
LONG_LOST = LONG * 3 + LOST
_MERGED = (SHORT * 3 + ORDINARY, SHORT * 3 + PROTECTED, LONG_ORDINARY, LONG * 3 + PROTECTED)
_UNKNOWN = object()


class HorizonQueue:
    """A drop-in for the engine's FCFS and priority queues. `rules` decides what of a request the queue needs to know."""

    def __init__(self, rules, by_priority=False):
        self.rules = rules
        #: Told of what is never hidden; a queue without an engine has nobody to tell.
        self._announce = getattr(rules, "announce", None)
        self.by_priority = by_priority
        self.set = WaitingSet(self._moved)
        self._sub = [SubQueue(where) for where in range(7)]
        self._always = self._sub[ALWAYS]
        self._long = Chosen()
        self._lost_by_deadline, self._lost_bound = [], 64
        self._order = {}
        self._front = {}
        self._next = 0
        self._first = 0
        #: Whether `_order` reads in the order of its keys; and the sorted requests of a priority queue, while they hold.
        self._is_sorted = True
        self._sorted = None
        self._keep_deadlines = False
        self._rank_by_deadline = False
        #: The sub-queues that a mask merges, without and with a cap on the long path.
        self._merged_of = [[[self._sub[w] for w in _MERGED if mask >> w & 1 and not (capped and w == LONG_ORDINARY)] for mask in range(64)] for capped in (0, 1)]
        # The view of the step under way.
        self.viewing = False
        self._top = _UNKNOWN
        self._shown = SHOWN_ALL
        self._capped = False
        self._merged = self._merged_of[0][SHOWN_ALL]
        self._rescued = None
        self._slots = None
        self._slot_at = 0
        self._one_lost = False
        self.popped = []
        self.preempted = []

    # -- the engine's verbs ------------------------------------------------------------------------------------------------------

    def add_request(self, request):
        entry = self.rules.entry_of(request)
        if entry.is_parked:
            self.rules.new_turn(entry)
        self._stamp(entry)
        self._order[request] = entry
        self._insert(entry)

    def put_back(self, request):
        """A request that the engine had laid aside stands where it stood: at the place of its arrival."""
        entry = self.rules.entry_of(request)
        if entry.key == 0 or self.by_priority:
            self._stamp(entry)
        else:
            self._is_sorted = False
        self._order[request] = entry
        self._insert(entry)

    def notice(self, request):
        """A request that the engine keeps elsewhere for now: it has its place in the order of arrival all the same."""
        entry = self.rules.entry_of(request)
        if entry.key == 0:
            self._stamp(entry)
        return entry

    def _stamp(self, entry):
        if self.by_priority:
            request = entry.request
            entry.key = (request.priority, request.arrival_time, str(request.request_id))
        else:
            self._next += 1
            entry.key = self._next

    def prepend_request(self, request):
        entry = self.rules.entry_of(request)
        # It ran: with a view open or without, for the count of what runs has to hold when there is one again.
        if entry.in_shared:
            self.preempted.append(entry)
        if self.by_priority:
            return self.add_request(request)
        self._first -= 1
        entry.key = self._first
        self._front[request] = entry
        self._insert(entry)

    def prepend_requests(self, requests):
        for request in list(requests):
            self.prepend_request(request)

    def peek_request(self):
        top = self._top
        if top is _UNKNOWN:
            top = self._find()
        if top is None:
            raise IndexError("peek from an empty queue")
        return top.request

    def pop_request(self):
        entry = self._top
        if entry is _UNKNOWN:
            entry = self._find()
        if entry is None:
            raise IndexError("pop from an empty queue")
        if self.viewing:
            where = entry.where
            self.popped.append((entry, where))
            if where == LONG_LOST and self._one_lost:
                self._shown &= ~(1 << LONG_LOST)
        self._top = _UNKNOWN
        request = entry.request
        if self._order.pop(request, None) is None:
            del self._front[request]
        if entry.chosen:
            self._long.stale = True
        self._sorted = None
        self.set.remove(entry)
        if entry.followers is not None:
            self._release(entry)
        return request

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
            top = self._top
            return (self._find() if top is _UNKNOWN else top) is not None
        return bool(self._order) or bool(self._front)

    def __iter__(self):
        if self.by_priority:
            # Walked several times a step by some engines, and mostly unchanged in between.
            if self._sorted is None:
                self._sorted = [entry.request for entry in sorted(chain(self._order.values(), self._front.values()), key=_key)]
            return iter(self._sorted)
        if not self._is_sorted:
            self._order = dict(sorted(self._order.items(), key=lambda item: item[1].key))
            self._is_sorted = True
        if not self._front:
            return iter(self._order)
        return chain(reversed(self._front), self._order)

    def unordered(self):
        """All requests, in any order and at no cost."""
        return chain(self._order, self._front) if self._front else self._order

    def __reversed__(self):
        return reversed(list(self))

    # -- the view ----------------------------------------------------------------------------------------------------------------

    def begin(self, shown, limit, rescue=False, one_lost=False):
        """Opens the view of a step. `shown` is a mask by `path * 3 + status`; `limit` caps ordinary long-path requests, -1 for no cap;
        `one_lost` lets at most one lost long-path request through."""
        self._shown = shown
        self._one_lost = one_lost
        self._slots = None
        self._rescued = self._first_lost(SHOWN_ALL) if rescue else None
        if limit < 0:
            self._capped = False
            self._merged = self._merged_of[0][shown]
        else:
            self._capped = shown >> LONG_ORDINARY & 1
            self._merged = self._merged_of[1][shown]
            if self._capped:
                chosen = self._long
                if chosen.stale or limit != chosen.limit:
                    chosen.choose(limit)
        self._top = _UNKNOWN
        self.viewing = True

    def begin_slots(self, slots, entries):
        """Opens a view that names its requests: engine slots, in the order to try them."""
        self._slots = slots
        self._slot_at = 0
        self._entries = entries
        self._one_lost = False
        self._rescued = None
        self._top = _UNKNOWN
        self.viewing = True

    def prepare(self, limit):
        """Makes the choice within a cap of `limit` ahead of the next view, which mostly finds it as it needs it."""
        chosen = self._long
        if self._keep_deadlines and limit >= 0 and (chosen.stale or limit != chosen.limit):
            chosen.choose(limit)

    def close(self):
        """Closes the view; everything is visible again."""
        self.viewing = False
        self._top = _UNKNOWN

    def take_changes(self):
        """What views since the last call gave out, with its place, and what was put back."""
        popped, preempted = self.popped, self.preempted
        if popped:
            self.popped = []
        if preempted:
            self.preempted = []
        return popped, preempted

    def reclassify(self, rows, now, limits=False, by_deadline=False):
        """Classes changed, or the controller left (no rows): every waiting request is put in again."""
        self._keep_deadlines = limits
        self._rank_by_deadline = by_deadline
        self.set.set_classes(rows)
        for sub in self._sub:
            sub.clear()
        self._long.clear()
        self._lost_by_deadline.clear()
        for entry in chain(self._order.values(), self._front.values()):
            entry.where = GONE
            entry.ticket = 0
            entry.chosen = False
            entry.followers = None
            self._insert(entry)
        self.set.refresh(now)

    def waiting_always(self):
        """Whether anything waits that must stay visible."""
        return self._always.head() is not None

    def _insert(self, entry):
        self._top = _UNKNOWN
        self._sorted = None
        if not self.set.classes:
            self._show_always(entry)
        elif entry.is_companion:
            leader = entry.leader
            if leader is not None and 0 <= leader.where < ALWAYS and self.rules.may_hide(entry.request):
                entry.where = ATTACHED
                if leader.followers is None:
                    leader.followers = [entry]
                else:
                    leader.followers.append(entry)
            else:
                self._show_always(entry)
        elif self.rules.may_hide(entry.request):
            self.rules.classify(self.set, entry)
        else:
            self._show_always(entry)
            if self._announce is not None:
                self._announce(entry)

    def _show_always(self, entry):
        entry.where = ALWAYS
        entry.rank = entry.key
        self._always.push(entry)

    def _release(self, leader):
        """The leader goes, or is gone: what belongs to it must not stay behind."""
        for entry in leader.followers:
            if entry.where == ATTACHED:
                self._show_always(entry)
        leader.followers = None

    def _take(self, entry):
        self._top = _UNKNOWN
        request = entry.request
        if self._order.pop(request, None) is None:
            self._front.pop(request, None)
        if entry.chosen:
            self._long.stale = True
        self._sorted = None
        self.set.remove(entry)
        if entry.followers is not None:
            self._release(entry)

    def _moved(self, entry, where):
        if entry.chosen:
            self._long.stale = True
        if where == LOST or where == LONG_LOST:
            lost = self._lost_by_deadline
            heappush(lost, (entry.deadline, entry.key, entry))
            if len(lost) > self._lost_bound:
                self._lost_bound = tidy(lost, _is_lost)
        else:
            entry.rank = (entry.deadline, entry.key) if self._rank_by_deadline else entry.key
            self._sub[where].push(entry)
            if where == LONG_ORDINARY and self._keep_deadlines:
                self._long.push(entry)

    def _find(self):
        """The next request of the view, or of the whole queue when no view is open."""
        always = self._always
        if not self.viewing:
            top = self._first_of_all()
        elif self._slots is not None:
            top = self._first_slot()
        elif always.is_used and always.head() is not None:
            top = always.head()
        elif self._rescued is not None and self._rescued.where != GONE:
            top = self._rescued
        else:
            top = None
            for sub in self._merged:
                if sub.is_used:
                    head = sub.head()
                    if head is not None and (top is None or head.rank < top.rank):
                        top = head
            if self._capped:
                head = self._long.first()
                if head is not None and (top is None or head.rank < top.rank):
                    top = head
            if top is None and self._lost_by_deadline:
                top = self._first_lost(self._shown)
        self._top = top
        return top

    def _first_of_all(self):
        """Without a view: the engine's own order. Rare once classes are known; without classes all is in one sub-queue."""
        best = self._always.head()
        if self.set.classes:
            for entry in chain(self._order.values(), self._front.values()):
                if best is None or entry.key < best.key:
                    best = entry
        return best

    def _first_slot(self):
        first = self._always.head()
        if first is not None:
            return first
        slots, entries = self._slots, self._entries
        while self._slot_at < len(slots):
            entry = entries.get(slots[self._slot_at])
            if entry is not None and entry.where != GONE:
                return entry
            self._slot_at += 1
        return None

    def _first_lost(self, shown):
        heap, kept, found = self._lost_by_deadline, [], None
        while heap:
            entry = heap[0][2]
            if not _is_lost(heap[0]):
                heappop(heap)
            elif shown >> entry.where & 1:
                found = entry
                break
            else:
                # Lost requests of a hidden path stand in front; they are put back below.
                kept.append(heappop(heap))
        for item in kept:
            heappush(heap, item)
        return found


def _key(entry):
    return entry.key


def _is_lost(item):
    deadline, key, entry = item
    return (entry.where == LOST or entry.where == LONG_LOST) and deadline == entry.deadline and key == entry.key
