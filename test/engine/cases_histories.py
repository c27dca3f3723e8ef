"""Random histories under every mode: nothing lost, nothing doubled, no leak, no idle step, and the same view as the core's."""

import drive
from suite import LONG, case, controller, segment_name, stop

SEEDS, REQUESTS = (20, 1000) if LONG else (2, 300)
RATE, BLOCKS = 150.0, 60
LITERAL = {"preset": "literal"}
DEADLINE = {"order": "deadline", "rotation": {"nMin": 1, "nMax": 5, "m": 3}, "triage": {"shareFloor": 0.3}}
PLAIN_FCFS = {
    "triage": False,
    "longPathCap": False,
    "profile": {"text": {"shared": {"fixedMs": 20}}, "speech": {"shared": {"fixedMs": 30}, "downstream": {"fixedMs": 100}}},
}


def histories(engine, mode, config=None, compare=False, seeds=SEEDS, **more):
    name = segment_name(f"{engine}-{mode}")
    process = None if mode == "vanilla" else controller(name, mode, config)
    more = {"num_blocks": BLOCKS, "rate": RATE, **more}
    results = [drive.run(engine, mode, seed, REQUESTS, compare, **more) for seed in range(1, seeds + 1)]
    if process is not None:
        stop(process)
    total = {
        key: sum(r[key] for r in results)
        for key in ("steps", "finished", "aborted", "preemptions", "comparedSteps", "comparedSlots", "differences", "misses")
        if key in results[0]
    }
    total["seeds"] = len(results)
    total["disorder"] = {c: sum(r["disorder"][c] for r in results) for c in ("text", "speech")}
    total["waitMsP50"] = results[0]["waitMsP50"]
    total["overtakes"] = sum(r["overtakes"] for r in results)
    assert total["preemptions"] > 0, "no preemption happened: the histories are too easy"
    if compare:
        first = next((r["firstDifference"] for r in results if r["firstDifference"]), None)
        assert total["differences"] == 0, f"{total['differences']} steps differ, first: {first}"
        assert total["comparedSteps"] > 0
    return total


@case
def vanilla_vllm():
    total = histories("vllm", "vanilla")
    assert total["disorder"] == {"text": 0, "speech": 0}
    return total


@case
def vanilla_omni():
    total = histories("omni", "vanilla")
    assert total["disorder"] == {"text": 0, "speech": 0}
    return total


@case
def published_vllm():
    return histories("vllm", "published")


@case
def published_omni():
    return histories("omni", "published")


@case
def published_keeps_the_order_within_a_class():
    total = histories("vllm", "published", PLAIN_FCFS, rate=90.0)
    assert total["disorder"] == {"text": 0, "speech": 0}, "requests of one class overtook each other"
    assert total["overtakes"] > 0, "no text request ever overtook speech"
    return total


@case
def lockstep_and_published_views_agree_on_vllm():
    return histories("vllm", "lockstep", compare=True)


@case
def lockstep_and_published_views_agree_on_omni():
    return histories("omni", "lockstep", compare=True)


@case
def views_agree_under_the_literal_preset():
    return histories("vllm", "lockstep", LITERAL, compare=True)


@case
def views_agree_in_deadline_order():
    return histories("vllm", "lockstep", DEADLINE, compare=True)


@case
def published_with_priorities():
    return histories("vllm", "published", priorities=True)


@case
def published_on_the_sync_scheduler():
    return histories("vllm", "published", sync=True)


@case
def lockstep_for_a_policy_that_does_not_compile():
    return histories("omni", "lockstep", {"order": "priority"})
