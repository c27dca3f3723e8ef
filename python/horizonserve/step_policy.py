"""One step's view from the published coefficients: the rotation, the guard, the long-path cap and triage, as the core decides them.

Everything that a decision needs is the engine's own: its counts, its step number, its clock. What is published are the rules.
"""

from . import wire
from .waiting import LONG, LOST, ORDINARY, PROTECTED, SHORT

_ALL = (True,) * 6
_HAIR = 1e-9


class StepPolicy:
    """Keeps what the rules remember from step to step: the place in the cycle, N, and the credit of lost requests."""

    def __init__(self):
        self._flags = None
        self._templates = {}
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
        """(shown, limit, rescue): which (path, status) groups are visible, the cap on ordinary long-path ones, whether to rescue."""
        flags = state.flags
        if flags != self._flags:
            self._prepare(flags)
        if flags & wire.OBSERVE:
            self.phase, self.passed = -1, False
            return _ALL, -1, False
        hidden = self._rotate(state, flags, counts, step) if flags & wire.ROTATE else -1
        shown = self._templates[hidden][:]
        passed = rescue = False
        limit = -1
        if flags & wire.LIMIT_LONG:
            held = self.long_ordinary if flags & wire.CAP_SHARED else self.long_ordinary_prefill
            limit = state.longCap - held if state.longCap > held else 0
        if flags & wire.TRIAGE:
            if self.in_shared[LONG] or state.longDownstream:
                shown[5] = False
            if counts[2] or counts[5]:
                self.credit += state.shareFloor
                if self.credit >= 1 - _HAIR:
                    self.credit -= 1
                    rescue = True
        if flags & wire.WORK_CONSERVING:
            if hidden >= 0 and not (shown[0] and counts[0] or shown[3] and counts[3] and limit):
                passed = True
                base = hidden * 3
                shown[base] = shown[base + 1] = True
                if not flags & wire.TRIAGE:
                    shown[base + 2] = True
            if not always and not rescue and not state.longDownstream and not any(self.in_shared) and self._shows_nothing(shown, counts, limit):
                self.passed = passed
                return _ALL, -1, False
        self.passed = passed
        return shown, limit, rescue

    def _prepare(self, flags):
        """What is shown when a path is hidden (-1: none), before counts are looked at."""
        self._flags = flags
        self._templates = {}
        for hidden in (-1, SHORT, LONG):
            shown = [where // 3 != hidden for where in range(6)]
            if flags & wire.EXEMPT_PROTECTED:
                shown[PROTECTED] = shown[3 + PROTECTED] = True
            if flags & wire.TRIAGE:
                shown[LOST] = shown[3 + LOST] = True
            self._templates[hidden] = shown

    def forced(self, counts):
        """The engine runs nothing and the view is empty: whatever the rules say, work goes on."""
        self.passed = True
        return _ALL, -1, False

    def shows_anything(self, shown, counts, limit, always, rescue):
        return bool(always or rescue or not self._shows_nothing(shown, counts, limit))

    def _rotate(self, state, flags, counts, step):
        by_cycle = flags & wire.CYCLE
        if not by_cycle or self.position == 0:
            if state.n:
                self.n = state.n
            else:
                urgent = counts[PROTECTED]
                everyone = urgent + counts[ORDINARY]
                n_min, n_max = state.nMin, state.nMax
                self.n = n_min if everyone == 0 else int(n_min + (urgent / everyone) * (n_max - n_min) + 0.5)
        cycle = self.n + state.m
        at = self.position if by_cycle else step % cycle
        self.position = 0 if self.position + 1 >= cycle else self.position + 1
        self.phase = SHORT if at < self.n else LONG
        return LONG if at < self.n else SHORT

    @staticmethod
    def _shows_nothing(shown, counts, limit):
        for where in range(6):
            if counts[where] and shown[where] and (where != 3 + ORDINARY or limit != 0):
                return False
        return True
