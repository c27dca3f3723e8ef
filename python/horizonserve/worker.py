"""Applies the published SM level around model execution, in the process that launches the kernels.

A level counts for the kernels of the stream that owns it, so `execute_model` and `sample_tokens`, two separate calls, both run on the
level's stream. Where a level cannot hold (CUDA graphs, several GPUs, no MPS: `level_refusal.py`) the hook says so once, publishes that no
level is applied and why, and leaves every later call alone. Nothing that the driver or a stale ladder file says can end a step.

Two ways to use a ladder. By default the published level is applied step by step, which needs an eager stage. With
`HORIZONSERVE_FIXED_ROW` a stage is put into one row for good, before its model is loaded and its graphs are captured, so that they keep
to it: the cheap way to bound a downstream stage while the shared stage keeps its graphs.

Part of the plugin (`horizonserve.plugin`): nothing happens unless HORIZONSERVE_LADDER names the file that
`horizonserve sweep --describe` wrote.
"""

import functools
import json
import logging
import os

from .graph_watch import GraphWatch
from .level_reader import LateReader
from .level_refusal import Refused, refusal_of, stage_of_worker

log = logging.getLogger("horizonserve")
_SIDES = ("shared", "downstream")


class LevelHook:
    """Runs calls at the published level.

    `make_ladder(side, device)` builds the ladder on the first call, when the CUDA context exists; `make_reader(stage)` opens what is
    published. `graph_class` is torch's, None where there is none to watch.
    """

    def __init__(self, make_reader, make_ladder, environ=os.environ, graph_class=None):
        self._make_reader, self._make_ladder, self._environ = make_reader, make_ladder, environ
        self._reader = None
        self._ladder = None
        self._off = False
        self._fixed = None
        self._rows = {}
        self._graphs = GraphWatch()
        if graph_class is not None:
            self._graphs.install(graph_class)

    def run(self, worker, call):
        if self._off:
            return call()
        if self._fixed is not None:
            self._tell_fixed()
            return call()
        try:
            level = self._level(worker)
            if level < 0:
                self._reader.tell(-1)
            else:
                at = self._ladder.at(level)
                stream = at.__enter__()
        except Exception as error:  # noqa: BLE001 - whatever the driver says, the stage must run
            self._turn_off(error)
            level = -1
        # Outside of the `try`: what the engine raises is its own, and its step runs once.
        return call() if level < 0 else self._at(worker, call, level, at, stream)

    def fix(self, worker):
        """Puts the stage into the row that HORIZONSERVE_FIXED_ROW names, for good: call it before graphs are captured."""
        try:
            row = int(self._environ["HORIZONSERVE_FIXED_ROW"])
            self._open(worker, ignore=("graphs",))
            self._ladder.apply(row)
            self._fixed = row
            log.info("horizonserve: this stage keeps to row %d, %d SMs", row, self._ladder.sms(row))
        except Exception as error:  # noqa: BLE001
            self._turn_off(error)

    def _tell_fixed(self):
        """The row counts as applied only while it is current to this thread: libraries may bind it to another context."""
        try:
            if self._ladder.read_back() != self._fixed:
                raise Refused("driver", "another context is current than the fixed row's")
            self._reader.tell(self._fixed)
        except Exception as error:  # noqa: BLE001 - the stage must run
            self._turn_off(error)

    def _at(self, worker, call, level, at, stream):
        """The call itself, in the row. What it raises is the engine's and goes on to it; what leaving the row raises is ours."""
        runner = getattr(worker, "model_runner", None)
        restore = _take_main_stream(runner, stream)
        graphs = self._graphs
        before, graphs.row = graphs.foreign, level
        try:
            result = call()
        except BaseException as error:
            self._leave(at, (type(error), error, error.__traceback__))
            raise
        finally:
            graphs.row = -1
            restore()
        self._leave(at, (None, None, None))
        if graphs.foreign != before:
            self._turn_off(Refused("graphs"))
        elif not self._off:
            self._reader.tell(level)
        return result

    def _leave(self, at, info):
        try:
            at.__exit__(*info)
        except BaseException as error:  # noqa: BLE001
            if error is not info[1]:
                self._turn_off(error)

    def _level(self, worker):
        """The row of the ladder for what is published; -1 while nothing is."""
        if self._reader is None:
            self._reader = self._make_reader(self._stage(worker))
        level = self._reader.level()
        if level < 0:
            return -1
        if self._ladder is None:
            self._open(worker)
        key = (level, self._reader.sms)
        row = self._rows.get(key)
        if row is None:
            self._rows[key] = row = _row_of(self._ladder, self._reader.sms)
        return row

    def _open(self, worker, ignore=()):
        stage = self._stage(worker)
        if self._reader is None:
            self._reader = self._make_reader(stage)
        why = refusal_of(worker)
        if why is not None and why not in ignore:
            raise Refused(why)
        try:
            self._ladder = self._make_ladder(_SIDES[stage > 0], _device_of(worker))
        except Refused:
            raise
        except Exception as error:  # noqa: BLE001
            raise Refused("no-ladder", str(error)) from error

    def _stage(self, worker):
        stage = stage_of_worker(worker, self._environ)
        if stage is None:
            raise Refused("unknown-stage")
        return stage

    def _turn_off(self, error):
        self._off = True
        refusal = error.name if isinstance(error, Refused) else "driver"
        log.error("horizonserve: SM levels are off in this process, and none is applied: %s", error)
        if self._reader is not None:
            try:
                self._reader.level()
                self._reader.tell(-1, refusal)
            except Exception:  # noqa: BLE001, S110 - it has been said in the log
                pass


