"""What a stage process is told by its environment, and the segment that follows from it."""

import logging
import multiprocessing
import os
import re

from .segment import Segment, StageHeldError
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
        self.replica = replica_of_process(environ)
        self.enabled = environ.get("HORIZONSERVE_DISABLE", "") in ("", "0")
        if environ.get("HORIZONSERVE_SLO", "all") not in ("all", "id", "off"):
            raise WireError(f"HORIZONSERVE_SLO: expected all, id or off, got {environ['HORIZONSERVE_SLO']!r}")


#: Names that vLLM and vLLM-Omni give their engine processes.
_REPLICA_NAME = re.compile(r"_replica_?(\d+)|_DP(\d+)$")
#: Replicas beyond this get no segment by search.
_MAX_REPLICAS = 64


def replica_of_process(environ=os.environ, process_name=None):
    """Which of several engines of one stage this process is: by environment, else by the name of the process; 0 for one alone."""
    if "HORIZONSERVE_REPLICA" in environ:
        return _integer(environ, "HORIZONSERVE_REPLICA", 0)
    match = _REPLICA_NAME.search(process_name if process_name is not None else multiprocessing.current_process().name)
    if match:
        return int(match.group(1) or match.group(2))
    rank = environ.get("VLLM_DP_RANK", "")
    return int(rank) if rank.isdigit() else 0


def replica_name(name, replica):
    """The segment of a replica: `x`, `x.1`, `x.2` …"""
    return name if replica == 0 else f"{name}.{replica}"


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
    """The segment of this stage, with its heartbeat, or None when the shim is switched off or shared memory is not to be had. Each replica
    of a stage has one of its own; where the number of this one is not known, or is another's too, it takes the first that is free."""
    if not settings.enabled:
        return None
    try:
        segment = _open_free(settings)
        segment.start_heartbeat()
        return segment
    except (WireError, OSError) as error:
        log.error("horizonserve: %s; the engine runs without a controller", error)
        return None


def _open_free(settings):
    for replica in range(settings.replica, _MAX_REPLICAS):
        name = replica_name(settings.segment, replica)
        try:
            segment = Segment.open(name, settings.stage, ring_slots=settings.ring_slots)
        except StageHeldError as error:
            last = error
            continue
        if replica != settings.replica:
            log.warning("horizonserve: stage %d of segment %s is another process's; this one is %s", settings.stage, settings.segment, name)
        return segment
    raise last
