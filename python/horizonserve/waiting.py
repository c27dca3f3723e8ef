"""Waiting requests kept as lost, protected or ordinary without looking at each, as the controller's core keeps them.

A list holds the requests of one class, SLO and bucket of the estimate. Inside it deadline order is arrival order and the offsets are
one number each, so it reads lost… protected… ordinary… and two cursors say where the parts begin. A heap of the next crossing
instants names the lists that are due. A step costs what is due and what changed, not what waits.

The test is `deadline - now < offset` on doubles, the expression of the core, so that both agree to the last bit.
"""

import math
from heapq import heapify, heappop, heappush

SHORT, LONG = 0, 1
ORDINARY, PROTECTED, LOST = 0, 1, 2
#: Places beside `path * 3 + status`: always visible, shown together with its leader, and not in the queue.
ALWAYS, ATTACHED, GONE = 6, 7, -1
_INF = float("inf")
_EARLY = 1e-12
_MANY_HOLES = 32
_PER_OCTAVE, _MIN_EXPONENT, _MAX_EXPONENT = 8, -4, 28
BUCKET_MS = [
    2.0 ** (_MIN_EXPONENT + (i >> 3)) * (1 + (i & 7) / _PER_OCTAVE) for i in range((_MAX_EXPONENT - _MIN_EXPONENT) * _PER_OCTAVE + 1)
]


def bucket_of(ms):
    """The smallest log-linear bucket (8 per octave) whose edge is not below the estimate."""
    if not ms > BUCKET_MS[0]:
        return 0
    if ms >= BUCKET_MS[-1]:
        return len(BUCKET_MS) - 1
    mantissa, exponent = math.frexp(ms)
    return (exponent - 1 - _MIN_EXPONENT) * _PER_OCTAVE + math.ceil((mantissa * 2 - 1) * _PER_OCTAVE)


class Entry:
    """A request as the shim knows it, from its arrival to its end. Kept on the request itself."""

    __slots__ = (
        "request", "features", "arrival_ns", "id_high", "id_low", "slot",
        "class_index", "path", "deadline", "key", "rank", "where", "list", "chosen",
        "ticket", "admitted_ordinary", "in_shared", "in_prefill", "responded", "told", "told_always",
        "is_companion", "leader", "followers", "is_parked",
    )

    def __init__(self, request, features, arrival_ns, ids, slot):
        self.request = request
        self.features = features
        self.arrival_ns = arrival_ns
        self.id_high, self.id_low = ids
        self.slot = slot
        self.class_index = 0
        self.path = SHORT
        self.deadline = _INF
        self.key = self.rank = 0
        self.where = GONE
        self.list = None
        self.ticket = 0
        self.chosen = self.admitted_ordinary = self.in_shared = self.in_prefill = self.responded = self.told = self.told_always = False
        #: A companion is a part of another request, its leader: hidden and shown with it, and counted with it alone.
        self.is_companion = False
        self.leader = self.followers = None
        #: A session between two turns.
        self.is_parked = False


class _List:
    __slots__ = ("class_index", "path", "bucket_ms", "own", "items", "holes", "live", "ordinary", "protect", "lose", "next")

    def __init__(self, class_index, path, bucket_ms, own):
        self.class_index = class_index
        self.path = path
        self.bucket_ms = bucket_ms
        #: Its key, where the SLO is a client's own: clients may name millions, so such a list goes when it is empty. Else None.
        self.own = own
        self.items = []
        self.holes = self.live = self.ordinary = 0
        self.protect = self.lose = -_INF
        self.next = _INF


