"""vLLM-Omni's schedulers with our view.

Stage 0: `--stage-overrides '{"0": {"scheduler_cls": "horizonserve.vllm_omni.HorizonOmniScheduler"}}'`. A `scheduler_cls` in the deploy
YAML is silently overwritten by vLLM-Omni; the override wins. Later stages need no flag: the plugin entry point makes them publish
their activity.
"""

import multiprocessing
import os
import re

from vllm_omni.core.sched.omni_ar_scheduler import OmniARAsyncScheduler, OmniARScheduler
from vllm_omni.engine.serialization import deserialize_additional_information

from .describe import describe
from .settings import Settings, log, open_segment
from .vllm import HorizonMixin

_STAGE_NAME = re.compile(r"_stage(\d+)_")


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
            self.horizon.begin_step(len(self.running))
        return defers


class HorizonOmniScheduler(HorizonOmniMixin, OmniARAsyncScheduler):
    """For the shared stage with async scheduling, the default."""


class HorizonOmniSyncScheduler(HorizonOmniMixin, OmniARScheduler):
    """For the shared stage without async scheduling."""


def stage_of_process(environ=os.environ):
    """The stage of this process: by environment, else by the name that vLLM-Omni gives its stage processes; None elsewhere."""
    if "HORIZONSERVE_STAGE" in environ:
        return Settings(environ).stage
    match = _STAGE_NAME.search(multiprocessing.current_process().name)
    return int(match.group(1)) if match else None


def register():
    """Entry point `vllm_omni.general_plugins`: in stages after the first, publishes their activity after each of their steps."""
    stage = stage_of_process()
    if not stage or "HORIZONSERVE_SEGMENT" not in os.environ:
        return
    from vllm_omni.core.sched.omni_generation_scheduler import OmniGenerationScheduler

    for each in (OmniARAsyncScheduler, OmniARScheduler, OmniGenerationScheduler):
        publish_activity(each, stage)


def publish_activity(scheduler_class, stage, segment=None):
    """Wraps `schedule` of a class, once, so that every step tells what the stage runs. Stage processes only ever have one scheduler."""
    plain = scheduler_class.__dict__.get("schedule")
    if plain is None or getattr(plain, "horizonserve", False):
        return
    state = {"segment": segment, "step": 0}

    def schedule(self, *args, **kwargs):
        output = plain(self, *args, **kwargs)
        if state["segment"] is None and state["step"] == 0:
            settings = Settings()
            settings.stage = stage
            state["segment"] = open_segment(settings)
        state["step"] += 1
        if state["segment"] is not None:
            state["segment"].report_activity(
                len(self.running), len(self.waiting), getattr(output, "total_num_scheduled_tokens", 0), state["step"]
            )
        return output

    schedule.horizonserve = True
    scheduler_class.schedule = schedule
