"""The package itself: layouts of other vLLM versions, class rules, the worker hook, later stages. Fakes are labelled so."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from types import SimpleNamespace

from harness import ROOT, Loop, make_request, make_scheduler
from suite import Skip, case, segment_name

from horizonserve import wire
from horizonserve.classes import ClassBook, Features
from horizonserve.describe import describe
from horizonserve.engine_layout import layout_of
from horizonserve.segment import Segment
from horizonserve.vllm import HorizonMixin, HorizonScheduler, may_hide
from horizonserve.green import Row
from horizonserve.level_reader import LevelReader
from horizonserve.level_refusal import REFUSALS
from horizonserve.worker import LevelHook, wrap_worker


@case
def the_installed_version_has_the_layout_it_should():
    import vllm

    scheduler = make_scheduler(HorizonScheduler)
    found = layout_of(scheduler)
    minor = int(vllm.__version__.split(".")[1])
    assert found == ("waiting+skipped" if 18 <= minor <= 30 else "waiting+kv-holding" if minor >= 31 else "waiting"), found
    return {"vllm": vllm.__version__, "layout": found}


class _FakeQueue(deque):
    """FAKE of vLLM's FCFS queue: the verbs alone."""

    add_request = deque.append
    pop_request = deque.popleft
    prepend_request = deque.appendleft
    prepend_requests = deque.extendleft
    remove_request = deque.remove

    def peek_request(self):
        return self[0]

    def remove_requests(self, requests):
        gone = set(map(id, requests))
        kept = [r for r in self if id(r) not in gone]
        self.clear()
        self.extend(kept)


def _fake_scheduler(*extra):
    """FAKE of another version's scheduler: admits everything that is visible."""

    class Fake:
        def __init__(self):
            from vllm.v1.core.sched.request_queue import SchedulingPolicy

            self.policy = SchedulingPolicy.FCFS
            self.waiting = _FakeQueue()
            self.running = []
            for name in extra:
                setattr(self, name, _FakeQueue())

        def schedule(self):
            from vllm.v1.request import RequestStatus

            while self.waiting:
                request = self.waiting.pop_request()
                request.status = RequestStatus.RUNNING
                self.running.append(request)
            return SimpleNamespace(total_num_scheduled_tokens=1)

        def update_from_output(self):
            return {}

        def _free_request(self, request):
            return None

    return type("Shimmed", (HorizonMixin, Fake), {})()


@case
def fakes_of_other_layouts_keep_their_other_queues():
    """FAKES: the shapes of vLLM 0.12, 0.18 to 0.30, and 0.31 on."""
    seen = {}
    for label, extra in (("0.12", ()), ("0.18-0.30", ("skipped_waiting",)), ("0.31+", ("kv_holding_waiting", "deferred_waiting"))):
        segment_name(f"fake-{label}".replace("+", "-"))
        scheduler = _fake_scheduler(*extra)
        others = {name: getattr(scheduler, name) for name in extra}
        for i in range(5):
            scheduler.waiting.add_request(make_request(f"f{i}", 4, 2, arrival=time.time()))
        for name, queue in others.items():
            queue.append(make_request(f"other-{name}", 4, 2, arrival=time.time()))
        scheduler.schedule()
        assert [r.request_id for r in scheduler.running] == [f"f{i}" for i in range(5)]
        for name, queue in others.items():
            assert getattr(scheduler, name) is queue and len(queue) == 1, f"{name} was touched"
        seen[label] = layout_of(scheduler)
        scheduler.horizon.segment.close()
    assert seen == {"0.12": "waiting", "0.18-0.30": "waiting+skipped", "0.31+": "waiting+kv-holding"}
    unknown = type("Odd", (HorizonMixin, type("Base", (), {"__init__": lambda self: setattr(self, "waiting", [])})), {})()
    assert unknown.horizon is None, "an unknown shape must be left alone"
    return {"fakes": seen}


@case
def only_what_holds_nothing_may_be_hidden():
    from vllm.v1.request import RequestStatus

    request = make_request("h", 8, 4)
    assert may_hide(request)
    for change in (
        {"status": RequestStatus.PREEMPTED},
        {"status": RequestStatus.WAITING_FOR_REMOTE_KVS},
        {"status": RequestStatus.WAITING_FOR_STREAMING_REQ},
        {"num_computed_tokens": 1},
        {"num_preemptions": 1},
        {"resumable": True},
    ):
        request = make_request("h", 8, 4)
        for name, value in change.items():
            setattr(request, name, value)
        assert not may_hide(request), change
    request = make_request("h", 8, 4)
    request.append_output_token_ids(5)
    assert not may_hide(request)
    return {}


