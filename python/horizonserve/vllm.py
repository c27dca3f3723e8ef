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


class HorizonRequestQueue(HorizonQueue, RequestQueue):
    """Ours, of the engine's type."""


def may_hide(request):
    """Only what has never run and holds nothing: everything else deadlocks or leaks when it is hidden."""
    return (
        request.status is _WAITING
        and request.num_computed_tokens == 0
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
            shim.begin_step(len(self.running))
        tokens = 0
        try:
            output = super().schedule(*args, **kwargs)
            tokens = output.total_num_scheduled_tokens
            return output
        finally:
            shim.end_step(tokens, self.running, _RUNNING)

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
            self.horizon.ended(request, request.status is _ABORTED, request.num_output_tokens)
        return super()._free_request(request, *args, **kwargs)


class HorizonScheduler(HorizonMixin, AsyncScheduler):
    """For vLLM with async scheduling, its default."""

    horizon_over = AsyncScheduler


class HorizonSyncScheduler(HorizonMixin, Scheduler):
    """For vLLM with `--no-async-scheduling`."""
