"""What breaks around a real scheduler under load: nothing hangs, nothing is lost, and hidden requests become visible again."""

import os
import random
import signal
import time

from fault_engine import WAIT_S, Engine, everything_is_visible
from suite import LONG, case, controller, segment_name, stop

from horizonserve import wire
from horizonserve.segment import Segment
from horizonserve.segment_file import segment_path

TIMES = int(os.environ.get("HORIZON_FAULTS", 200 if LONG else 4))


def _kill(mode, how):
    name = segment_name(f"kill-{mode}")
    engine = Engine()
    number = wire.MODE_PUBLISHED if mode == "published" else wire.MODE_LOCKSTEP
    since_beat, since_fault = [], []
    for i in range(TIMES):
        process = controller(name, mode)
        engine.until(number)
        engine.run(engine.random.uniform(0.0, 0.2))
        if how == "restart":
            # The next one starts while this one lets go.
            process.terminate()
            engine.until_visible()
        elif how == "kill":
            process.kill()
            beat, fault = engine.until_visible()
            since_beat.append(beat)
            since_fault.append(fault)
        else:
            process.send_signal(signal.SIGSTOP)
            # The signal takes effect a moment after it is sent, and a beat may lie between.
            time.sleep(0.01)
            stopped = time.monotonic()
            beat, fault = engine.until_visible()
            since_beat.append(beat)
            since_fault.append(fault)
            everything_is_visible(engine)
            # By its own clock it stops later than by its last beat, on a busy machine much later; it must be away too long by both.
            engine.run(max(0.05, stopped + 1.5 * wire.CONTROLLER_STALE_MS / 1000 - time.monotonic()))
            process.send_signal(signal.SIGCONT)
            engine.until(number)
            engine.run(0.05)
            # It goes in order, so that what it has said is heard.
            process.terminate()
            engine.until(wire.MODE_NONE)
        everything_is_visible(engine)
        _, text = process.communicate()
        assert how != "pause" or text.count("did not run for") == 1, text
    result = engine.finish()
    # Times are told, not asserted: `step` asserts that no step after CONTROLLER_STALE_MS without a heartbeat hides anything.
    spans = {} if how == "restart" else {"visibleAfterLastBeatMs": _spread(since_beat), "visibleAfterFaultMs": _spread(since_fault)}
    return {"times": TIMES, **spans, "misses": engine.shim.misses, "engineSaid": engine.lines.said[-1], **result}