@case
def classes_follow_marker_then_modalities_then_priority():
    rows = [SimpleNamespace(priority=p) for p in (0, 10, 20)]
    book = ClassBook(json.dumps({"classes": [{"name": "text", "outputs": 1}, {"name": "speech", "outputs": 2}, {"name": "image", "outputs": 4}]}), rows)

    def name_of(info=None, extra=None, priority=0, request_id="r"):
        request = make_request(request_id, 4, 2, priority, extra_args=extra)
        features = describe(request, info)
        return book.names[book.class_of(features)], features.slo_ms

    assert name_of({"omni_final_stage_id": 0, "modalities": ["audio"]})[0] == "text"
    assert name_of({"omni_final_stage_id": 2})[0] == "speech"
    assert name_of({"omni_final_stage_id": 2, "modalities": ["text", "image"]})[0] == "image"
    assert name_of(extra={"modalities": ["text", "audio"]})[0] == "speech"
    assert name_of(priority=20)[0] == "image"
    assert name_of(priority=7)[0] == "text"
    assert name_of({"slo_ms": 120, "omni_final_stage_id": 0})[1] == 120
    assert name_of(extra={"slo_ms": 250})[1] == 250
    assert name_of(request_id="chatcmpl-slo=300.abc-1f2e3d4c")[1] == 300
    for bad in ("300", -5, True, float("nan"), 1e12, None, {}):
        assert name_of(extra={"slo_ms": bad})[1] == 0, bad
    return {}


@case
def vllm_omni_marks_are_read_from_its_own_payload():
    from vllm_omni.engine.serialization import serialize_additional_information
    from vllm_omni.request import OmniRequest

    from horizonserve.vllm_omni import describe_omni

    for stage, mask in ((0, wire.TEXT), (2, wire.AUDIO)):
        request = make_request("o", 4, 2, request_class=OmniRequest, external_req_id="chatcmpl-slo=450.x", additional_information=serialize_additional_information({"omni_final_stage_id": stage}))
        features = describe_omni(request)
        assert features.outputs == mask and features.slo_ms == 450 and features.external_id == "chatcmpl-slo=450.x"
    broken = make_request("o", 4, 2, request_class=OmniRequest, external_req_id="x", additional_information=object())
    assert describe_omni(broken).outputs == 0
    return {}


class _LadderDouble:
    """Stands for the hardware: remembers which rows were current during calls."""

    def __init__(self):
        self.current = None
        self.rows = [Row("groups", i, sms, 132 - sms) for i, sms in enumerate((48, 64, 80, 96))]

    @contextlib.contextmanager
    def at(self, level):
        self.current = level
        yield
        self.current = None