def _row_of(ladder, shared_sms):
    """Rows are matched by what they hold, not by their place: controller and file may have been written apart."""
    for index, row in enumerate(ladder.rows):
        if row.shared_sms == shared_sms:
            return index
    raise Refused("no-row", f"{shared_sms} SMs asked for, rows have {', '.join(str(row.shared_sms) for row in ladder.rows)}")


def _device_of(worker):
    index = getattr(getattr(worker, "device", None), "index", None)
    return index if isinstance(index, int) else 0


def _take_main_stream(runner, stream):
    """Model Runner V2 caches the stream that its copies of sampled tokens wait for; for the call it is the row's. Returns the way back."""
    cached = getattr(type(runner), "main_stream", None)
    if not isinstance(cached, functools.cached_property):
        return _nothing
    held = vars(runner)
    before = runner.main_stream if "main_stream" in held else None
    held["main_stream"] = stream

    def restore():
        if before is None:
            held.pop("main_stream", None)
        else:
            held["main_stream"] = before

    return restore


def _nothing():
    pass


def wrap_worker(worker_class, hook, names=("execute_model", "sample_tokens")):
    """Wraps the calls of a worker class that launch kernels, once."""
    for name in names:
        plain = worker_class.__dict__.get(name)
        if plain is None or getattr(plain, "horizonserve", False):
            continue

        def wrapped(self, *args, _plain=plain, **kwargs):
            return hook.run(self, functools.partial(_plain, self, *args, **kwargs))

        functools.update_wrapper(wrapped, plain)
        wrapped.horizonserve = True
        setattr(worker_class, name, wrapped)


def wrap_start(worker_class, hook, name):
    """Puts the stage into its fixed row right after the call that makes its device ready."""
    plain = worker_class.__dict__.get(name)
    if plain is None or getattr(plain, "horizonserve", False):
        return

    @functools.wraps(plain)
    def wrapped(self, *args, **kwargs):
        result = plain(self, *args, **kwargs)
        hook.fix(self)
        return result

    wrapped.horizonserve = True
    setattr(worker_class, name, wrapped)


def register(environ=os.environ):
    """The plugin. Quiet where it is not asked for."""
    ladder_file = environ.get("HORIZONSERVE_LADDER")
    if not ladder_file or "HORIZONSERVE_SEGMENT" not in environ:
        return
    try:
        with open(ladder_file, encoding="utf-8") as file:
            description = json.load(file)
        workers = list(_workers())
        import torch
    except (OSError, ValueError, ImportError) as error:
        log.error("horizonserve: SM levels are off in this process: %s", error)
        return
    hook = LevelHook(
        lambda stage: LateReader(environ["HORIZONSERVE_SEGMENT"], stage),
        lambda side, device: _ladder(description, side, device),
        environ,
        torch.cuda.CUDAGraph,
    )
    for worker_class, names in workers:
        wrap_worker(worker_class, hook, names)
        if "HORIZONSERVE_FIXED_ROW" in environ:
            wrap_start(worker_class, hook, "init_device")


def _workers():
    """The classes that launch kernels, and by which calls. The diffusion worker of vLLM-Omni has no ancestor in vLLM."""
    from vllm.v1.worker.gpu_worker import Worker

    yield Worker, ("execute_model", "sample_tokens")
    try:
        from vllm_omni.diffusion.worker.diffusion_worker import DiffusionWorker
    except ImportError:
        return
    yield DiffusionWorker, ("execute_model", "execute_model_batch", "execute_stepwise")


def _ladder(description, side, device):
    from .green import Ladder

    ladder = Ladder.from_description(description, side, device)
    if not ladder.has_mps():
        ladder.close()
        raise Refused("no-mps")
    return ladder
