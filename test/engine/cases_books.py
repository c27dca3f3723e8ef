"""The books: every request is seen once, wherever the engine keeps it, and what is told of it adds up."""

import random
import time
from types import SimpleNamespace

from harness import Loop, RequestStatus, make_request, make_scheduler
from published import Published, events_of
from suite import LONG, case, segment_name

from horizonserve import wire
from horizonserve.settings import Settings, open_segment, replica_of_process
from horizonserve.vllm import HorizonScheduler
from horizonserve.waiting import ATTACHED

ENDS = (wire.FINISH, wire.ABORT)


class _Engine:
    def __init__(self, label, omni=False, cls=HorizonScheduler, max_num_seqs=16, policy="fcfs", **state):
        segment_name(label)
        if omni:
            from horizonserve.vllm_omni import HorizonOmniScheduler as cls
        self.scheduler = make_scheduler(cls, 1024, max_num_seqs, 512, policy)
        self.shim = self.scheduler.horizon
        self.control = Published(self.shim.segment, **state)
        self.loop = Loop(self.scheduler, lag=0)

    def step(self):
        self.control.beat()
        return self.loop.step()

    def drain(self):
        while self.scheduler.has_unfinished_requests():
            self.step()
        self.step()

    def books(self):
        """Arrived, finished, aborted by what was told; every slot's story must make sense."""
        open_slots, counts = {}, {"arrived": 0, "finished": 0, "aborted": 0, "responses": 0}
        for kind, slot, flags, _ in events_of(self.shim.segment):
            if kind == wire.ARRIVE:
                if slot not in open_slots:
                    counts["arrived"] += 1
                    open_slots[slot] = False
                continue
            if kind in (wire.SYNC_BEGIN, wire.SYNC_END):
                continue
            assert slot in open_slots, f"kind {kind} of a request that never arrived"
            if kind == wire.FIRST_RESPONSE:
                assert not open_slots[slot], "two first responses"
                open_slots[slot] = True
                counts["responses"] += 1
            elif kind in ENDS:
                del open_slots[slot]
                counts["finished" if kind == wire.FINISH else "aborted"] += 1
        counts["live"] = len(open_slots)
        assert counts["arrived"] == counts["finished"] + counts["aborted"] + counts["live"]
        return counts

    def close(self):
        self.shim.segment.close()


def _omni(request_id, stage=None, external=None, **more):
    from vllm_omni.engine.serialization import serialize_additional_information
    from vllm_omni.request import OmniRequest

    info = {} if stage is None else {"omni_final_stage_id": stage}
    return make_request(
        request_id, 12, 3, arrival=time.time(), request_class=OmniRequest, external_req_id=external or request_id,
        additional_information=serialize_additional_information(info | more) if info or more else None,
    )  # fmt: skip


