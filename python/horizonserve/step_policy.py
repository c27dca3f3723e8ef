"""One step's view from the published coefficients: the rotation, the guard, the long-path cap and triage, as the core decides them.

Everything that a decision needs is the engine's own: its counts, its step number, its clock. What is published are the rules.
"""

from . import wire
from .waiting import LONG, LOST, ORDINARY, PROTECTED, SHORT

_ALL = 63
_HAIR = 1e-9
#: Place of the cap in the rules of a state; what it counts stands behind it.
_CAP = 6
_LONG_LOST = LONG * 3 + LOST
_LONG_ORDINARY = LONG * 3 + ORDINARY
_SHOWS_ALL = (_ALL, -1, False, False)


def _bits(path, *statuses):
    return sum(1 << path * 3 + status for status in statuses)


class StepPolicy:
    """Keeps what the rules remember from step to step: the place in the cycle, N, and the credit of lost requests."""

    def __init__(self):
        self._state = None
        self._rules = None
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

    def decide(self, state, counts, always, step):
        """(shown, limit, rescue, one_lost): the mask of visible (path, status) groups, the cap on ordinary long-path ones (-1: none),
        whether to rescue a lost request, and whether at most one lost long-path request may be admitted."""
        if state is not self._state:
            self._take_rules(state)
        if self._rules is None:
            self.phase, self.passed = -1, False
            return _SHOWS_ALL
        rotates, n_min, by_cycle, m, bases, passing, cap, cap_shared, triage, share_floor, long_downstream, conserves = self._rules
        hidden = -1
        if rotates:
            position = self.position
            if not by_cycle or position == 0:
                self._renew_n(state, counts, n_min)
            n = self.n
            at = position if by_cycle else step % (n + m)
            self.position = position + 1 if position + 1 < n + m else 0
            self.phase, hidden = (SHORT, LONG) if at < n else (LONG, SHORT)
        shown = bases[hidden]
        limit = -1
        if cap >= 0:
            held = self.long_ordinary if cap_shared else self.long_ordinary_prefill
            limit = cap - held if cap > held else 0
        in_shared = self.in_shared
        rescue = False
        if triage:
            if long_downstream or in_shared[LONG]:
                shown &= ~(1 << _LONG_LOST)
            if counts[LOST] or counts[_LONG_LOST]:
                self.credit += share_floor
                if self.credit >= 1 - _HAIR:
                    self.credit -= 1
                    rescue = True
        self.passed = False
        if conserves:
            if hidden >= 0 and not (shown & 1 and counts[ORDINARY] or limit and shown & 1 << _LONG_ORDINARY and counts[_LONG_ORDINARY]):
                self.passed = True
                shown |= passing[hidden]
            if not (always or rescue or long_downstream or in_shared[SHORT] or in_shared[LONG]) and _shows_nothing(shown, counts, limit):
                return _SHOWS_ALL
        return shown, limit, rescue, triage

    def _take_rules(self, state):
        """What does not change while a state is in force."""
        self._state = state
        flags = state.flags
        if flags & wire.OBSERVE:
            self._rules = None
            return
        triage = bool(flags & wire.TRIAGE)
        # By what is hidden: the short path, the long path, and last nothing (-1).
        bases = [_ALL & ~_bits(SHORT, ORDINARY, PROTECTED, LOST), _ALL & ~_bits(LONG, ORDINARY, PROTECTED, LOST), _ALL]
        for always in [PROTECTED] * bool(flags & wire.EXEMPT_PROTECTED) + [LOST] * triage:
            bases = [base | _bits(SHORT, always) | _bits(LONG, always) for base in bases]
        passing = [_bits(path, ORDINARY, PROTECTED) | (0 if triage else _bits(path, LOST)) for path in (SHORT, LONG)]
        self._rules = (
            bool(flags & wire.ROTATE), state.nMin, bool(flags & wire.CYCLE), state.m, bases, passing,
            state.longCap if flags & wire.LIMIT_LONG else -1, bool(flags & wire.CAP_SHARED),
            triage, state.shareFloor, state.longDownstream, bool(flags & wire.WORK_CONSERVING),
        )  # fmt: skip

    def _renew_n(self, state, counts, n_min):
        if state.n:
            self.n = state.n
            return
        urgent = counts[PROTECTED]
        everyone = urgent + counts[ORDINARY]
        self.n = n_min if everyone == 0 else int(n_min + (urgent / everyone) * (state.nMax - n_min) + 0.5)

    def limit(self):
        """How many ordinary long-path requests the next step may show by its cap, as far as is known now; -1 without a cap."""
        if self._rules is None or self._rules[_CAP] < 0:
            return -1
        held = self.long_ordinary if self._rules[_CAP + 1] else self.long_ordinary_prefill
        return max(0, self._rules[_CAP] - held)

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
