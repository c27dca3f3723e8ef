"""The worker hook on the torch double: order of streams, graphs, refusals, and that nothing ends a step. Run by worker.test.ts; each
function named `case_…` is a case, and the answer is one JSON object of name to null or the failure."""

import functools
import json
import logging
import random
import sys
import traceback
import types
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[3] / "python"))
import streams
from streams import Graph, kernel

sys.modules["torch"] = streams.module()
from horizonserve.green import Ladder, Row
from horizonserve.green_driver import GreenError
from horizonserve.level_refusal import Refused
from horizonserve.worker import LevelHook, wrap_start, wrap_worker

LEVELS = (48, 64, 80)


class Ladder3(Ladder):
    """The real `at`, without a driver: three co-running rows, one of 120, the whole of 132."""

    def __init__(self, fails=()):
        self.rows = [Row("groups", i, sms, 132 - sms) for i, sms in enumerate((*LEVELS, 120))] + [Row("whole", 0, 132, 0)]
        self.side, self._closed, self._ordinal = "shared", False, 0
        self._torch_streams, self._events, self._fails = {}, None, set(fails)
        self.applied = None

    def stream(self, level):
        self._row(level)
        if level in self._fails:
            raise GreenError("ERR_GPU_CALL", "the driver returned 999", 999)
        return 1000 + level

    def apply(self, level):
        self._row(level)
        self.applied = level

    def read_back(self):
        return self.applied


class Reader:
    def __init__(self):
        self.published, self.sms, self.told = -1, 0, []

    def publish(self, level, sms):
        self.published, self.sms = level, sms

    def level(self):
        return self.published

    def tell(self, level, refusal="none"):
        self.told.append((level, refusal))


def config(eager=True, pp=1, tp=1, ubatching=False, mode="FULL_AND_PIECEWISE", stage=0):
    return types.SimpleNamespace(
        model_config=types.SimpleNamespace(enforce_eager=eager, stage_id=stage),
        parallel_config=types.SimpleNamespace(pipeline_parallel_size=pp, tensor_parallel_size=tp, use_ubatching=ubatching),
        compilation_config=types.SimpleNamespace(cudagraph_mode=types.SimpleNamespace(name="NONE" if eager else mode)),
    )


class Runner1:
    """Model Runner V1's shape: asks for the current stream each time."""

    def __init__(self):
        self.copies = streams.Stream()

    def main(self):
        return streams.current_stream()

    def execute(self, inputs):
        self.hidden = kernel(inputs)

    def sample(self):
        tokens = kernel(self.hidden)
        self.copies.wait_stream(self.main())
        with streams.stream(self.copies):
            tokens.read()
        return tokens


class Runner2(Runner1):
    """Model Runner V2's shape: the stream that copies wait for is cached at the first step, warm-up included."""

    @functools.cached_property
    def main_stream(self):
        return streams.current_stream()

    def main(self):
        return self.main_stream


def make_worker(hook, runner, worker_config):
    class Worker:
        def __init__(self):
            self.model_runner, self.vllm_config, self.device = runner, worker_config, types.SimpleNamespace(index=0)

        def execute_model(self, inputs):
            return self.model_runner.execute(inputs)

        def sample_tokens(self):
            return self.model_runner.sample()

    wrap_worker(Worker, hook)
    return Worker()


def make(runner=None, ladder=None, environ=None, worker_config=None):
    reader = Reader()
    ladder = ladder or Ladder3()
    hook = LevelHook(lambda stage: reader, lambda side, device: ladder, environ or {}, Graph)
    return make_worker(hook, runner or Runner1(), worker_config or config()), reader, ladder, hook


def step(worker):
    worker.execute_model(kernel())
    return worker.sample_tokens()


def case_both_runners_read_what_exists():
    for runner in (Runner1(), Runner2()):
        worker, reader, _, _ = make(runner)
        step(worker)  # warm-up: V2 caches its stream here
        for level in (0, 2, 1, 0):
            reader.publish(level, LEVELS[level])
            tokens = step(worker)
            tokens.read()
            assert tokens.row == 1000 + level, (tokens.row, level)
            assert reader.told[-1] == (level, "none")
        reader.publish(-1, 0)
        assert step(worker).row == 0 and reader.told[-1] == (-1, "none")


def case_the_double_finds_a_copy_that_waits_for_the_wrong_stream():
    """The fault itself: a cached stream outside of the row. Shows that the checker can fail."""
    runner = Runner2()
    assert runner.main_stream is streams.current_stream()
    with Ladder3().at(1):
        runner.execute(kernel())
        try:
            runner.sample()
        except streams.Unordered:
            return
    raise AssertionError("the unordered copy was not seen")


def case_a_thousand_interleavings():
    rng = random.Random(7)
    for trial in range(1000):
        runner = rng.choice((Runner1, Runner2))()
        worker, reader, _, _ = make(runner)
        done = wanted = 0
        for _ in range(rng.randrange(1, 12)):
            level = rng.choice((-1, 0, 1, 2))
            reader.publish(level, LEVELS[level] if level >= 0 else 0)
            what = rng.random()
            wanted += 1
            if what < 0.15:
                plain, runner.execute = runner.execute, functools.partial(_raises, raised := [])
                try:
                    worker.execute_model(kernel())
                except ZeroDivisionError:
                    done += 1
                assert len(raised) == 1, "a step that fails is not run again"
                runner.execute = plain
                continue
            worker.execute_model(kernel())
            if what < 0.5:  # the level changes between the two calls of a step
                level = rng.choice((-1, 0, 1, 2))
                reader.publish(level, LEVELS[level] if level >= 0 else 0)
            tokens = worker.sample_tokens()
            tokens.read()
            kernel(tokens)
            done += 1
        assert done == wanted, (trial, done, wanted)
        assert all(refusal == "none" for _, refusal in reader.told), (trial, reader.told)
        assert len(streams._current) == 1


