"""A burst of speech requests, then text: vLLM-Omni's own scheduler without and with the view. Called by main.ts."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "test/engine"))

from harness import Loop, make_request, make_scheduler  # noqa: E402
from vllm_omni.core.sched.omni_ar_scheduler import OmniARAsyncScheduler  # noqa: E402
from vllm_omni.engine.serialization import serialize_additional_information  # noqa: E402
from vllm_omni.request import OmniRequest  # noqa: E402

from horizonserve import wire  # noqa: E402
from horizonserve.vllm_omni import HorizonOmniScheduler  # noqa: E402

STEP_MS = 10.0
SPEECH, TEXT = (10, 16) if "--quick" in sys.argv else (24, 40)


def request(number, final_stage, tokens, output, now_ns):
    info = serialize_additional_information({"omni_final_stage_id": final_stage})
    return make_request(f"r{number}", tokens, output, arrival=now_ns / 1e9, request_class=OmniRequest, external_req_id=f"r{number}", additional_information=info)


def serve(cls):
    scheduler = make_scheduler(cls, 4000, 8, 1024)
    shim = getattr(scheduler, "horizon", None)
    now = [time.monotonic_ns()]
    if shim is not None:
        shim.clock = lambda: now[0]
        shim.wall = lambda: now[0] / 1e9
        end = time.monotonic() + 30
        while shim.segment.controller_mode(time.monotonic_ns()) == wire.MODE_NONE:
            assert time.monotonic() < end, "no controller"
            time.sleep(0.01)
    loop, start, waits, arrived = Loop(scheduler), now[0], {"text": [], "speech": []}, {}
    for i in range(SPEECH):
        arrived[f"r{i}"] = ("speech", now[0])
        scheduler.add_request(request(i, 2, 400, 120, now[0]))
    number = SPEECH
    while scheduler.has_unfinished_requests():
        if number < SPEECH + TEXT and (now[0] - start) / 1e6 > (number - SPEECH + 4) * 30:
            arrived[f"r{number}"] = ("text", now[0])
            scheduler.add_request(request(number, 0, 40, 8, now[0]))
            number += 1
        output = loop.step()
        for new in output.scheduled_new_reqs:
            kind, at = arrived[new.req_id]
            waits[kind].append((now[0] - at) / 1e6)
        now[0] += int(STEP_MS * 1e6)
        time.sleep(0.002)
    if shim is not None:
        shim.segment.close()
    return waits


print(f"admission wait in virtual ms, steps of {STEP_MS:.0f} ms; 8 slots, {SPEECH} speech requests at once, then {TEXT} text requests")
for label, cls in (("vLLM-Omni alone", OmniARAsyncScheduler), ("with the controller", HorizonOmniScheduler)):
    waits = serve(cls)
    row = "  ".join(f"{kind}: p50 {sorted(v)[len(v) // 2]:6.0f}  max {max(v):6.0f}" for kind, v in waits.items())
    print(f"{label:22} {row}")
