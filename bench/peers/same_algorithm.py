"""The algorithm of src/core in plain Python: FIFO lists per (class, bucket) cut into lost, protected and ordinary, a heap of due lists and
heaps of list heads. It separates what the structure gives from what the language gives. Standard library only.
"""
import heapq
import math
import random
import time
from collections import deque

ORDINARY, PROTECTED, LOST = 0, 1, 2


class WaitingList:
    __slots__ = ("class_index", "protect", "lose", "segments", "due")

    def __init__(self, class_index, work):
        self.class_index = class_index
        self.protect = 2.0 * work
        self.lose = work
        self.segments = (deque(), deque(), deque())
        self.due = math.inf


class SameAlgorithm:
    def __init__(self, num_classes=8):
        self.num_classes = num_classes
        self.lists = {}
        self.counts = [[0, 0, 0] for _ in range(num_classes)]
        self.due = []
        # Heads of live segments per class: (seq, list). Entries go stale and are dropped when met.
        self.heads = [[] for _ in range(num_classes)]
        self.seq = 0
        self.k = 0
        self.held = 0
        self.smooth = 0.0
        self.n = 2
        self.position = 0

    def arrive(self, class_index, bucket, work, deadline):
        key = class_index * 1000 + bucket
        lst = self.lists.get(key)
        if lst is None:
            lst = self.lists[key] = WaitingList(class_index, work)
        ordinary = lst.segments[ORDINARY]
        ordinary.append((self.seq, deadline, lst))
        self.counts[class_index][ORDINARY] += 1
        if len(ordinary) == 1:
            self.schedule(lst)
            if not lst.segments[PROTECTED]:
                heapq.heappush(self.heads[class_index], (self.seq, id(lst), lst))
        self.seq += 1

    def schedule(self, lst):
        due = math.inf
        if lst.segments[ORDINARY]:
            due = lst.segments[ORDINARY][0][1] - lst.protect
        if lst.segments[PROTECTED]:
            due = min(due, lst.segments[PROTECTED][0][1] - lst.lose)
        lst.due = due
        if due < math.inf:
            heapq.heappush(self.due, (due, id(lst), lst))

    def refresh(self, now):
        due = self.due
        while due and due[0][0] < now:
            key, _, lst = heapq.heappop(due)
            if key != lst.due:
                continue
            ordinary, protected, lost = lst.segments
            counts = self.counts[lst.class_index]
            while ordinary and ordinary[0][1] - now < lst.protect:
                protected.append(ordinary.popleft())
                counts[ORDINARY] -= 1
                counts[PROTECTED] += 1
            while protected and protected[0][1] - now < lst.lose:
                lost.append(protected.popleft())
                counts[PROTECTED] -= 1
                counts[LOST] += 1
            live = protected or ordinary
            if live:
                heapq.heappush(self.heads[lst.class_index], (live[0][0], id(lst), lst))
            self.schedule(lst)

    def step(self, now, pressure):
        self.refresh(now)
        half = self.num_classes // 2
        if self.position == 0:
            urgent = sum(c[PROTECTED] for c in self.counts[:half])
            total = urgent + sum(c[ORDINARY] for c in self.counts[:half])
            self.n = int(2 + (urgent / total if total else 0.0) * 6 + 0.5)
        short_phase = self.position < self.n
        self.position = 0 if self.position + 1 >= self.n + 2 else self.position + 1
        self.smooth = 0.4 * pressure + 0.6 * self.smooth
        level = min((40, 48, 56, 64, 80), key=lambda s: abs(s - (40 + min(1.0, self.smooth / 0.9) * 40)))
        return short_phase, level

    def top(self, c):
        """First live request of a class as (seq, list), stale entries dropped; None when there is none."""
        heads = self.heads[c]
        while heads:
            seq, _, lst = heads[0]
            live = lst.segments[PROTECTED] or lst.segments[ORDINARY]
            if live and live[0][0] == seq:
                return seq, lst
            heapq.heappop(heads)
        return None

    def take(self, short_phase, count):
        """Takes and admits up to `count`, merging the heads of the classes of the phase and the protected ones of the other."""
        half = self.num_classes // 2
        merge = []
        for c in range(self.num_classes):
            if (c < half) == short_phase or self.counts[c][PROTECTED]:
                top = self.top(c)
                if top is not None:
                    merge.append((top[0], c))
        heapq.heapify(merge)
        taken = []
        while merge and len(taken) < count:
            _, c = heapq.heappop(merge)
            top = self.top(c)
            if top is None:
                continue
            lst = top[1]
            live = lst.segments[PROTECTED] or lst.segments[ORDINARY]
            if (c < half) != short_phase and not lst.segments[PROTECTED]:
                continue
            is_protected = live is lst.segments[PROTECTED]
            taken.append(live.popleft())
            self.counts[c][PROTECTED if is_protected else ORDINARY] -= 1
            rest = lst.segments[PROTECTED] or lst.segments[ORDINARY]
            if rest:
                heapq.heapreplace(self.heads[c], (rest[0][0], id(lst), lst))
            else:
                heapq.heappop(self.heads[c])
            self.schedule(lst)
            following = self.top(c)
            if following is not None:
                heapq.heappush(merge, (following[0], c))
        return taken


def measure(size, samples):
    rng = random.Random(12345)
    scheduler = SameAlgorithm()
    now = 0.0

    def arrive(class_index):
        octave = rng.randrange(8)
        tokens = (32 << octave) + (rng.randrange(32) << octave)
        work = (10.0 if class_index < 4 else 350.0) + 0.04 * tokens
        bucket = math.ceil(math.log2(work) * 8)
        slo = (500.0 if class_index < 4 else 4000.0) * max(1, size / 64)
        scheduler.arrive(class_index, bucket, 2 ** (bucket / 8), now + slo)

    for i in range(size):
        now += 1.0
        arrive(i % 8)
    times = []
    for _ in range(samples):
        start = time.perf_counter_ns()
        short_phase, _ = scheduler.step(now, 0.5)
        taken = scheduler.take(short_phase, 8)
        times.append(time.perf_counter_ns() - start)
        for _, _, lst in taken:
            arrive(lst.class_index)
        now += 8.0
    return times
