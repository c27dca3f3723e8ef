"""A stage process without a scheduler, for the controller's tests: `arrive SLOT CLASS TOKENS`, `admit SLOT`, `first SLOT`, `finish SLOT`,
`step K`, `busy RUNNING`, `ask K`, `poke OFFSET BYTE`, `state`, one command a line. The stage is HORIZONSERVE_STAGE. Standard library only."""

import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from horizonserve import wire
from horizonserve.segment import Segment

KINDS = {"admit": wire.ADMIT, "first": wire.FIRST_RESPONSE, "finish": wire.FINISH}
STATE = ("m", "longCap", "level", "levelSms", "pressureRaw", "pressure", "flags")
segment = Segment.open(sys.argv[1], int(os.environ.get("HORIZONSERVE_STAGE", "0")))
segment.start_heartbeat()
print("ready", flush=True)


def say(record):
    print(json.dumps(record), flush=True)


for line in sys.stdin:
    verb, *rest = line.split()
    numbers = [int(x) for x in rest]
    now = time.monotonic_ns()
    if verb == "arrive":
        segment.post(wire.ARRIVE, numbers[1], now, 0, numbers[0], numbers[0], numbers[2])
    elif verb == "step":
        segment.post(wire.STEP, 0, now, 0, 0, numbers[0], 10, 1, 0, 5000, 1)
    elif verb == "busy":
        segment.activity = (numbers[0], 0, 0, 0)
        segment.beat()
    elif verb == "ask":
        answer = segment.ask(now, numbers[0], 1, 0, 5_000_000)
        say({"level": None if answer is None else answer[0]})
    elif verb == "poke":
        segment._map[numbers[0]] = numbers[1]
    elif verb == "state":
        state = segment.read_state()
        known = {name: getattr(state, name) for name in STATE} if state is not None else {}
        # JSON has no NaN.
        known = {name: value if value == value else None for name, value in known.items()}
        try:
            segment.read_classes(state.classEpoch)
            readable = True
        except (wire.WireError, AttributeError):
            readable = False
        say({"mode": segment.controller_mode(now), "classes": len(state.classes) if state is not None else 0, "readable": readable, **known})
    else:
        segment.post(KINDS[verb], 0, now, 0, numbers[0], numbers[0], 1)
