"""What a stage process is told by its environment, and the segment that follows from it."""

import logging
import multiprocessing
import os
import re

from .segment import Segment
from .wire import WireError

log = logging.getLogger("horizonserve")
_STAGE_NAME = re.compile(r"_stage(\d+)_")


class Settings:
    """From the environment of the stage process; see docs/vllm-omni.md."""

    def __init__(self, environ=os.environ):
        self.segment = environ.get("HORIZONSERVE_SEGMENT", "default")
        self.stage = _integer(environ, "HORIZONSERVE_STAGE", 0)
        self.bound_us = _integer(environ, "HORIZONSERVE_BOUND_US", 2000)
        # The worker that answers keeps off this process's processor, where there is another.
        self.spin_us = _integer(environ, "HORIZONSERVE_SPIN_US", 300 if _num_processors() > 1 else 0)
        self.ring_slots = _integer(environ, "HORIZONSERVE_RING_SLOTS", 4096)
        self.enabled = environ.get("HORIZONSERVE_DISABLE", "") in ("", "0")
        if environ.get("HORIZONSERVE_SLO", "all") not in ("all", "id", "off"):
            raise WireError(f"HORIZONSERVE_SLO: expected all, id or off, got {environ['HORIZONSERVE_SLO']!r}")


def _num_processors():
    """Those that this process may use; 1 where the system does not say."""
    ask = getattr(os, "sched_getaffinity", None)
    return 1 if ask is None else len(ask(0))


def _integer(environ, name, default):
    text = environ.get(name)
    if text is None:
        return default
    if not text.isdigit():
        raise WireError(f"{name}: expected a whole number, got {text!r}")
    return int(text)


def stage_of_process(environ=os.environ):
    """The stage of this process: by environment, else by the name that vLLM-Omni gives its stage processes; None elsewhere."""
    if "HORIZONSERVE_STAGE" in environ:
        return Settings(environ).stage
    match = _STAGE_NAME.search(multiprocessing.current_process().name)
    return int(match.group(1)) if match else None


def open_segment(settings):
    """The segment of this stage, with its heartbeat, or None when the shim is switched off or shared memory is not to be had."""
    if not settings.enabled:
        return None
    try:
        segment = Segment.open(settings.segment, settings.stage, ring_slots=settings.ring_slots)
        segment.start_heartbeat()
        return segment
    except (WireError, OSError) as error:
        log.error("horizonserve: %s; the engine runs without a controller", error)
        return None