@case
def a_picture_with_companions_is_one_request():
    """Two guided pictures beside twenty text requests, three slots, a cap of two: no picture runs without its companions."""
    for label, name in (("own ids", lambda parent, suffix: (parent + suffix, None)), ("the parent's external id", lambda parent, suffix: (f"{parent}{suffix}-0a1b2c3d", parent))):
        engine = _Engine("companions", omni=True, max_num_seqs=3, cap=1)
        scheduler = engine.scheduler
        scheduler.add_request(_omni("first", stage=0))
        engine.step()
        for parent in ("r1", "r2"):
            scheduler.add_request(_omni(parent, stage=1))
            for suffix in ("__cfg_text", "__cfg_img"):
                request_id, external = name(parent, suffix)
                scheduler.add_request(_omni(request_id, stage=0, external=external, omni_force_kv_transfer=True))
        for i in range(20):
            scheduler.add_request(_omni(f"t{i}", stage=0))
        seen = []
        while scheduler.has_unfinished_requests():
            output = engine.step()
            names = [new.req_id.split("-")[0] for new in output.scheduled_new_reqs]
            seen += names
            assert engine.shim.policy.in_shared[1] <= 1, "the bundle counts once, and the cap is one"
            for parent in ("r1", "r2"):
                started = [n for n in seen if n.startswith(parent)]
                if started and len(started) < 3:
                    later = seen[seen.index(parent) + 1 :]
                    assert parent in started, "a companion ran before its picture"
                    assert all(n.startswith(parent) for n in later), f"{later} passed a companion of {parent}"
        books = engine.books()
        assert books["arrived"] == 23 and books["live"] == 0, (label, books)
        engine.close()
    # The parent goes: nothing of it stays hidden.
    engine = _Engine("companions-abort", omni=True, max_num_seqs=3, flags=wire.LIMIT_LONG | wire.CAP_SHARED, cap=0)
    scheduler = engine.scheduler
    for i in range(3):
        scheduler.add_request(_omni(f"t{i}", stage=0))
    for request in (_omni("r1", stage=1), _omni("r1__cfg_text", stage=0), _omni("r1__cfg_img", stage=0)):
        scheduler.add_request(request)
    engine.step()
    held = [scheduler.requests[r].horizon_entry for r in ("r1__cfg_text", "r1__cfg_img")]
    assert [e.where for e in held] == [ATTACHED, ATTACHED]
    scheduler.finish_requests(["r1", "r1__cfg_text", "r1__cfg_img"], RequestStatus.FINISHED_ABORTED)
    engine.drain()
    assert not engine.shim.entries and not engine.shim._by_external and engine.books() | {"responses": 0} == {"arrived": 4, "finished": 3, "aborted": 1, "live": 0, "responses": 0}
    # An id that only looks like a companion's is a request like others.
    scheduler.add_request(_omni("x__cfg_text", stage=0))
    engine.drain()
    assert engine.books()["arrived"] == 5
    engine.close()
    return {}


@case
def what_the_engine_lays_aside_is_seen_capped_and_counted_once():
    """A grammar that compiles late, one that fails, an abort while it compiles; under a cap of one."""
    engine = _Engine("laid-aside", cap=1, second=("speech", wire.AUDIO))
    scheduler = engine.scheduler
    blocked = []
    for i in range(8):
        request = make_request(f"g{i}", 10, 3, arrival=time.time(), extra_args={"modalities": ["audio"]})
        request.status = RequestStatus.WAITING_FOR_STRUCTURED_OUTPUT_GRAMMAR
        request.structured_output_request = SimpleNamespace(grammar=None)
        scheduler.add_request(request)
        blocked.append(request)
    for i in range(16):
        scheduler.add_request(make_request(f"s{i}", 10, 3, arrival=time.time(), extra_args={"modalities": ["audio"]}))
    engine.step()
    told = {slot for kind, slot, *_ in events_of(engine.shim.segment) if kind == wire.ARRIVE}
    assert all(r.horizon_entry.slot in told for r in blocked), "a request whose grammar compiles is not counted"
    scheduler.finish_requests(["g6", "g7"], RequestStatus.FINISHED_ABORTED)
    longest = 0
    # One fails: it stays where the engine ends it.
    blocked[5].structured_output_request = SimpleNamespace(grammar=ValueError("no such schema"))
    order = []
    for request in blocked[:5]:
        request.structured_output_request = SimpleNamespace(grammar=object())
    plain_take = scheduler._horizon_take_back

    def take_back():
        plain_take()
        for request in blocked[:5]:
            # The bitmask needs a compiler that this harness does not have.
            if request.status is RequestStatus.WAITING:
                request.structured_output_request = None

    scheduler._horizon_take_back = take_back
    for _ in range(200):
        output = engine.step()
        order += [new.req_id for new in output.scheduled_new_reqs]
        longest = max(longest, engine.shim.policy.in_shared[1])
        if len(scheduler.requests) <= 1:
            break
    assert longest == 1, f"{longest} long-path requests at once under a cap of one"
    assert "g5" not in scheduler.requests or "g5" in scheduler.grammar_compile_error_reqs, "the engine did not get to see the one that failed"
    # At the place of their arrival, before what came after them.
    assert [name for name in order if name.startswith("g")] == order[1:6] or [name for name in order if name.startswith("g")] == order[:5], order
    if "g5" in scheduler.requests:
        scheduler.finish_requests("g5", RequestStatus.FINISHED_ERROR)
    engine.drain()
    books = engine.books()
    assert books == {"arrived": 24, "finished": 21, "aborted": 3, "responses": 21, "live": 0}, books
    engine.close()
    return books


