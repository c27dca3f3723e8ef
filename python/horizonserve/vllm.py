"""vLLM's scheduler with our view. The plugin puts it in where HORIZONSERVE_SEGMENT is set; `--scheduler-cls
horizonserve.vllm.HorizonScheduler` names it outright.

Extends the async scheduler, which is the one that vLLM runs by default; `HorizonSyncScheduler` is for `--no-async-scheduling`.
Only `self.waiting` is replaced. What waits elsewhere (skipped, holding KV, deferred) is the engine's affair and never hidden.
"""

from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.request_queue import RequestQueue, SchedulingPolicy
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.request import RequestStatus

from .announce import announce
from .describe import describe
from .engine_layout import layout_of
from .queue import HorizonQueue
from .settings import Settings, log, open_segment
from .shim import Shim

_WAITING = RequestStatus.WAITING
_RUNNING = RequestStatus.RUNNING
_ABORTED = RequestStatus.FINISHED_ABORTED
_ANSWERED = (RequestStatus.FINISHED_STOPPED, RequestStatus.FINISHED_LENGTH_CAPPED)
_GRAMMAR = getattr(RequestStatus, "WAITING_FOR_STRUCTURED_OUTPUT_GRAMMAR", getattr(RequestStatus, "WAITING_FOR_FSM", None))


class HorizonRequestQueue(HorizonQueue, RequestQueue):
    """Ours, of the engine's type."""


def may_hide(request):
    """Only what has never run and holds nothing: everything else deadlocks or leaks when it is hidden."""
    return request.status is _WAITING and _is_fresh(request)


def _is_fresh(request):
    return (
        request.num_computed_tokens == 0
        and request.num_preemptions == 0
        and request.num_output_tokens == 0
        and not getattr(request, "resumable", False)
    )


def _prefill_done(request):
    return request.num_computed_tokens >= request.num_prompt_tokens


def _output_tokens(request):
    return request.num_output_tokens


class HorizonMixin:
    """Goes before a scheduler class of the engine."""

    #: How features are read of a request; vLLM-Omni reads more.
    horizon_describe = staticmethod(describe)
    #: True where the view opens later than at the start of `schedule`.
    horizon_opens_later = False
    #: The class of the engine or the model that this one stands on.
    horizon_over = Scheduler

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        settings = Settings()
        self.horizon = None
        layout = layout_of(self)
        if layout is None:
            log.error("horizonserve: this engine's waiting queue has a shape we do not know; it runs without us")
            return
        by_priority = self.policy == SchedulingPolicy.PRIORITY
        self.horizon = Shim(self.horizon_describe, may_hide, settings, by_priority, open_segment(settings), queue_class=HorizonRequestQueue)
        queue = self.horizon.queue
        for request in list(self.waiting):
            queue.add_request(request)
        self.waiting = queue
        announce(self, self.horizon_over, settings, self.horizon.segment)

    def schedule(self, *args, **kwargs):
        shim = self.horizon
        if shim is None:
            return super().schedule(*args, **kwargs)
        if not self.horizon_opens_later:
            self._horizon_take_back()
            shim.begin_step(len(self.running))
        tokens, started = 0, ()
        try:
            output = super().schedule(*args, **kwargs)
            tokens, started = output.total_num_scheduled_tokens, self._horizon_started(output)
            return output
        finally:
            shim.end_step(tokens, self.running, _RUNNING, started)

    def _horizon_started(self, output):
        """The requests that a step admitted, from whichever queue."""
        new, resumed = getattr(output, "scheduled_new_reqs", ()), getattr(getattr(output, "scheduled_cached_reqs", None), "resumed_req_ids", ())
        if not new and not resumed:
            return ()
        requests = self.requests
        return [requests.get(each.req_id) for each in new] + [requests.get(each) for each in resumed]

    def _horizon_take_back(self):
        """What the engine laid aside and could admit now waits among the others again, at its place: a grammar that is ready, an adapter
        that found no room, a transfer that is done. What it cannot admit yet stays where the engine looks after it."""
        laid_aside = getattr(self, "skipped_waiting", None)
        if not laid_aside or not self.horizon.mode:
            return
        back = [request for request in laid_aside if self._horizon_could_start(request)]
        if not back:
            return
        laid_aside.remove_requests(back)
        for request in back:
            request.status = _WAITING
            self.horizon.queue.put_back(request)

    def _horizon_could_start(self, request):
        status = request.status
        if status is _GRAMMAR:
            wanted = request.structured_output_request
            grammar = wanted.grammar if wanted else None
            # One that failed to compile is the engine's to end.
            return grammar is not None and not isinstance(grammar, Exception) and _is_fresh(request)
        return status is _WAITING and _is_fresh(request)

    def add_request(self, request, *args, **kwargs):
        result = super().add_request(request, *args, **kwargs)
        shim, live = self.horizon, self.requests.get(request.request_id)
        if shim is not None and live is not None:
            if live is request:
                shim.notice(request)
            elif live.status is _WAITING:
                # A further part of a session is no request of its own.
                shim.resumed(live)
        return result

    def _handle_stopped_request(self, request, *args, **kwargs):
        """A session that may go on ends a turn here; the next one may begin before this returns."""
        if self.horizon is not None and request.resumable:
            self.horizon.turn_ended(request, request.num_output_tokens)
        return super()._handle_stopped_request(request, *args, **kwargs)

    def get_grammar_bitmask(self, *args, **kwargs):
        """The engine asks for it after it has sent the step to the device: the moment to tell the controller about the step."""
        shim = self.horizon
        if shim is not None and shim.untold is not None:
            shim.tell_step()
        return super().get_grammar_bitmask(*args, **kwargs)

    def update_from_output(self, *args, **kwargs):
        result = super().update_from_output(*args, **kwargs)
        if self.horizon is not None:
            self.horizon.after_output(_output_tokens, _prefill_done)
        return result

    def _free_request(self, request, *args, **kwargs):
        if self.horizon is not None:
            answered = request.status in _ANSWERED
            self.horizon.ended(request, not answered, request.num_output_tokens, answered)
        return super()._free_request(request, *args, **kwargs)


class HorizonScheduler(HorizonMixin, AsyncScheduler):
    """For vLLM with async scheduling, its default."""

    horizon_over = AsyncScheduler


class HorizonSyncScheduler(HorizonMixin, Scheduler):
    """For vLLM with `--no-async-scheduling`."""
