"""The engine suite: cases on the real schedulers, each in a fork of one process that has imported the engine once.

    python suite.py [--only name,…] [--long]

Ends with `N passed, N failed, N skipped` and writes out/engine-report.json.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

import harness
from harness import ROOT

from horizonserve.segment_file import remove_if_dead

LONG = os.environ.get("HORIZON_LONG") is not None
CASES = []
REPORT = {}
_procs = []


def case(function):
    CASES.append(function)
    return function


class Skip(Exception):
    """The environment lacks something; the text says what."""


def controller(segment, mode="auto", config=None):
    """Starts a controller that waits for the segment; stopped when the case ends."""
    process = subprocess.Popen(
        ["node", str(ROOT / "out/engine/controller.js"), segment, mode, json.dumps(config or {})],
        cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )
    _procs.append(process)
    return process


def stop(process):
    """Ends a controller and returns what it logged."""
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.terminate()
    try:
        _, text = process.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        _, text = process.communicate()
    return text


def segment_name(label):
    name = f"suite-{os.getpid()}-{label}"
    os.environ["HORIZONSERVE_SEGMENT"] = name
    return name


def in_fork(function):
    """Runs a case in a child; returns (ok, what it returned or said)."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        code = 1
        try:
            answer = {"ok": True, "value": function()}
            code = 0
        except Skip as skip:
            answer = {"skip": str(skip)}
            code = 0
        except BaseException:  # noqa: BLE001 - the parent tells
            answer = {"ok": False, "value": traceback.format_exc()}
        finally:
            for process in _procs:
                if process.poll() is None:
                    process.kill()
        with os.fdopen(write, "w") as pipe:
            json.dump(answer, pipe)
        os._exit(code)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    for left in Path("/dev/shm").glob(f"horizonserve-suite-{pid}-*"):
        remove_if_dead(str(left))
    return json.loads(text) if text else {"ok": False, "value": "the case died without a word"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    import cases_faults  # noqa: F401
    import cases_histories  # noqa: F401
    import cases_deploy  # noqa: F401
    import cases_package  # noqa: F401
    import cases_plugin  # noqa: F401
    import cases_books  # noqa: F401
    import cases_memory  # noqa: F401
    import cases_queue  # noqa: F401
    import cases_cost  # noqa: F401
    import cases_engine  # noqa: F401
    import cases_example  # noqa: F401

    only = [name for name in args.only.split(",") if name]
    passed = failed = skipped = 0
    for function in CASES:
        if only and not any(name in function.__name__ for name in only):
            continue
        start = time.monotonic()
        result = in_fork(function)
        took = time.monotonic() - start
        if "skip" in result:
            skipped += 1
            print(f"skip {function.__name__}: {result['skip']}", flush=True)
        elif result["ok"]:
            passed += 1
            REPORT[function.__name__] = result["value"]
            print(f"ok   {function.__name__} ({took:.1f} s) {json.dumps(result['value'])[:1500]}", flush=True)
        else:
            failed += 1
            print(f"FAIL {function.__name__} ({took:.1f} s)\n{result['value']}", flush=True)
    out = ROOT / "out"
    out.mkdir(exist_ok=True)
    (out / "engine-report.json").write_text(json.dumps(REPORT, indent=2) + "\n")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    # Cases import this module by name; they must find this one.
    sys.modules["suite"] = sys.modules["__main__"]
    sys.exit(main())