@case
def a_session_is_answered_turn_by_turn():
    """Five turns, parked in between: never hidden, a deadline and a first response for each, and no entry left."""
    from vllm_omni.request import OmniRequest

    engine = _Engine("session", omni=True, cap=1, second=("speech", wire.AUDIO), slo_ms=1000.0)
    scheduler = engine.scheduler
    scheduler.vllm_config.model_config.stage_id = 0
    extra = {"modalities": ["audio"]}
    arrivals = []
    for turn in range(5):
        time.sleep(0.005)
        scheduler.add_request(make_request("session", 40, 4, arrival=time.time(), extra_args=extra, resumable=True, request_class=OmniRequest, external_req_id="session"))
        entry = scheduler.requests["session"].horizon_entry
        for _ in range(30):
            engine.step()
            if entry.is_parked:
                break
        assert entry.is_parked and scheduler.requests["session"].status is RequestStatus.WAITING_FOR_STREAMING_REQ
        assert engine.shim.policy.in_shared == [0, 0], "a parked session computes nothing"
        arrivals.append(entry.deadline)
    kinds = [kind for kind, _, flags, _ in events_of(engine.shim.segment) if not (kind == wire.ARRIVE and flags & wire.ARRIVAL_RESYNC)]
    turn = [wire.ARRIVE, wire.ADMIT, wire.FIRST_RESPONSE, wire.HANDED_OVER]
    assert [k for k in kinds if k in (*turn, *ENDS)] == (turn + [wire.FINISH]) * 4 + turn, kinds
    assert all(b > a for a, b in zip(arrivals, arrivals[1:])), "every turn has a deadline of its own"
    scheduler.finish_requests("session", RequestStatus.FINISHED_ERROR)
    engine.step()
    assert not engine.shim.entries and engine.books() == {"arrived": 5, "finished": 4, "aborted": 1, "responses": 5, "live": 0}
    engine.close()
    return {}


@case
def a_controller_that_was_away_is_told_everything_again():
    engine = _Engine("away", second=("speech", wire.AUDIO))
    scheduler, segment = engine.scheduler, engine.shim.segment
    for i in range(6):
        scheduler.add_request(make_request(f"a{i}", 10, 2, arrival=time.time()))
    engine.step()
    engine.control.stop()
    engine.loop.step()
    assert engine.shim.mode == wire.MODE_NONE
    scheduler.finish_requests(["a0", "a1"], RequestStatus.FINISHED_ABORTED)
    scheduler.add_request(make_request("b", 10, 40, arrival=time.time()))
    for _ in range(8):
        engine.loop.step()
    before = segment.written
    for _ in range(3):
        engine.step()
    again = events_of(segment)
    begins = [i for i, (kind, *_) in enumerate(again) if kind == wire.SYNC_BEGIN]
    assert len(begins) == 2 and segment.written > before, "no resync after the controller came back"
    named = {low for kind, _, flags, low in again[begins[-1] :] if kind == wire.ARRIVE}
    assert named == {wire.request_hash("b")[1]}, "exactly what lives is named"
    engine.drain()
    engine.close()
    return {}


@case
def what_ends_while_a_controller_is_silent_is_told_all_the_same():
    """A controller that the machine gives no time for a moment: the engine goes on by itself, ends what it has, and goes idle. No further
    step could make up for what was not told."""
    engine = _Engine("silent", second=("speech", wire.AUDIO))
    scheduler, segment = engine.scheduler, engine.shim.segment
    scheduler.add_request(make_request("before", 10, 8, arrival=time.time()))
    engine.step()
    told = len(events_of(segment))
    engine.control.silent_for(1.0)
    engine.loop.step()
    assert engine.shim.mode == wire.MODE_NONE
    scheduler.add_request(make_request("while", 10, 2, arrival=time.time()))
    while scheduler.has_unfinished_requests():
        engine.loop.step()
    kinds = {}
    for kind, _, _, low in events_of(segment)[told:]:
        kinds.setdefault(low, []).append(kind)
    before, during = wire.request_hash("before")[1], wire.request_hash("while")[1]
    assert wire.FINISH in kinds[before], kinds
    assert kinds[during] == [wire.ARRIVE, wire.ADMIT, wire.FIRST_RESPONSE, wire.FINISH], kinds
    engine.close()
    return {}


