"""Runs random histories through the real schedulers, vanilla or under the shim, and checks what must always hold.

    python drive.py --engine vllm|omni --mode vanilla|published|lockstep --seeds 20 --requests 1000 [--compare]

A controller must be attached to the segment named by HORIZONSERVE_SEGMENT, except with `--mode vanilla`. Prints one JSON object.
"""

import argparse
import json
import os
import sys
import time

import harness
from harness import Loop, RequestStatus, make_request, make_scheduler
from workload import workload

from horizonserve import wire
from horizonserve.visible import visible

MODES = {"vanilla": wire.MODE_NONE, "published": wire.MODE_PUBLISHED, "lockstep": wire.MODE_LOCKSTEP}


class VirtualClock:
    """Steps take the time that a model gives them; nothing sleeps."""

    def __init__(self):
        self.ns = time.monotonic_ns()

    def __call__(self):
        return self.ns


class Recorder:
    """Compares, in lockstep, the view that the core names with the one that the published state gives, at every step."""

    def __init__(self, shim):
        self.shim, self.steps, self.differences, self.slots, self.first = shim, 0, 0, 0, None
        shim._open_view = self.open_view
        self.is_alike = True
        plain = shim._change_mode

        def change_mode(mode):
            # A controller that the machine gave no time for 150 ms: the engine's rotation begins anew, the core's goes on.
            self.is_alike = self.is_alike and self.steps == 0
            plain(mode)

        shim._change_mode = change_mode

    def open_view(self, mode, state, now_ns, now, num_running):
        shim = self.shim
        queue, policy, segment = shim.queue, shim.policy, shim.segment
        answer = segment.ask(now_ns, shim.step, num_running, len(queue), 5_000_000, 0)
        assert answer is not None, "the controller did not answer within 5 s"
        state = segment.read_state()
        assert shim._use(state, now)
        always = queue.waiting_always()
        shown, limit, rescue, one_lost = policy.decide(state, queue.set.counts, always, shim.step)
        queue.begin(shown, limit, rescue, one_lost)
        mine = [e.slot for e in visible(queue)]
        theirs = list(answer[2])
        if self.is_alike:
            self.steps += 1
            self.slots += len(mine)
        if self.is_alike and mine[: wire.ANSWER_SLOTS] != theirs:
            self.differences += 1
            if self.first is None:
                self.first = {"step": shim.step, "mine": mine[:20], "theirs": theirs[:20], "counts": list(queue.set.counts), "phase": policy.phase, "n": policy.n, "limit": limit, "rescue": rescue, "shown": f"{shown:06b}"}
        if num_running == 0 and not theirs and len(queue):
            queue.begin(*policy.forced())
        else:
            queue.begin_slots(answer[2], shim.entries)


def classes_of(engine, mode):
    if engine == "vllm":
        from vllm.v1.core.sched.async_scheduler import AsyncScheduler
        from vllm.v1.core.sched.scheduler import Scheduler

        from horizonserve.vllm import HorizonScheduler, HorizonSyncScheduler

        plain, sync, ours, ours_sync = AsyncScheduler, Scheduler, HorizonScheduler, HorizonSyncScheduler
    else:
        from vllm_omni.core.sched.omni_ar_scheduler import OmniARAsyncScheduler, OmniARScheduler

        from horizonserve.vllm_omni import HorizonOmniScheduler, HorizonOmniSyncScheduler

        plain, sync, ours, ours_sync = OmniARAsyncScheduler, OmniARScheduler, HorizonOmniScheduler, HorizonOmniSyncScheduler
    return (plain, sync) if mode == "vanilla" else (ours, ours_sync)


def request_of(engine, item, arrival):
    if engine == "vllm":
        return make_request(item.id, item.tokens, item.max_tokens, item.priority, arrival, extra_args={"modalities": ["audio" if item.long else "text"]})
    from vllm_omni.engine.serialization import serialize_additional_information
    from vllm_omni.request import OmniRequest

    info = serialize_additional_information({"omni_final_stage_id": 2 if item.long else 0})
    return make_request(item.id, item.tokens, item.max_tokens, item.priority, arrival, OmniRequest, external_req_id=f"ext-{item.id}", additional_information=info)


