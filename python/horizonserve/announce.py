"""One line per stage that says what is in force, in the engine's own log."""

import logging
import sys

from . import wire
from .segment import monotonic_ns
from .settings import log

_MODES = {wire.MODE_NONE: "none", wire.MODE_PUBLISHED: "published", wire.MODE_LOCKSTEP: "lockstep"}


def speak():
    """Gives our logger a handler where the program has none that would show it: an engine configures its own logger alone."""
    if log.hasHandlers():
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)s %(asctime)s %(message)s", "%m-%d %H:%M:%S"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False


def announce(scheduler, over, settings, segment):
    """After a stage's scheduler has been made: class, segment, mode, and whether a controller steers it by now."""
    mode = segment.controller_mode(monotonic_ns()) if segment is not None else wire.MODE_NONE
    log.info(
        "horizonserve: stage %d runs %s over %s.%s, segment %s, mode %s, controller %s",
        settings.stage, type(scheduler).__name__, over.__module__, over.__qualname__,
        segment.path if segment is not None else "none", _MODES.get(mode, "unknown"), "yes" if mode else "not yet" if segment is not None else "no",
    )
