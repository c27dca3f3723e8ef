"""vLLM-Omni's schedulers with our view.

The plugin puts them in (`horizonserve.plugin`): vLLM-Omni takes no scheduler class from its command line or its deploy file.
"""

from vllm_omni.core.sched.omni_ar_scheduler import OmniARAsyncScheduler, OmniARScheduler
from vllm_omni.engine.serialization import deserialize_additional_information

from . import wire
from .describe import describe
from .segment import monotonic_ns
from .settings import Settings, log, open_segment
from .vllm import _ABORTED, HorizonMixin


def describe_omni(request):
    """Features with what vLLM-Omni carries beside the request: the final stage, and whatever an embedding program put there."""
    info = {}
    payload = getattr(request, "additional_information", None)
    if payload is not None:
        try:
            info = deserialize_additional_information(payload)
        except Exception as error:  # noqa: BLE001 - a payload of any client must not stop the engine
            log.debug("horizonserve: additional information of %s is not readable: %s", request.request_id, error)
    return describe(request, info if isinstance(info, dict) else {})


class HorizonOmniMixin(HorizonMixin):
    """The view opens where vLLM-Omni itself asks whether admissions wait: after connector inputs have been applied."""

    horizon_describe = staticmethod(describe_omni)
    horizon_opens_later = hasattr(OmniARScheduler, "_should_defer_waiting_admission")

    def _should_defer_waiting_admission(self):
        defers = super()._should_defer_waiting_admission()
        if self.horizon is not None and not defers:
            self._horizon_take_back()
            self.horizon.begin_step(len(self.running))
        return defers


class HorizonOmniScheduler(HorizonOmniMixin, OmniARAsyncScheduler):
    """For the shared stage with async scheduling, the default."""

    horizon_over = OmniARAsyncScheduler


class HorizonOmniSyncScheduler(HorizonOmniMixin, OmniARScheduler):
    """For the shared stage without async scheduling."""

    horizon_over = OmniARScheduler


def publish_activity(scheduler_class, stage, segment=None):
    """Wraps a scheduler class of a later stage, once: every step tells what the stage runs, and every request its first output and its
    end. A stage process only ever has one scheduler."""
    if getattr(scheduler_class.__dict__.get("schedule"), "horizonserve", False):
        return
    plain_schedule, plain_free = scheduler_class.schedule, scheduler_class._free_request
    watch = _StageWatch(stage, segment)

    def schedule(self, *args, **kwargs):
        output = plain_schedule(self, *args, **kwargs)
        watch.stepped(self, output)
        return output

    def _free_request(self, request, *args, **kwargs):
        watch.ended(request)
        return plain_free(self, request, *args, **kwargs)

    schedule.horizonserve = True
    scheduler_class.schedule = schedule
    scheduler_class._free_request = _free_request


class _StageWatch:
    """Knows which requests of a later stage have been scheduled once. The first output counts at the step after, when it exists."""

    def __init__(self, stage, segment):
        self._stage = stage
        self._segment = segment
        self._opened = segment is not None
        self._step = 0
        self._fresh = []
        self._seen = {}
        #: Of the listener that was told last; None before the first one, who has missed nothing that it could know of.
        self._session = None

    def stepped(self, scheduler, output):
        if not self._opened:
            self._opened = True
            settings = Settings()
            settings.stage = self._stage
            self._segment = open_segment(settings)
        segment = self._segment
        if segment is None:
            return
        self._step += 1
        for request in self._fresh:
            self._tell(wire.FIRST_RESPONSE, request)
        self._fresh = []
        scheduled = getattr(output, "num_scheduled_tokens", None) or {}
        for request_id in scheduled:
            if request_id not in self._seen:
                request = scheduler.requests.get(request_id)
                if request is not None:
                    self._seen[request_id] = request
                    self._fresh.append(request)
        waiting = len(scheduler.waiting) + len(getattr(scheduler, "skipped_waiting", ()))
        segment.report_activity(len(scheduler.running), waiting, getattr(output, "total_num_scheduled_tokens", 0), self._step)
        self._look_for_listener(scheduler)

    def _look_for_listener(self, scheduler):
        """A controller that came, came back, or lost something is told all that the stage holds."""
        segment, now = self._segment, monotonic_ns()
        if not segment.controller_mode(now):
            if self._session is not None:
                self._session = -1
            return
        before, session = self._session, segment.session()
        if session == before:
            return
        self._session = session
        if before is None:
            return
        segment.post(wire.SYNC_BEGIN, 0, now, a=session & 0xFFFFFFFF, b=len(scheduler.requests))
        for request in scheduler.requests.values():
            high, low = wire.request_hash(_external_id(request))
            segment.post(wire.ARRIVE, 0, now, high, low, f=wire.ARRIVAL_RESYNC | wire.ARRIVAL_RUNNING)
        segment.post(wire.SYNC_END, 0, now, a=session & 0xFFFFFFFF)

    def ended(self, request):
        if self._segment is None:
            return
        if request in self._fresh:
            self._fresh.remove(request)
            self._tell(wire.FIRST_RESPONSE, request)
        self._seen.pop(request.request_id, None)
        self._tell(wire.ABORT if request.status is _ABORTED else wire.FINISH, request)

    def _tell(self, kind, request):
        segment, now = self._segment, monotonic_ns()
        if segment.hears(now):
            high, low = wire.request_hash(_external_id(request))
            segment.post(kind, 0, now, high, low, 0, 1, 0, 0, self._step & 0xFFFFFFFF)


def _external_id(request):
    """The key that all stages share: vLLM-Omni's own for a request; each stage has another id beside it."""
    return getattr(request, "external_req_id", None) or str(request.request_id)