def _raises(raised, inputs):
    raised.append(kernel(inputs))
    raise ZeroDivisionError("the engine's own")


def case_graphs_of_the_engine_are_refused_before_the_first_step():
    worker, reader, _, _ = make(worker_config=config(eager=False))
    reader.publish(1, 64)
    assert step(worker).row == 0, "the call is left alone"
    assert reader.told == [(-1, "graphs")], reader.told


def case_a_private_graph_is_caught_at_its_replay():
    """A model that keeps graphs of its own, captured outside of any row, in a stage that claims to be eager."""
    graph = Graph()
    worker, reader, _, hook = make()
    graph.capture_begin()
    worker.model_runner.execute = lambda inputs: graph.replay()
    reader.publish(1, 64)
    worker.execute_model(kernel())
    assert reader.told[-1] == (-1, "graphs"), reader.told
    count = len(reader.told)
    worker.execute_model(kernel())
    assert len(reader.told) == count, "after that the stage is left alone"


def case_a_graph_of_the_row_is_no_fault():
    graph = Graph()
    worker, reader, _, _ = make()
    reader.publish(1, 64)
    worker.model_runner.execute = lambda inputs: graph.capture_begin()
    worker.execute_model(kernel())
    worker.model_runner.execute = lambda inputs: graph.replay()
    worker.execute_model(kernel())
    assert reader.told[-1] == (1, "none")
    reader.publish(2, 80)
    worker.execute_model(kernel())
    assert reader.told[-1] == (-1, "graphs"), "captured in one row, replayed in another"


def case_refusals_name_their_reason():
    for why, arguments in {
        "pipeline-parallel": {"pp": 2},
        "several-gpus": {"tp": 2},
        "ubatching": {"ubatching": True},
    }.items():
        worker, reader, _, _ = make(worker_config=config(**arguments))
        reader.publish(0, 48)
        step(worker)
        assert reader.told == [(-1, why)], (why, reader.told)


def case_nothing_of_the_driver_ends_a_step():
    def no_mps(side, device):
        raise Refused("no-mps")

    def broken(side, device):
        raise OSError("no driver")

    for build, why in ((no_mps, "no-mps"), (broken, "no-ladder"), (lambda s, d: Ladder3(fails=(0,)), "driver")):
        reader = Reader()
        worker = make_worker(LevelHook(lambda stage: reader, build, {}, Graph), Runner1(), config())
        reader.publish(0, 48)
        assert step(worker).row == 0
        assert reader.told == [(-1, why)], (why, reader.told)


def case_rows_are_matched_by_what_they_hold():
    worker, reader, _, _ = make()
    reader.publish(0, 80)  # the controller's first level is the file's third row
    assert step(worker).row == 1002 and reader.told[-1] == (2, "none")
    worker, reader, _, _ = make()
    reader.publish(7, 72)
    assert step(worker).row == 0 and reader.told == [(-1, "no-row")], reader.told
    reader.publish(0, 48)
    step(worker)


def case_each_stage_takes_its_side():
    for environ, stage, side in (({}, 0, "shared"), ({}, 2, "downstream"), ({"HORIZONSERVE_STAGE": "1"}, 0, "downstream")):
        sides, reader = [], Reader()
        hook = LevelHook(lambda stage: reader, lambda side, device: sides.append((side, device)) or Ladder3(), environ, Graph)
        worker = make_worker(hook, Runner1(), config(stage=stage))
        worker.device.index = 3
        reader.publish(0, 48)
        step(worker)
        assert sides == [(side, 3)], sides
    reader = Reader()
    worker = make_worker(LevelHook(lambda stage: reader, None, {}, Graph), Runner1(), config())
    worker.vllm_config, worker.od_config = None, types.SimpleNamespace(num_gpus=1)
    reader.publish(0, 48)
    assert step(worker).row == 0, "a worker of which nothing says what stage it is does not guess"


def case_a_fixed_row_is_taken_before_capture():
    ladder, reader = Ladder3(), Reader()
    environ = {"HORIZONSERVE_FIXED_ROW": "1"}
    hook = LevelHook(lambda stage: reader, lambda side, device: ladder, environ, Graph)
    order = []

    class Worker:
        vllm_config = config(eager=False, stage=1)
        device = types.SimpleNamespace(index=0)

        def init_device(self):
            order.append(("device", ladder.applied))

        def load_model(self):
            order.append(("capture", ladder.applied))

        def execute_model(self):
            return "model"

    wrap_start(Worker, hook, "init_device")
    wrap_worker(Worker, hook)
    worker = Worker()
    worker.init_device()
    worker.load_model()
    assert order == [("device", None), ("capture", 1)], order
    assert worker.execute_model() == "model" and reader.told[-1] == (1, "none")
    ladder.applied = -1  # a library made another context current
    assert worker.execute_model() == "model" and reader.told[-1] == (-1, "driver"), "a row that is lost is not claimed"


def case_at_makes_its_objects_once():
    ladder = Ladder3()
    with ladder.at(0):
        pass
    made, first = streams.Event.made, ladder.torch_stream(0)
    for _ in range(50):
        with ladder.at(0):
            pass
    assert streams.Event.made == made and ladder.torch_stream(0) is first


def main():
    logging.disable(logging.CRITICAL)
    results = {}
    for name, function in sorted(globals().items()):
        if name.startswith("case_"):
            try:
                function()
                results[name] = None
            except Exception:  # noqa: BLE001
                results[name] = traceback.format_exc()
    print(json.dumps(results))


main()
