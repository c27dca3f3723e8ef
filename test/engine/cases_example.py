"""The example of the adapter, run as its reader would."""

import os
import subprocess

from harness import ROOT
from suite import case


@case
def the_example_shows_the_adapter():
    """examples/vllm-omni/main.ts from end to end: installs nothing that is there, starts a controller, serves a burst with and without it."""
    done = subprocess.run(
        ["node", "--import", "tsx", "examples/vllm-omni/main.ts", "--quick"], cwd=ROOT, capture_output=True, text=True, env={**os.environ, "EXAMPLE_STDERR": "1"}
    )
    rows = {name: line.split() for line in done.stdout.splitlines() for name in ("alone", "with the controller") if name in line}
    assert done.returncode == 0 and len(rows) == 2, done.stdout + done.stderr[-2000:]
    waits = {name: float(words[words.index("text:") + 2]) for name, words in rows.items()}
    assert waits["with the controller"] < waits["alone"], done.stdout
    return {"textWaitMsP50": waits}