def _spread(values):
    ordered = sorted(values)
    return {"p50": round(ordered[len(ordered) // 2], 1), "max": round(ordered[-1], 1), "within250": sum(v <= wire.STALE_MS for v in ordered)}


@case
def killed_controller_in_published_mode():
    return _kill("published", "kill")


@case
def killed_controller_in_lockstep():
    return _kill("lockstep", "kill")


@case
def paused_controller_in_published_mode():
    return _kill("published", "pause")


@case
def paused_controller_in_lockstep():
    return _kill("lockstep", "pause")


@case
def restarted_controller_in_published_mode():
    return _kill("published", "restart")


@case
def restarted_controller_in_lockstep():
    return _kill("lockstep", "restart")


def _corrupt(mode):
    name = segment_name(f"corrupt-{mode}")
    number = wire.MODE_PUBLISHED if mode == "published" else wire.MODE_LOCKSTEP
    process = controller(name, mode)
    engine = Engine()
    engine.until(number)
    segment = engine.shim.segment
    places = list(range(64)) + list(range(128, 192)) + list(range(256, 332)) + list(range(512, 576)) + list(range(4096, 6144)) + list(range(8192, 8256)) + list(range(16384, 17000)) + list(range(49152, 49152 + 4096))
    if not LONG:
        places = engine.random.sample(places, 400)
    for at in places:
        segment._map[at] = (segment._map[at] ^ (1 << engine.random.randrange(8))) & 0xFF
        engine.step()
        time.sleep(0.0005)
    # Whatever was hit, the controller steers again.
    engine.until(number)
    assert process.poll() is None, stop(process)[-500:]
    result = engine.finish()
    text = stop(process)
    lines = [line for line in text.splitlines() if "damaged" in line]
    assert 1 <= len(lines) <= 2 + (time.monotonic() - engine.start) / 10, text[-2000:]
    return {"bytes": len(places), "controllerSaid": lines[-1], "controllerLines": len(text.splitlines()), "engineSaid": engine.lines.said[-1], **result}


@case
def corrupted_segment_in_published_mode():
    return _corrupt("published")


@case
def corrupted_segment_in_lockstep():
    return _corrupt("lockstep")


@case
def full_ring():
    """A controller that reads nothing for a while: events are dropped and counted, and told again afterwards."""
    os.environ["HORIZONSERVE_RING_SLOTS"] = "64"
    name = segment_name("ring")
    process = controller(name, "published")
    engine = Engine()
    engine.until(wire.MODE_PUBLISHED)
    for _ in range(TIMES):
        process.send_signal(signal.SIGSTOP)
        engine.run(0.15)
        process.send_signal(signal.SIGCONT)
        engine.until(wire.MODE_PUBLISHED)
        engine.run(0.02)
    dropped = engine.shim.segment.dropped
    result = engine.finish()
    text = stop(process)
    assert dropped > 0, "the ring never filled"
    assert "the ring was full" in text
    return {"times": TIMES, **result}


@case
def killed_engine():
    """The controller notices, says so in one line, removes the segment, and serves the next engine."""
    name = segment_name("engine")
    process = controller(name, "published")
    for _ in range(TIMES):
        pid = os.fork()
        if pid == 0:
            engine = Engine()
            engine.until(wire.MODE_PUBLISHED)
            engine.run(60)
            os._exit(0)
        deadline = time.monotonic() + WAIT_S
        path = segment_path(name)
        while time.monotonic() < deadline and not _followed(path):
            time.sleep(0.005)
        time.sleep(random.uniform(0, 0.1))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        gone = time.monotonic() + WAIT_S
        while os.path.exists(path):
            assert time.monotonic() < gone, "the segment of a dead engine is still there"
            time.sleep(0.005)
    assert process.poll() is None, "the controller died with the engine"
    text = stop(process)
    assert text.count("died; waiting for the next one") >= TIMES, text[-500:]
    return {"times": TIMES}


def _followed(path):
    try:
        with open(path, "rb") as file:
            file.seek(wire.CONTROLLER_OFFSET + 12)
            return int.from_bytes(file.read(4), "little") == wire.MODE_PUBLISHED
    except FileNotFoundError:
        return False


@case
def clock_skew():
    """Wall clocks of other machines, and clocks that jump, move deadlines at most as far as the bound says."""
    name = segment_name("skew")
    process = controller(name, "published")
    engine = Engine()
    engine.until(wire.MODE_PUBLISHED)
    for _ in range(TIMES):
        offset = engine.random.choice([0, 1, -1, 3600, -3600, 1e9, -1e9, float(engine.random.randrange(-100, 100))])
        engine.shim.wall = lambda by=offset: time.time() + by
        engine.run(0.01)
        now = time.monotonic_ns()
        for entry in engine.shim.entries.values():
            assert now - 200_000_000_000 < entry.arrival_ns <= now
    assert any("claims to have arrived" in line for line in engine.lines.said)
    result = engine.finish()
    stop(process)
    return {"times": TIMES, **result}


@case
def version_mismatch():
    """A controller and an engine of different versions refuse each other and say which package to install."""
    import struct

    name = segment_name("version")
    said = []
    for flip in (8, 12):
        for _ in range(max(1, TIMES // 2)):
            segment = Segment.open(name)
            header = bytearray(segment._map[:64])
            header[flip] ^= 1
            header[60:64] = struct.pack("<I", wire.zlib.crc32(bytes(header[:60])))
            segment._map[:64] = bytes(header)
            process = controller(name, "published")
            end = time.monotonic() + WAIT_S
            time.sleep(0.1)
            line = process.stderr.readline()
            assert time.monotonic() < end
            said.append(line.strip())
            assert "another version" in line, line
            assert segment.controller_mode(time.monotonic_ns()) == wire.MODE_NONE
            process.kill()
            process.wait()
            segment.close()
    return {"times": len(said), "said": said[0][:200]}


@case
def two_controllers():
    """The second is refused in one line; when the first dies, the second takes over."""
    name = segment_name("two")
    first = controller(name, "published")
    engine = Engine()
    engine.until(wire.MODE_PUBLISHED)
    for _ in range(TIMES):
        second = controller(name, "published")
        line = second.stderr.readline()
        assert "another controller steers this engine" in line, line
        assert engine.shim.segment.controller_pid() == first.pid
        engine.run(0.02)
        first.kill()
        first.wait()
        end = time.monotonic() + WAIT_S
        while engine.shim.segment.controller_pid() != second.pid:
            assert time.monotonic() < end, "the second did not take over"
            engine.step()
            time.sleep(0.001)
        first = second
    result = engine.finish()
    stop(first)
    return {"times": TIMES, **result}
