"""The engine's end of `bench/lockstep-round-trip.ts`: asks at step boundaries and, beside it, over a Unix socket. Standard library only."""

import json
import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from horizonserve import wire  # noqa: E402
from horizonserve.segment import Segment  # noqa: E402
from horizonserve.settings import Settings  # noqa: E402


def spread(samples):
    ordered = sorted(samples)
    at = lambda q: ordered[min(len(ordered) - 1, int(q * len(ordered)))]  # noqa: E731
    return {"p50": at(0.5), "p99": at(0.99), "max": ordered[-1]}


def main():
    name, path = sys.argv[1:3]
    count, paced = map(int, sys.argv[3:5])
    look_us = int(sys.argv[5]) if len(sys.argv) > 5 else Settings().spin_us
    segment = Segment.open(name)
    segment.start_heartbeat()
    end = time.monotonic() + 30
    while segment.controller_mode(time.monotonic_ns()) != wire.MODE_LOCKSTEP:
        if time.monotonic() > end:
            raise SystemExit("no controller")
        time.sleep(0.01)
    link = socket.socket(socket.AF_UNIX)
    link.connect(path)
    step = 0
    missed = 0

    def ask():
        nonlocal step, missed
        step += 1
        start = time.perf_counter_ns()
        if segment.ask(time.monotonic_ns(), step, 0, 0, 50_000, look_us) is None:
            missed += 1
            while not segment.is_answered():
                time.sleep(0.0001)
        return time.perf_counter_ns() - start

    def send():
        start = time.perf_counter_ns()
        link.sendall(b"12345678")
        link.recv(64)
        return time.perf_counter_ns() - start

    for _ in range(200):
        ask()
        send()
    result = {
        "lockstepRoundTripNs": spread([ask() for _ in range(count)]),
        "unixSocketRoundTripNs": spread([send() for _ in range(count)]),
    }
    by_lockstep, by_socket = [], []
    for _ in range(paced):
        time.sleep(0.01)
        by_lockstep.append(ask())
        time.sleep(0.01)
        by_socket.append(send())
    result["lockstepRoundTripAt10MsNs"] = spread(by_lockstep)
    result["unixSocketRoundTripAt10MsNs"] = spread(by_socket)
    result["lockstepMissed"] = missed
    print(json.dumps(result))
    segment.close()


main()
