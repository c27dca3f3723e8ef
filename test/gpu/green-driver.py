"""Driven by green.test.ts: one JSON request per line on stdin, one JSON answer per line on stdout."""
import ctypes
import json
import os
import sys
import threading
import types

from horizonserve.green import GreenError, Ladder

CUDA = ctypes.CDLL(os.environ["HORIZON_LIBCUDA"])


def mask(context: int) -> list[int]:
    """SM ids of a context, by the double's own word."""
    out = (ctypes.c_int * 512)()
    count = CUDA.horizon_double_sms(ctypes.c_void_p(context), out)
    return sorted(out[:count])


def live() -> list[int]:
    out = (ctypes.c_int * 5)()
    CUDA.horizon_double_live(out)
    return list(out)


def build(request: dict) -> dict:
    CUDA.horizon_double_configure(request["spec"].encode())
    ladder = Ladder.from_description(request["description"], request["side"])
    rows = []
    for level in range(len(ladder.rows)):
        ladder.apply(level)
        current = ctypes.c_void_p()
        CUDA.cuCtxGetCurrent(ctypes.byref(current))
        rows.append({"sms": ladder.sms(level), "ids": mask(current.value), "readBack": ladder.read_back(), "stream": ladder.stream(level) != 0})
    # Another thread may not switch it.
    caught: list[str] = []

    def elsewhere() -> None:
        try:
            ladder.apply(0)
        except GreenError as error:
            caught.append(error.code)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    order = torch_order(ladder)
    ladder.close()
    ladder.close()
    try:
        ladder.apply(0)
    except GreenError as error:
        caught.append(error.code)
    return {"rows": rows, "caught": caught, "live": live(), "order": order}


def torch_order(ladder: Ladder) -> list[str]:
    """The torch calls of `at`, on a stand-in that records them (no torch with CUDA runs without a GPU)."""
    log: list[str] = []

    class Stream:
        def __init__(self, name: str) -> None:
            self.name = name

        def wait_event(self, event: "Event") -> None:
            log.append(f"{self.name} waits for {event.of}")

    class Event:
        of = "nothing"

        def record(self, stream: Stream) -> None:
            self.of = stream.name

    class Scope:
        def __init__(self, stream: Stream) -> None:
            self.stream = stream

        def __enter__(self) -> None:
            log.append(f"enter {self.stream.name}")

        def __exit__(self, *_: object) -> None:
            log.append(f"leave {self.stream.name}")

    def external(handle: int, device: int) -> Stream:
        assert handle == ladder.stream(0) and device == 0
        return Stream("row")

    torch = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(  # type: ignore[attr-defined]
        ExternalStream=external, Event=Event, current_stream=lambda device: Stream("current"), stream=Scope
    )
    sys.modules["torch"] = torch
    with ladder.at(0):
        log.append("work")
    return log


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = build(request)
        except GreenError as error:
            answer = {"code": error.code, "message": str(error), "live": live()}
        print(json.dumps(answer), flush=True)


main()
