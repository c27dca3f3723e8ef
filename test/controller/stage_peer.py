"""A stage process without a scheduler, for the controller's tests: `arrive SLOT CLASS TOKENS`, `admit SLOT`, `first SLOT`, `finish SLOT`,
`step K`, `state`, one command a line. Standard library only."""

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from horizonserve import wire  # noqa: E402
from horizonserve.segment import Segment  # noqa: E402

KINDS = {"admit": wire.ADMIT, "first": wire.FIRST_RESPONSE, "finish": wire.FINISH}
segment = Segment.open(sys.argv[1])
segment.start_heartbeat()
print("ready", flush=True)
for line in sys.stdin:
    verb, *rest = line.split()
    numbers = [int(x) for x in rest]
    now = time.monotonic_ns()
    if verb == "arrive":
        segment.post(wire.ARRIVE, numbers[1], now, 0, numbers[0], numbers[0], numbers[2])
    elif verb == "step":
        segment.post(wire.STEP, 0, now, 0, 0, numbers[0], 10, 1, 0, 5000, 1)
    elif verb == "state":
        state = segment.read_state()
        print(json.dumps({"mode": segment.controller_mode(now), "m": state.m, "longCap": state.longCap, "classes": len(state.classes)}), flush=True)
    else:
        segment.post(KINDS[verb], 0, now, 0, numbers[0], numbers[0], 1)