class WaitingSet:
    """The classified requests. `on_move(entry, where)` puts an entry into the sub-queue of its path and status."""

    def __init__(self, on_move):
        self.counts = [0] * 6
        self.classes = ()
        self._lists = {}
        self._by_class = []
        #: (instant, ticket, list): when the next request of a list crosses; the first is due when its instant is past.
        self.due, self._due_bound = [], 64
        self._on_move = on_move
        self._ticket = 0

    def set_classes(self, rows):
        """New classes: forgets all lists. The caller puts every entry in again."""
        self.classes = tuple(rows)
        self.counts[:] = [0] * 6
        self._lists = {}
        self._by_class = [{} for _ in rows]
        self.due, self._due_bound = [], 64

    def set_coefficients(self, rows, now):
        """Same classes, new slowdowns, waits or guards: O(lists of the classes that changed) and what crosses."""
        old, self.classes = self.classes, tuple(rows)
        for c, row in enumerate(rows):
            was = old[c]
            if (row.slowdown, row.waitMs, row.uGuard, row.uLost) == (was.slowdown, was.waitMs, was.uGuard, was.uLost):
                continue
            for each in self._by_class[c].values():
                # One that is empty asks for its offsets when it is used again.
                if each.items:
                    each.protect, each.lose = row.offsets(each.bucket_ms)
                    self._retreat(each, now)
                    self._advance(each, now)
                    self._schedule(each)

    def add(self, entry, class_index, slo_ms, bucket):
        """Puts an entry into its list as ordinary; `refresh` says otherwise when it is due."""
        row = self.classes[class_index]
        key = (class_index, slo_ms, bucket)
        each = self._lists.get(key)
        if each is None:
            each = self._lists[key] = _List(class_index, row.path, BUCKET_MS[bucket], None if slo_ms == row.sloMs else key)
            self._by_class[class_index][key] = each
        entry.class_index = class_index
        entry.path = each.path
        entry.list = each
        items = each.items
        at = len(items)
        if at == 0:
            each.protect, each.lose = row.offsets(each.bucket_ms)
        deadline = entry.deadline
        # Requests reach the engine almost in the order of their arrival at the API, not quite.
        while at > 0 and items[at - 1][0] > deadline:
            at -= 1
        self._ticket = entry.ticket = self._ticket + 1
        items.insert(at, (deadline, entry.ticket, entry))
        status = ORDINARY
        if at < each.live:
            each.live += 1
            each.ordinary += 1
            status = LOST
        elif at < each.ordinary:
            each.ordinary += 1
            status = PROTECTED
        self._place(entry, each.path * 3 + status)
        if at == each.ordinary or at == each.live:
            self._schedule(each)

    def remove(self, entry):
        """Takes an entry out; its place in the list becomes a hole that cursors skip."""
        where = entry.where
        entry.where = GONE
        entry.ticket = 0
        if where < 0 or where >= ALWAYS:
            return
        self.counts[where] -= 1
        each = entry.list
        entry.list = None
        each.holes += 1
        if each.holes == len(each.items):
            self._empty(each)
        elif each.holes >= _MANY_HOLES:
            # In batches, so that dropping holes costs one move each.
            self._drop_holes(each)

    def _empty(self, each):
        each.items.clear()
        each.holes = each.live = each.ordinary = 0
        if each.own is not None:
            del self._lists[each.own]
            del self._by_class[each.class_index][each.own]
            each.next = _INF

    def _drop_holes(self, each):
        """The usual hole is at the head. When holes inside outnumber the rest, all are dropped."""
        items, end = each.items, len(each.items)
        drop = 0
        while drop < end and items[drop][2].ticket != items[drop][1]:
            drop += 1
        del items[:drop]
        each.holes -= drop
        each.live = max(0, each.live - drop)
        each.ordinary = max(0, each.ordinary - drop)
        if each.holes > len(items) // 2 + _MANY_HOLES:
            is_kept = [entry.ticket == ticket for _, ticket, entry in items]
            each.live = sum(is_kept[: each.live])
            each.ordinary = sum(is_kept[: each.ordinary])
            items[:] = [item for item, kept in zip(items, is_kept) if kept]
            each.holes = 0

    def refresh(self, now):
        """Brings every list that is due up to `now` (ms)."""
        due = self.due
        again = None
        while due and due[0][0] < now:
            key, _, each = heappop(due)
            if key != each.next:
                continue
            each.next = _INF
            self._advance(each, now)
            if again is None:
                again = [each]
            else:
                again.append(each)
        if again is not None:
            for each in again:
                self._schedule(each)

    def _place(self, entry, where):
        entry.where = where
        self.counts[where] += 1
        self._on_move(entry, where)

    def _advance(self, each, now):
        """Cursors forward: time has passed, or the estimate grew."""
        each.ordinary = self._cross(each, each.ordinary, len(each.items), now, each.protect, each.path * 3 + PROTECTED)
        each.live = self._cross(each, each.live, each.ordinary, now, each.lose, each.path * 3 + LOST)

    def _cross(self, each, at, end, now, offset, where):
        items = each.items
        while at < end:
            deadline, ticket, entry = items[at]
            # Holes too: who comes out of order finds its status by its place among them.
            if not deadline - now < offset:
                break
            if entry.ticket == ticket:
                self.counts[entry.where] -= 1
                self._place(entry, where)
            at += 1
        return at

    def _retreat(self, each, now):
        """Cursors back: the estimate shrank."""
        each.live = self._return(each, each.live, 0, now, each.lose, each.path * 3 + PROTECTED)
        each.ordinary = self._return(each, each.ordinary, each.live, now, each.protect, each.path * 3 + ORDINARY)

    def _return(self, each, at, end, now, offset, where):
        items = each.items
        while at > end:
            deadline, ticket, entry = items[at - 1]
            if deadline - now < offset:
                break
            if entry.ticket == ticket:
                self.counts[entry.where] -= 1
                self._place(entry, where)
            at -= 1
        return at

    def _schedule(self, each):
        """Notes when the next request of a list crosses; a little early, for the test itself is exact."""
        items = each.items
        key = _INF
        if each.ordinary < len(items) and each.protect > -_INF:
            deadline, offset = items[each.ordinary][0], each.protect
            key = deadline - offset - _EARLY * (abs(deadline) + abs(offset))
        if each.live < each.ordinary and each.lose > -_INF:
            deadline, offset = items[each.live][0], each.lose
            key = min(key, deadline - offset - _EARLY * (abs(deadline) + abs(offset)))
        if key != each.next:
            each.next = key
            if key < _INF:
                self._ticket += 1
                due = self.due
                heappush(due, (key, self._ticket, each))
                if len(due) > self._due_bound:
                    due[:] = {id(item[2]): item for item in due if item[0] == item[2].next}.values()
                    heapify(due)
                    self._due_bound = 64 + 2 * len(due)
