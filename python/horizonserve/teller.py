"""What the controller is told: arrivals, changes, one record per step, and everything again when another controller attaches."""

from . import wire
from .waiting import ALWAYS, GONE

_PER_STEP = 256


class Teller:
    """Writes events. Without a segment it says nothing."""

    def __init__(self, segment):
        self._segment = segment
        self._session = None
        self._again = None
        #: Time and number of the step under way.
        self.now_ns = 0
        self.step_number = 0

    def forget(self):
        """Nobody listens any more: who listens next is told all that lives."""
        self._session = self._again = None

    def arrival(self, entry, flags):
        """A request is known by its class now."""
        entry.told = True
        if self._segment is None:
            return
        f = entry.features
        self._segment.post(
            wire.ARRIVE, entry.class_index, entry.arrival_ns, entry.id_high, entry.id_low,
            entry.slot, f.tokens & 0xFFFFFFFF, f.audio_ms & 0xFFFFFFFF, min(f.images, 0xFFFF) | min(f.videos, 0xFFFF) << 16, int(f.slo_ms), flags,
        )

    def change(self, kind, entry, tokens, where=0, now=None):
        """A request was admitted, preempted, answered, ended."""
        time_ns = self.now_ns if now is None else now
        self._segment.post(kind, entry.class_index, time_ns, entry.id_high, entry.id_low, entry.slot, tokens, where + 1, 0, self.step_number & 0xFFFFFFFF)

    def step(self, shim, tokens, running):
        """One record for a step, and a part of what a controller that attached must be told."""
        segment = self._segment
        session = segment.session()
        if session != self._session:
            self._session = session
            self._again = list(shim.entries.values())
            segment.post(wire.SYNC_BEGIN, 0, self.now_ns, a=session & 0xFFFFFFFF, b=len(self._again))
        if self._again is not None:
            self._tell_again(shim)
        policy, step, took = shim.policy, self.step_number & 0xFFFFFFFF, shim.boundary_ns
        n, waiting = policy.n, len(shim.queue)
        segment.activity = (running, waiting, tokens, step)
        segment.post(
            wire.STEP, 0, self.now_ns, 0, 0, step, tokens,
            (running if running < 0xFFFF else 0xFFFF) | (waiting if waiting < 0xFFFF else 0xFFFF) << 16,
            policy.phase + 1 | (n if n < 255 else 255) << 2 | policy.passed << 10,
            took if took < 0xFFFFFFFF else 0xFFFFFFFF, shim.admitted,
        )

    def _tell_again(self, shim):
        """Some per step: a step does not wait for it."""
        classified = bool(shim.queue.set.classes)
        for _ in range(min(_PER_STEP, len(self._again))):
            entry = self._again.pop()
            if shim.entries.get(entry.slot) is not entry or entry.is_companion:
                continue
            flags = wire.ARRIVAL_RESYNC
            if entry.in_shared or entry.is_parked:
                flags |= wire.ARRIVAL_RUNNING
            elif classified and (entry.where == ALWAYS or entry.where == GONE):
                flags |= wire.ARRIVAL_ALWAYS
                entry.told_always = True
            if entry.responded:
                flags |= wire.ARRIVAL_RESPONDED
            self.arrival(entry, flags)
        if not self._again:
            self._again = None
            self._segment.post(wire.SYNC_END, 0, self.now_ns, a=self._session & 0xFFFFFFFF)
