"""The way in: entry point `vllm.general_plugins`, which every engine core loads before it makes its scheduler, in vLLM and in each
stage of vLLM-Omni. Nothing happens unless HORIZONSERVE_SEGMENT names an engine.

The engine asks its configuration for the scheduler's class. The answer, whichever the engine or the model chose, gets our view in the
shared stage and our reporting in later ones. No flag is needed, and a flag that names one of our classes does no harm.
"""

import os

from . import worker
from .announce import announce, speak
from .settings import Settings, log, open_segment, stage_of_process
from .wire import WireError


def register(environ=os.environ):
    """The plugin. May be called several times in a process, as plugins are."""
    if "HORIZONSERVE_SEGMENT" not in environ:
        return
    speak()
    worker.register(environ)
    try:
        enabled = Settings(environ).enabled
    except WireError as error:
        log.error("horizonserve: %s; the engine runs without us", error)
        return
    if enabled:
        from vllm.config import SchedulerConfig

        wrap_config(SchedulerConfig)


def wrap_config(config_class):
    """Wraps `get_scheduler_cls` of the engine's configuration, once."""
    plain = config_class.get_scheduler_cls
    if getattr(plain, "horizonserve", False):
        return

    def get_scheduler_cls(self):
        chosen = plain(self)
        try:
            return scheduler_for(chosen, stage_of_process() or 0)
        except Exception:  # noqa: BLE001 - whatever goes wrong here, the engine starts
            log.exception("horizonserve: the scheduler %s could not be followed; this stage runs without us", _name(chosen))
            return chosen

    get_scheduler_cls.horizonserve = True
    config_class.get_scheduler_cls = get_scheduler_cls


def scheduler_for(chosen, stage):
    """The class to run in place of the one that the engine chose for this stage."""
    if stage > 0:
        return _reporting(chosen, stage)
    from .vllm import HorizonMixin

    if issubclass(chosen, HorizonMixin):
        return chosen
    why = unfit(chosen)
    if why:
        log.error("horizonserve: stage 0 keeps %s and runs without us: %s", _name(chosen), why)
        return chosen
    return _viewed(chosen)


def unfit(chosen):
    """Why a scheduler cannot have our view, or None. The view is for a `schedule` that takes requests one by one from the head of
    `waiting`: one that walks the queue, or builds another, would count them wrong."""
    from vllm.v1.core.sched.scheduler import Scheduler

    if not (isinstance(chosen, type) and issubclass(chosen, Scheduler)):
        return "it does not extend vLLM's own scheduler"
    for each in chosen.__mro__:
        schedule = each.__dict__.get("schedule")
        if schedule is not None and not getattr(schedule, "__module__", "").startswith(_KNOWN):
            return f"it brings a `schedule` of its own, in {schedule.__module__}"
    return None


#: Where the `schedule` methods live that the tests drive under the view.
_KNOWN = ("vllm.v1.core.sched.", "vllm_omni.core.sched.omni_ar_scheduler")


def _viewed(chosen):
    from .vllm import HorizonMixin

    mixin = HorizonMixin
    if any(each.__module__.startswith("vllm_omni.") for each in chosen.__mro__):
        from .vllm_omni import HorizonOmniMixin

        mixin = HorizonOmniMixin
    return type(f"Horizon{chosen.__name__}", (mixin, chosen), {"__module__": chosen.__module__, "horizon_over": chosen})


def _reporting(chosen, stage):
    """A later stage: its class as it is, with a word after each step."""
    from .vllm_omni import publish_activity

    settings = Settings()
    settings.stage = stage
    segment = open_segment(settings)

    def __init__(self, *args, **kwargs):
        super(reporting, self).__init__(*args, **kwargs)
        announce(self, chosen, settings, segment)

    reporting = type(f"Reporting{chosen.__name__}", (chosen,), {"__module__": chosen.__module__, "__init__": __init__})
    publish_activity(reporting, stage, segment)
    return reporting


def _name(cls):
    return f"{getattr(cls, '__module__', '?')}.{getattr(cls, '__qualname__', cls)}"
