"""What happens around one engine step, for any engine: read the published state, open the view, close it, tell the controller.

The engine never waits for us beyond a bound, and nothing here may break a step: without a controller that is alive, or with a state
that cannot be used, the engine runs as it would without us.
"""

import logging
import time

from . import wire
from .classes import ClassBook
from .queue import HorizonQueue
from .settings import Settings
from .step_policy import StepPolicy
from .teller import Teller
from .waiting import GONE, LONG, ORDINARY, Entry
from .wire import WireError

log = logging.getLogger("horizonserve")
_monotonic_ns = time.monotonic_ns
_MAX_AGE_NS = 60_000_000_000
_SILENT_NS = 10_000_000_000
_LOCKSTEP = wire.MODE_LOCKSTEP
_ADMIT = wire.ADMIT
_LONG_ORDINARY = LONG * 3 + ORDINARY
_SKEW_NS = 1_000_000_000


class Shim:
    """One scheduler's shim. `describe(request)` gives `Features`; `may_hide(request)` says what the engine lets us hide;
    `queue_class` is `HorizonQueue`, or that and the engine's own type."""

    def __init__(
        self, describe, may_hide, settings=None, by_priority=False, segment=None, clock=time.monotonic_ns, wall=time.time, queue_class=HorizonQueue
    ):
        self.settings = settings or Settings()
        self.describe = describe
        self.may_hide = may_hide
        self.queue = queue_class(self, by_priority)
        self.policy = StepPolicy()
        self.clock = clock
        self.wall = wall
        self.segment = segment
        self.teller = Teller(segment)
        self.step = 0
        self.mode = wire.MODE_NONE
        self.book = None
        self.entries = {}
        self.boundary_ns = 0
        self.misses = 0
        self._free_slots = []
        self._next_slot = 0
        self._used = None
        self._class_epoch = self._table_epoch = None
        self._order_flags = 0
        self._awaiting = set()
        self._rows_before = ()
        self.admitted = 0
        #: What a step left to be told: scheduled tokens, running requests, the status of a running one; None when all is told.
        self.untold = None
        self._caught_up = True
        self._told_refused = 0
        self._silent_until = {}
        #: The newest live request of an external id: a companion looks for its leader there.
        self._by_external = {}

    # -- requests ----------------------------------------------------------------------------------------------------------------

    def entry_of(self, request):
        """The entry of a request; made when it is first seen."""
        entry = getattr(request, "horizon_entry", None)
        if entry is None:
            entry = self._arrive(request)
        return entry

    def _arrive(self, request):
        features = self.describe(request)
        slot = self._free_slots.pop() if self._free_slots else self._new_slot()
        external = features.external_id or str(request.request_id)
        entry = Entry(request, features, self._arrival_of(request), wire.request_hash(external), slot)
        if features.companion_of is None or not self._attach(entry, features):
            entry.is_companion = features.is_companion
        if not entry.is_companion:
            self._by_external[external] = entry
        request.horizon_entry = entry
        self.entries[slot] = entry
        return entry

    def _attach(self, entry, features):
        """Finds the request that a companion belongs to. An id that only looks like a companion's is a request like others."""
        leader = self._by_external.get(features.companion_of)
        if leader is None or leader.is_companion:
            return False
        entry.is_companion = True
        entry.leader = leader
        return True

    def _arrival_of(self, request):
        now = self.clock()
        age = int((self.wall() - request.arrival_time) * 1e9) if request.arrival_time else 0
        # Another machine's clock, or one that jumped, must not put a deadline into the far past or future.
        if not -_SKEW_NS <= age <= _MAX_AGE_NS:
            self._complain("clock", "a request claims to have arrived %d s ago; counted as at most 60 s, and never as in the future", age // 1_000_000_000)
        return now - min(max(age, 0), _MAX_AGE_NS)

    def _new_slot(self):
        self._next_slot += 1
        return self._next_slot

    def classify(self, waiting, entry):
        """Puts an entry into its list; tells the controller of it when it is new."""
        features = entry.features
        c = self.book.class_of(features)
        slo = features.slo_ms or waiting.classes[c].sloMs
        entry.deadline = entry.arrival_ns / 1e6 + slo
        waiting.add(entry, c, slo, self.book.bucket_of(c, features))
        # Told again where it was said to be never hidden, which is over.
        if not entry.told or entry.told_always:
            entry.told_always = False
            self.teller.arrival(entry, 0)

    def announce(self, entry):
        """Tells the controller of a request that is never hidden, or that the engine keeps elsewhere for now: it counts like others."""
        # A controller that is silent for a moment still reads what happens then, by the classes it had.
        rows = self.queue.set.classes or self._rows_before
        if entry.is_companion or self.book is None or not rows or not self._is_heard():
            return
        self._class_of(entry, rows)
        if not entry.told:
            entry.told_always = True
            self.teller.arrival(entry, wire.ARRIVAL_ALWAYS)

    def _class_of(self, entry, rows):
        c = entry.class_index = self.book.class_of(entry.features)
        entry.path = rows[c].path
        entry.deadline = entry.arrival_ns / 1e6 + (entry.features.slo_ms or rows[c].sloMs)

    def notice(self, request):
        """A request has come, whichever queue the engine put it into."""
        entry = self.queue.notice(request)
        if not entry.told:
            self.announce(entry)

    def turn_ended(self, request, output_tokens):
        """A session has answered a turn and stays: it holds its place, and computes nothing until the next turn."""
        if self.untold is not None:
            self.tell_step()
        entry = getattr(request, "horizon_entry", None)
        if entry is None or self.entries.get(entry.slot) is not entry:
            return
        self._leave_shared(entry)
        self._awaiting.discard(entry)
        entry.is_parked = True
        if entry.told and self._is_heard():
            if output_tokens and not entry.responded:
                self._first_response(entry, output_tokens, self.clock())
            self.teller.change(wire.HANDED_OVER, entry, output_tokens)

    def resumed(self, request):
        """A session goes on where the engine keeps it, outside of our queue."""
        entry = getattr(request, "horizon_entry", None)
        if entry is not None and entry.is_parked:
            self.new_turn(entry)
            self.announce(entry)

    def new_turn(self, entry):
        """A session goes on: the turn has its own arrival, class, deadline and first response."""
        if entry.told and self._is_heard():
            self.teller.change(wire.FINISH, entry, 0)
        entry.features = self.describe(entry.request)
        entry.arrival_ns = self._arrival_of(entry.request)
        entry.is_parked = entry.responded = entry.told = entry.admitted_ordinary = False

    def ended(self, request, aborted, output_tokens, answered=False):
        """A request is gone, finished or aborted. `answered`: it ended well, so that its end is its response where it had none."""
        if self.untold is not None:
            self.tell_step()
        entry = getattr(request, "horizon_entry", None)
        if entry is None or self.entries.get(entry.slot) is not entry:
            return
        if request in self.queue:
            self.queue.remove_request(request)
        self._leave_shared(entry)
        self._awaiting.discard(entry)
        if entry.told and self._is_heard():
            if (output_tokens or answered) and not entry.responded:
                self._first_response(entry, output_tokens, self.clock())
            self.teller.change(wire.ABORT if aborted else wire.FINISH, entry, output_tokens)
        del self.entries[entry.slot]
        self._free_slots.append(entry.slot)
        # What is still named in some list until that is tidied must not hold the request, and with it a prompt of megabytes.
        entry.request = None
        external = entry.features.external_id or str(request.request_id)
        if self._by_external.get(external) is entry:
            del self._by_external[external]
        entry.leader = entry.followers = None

    def _leave_shared(self, entry):
        if not entry.in_shared:
            return
        entry.in_shared = False
        self.policy.in_shared[entry.path] -= 1
        if entry.path == LONG and entry.admitted_ordinary:
            self.policy.long_ordinary -= 1
            if entry.in_prefill:
                self.policy.long_ordinary_prefill -= 1
        entry.in_prefill = False

    # -- one step ----------------------------------------------------------------------------------------------------------------

    def begin_step(self, num_running):
        """At the boundary: decides what this step may see."""
        if self.untold is not None:
            self.tell_step()
        start = now_ns = _monotonic_ns()
        # The clock of a test may be virtual; whether a controller lives is a matter of real time.
        if self.clock is not _monotonic_ns:
            now_ns = self.clock()
        teller, segment = self.teller, self.segment
        teller.now_ns = now_ns
        mode = segment.look(start) if segment is not None else 0
        if mode != self.mode:
            self._change_mode(mode)
        if mode:
            state, now = segment.state, now_ns / 1e6
            if segment.refused != self._told_refused:
                self._tell_refused()
            if state is not self._used or state is None:
                if state is None or not self._use(state, now):
                    state = None
                self._used = state
            else:
                due = self.queue.set.due
                if due and due[0][0] < now:
                    self.queue.set.refresh(now)
            if state is not None:
                self._open_view(mode, state, now_ns, now, num_running)
        self.step = teller.step_number = self.step + 1
        self.boundary_ns = _monotonic_ns() - start

    def _tell_refused(self):
        self._told_refused = self.segment.refused
        self._complain("state", "a published state could not be read; the one before stays in force (%d times)", self._told_refused)

    def _use(self, state, now):
        """Brings classes and lists to the published state; false when its classes are not readable (yet)."""
        order_flags = state.flags & (wire.LIMIT_LONG | wire.BY_DEADLINE)
        waiting = self.queue.set
        if state.classEpoch != self._class_epoch or order_flags != self._order_flags or len(state.classes) != len(waiting.classes):
            if not state.classes:
                return False
            if state.classEpoch != self._class_epoch or self.book is None:
                try:
                    self.book = ClassBook(self.segment.read_classes(state.classEpoch), state.classes)
                except WireError as error:
                    self._complain("classes", "%s; requests stay visible", error)
                    return False
            self._class_epoch, self._table_epoch, self._order_flags = state.classEpoch, state.tableEpoch, order_flags
            self.queue.reclassify(state.classes, now, bool(order_flags & wire.LIMIT_LONG), bool(order_flags & wire.BY_DEADLINE))
            self._recount()
        elif state.tableEpoch != self._table_epoch:
            self._table_epoch = state.tableEpoch
            waiting.set_coefficients(state.classes, now)
        waiting.refresh(now)
        return True

    def _complain(self, what, text, *args):
        """One line of a kind in ten seconds: what is wrong now is mostly still wrong at the next step."""
        now_ns = _monotonic_ns()
        if now_ns >= self._silent_until.get(what, 0):
            self._silent_until[what] = now_ns + _SILENT_NS
            log.warning("horizonserve: " + text, *args)

    def _open_view(self, mode, state, now_ns, now, num_running):
        queue, policy = self.queue, self.policy
        counts = queue.set.counts
        if mode == _LOCKSTEP and self._ask(now_ns, num_running):
            if num_running == 0 and not queue and len(queue):
                queue.begin(*policy.forced())
            return
        always = queue._always.is_used and queue.waiting_always()
        shown, limit, rescue, one_lost = policy.decide(state, counts, always, self.step)
        if num_running == 0 and not policy.shows_anything(shown, counts, limit, always, rescue):
            shown, limit, rescue, one_lost = policy.forced()
        queue.begin(shown, limit, rescue, one_lost)

    def _ask(self, now_ns, num_running):
        """Lockstep: waits a bounded time for this step's decision. After a miss it asks again only once the controller caught up."""
        segment = self.segment
        if not self._caught_up:
            if not segment.is_answered():
                return False
            self._caught_up = True
        answer = segment.ask(now_ns, self.step, num_running, len(self.queue), self.settings.bound_us, self.settings.spin_us)
        if answer is None:
            self.misses += 1
            self._caught_up = False
            return False
        self.queue.begin_slots(answer[2], self.entries)
        return True

    def end_step(self, scheduled_tokens, running, running_status, started=()):
        """After the engine's own scheduling: everything is visible again. What happened is told by `tell_step`. `started` are the
        requests that the step admitted, from whichever queue."""
        self.queue.close()
        self.untold = scheduled_tokens, len(running), running_status, started

    def tell_step(self):
        """Counts what a step admitted and preempted, and tells the controller. The engine calls it once the step is under way on the
        device, where it costs no time; whatever comes next makes up for it otherwise."""
        tokens, running, running_status, started = self.untold
        self.untold = None
        popped, preempted = self.queue.take_changes()
        for entry in preempted:
            self._leave_shared(entry)
            if entry.told and self._is_heard():
                self.teller.change(wire.PREEMPT, entry, 0)
        admitted = 0
        for entry, where in popped:
            request = entry.request
            if request is not None and request.status is running_status:
                admitted += 1
                self._admit(entry, where)
        if len(started) != admitted:
            admitted += self._admit_others(started, running_status)
        self.admitted = admitted
        if self.mode:
            self.teller.step(self, tokens, running)

    def _admit_others(self, started, running_status):
        """Those that the engine took from a queue of its own, or while there was no view. They count against the cap as any other."""
        admitted = 0
        for request in started:
            entry = getattr(request, "horizon_entry", None)
            if entry is None or entry.in_shared or request.status is not running_status or self.entries.get(entry.slot) is not entry:
                continue
            admitted += 1
            self._admit(entry, ORDINARY if entry.path != LONG else _LONG_ORDINARY)
        return admitted

    def _admit(self, entry, where):
        if entry.is_companion:
            return
        if where == _LONG_ORDINARY or where == ORDINARY:
            entry.admitted_ordinary = True
        if not entry.in_shared:
            entry.in_shared = entry.in_prefill = True
            policy, path = self.policy, entry.path
            policy.in_shared[path] += 1
            if path == LONG and entry.admitted_ordinary:
                policy.long_ordinary += 1
                policy.long_ordinary_prefill += 1
        self._awaiting.add(entry)
        if entry.told and self._is_heard():
            teller = self.teller
            self.segment.post(
                _ADMIT, entry.class_index, teller.now_ns, entry.id_high, entry.id_low, entry.slot, 0, where + 1, 0, teller.step_number & 0xFFFFFFFF
            )

    def after_output(self, output_tokens_of, prefill_done):
        """After the model's output: first responses and renewed prefills. Looks at those alone that still await one."""
        if self.untold is not None:
            self.tell_step()
        if self._awaiting:
            self._look_at_awaiting(output_tokens_of, prefill_done)
        if self.mode:
            self._prepare()

    def _prepare(self):
        """A newly published state, what became due, a choice that changed: seen to now, so that the boundary finds little left."""
        segment, waiting, now = self.segment, self.queue.set, self.clock() / 1e6
        if segment.look(_monotonic_ns()) != self.mode:
            return
        state = segment.state
        if state is not None and state is not self._used:
            self._used = state if self._use(state, now) else None
        elif waiting.due and waiting.due[0][0] < now:
            waiting.refresh(now)
        self.queue.prepare(self.policy.limit())

    def _look_at_awaiting(self, output_tokens_of, prefill_done):
        now = self.clock()
        for entry in [e for e in self._awaiting if prefill_done(e.request)]:
            tokens = output_tokens_of(entry.request)
            if tokens <= 0:
                continue
            self._awaiting.discard(entry)
            if entry.in_prefill:
                entry.in_prefill = False
                if entry.path == LONG and entry.admitted_ordinary:
                    self.policy.long_ordinary_prefill -= 1
            if not entry.responded:
                self._first_response(entry, tokens, now)
            elif entry.told and self._is_heard():
                self.teller.change(wire.PREFILLED, entry, tokens, now=now)

    def _first_response(self, entry, tokens, now):
        entry.responded = True
        if entry.told and self._is_heard():
            self.teller.change(wire.FIRST_RESPONSE, entry, tokens, now=now)

    def _is_heard(self):
        """Whether events reach somebody: a controller, or one that was silent for a moment and reads on when it runs again. An engine that
        goes idle in that moment takes no further step, and could make up for nothing."""
        return self.mode or (self.segment is not None and self.segment.hears(_monotonic_ns()))

    # -- the controller ----------------------------------------------------------------------------------------------------------

    def _change_mode(self, mode):
        """A controller came, left, or changed its mode."""
        if mode == wire.MODE_NONE:
            log.warning("horizonserve: no controller since %d ms; everything is visible, first come first served", wire.CONTROLLER_STALE_MS)
            self._rows_before = self.queue.set.classes
            self.queue.reclassify((), 0.0)
            self._class_epoch = self._used = None
            # Who comes next, the same one included, has not heard what happens until then.
            self.teller.forget()
        elif self.mode == wire.MODE_NONE:
            log.warning("horizonserve: following the controller of process %d, %s", self.segment.controller_pid(), "lockstep" if mode == wire.MODE_LOCKSTEP else "published state")
        self.mode = mode
        self._caught_up = True
        self.policy.reset()

    def _recount(self):
        """The path of a request may have changed with the classes; so do the counts of what runs."""
        policy = self.policy
        policy.in_shared = [0, 0]
        policy.long_ordinary = policy.long_ordinary_prefill = 0
        rows = self.queue.set.classes
        for entry in self.entries.values():
            if entry.is_companion:
                continue
            if entry.in_shared:
                entry.class_index = self.book.class_of(entry.features)
                entry.path = rows[entry.class_index].path
                policy.in_shared[entry.path] += 1
                if entry.path == LONG and entry.admitted_ordinary:
                    policy.long_ordinary += 1
                    policy.long_ordinary_prefill += entry.in_prefill
            elif entry.where == GONE:
                self.announce(entry)