def run(engine, mode, seed, count, compare=False, priorities=False, sync=False, num_blocks=220, rate=40.0, wait_for_controller=20.0):
    """One history to its end. Raises AssertionError for whatever must not happen."""
    scheduler = make_scheduler(classes_of(engine, mode)[sync], num_blocks, 24, 256, "priority" if priorities else "fcfs", not sync)
    shim = getattr(scheduler, "horizon", None)
    clock = VirtualClock()
    recorder = None
    if shim is not None:
        shim.clock = clock
        shim.wall = lambda: clock.ns / 1e9
        shim.settings.bound_us = 1_000_000
        end = time.monotonic() + wait_for_controller
        while shim.segment.controller_mode(time.monotonic_ns()) != MODES[mode]:
            assert time.monotonic() < end, f"no controller in {mode} mode within {wait_for_controller} s"
            time.sleep(0.01)
        if compare:
            recorder = Recorder(shim)
    free_blocks = scheduler.kv_cache_manager.block_pool.get_num_free_blocks()
    loop = Loop(scheduler, lag=0 if sync else 1, seed=seed)
    items = workload(seed, count, rate, priorities=priorities)
    by_id = {i.id: i for i in items}
    start = clock.ns
    at = 0
    aborted, admitted_order, seen, preemptions = set(), {0: [], 1: []}, set(), 0
    waits, everyone = {0: [], 1: []}, []
    aborts = sorted((i.abort_ms, i.id) for i in items if i.abort_ms is not None)
    while at < len(items) or scheduler.has_unfinished_requests():
        now_ms = (clock.ns - start) / 1e6
        while at < len(items) and items[at].at_ms <= now_ms:
            scheduler.add_request(request_of(engine, items[at], clock.ns / 1e9))
            at += 1
        while aborts and aborts[0][0] <= now_ms:
            _, request_id = aborts.pop(0)
            if request_id in scheduler.requests:
                scheduler.finish_requests(request_id, RequestStatus.FINISHED_ABORTED)
                aborted.add(request_id)
        if not scheduler.has_unfinished_requests():
            loop.drain()
            if at < len(items):
                clock.ns = max(clock.ns, start + int(items[at].at_ms * 1e6) + 1)
            continue
        waiting, idle = len(scheduler.waiting), not scheduler.running and not loop.pending
        output = loop.step()
        tokens = output.total_num_scheduled_tokens
        if tokens == 0 and waiting and idle:
            raise AssertionError(f"step {loop.steps} is empty while {waiting} wait")
        for new in output.scheduled_new_reqs:
            item = by_id[new.req_id]
            if new.req_id not in seen:
                seen.add(new.req_id)
                admitted_order[item.long].append(item)
                everyone.append(item)
                waits[item.long].append(now_ms - item.at_ms)
        preemptions += len(output.preempted_req_ids or ())
        # A step takes as long as its tokens need; the model is of no importance, only that time passes.
        clock.ns += int((3 + tokens * 0.05) * 1e6)
        assert loop.steps < count * 200, "the history does not end"
    loop.drain()
    loop.step()
    finished = loop.finished
    assert len(finished) == len(set(finished)), "a request finished twice"
    expected = {i.id for i in items} - aborted
    assert expected <= set(finished) and not (set(finished) - expected - aborted), f"lost {sorted(expected - set(finished))[:5]}"
    left = scheduler.kv_cache_manager.block_pool.get_num_free_blocks()
    assert left == free_blocks, f"{free_blocks - left} KV blocks leaked"
    if shim is not None:
        assert len(shim.queue) == 0 and not shim.entries, "the shim kept something"
        assert shim.policy.in_shared == [0, 0] and shim.policy.long_ordinary == 0, "the shim's counts do not add up"
    result = {
        "seed": seed,
        "steps": loop.steps,
        "finished": len(set(finished)),
        "aborted": len(aborted),
        "preemptions": preemptions,
        "virtualSeconds": round((clock.ns - start) / 1e9, 3),
        "waitMsP50": {name: _quantile(waits[which], 0.5) for which, name in ((0, "text"), (1, "speech"))},
        "waitMsP99": {name: _quantile(waits[which], 0.99) for which, name in ((0, "text"), (1, "speech"))},
        "disorder": {name: _disorder(admitted_order[which], priorities) for which, name in ((0, "text"), (1, "speech"))},
        "overtakes": _overtakes(everyone),
    }
    if recorder is not None:
        result.update(comparedSteps=recorder.steps, comparedSlots=recorder.slots, differences=recorder.differences, firstDifference=recorder.first)
    if shim is not None:
        result.update(misses=shim.misses, dropped=shim.segment.dropped, refused=shim.segment.refused)
        shim.segment.close()
    return result


def _quantile(values, q):
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(q * len(ordered)))], 1) if ordered else None


def _disorder(items, priorities):
    """Pairs of neighbours of one class that were admitted against the base order."""
    key = (lambda i: (i.priority, i.at_ms)) if priorities else (lambda i: i.at_ms)
    return sum(1 for a, b in zip(items, items[1:]) if key(a) > key(b))


def _overtakes(order):
    """How many text requests were admitted before a speech request that is older."""
    count, oldest = 0, float("inf")
    for item in reversed(order):
        if item.long:
            oldest = min(oldest, item.at_ms)
        elif oldest < item.at_ms:
            count += 1
    return count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", choices=("vllm", "omni"), default="vllm")
    parser.add_argument("--mode", choices=tuple(MODES), default="published")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--priorities", action="store_true")
    parser.add_argument("--sync", action="store_true")
    parser.add_argument("--rate", type=float, default=60.0)
    parser.add_argument("--blocks", type=int, default=120)
    args = parser.parse_args()
    results = [
        run(args.engine, args.mode, seed, args.requests, args.compare, args.priorities, args.sync, args.blocks, args.rate)
        for seed in range(args.first_seed, args.first_seed + args.seeds)
    ]
    print(json.dumps({"engine": args.engine, "mode": args.mode, "results": results}))


if __name__ == "__main__":
    main()