@case
def the_worker_runs_both_calls_at_the_published_level():
    name = segment_name("worker")
    segment = Segment.open(name)
    ladder = _LadderDouble()

    class Worker:
        def execute_model(self, x):
            return ("model", x, ladder.current)

        def sample_tokens(self, x):
            return ("tokens", x, ladder.current)

    def hook(make_ladder):
        return LevelHook(lambda stage: LevelReader(name, stage), make_ladder, {"HORIZONSERVE_STAGE": "0"})

    wrap_worker(Worker, hook(lambda side, device: ladder))
    wrap_worker(Worker, hook(lambda side, device: ladder))
    worker = Worker()
    assert worker.execute_model(1) == ("model", 1, None), "no controller: no level"
    row = wire.ClassRow(sloMs=1.0, slowdown=1.0, waitMs=0.0, uGuard=0.0, uLost=0.0, path=0, priority=0)
    state = wire.ControlState(**{n: 0 for n in wire.ControlState.__slots__ if n != "classes"}, classes=[row])
    state.m, state.level, state.levelSms = 1, 3, 96
    segment._map[wire.HEADER_BYTES + wire.BANK_BYTES : wire.HEADER_BYTES + 2 * wire.BANK_BYTES] = wire.encode_state(state, 1)
    segment.u32[wire.CONTROLLER_OFFSET // 4 + 4] = 1
    segment.i64[wire.CONTROLLER_OFFSET // 8] = time.monotonic_ns()
    assert worker.execute_model(2) == ("model", 2, 3) and worker.sample_tokens(2) == ("tokens", 2, 3)
    assert segment.u32[(wire.STAGE_OFFSET + 36) // 4] == 3, "the applied level is told"

    def broken(side, device):
        raise RuntimeError("no driver")

    class Other(Worker):
        def execute_model(self, x):
            return x

    wrap_worker(Other, hook(broken))
    segment.i64[wire.CONTROLLER_OFFSET // 8] = time.monotonic_ns()
    assert Other().execute_model(5) == 5, "a ladder that cannot be built must not stop the stage"
    line = (wire.STAGE_OFFSET + 36) // 4
    assert segment.u32[line] == 0xFFFFFFFF and REFUSALS[segment.u32[line + 2]] == "no-ladder", "and is said"
    segment.close()
    return {}


@case
def later_stages_publish_their_activity():
    from vllm_omni.core.sched.omni_ar_scheduler import OmniARAsyncScheduler

    from horizonserve.vllm_omni import publish_activity

    name = segment_name("stages")
    first = Segment.open(name, 0)
    second = Segment.open(name, 1)
    stage = type("Stage1", (OmniARAsyncScheduler,), {"schedule": OmniARAsyncScheduler.schedule})
    publish_activity(stage, 1, second)
    first.i64[wire.CONTROLLER_OFFSET // 8] = time.monotonic_ns() + 200_000_000
    first.u32[wire.CONTROLLER_OFFSET // 4 + 3] = wire.MODE_PUBLISHED
    from vllm_omni.request import OmniRequest

    scheduler = make_scheduler(stage)
    for i in range(3):
        scheduler.add_request(make_request(f"s{i}", 20, 4, request_class=OmniRequest, external_req_id=f"s{i}"))
    loop = Loop(scheduler)
    loop.step()
    line = (wire.STAGE_OFFSET + wire.STAGE_BYTES) // 4
    assert first.u32[line + 5] == 3 and first.u32[line + 7] == 60, list(first.u32[line : line + 11])
    first.i64[wire.CONTROLLER_OFFSET // 8] = time.monotonic_ns()
    while scheduler.has_unfinished_requests():
        loop.step()
    kinds = [wire.decode_event(second._map[second._ring + k * 64 : second._ring + k * 64 + 64]) for k in range(second.written)]
    low = wire.request_hash("s1")[1]
    assert [k[1] for k in kinds if k[6] == low] == [wire.FIRST_RESPONSE, wire.FINISH], kinds
    first.close()
    second.close()
    assert not os.path.exists(first.path)
    return {}


@case
def the_shared_file_of_mixed_requests_is_classified_alike():
    """The same file as in TypeScript, on the engine's own requests."""
    sys.path.insert(0, str(ROOT / "test/golden"))
    from classify_mixed_requests import classify

    def engine_request(each, extra):
        request = make_request("r", 8, 2, each.get("priority", 0), extra_args=extra)
        request.mm_features = [SimpleNamespace(modality=m, mm_position=SimpleNamespace(length=10)) for m in each.get("inputs", ()) if m != "text"]
        return request

    answers = list(classify(json.loads((ROOT / "test/golden/mixed-requests.json").read_text()), engine_request))
    wrong = [answer for answer in answers if answer[2] != answer[3]]
    assert not wrong, wrong
    assert len(answers) > 100
    return {"cases": len(answers)}


@case
def the_package_installs_alone_and_is_found():
    """Into a fresh environment without an engine: entry points are there, and nothing of an engine is needed to import the wire."""
    with tempfile.TemporaryDirectory() as folder:
        python = f"{folder}/bin/python"
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        installed = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(ROOT / "python")], capture_output=True, text=True)
        if "No matching distribution found for setuptools" in installed.stderr:
            raise Skip("pip cannot reach an index for setuptools")
        assert installed.returncode == 0, installed.stderr[-1000:]
        code = (
            "import sys, json, importlib.metadata as m, horizonserve.wire, horizonserve.queue, horizonserve.shim, horizonserve.green;"
            "print(json.dumps([horizonserve.wire.__file__, [n for n in sys.modules if n.split('.')[0] in ('vllm', 'torch')],"
            " {g: [e.value for e in m.entry_points(group=g)] for g in ('vllm.general_plugins', 'vllm_omni.general_plugins')}]))"
        )
        done = subprocess.run([python, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
        where, engine, points = json.loads(done.stdout)
    assert where.startswith(folder) and engine == [], (where, engine)
    assert points == {"vllm.general_plugins": ["horizonserve.plugin:register"], "vllm_omni.general_plugins": ["horizonserve.worker:register"]}, points
    return points
