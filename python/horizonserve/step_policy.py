"""One step's view from the published coefficients: the rotation, the guard, the long-path cap and triage, as the core decides them.

Everything that a decision needs is the engine's own: its counts, its step number, its clock. What is published are the rules.
"""

from functools import lru_cache

from . import wire
from .waiting import LONG, LOST, ORDINARY, PROTECTED, SHORT

_ALL = 63
_HAIR = 1e-9
_LONG_LOST = LONG * 3 + LOST
_LONG_ORDINARY = LONG * 3 + ORDINARY
_NO_LONG_LOST = _ALL & ~(1 << _LONG_LOST)
_SHOWS_ALL = (_ALL, -1, False, False)


def _bits(path, *statuses):
    return sum(1 << path * 3 + status for status in statuses)


@lru_cache(64)
def _phase(phase, flags):
    """(phase, shown, what is shown too when the phase passes): before counts are looked at. Phase -1 hides nothing."""
    if phase < 0:
        return phase, _ALL, 0
    other = LONG if phase == SHORT else SHORT
    shown = _ALL & ~_bits(other, ORDINARY, PROTECTED, LOST)
    if flags & wire.EXEMPT_PROTECTED:
        shown |= _bits(other, PROTECTED)
    if flags & wire.TRIAGE:
        shown |= _bits(other, LOST)
    return phase, shown, _bits(other, ORDINARY, PROTECTED) if flags & wire.TRIAGE else _bits(other, ORDINARY, PROTECTED, LOST)


class StepPolicy:
    """Keeps what the rules remember from step to step: the place in the cycle, N, and the credit of lost requests."""

    def __init__(self):
        self._state = None
        self._rules = None
        #: (phase, shown, what passing adds) of each place in the cycle under way, and those of all N seen.
        self._cycle = ()
        self._cycles = {}
        self.n = 0
        self.phase = -1
        self.passed = False
        self.position = 0
        self.credit = 0.0
        #: Ordinary long-path requests that hold a shared-stage slot, and those of them that still prefill.
        self.long_ordinary = 0
        self.long_ordinary_prefill = 0
        #: Requests in the shared stage by path.
        self.in_shared = [0, 0]

    def reset(self):
        """Another controller, other rules: the cycle starts anew. Counts of what runs stay."""
        self.n, self.phase, self.passed, self.position, self.credit = 0, -1, False, 0, 0.0
        self._state = None

    def decide(self, state, counts, always, step):
        """(shown, limit, rescue, one_lost): the mask of visible (path, status) groups, the cap on ordinary long-path ones (-1: none),
        whether to rescue a lost request, and whether at most one lost long-path request may be admitted."""
        if state is not self._state:
            self._take_rules(state)
        rules = self._rules
        if rules is None:
            self.phase, self.passed = -1, False
            return _SHOWS_ALL
        cap, cap_shared, triage, share_floor, long_downstream, conserves, by_cycle = rules
        if by_cycle:
            position = self.position
            cycle = self._cycle if position else self._start_cycle(state, counts)
            self.phase, shown, passing = cycle[position]
            position += 1
            self.position = position if position < len(cycle) else 0
        else:
            shown, passing = self._without_cycle(state, counts, step)
        limit = -1
        if cap >= 0:
            held = self.long_ordinary if cap_shared else self.long_ordinary_prefill
            limit = cap - held if cap > held else 0
        on_short, on_long = self.in_shared
        rescue = passed = False
        if triage:
            if on_long or long_downstream:
                shown &= _NO_LONG_LOST
            if counts[LOST] or counts[_LONG_LOST]:
                self.credit += share_floor
                if self.credit >= 1 - _HAIR:
                    self.credit -= 1
                    rescue = True
        if conserves:
            if passing and not (shown & 1 and counts[0] or limit and shown & 8 and counts[3]):
                passed = True
                shown |= passing
            if not (on_short or on_long or always or rescue or long_downstream) and _shows_nothing(shown, counts, limit):
                self.passed = passed
                return _SHOWS_ALL
        self.passed = passed
        return shown, limit, rescue, triage

    def _take_rules(self, state):
        """What does not change while a state is in force."""
        self._state = state
        flags = state.flags
        if flags & wire.OBSERVE:
            self._rules = None
            return
        by_cycle = flags & (wire.ROTATE | wire.CYCLE) == wire.ROTATE | wire.CYCLE
        self._rules = (
            state.longCap if flags & wire.LIMIT_LONG else -1, bool(flags & wire.CAP_SHARED), bool(flags & wire.TRIAGE),
            state.shareFloor, state.longDownstream, bool(flags & wire.WORK_CONSERVING), by_cycle,
        )  # fmt: skip
        self._cycles = {}
        if by_cycle and self.position:
            # The rules of a cycle under way hold from here on.
            self._cycle = self._cycle_of(self.n, state)
            self.position = min(self.position, len(self._cycle) - 1)

    def _start_cycle(self, state, counts):
        self._renew_n(state, counts)
        self._cycle = self._cycle_of(self.n, state)
        return self._cycle

    def _cycle_of(self, n, state):
        cycle = self._cycles.get(n)
        if cycle is None:
            cycle = self._cycles[n] = [_phase(SHORT, state.flags)] * n + [_phase(LONG, state.flags)] * state.m
        return cycle

    def _without_cycle(self, state, counts, step):
        """No rotation, or one that renews N at every step."""
        if not state.flags & wire.ROTATE:
            return _phase(-1, state.flags)[1:]
        self._renew_n(state, counts)
        self.phase, shown, passing = _phase(SHORT if step % (self.n + state.m) < self.n else LONG, state.flags)
        return shown, passing

    def _renew_n(self, state, counts):
        if state.n:
            self.n = state.n
            return
        urgent = counts[PROTECTED]
        everyone = urgent + counts[ORDINARY]
        n_min = state.nMin
        self.n = n_min if everyone == 0 else int(n_min + (urgent / everyone) * (state.nMax - n_min) + 0.5)

    def limit(self):
        """How many ordinary long-path requests the next step may show by its cap, as far as is known now; -1 without a cap."""
        if self._rules is None:
            return -1
        cap, cap_shared = self._rules[:2]
        held = self.long_ordinary if cap_shared else self.long_ordinary_prefill
        return -1 if cap < 0 else max(0, cap - held)

    def forced(self):
        """The engine runs nothing and the view is empty: whatever the rules say, work goes on."""
        self.passed = True
        return _SHOWS_ALL

    def shows_anything(self, shown, counts, limit, always, rescue):
        return bool(always or rescue or not _shows_nothing(shown, counts, limit))


def _shows_nothing(shown, counts, limit):
    for where in range(6):
        if counts[where] and shown >> where & 1 and (where != _LONG_ORDINARY or limit != 0):
            return False
    return True