@case
def aborts_at_every_point_of_life_add_up():
    count = 10_000 if LONG else 600
    rng = random.Random(7)
    engine = _Engine("aborts", second=("speech", wire.AUDIO), cap=2)
    scheduler, shim = engine.scheduler, engine.shim
    totals = {"arrived": 0, "finished": 0, "aborted": 0}
    number, live = 0, []
    while number < count or scheduler.has_unfinished_requests():
        while number < count and len(scheduler.requests) < 40:
            number += 1
            name = f"x{number}"
            scheduler.add_request(make_request(name, rng.randrange(1, 60), rng.randrange(1, 8), arrival=time.time(), extra_args={"modalities": [rng.choice(("audio", "text"))]}))
            live.append(name)
        if live and rng.random() < 0.5:
            name = live.pop(rng.randrange(len(live)))
            if name in scheduler.requests:
                scheduler.finish_requests(name, RequestStatus.FINISHED_ABORTED)
        engine.step()
        # The ring is read as a controller would, before it is full.
        shim.segment.u32[wire.CONTROLLER_OFFSET // 4 + 8] = 0
        if shim.segment.written > 1500 or not (number < count or scheduler.has_unfinished_requests()):
            counts = engine.books()
            assert counts["live"] == sum(1 for e in shim.entries.values() if e.told), counts
            for key in totals:
                totals[key] += counts[key]
            shim.segment.written = 0
            shim.teller.forget()
    assert not shim.entries and shim.policy.in_shared == [0, 0] and shim.policy.long_ordinary == 0 and len(shim.queue) == 0
    engine.close()
    return totals


@case
def an_embedding_counts_as_answered_when_it_ends():
    engine = _Engine("pooling")
    request = make_request("e", 10, 1, arrival=time.time())
    engine.scheduler.add_request(request)
    engine.step()
    request = make_request("f", 10, 1, arrival=time.time())
    engine.scheduler.add_request(request)
    # As the engine ends a pooling request: it stopped, and has put out no token.
    engine.control.beat()
    engine.scheduler.get_grammar_bitmask(engine.scheduler.schedule())
    request.status = RequestStatus.FINISHED_STOPPED
    engine.scheduler.running.remove(request)
    engine.scheduler._free_request(request)
    kinds = [kind for kind, _, _, low in events_of(engine.shim.segment) if low == wire.request_hash("f")[1]]
    assert kinds == [wire.ARRIVE, wire.ADMIT, wire.FIRST_RESPONSE, wire.FINISH], kinds
    engine.close()
    return {}


@case
def walking_the_queue_sorts_nothing_twice():
    """vLLM-Omni walks the waiting queue three times a step."""
    engine = _Engine("walk", policy="priority")
    queue = engine.shim.queue
    for i in range(200):
        engine.scheduler.add_request(make_request(f"w{i}", 4, 1, priority=i % 3, arrival=time.time()))
    first = list(queue)
    held = queue._sorted
    assert held is not None and list(queue) == first and queue._sorted is held
    assert [r.priority for r in first] == sorted(r.priority for r in first)
    queue.remove_request(first[0])
    assert list(queue) == first[1:]
    engine.close()
    return {}


@case
def every_replica_has_a_segment_of_its_own():
    name = segment_name("replicas")
    environ = {"HORIZONSERVE_SEGMENT": name, "HORIZONSERVE_STAGE": "1"}
    segments = [open_segment(Settings({**environ, **more})) for more in ({}, {}, {"VLLM_DP_RANK": "5"}, {"HORIZONSERVE_STAGE": "0"}, {"HORIZONSERVE_STAGE": "0"})]
    names = [s.path.rsplit("-", 1)[-1].removeprefix("replicas") for s in segments]
    assert names == ["", ".1", ".5", "", ".1"], names
    assert [s.stage for s in segments] == [1, 1, 1, 0, 0]
    for segment in segments:
        segment.close()
    for process, replica in (("StageEngineCoreProc_stage1_replica2", 2), ("EngineCore_DP3", 3), ("EngineCore", 0), ("StageEngineCoreProc_stage0_replica1_DP0", 1)):
        assert replica_of_process({}, process) == replica, process
    return {"names": names}
