"""A real engine, vanilla against steered: same seeds, same machine, turn by turn, in wall-clock time."""

import json
import subprocess
import sys

from harness import ROOT
from suite import LONG, case, controller, segment_name, stop

SEEDS = (1, 2, 3)
#: Each seed is played this often: the spread between runs of one seed is the machine's, that between seeds the workload's.
RUNS = 3 if LONG else 1
COUNT = 120
PAIRS = 30 if LONG else 6
#: Share of the measured capacity that arrives. Not tuned: just below what the engine can serve.
LOAD = 0.95


class Process:
    def __init__(self, scheduler_cls):
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "test/engine/real_engine.py"), scheduler_cls],
            cwd=ROOT / "test/engine", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the engine died: {self.process.stderr.read()[-2000:]}")
        return json.loads(line)

    def ask(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def end(self):
        self.process.kill()
        self.process.wait()


def _attainment(latencies, slo):
    return round(100 * sum(1 for v in latencies if v <= slo) / len(latencies), 1)


@case
def real_engine_in_wall_clock_time():
    name = segment_name("real")
    vanilla, ours = Process("vanilla"), Process("horizonserve.vllm.HorizonScheduler")
    try:
        vanilla.answer()
        ours.answer()
        for each in (vanilla, ours):
            each.ask(do="solo", count=2)
        solo = vanilla.ask(do="solo", count=10)
        p95 = {kind: values[int(0.95 * (len(values) - 1))] for kind, values in solo.items()}
        p50 = {kind: values[len(values) // 2] for kind, values in solo.items()}
        slo = {kind: 5 * p95[kind] for kind in p95}
        config = {
            "classes": {"text": {"output": "text", "sloMs": slo["text"]}, "speech": {"output": "audio", "sloMs": slo["audio"]}},
            # One stage: there is no downstream to wait for.
            "profile": {"text": {"shared": {"fixedMs": p50["text"]}}, "speech": {"shared": {"fixedMs": p50["audio"]}, "downstream": {"fixedMs": 0}}},
            "longPathCap": 4,
        }
        process = controller(name, "published", config)
        saturation = {"vanilla": [], "ours": []}
        for seed in SEEDS:
            for label, each in (("vanilla", vanilla), ("ours", ours)):
                saturation[label].append(each.ask(do="saturate", seed=seed, count=40)["perSecond"])
        capacity = sorted(saturation["vanilla"])[len(SEEDS) // 2]
        runs = []
        for run in range(RUNS):
            for seed in SEEDS:
                row = {"run": run + 1, "seed": seed}
                # Each first as often as the other.
                for label, each in (("vanilla", vanilla), ("ours", ours))[:: 1 if (run + seed) % 2 else -1]:
                    got = each.ask(do="serve", seed=seed, count=COUNT, rate=capacity * LOAD)
                    row[label] = {
                        "text": _attainment(got["latencies"]["text"], slo["text"]),
                        "speech": _attainment(got["latencies"]["audio"], slo["audio"]),
                        "all": _attainment([v / slo[k] for k, values in got["latencies"].items() for v in values], 1.0),
                        "textP99Ms": round(sorted(got["latencies"]["text"])[int(0.99 * (len(got["latencies"]["text"]) - 1))], 1),
                        "seconds": round(got["seconds"], 2),
                    }
                runs.append(row)
                print(row, flush=True)
        text = stop(process)
        assert "attached" in text, text[-500:]
    finally:
        vanilla.end()
        ours.end()
    mean = {label: {k: round(sum(r[label][k] for r in runs) / len(runs), 1) for k in ("text", "speech", "all")} for label in ("vanilla", "ours")}
    return {
        "vllm": "real engine, CPU, 2-layer random weights, 8 slots",
        "soloP95Ms": {k: round(v, 1) for k, v in p95.items()},
        "sloMs": {k: round(v, 1) for k, v in slo.items()},
        "ratePerSecond": round(capacity * LOAD, 2),
        "runs": runs,
        "meanAttainment": mean,
        "saturationPerSecond": {label: [round(v, 2) for v in values] for label, values in saturation.items()},
    }


#: Everything is visible at every step: the engine does the same work as without us, and what is lost is our cost.
SHOWS_ALL = {"rotation": False, "longPathCap": False, "triage": False, "uGuard": 0}


@case
def real_engine_throughput_at_saturation():
    """All requests wait from the start. Pairs of runs, one right after the other, each first as often as the other."""
    name = segment_name("saturated")
    vanilla, ours = Process("vanilla"), Process("horizonserve.vllm.HorizonScheduler")
    losses, steps = {}, {}
    try:
        vanilla.answer()
        ours.answer()
        for label, config in (("shimAlone", SHOWS_ALL), ("defaultPolicy", {})):
            process = controller(name, "published", config)
            pairs, step_ms, counts = [], [], []
            for pair in range(PAIRS + 1):
                got = {}
                for each in (vanilla, ours)[:: 1 if pair % 2 else -1]:
                    got[each] = each.ask(do="saturate", seed=pair, count=60)
                # The first warms up both.
                if pair:
                    pairs.append(100 * (1 - got[ours]["perSecond"] / got[vanilla]["perSecond"]))
                    step_ms.append([1000 * got[each]["seconds"] / got[each]["steps"] for each in (vanilla, ours)])
                    counts.append([got[each]["steps"] for each in (vanilla, ours)])
            assert "attached" in stop(process)
            losses[label] = mean_and_interval(pairs)
            # What a step takes, and how many there are: a policy that leaves slots empty makes more of them.
            steps[label] = {
                "vanillaMs": round(sorted(a for a, _ in step_ms)[len(step_ms) // 2], 3),
                "extraUs": mean_and_interval([1000 * (b - a) for a, b in step_ms]),
                "stepsVanilla": sum(a for a, _ in counts),
                "stepsOurs": sum(b for _, b in counts),
            }
    finally:
        vanilla.end()
        ours.end()
    return {"lossPercent": losses, "step": steps}


def mean_and_interval(values):
    """Mean with the 95 % interval of Student's t, its quantile by the expansion in 1/df."""
    n = len(values)
    mean = sum(values) / n
    df = n - 1
    quantile = 1.96 + 2.372 / df + 2.822 / df**2
    half = quantile * (sum((v - mean) ** 2 for v in values) / df / n) ** 0.5
    return {"mean": round(mean, 2), "low": round(mean - half, 2), "high": round(mean + half, 2), "pairs": n}
