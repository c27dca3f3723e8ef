"""The way in: which scheduler an engine core gets once the plugin is loaded."""

import logging

from vllm.config import SchedulerConfig
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler
from vllm_omni.core.sched.omni_ar_scheduler import OmniARAsyncScheduler, OmniARScheduler
from vllm_omni.core.sched.omni_generation_scheduler import OmniGenerationScheduler

from harness import Loop, make_request, make_scheduler
from suite import case, segment_name

from horizonserve import plugin
from horizonserve.settings import log
from horizonserve.vllm import HorizonMixin
from horizonserve.vllm_omni import HorizonOmniMixin


class Lines(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def _asked(name):
    """What the engine's own configuration answers when it is asked for the class."""
    return SchedulerConfig(max_model_len=64, is_encoder_decoder=False, scheduler_cls=name).get_scheduler_cls()


def _name(cls):
    return f"{cls.__module__}.{cls.__qualname__}"


@case
def the_plugin_puts_the_view_over_the_engines_own_choice():
    """Every class that the engine or a model may name: ours over it, once, and it serves; without a segment's name nothing happens."""
    plain = SchedulerConfig.get_scheduler_cls
    plugin.register({})
    assert SchedulerConfig.get_scheduler_cls is plain
    segment_name("plugin")
    plugin.register()
    plugin.register()
    served = {}
    for base in (AsyncScheduler, Scheduler, OmniARAsyncScheduler, OmniARScheduler):
        got = _asked(_name(base))
        assert issubclass(got, base) and issubclass(got, HorizonMixin) and got.__mro__.count(HorizonMixin) == 1, got.__mro__
        assert issubclass(got, HorizonOmniMixin) == (base in (OmniARAsyncScheduler, OmniARScheduler)), got.__mro__
        loop = Loop(make_scheduler(got, async_scheduling=issubclass(base, AsyncScheduler)))
        for i in range(20):
            loop.scheduler.add_request(make_request(f"r{i}", 10, 4))
        while loop.scheduler.has_unfinished_requests():
            loop.step()
        loop.drain()
        served[got.__name__] = len(loop.finished)
        loop.scheduler.horizon.segment.close()
    assert set(served.values()) == {20}, served
    named = _asked("horizonserve.vllm.HorizonScheduler")
    assert named.__name__ == "HorizonScheduler"
    return served


@case
def a_models_own_scheduler_is_kept_and_wrapped_or_refused_in_words():
    """VoxCPM2 defers admissions: kept, under our view. The CFG scheduler builds its own queue: kept, without us, and the log says why."""
    segment_name("models")
    plugin.register()
    lines = Lines()
    log.addHandler(lines)
    log.setLevel(logging.INFO)
    from vllm_omni.model_executor.models.voxcpm2.scheduler import VoxCPM2OmniARAsyncScheduler

    vox = _asked(_name(VoxCPM2OmniARAsyncScheduler))
    order = [each.__name__ for each in vox.__mro__]
    assert order.index("HorizonOmniMixin") < order.index("VoxCPM2OmniARAsyncScheduler") < order.index("OmniARAsyncScheduler"), order
    from vllm_omni.core.sched.omni_cfg_ar_scheduler import OmniCFGARScheduler

    for own in (OmniCFGARScheduler, OmniGenerationScheduler):
        assert _asked(_name(own)) is own
    said = [line for line in lines.lines if "runs without us" in line]
    assert len(said) == 2 and all("a `schedule` of its own" in line for line in said), lines.lines
    return {"wrapped": vox.__name__, "refused": said}


@case
def a_scheduler_that_guidance_patched_is_refused_in_words():
    """vLLM-Omni patches vLLM's own `schedule` for models with guided pairs: found by where the method comes from."""
    from vllm_omni.model_executor.models.common.cfg_pairing import _patch_scheduler

    assert plugin.unfit(OmniARAsyncScheduler) is None
    _patch_scheduler()
    why = plugin.unfit(OmniARAsyncScheduler)
    assert why and "cfg_pairing" in why, why
    return why


@case
def later_stages_report_through_the_same_door():
    """A stage is known by its environment, or by the name that vLLM-Omni gives its process; its scheduler tells after each step."""
    import multiprocessing
    import os

    from horizonserve.settings import stage_of_process

    segment_name("later")
    assert stage_of_process({}) is None
    multiprocessing.current_process().name = "StageEngineCoreProc_stage2_replica0"
    assert stage_of_process({}) == 2 and stage_of_process({"HORIZONSERVE_STAGE": "1"}) == 1
    plugin.register()
    got = _asked(_name(OmniGenerationScheduler))
    assert issubclass(got, OmniGenerationScheduler) and got.schedule.horizonserve and not issubclass(got, HorizonMixin)
    assert os.path.exists(f"/dev/shm/horizonserve-{os.environ['HORIZONSERVE_SEGMENT']}"), "the stage made no segment"
    return got.__name__


@case
def a_child_closes_no_file_of_somebody_else():
    """In a child of a child, and in a child after the segment was closed, the number of the segment's file may stand for another one."""
    import os

    from horizonserve.settings import Settings, open_segment

    segment_name("fork")
    segment = open_segment(Settings())

    def taken():
        """Opens a file on every low number that is free, forks, and says which of them the child lost."""
        mine = [os.open("/dev/null", os.O_RDONLY) for _ in range(32)]
        pid = os.fork()
        if pid == 0:
            lost = 0
            for fd in mine:
                try:
                    os.fstat(fd)
                except OSError:
                    lost += 1
            os._exit(lost)
        lost = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        for fd in mine:
            os.close(fd)
        return lost

    pid = os.fork()
    if pid == 0:
        os._exit(taken())
    grandchild = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    segment.close()
    after_close = taken()
    assert grandchild == 0 and after_close == 0, (grandchild, after_close)
    return {"lost": [grandchild, after_close]}


@case
def who_may_set_an_slo_is_the_operators_choice():
    """HORIZONSERVE_SLO: everybody, whoever sets the request id (a gateway's header), nobody; another word is refused by name."""
    import os

    from horizonserve.describe import describe
    from horizonserve.settings import Settings
    from horizonserve.wire import WireError

    by_argument = make_request("plain", 4, 4, extra_args={"slo_ms": 70})
    by_id = make_request("slo=90.mine", 4, 4)
    found = {}
    for who in ("all", "id", "off"):
        os.environ["HORIZONSERVE_SLO"] = who
        found[who] = [describe(by_argument).slo_ms, describe(by_id).slo_ms]
    assert found == {"all": [70, 90], "id": [0, 90], "off": [0, 0]}, found
    try:
        Settings({"HORIZONSERVE_SLO": "some"})
    except WireError as error:
        assert "HORIZONSERVE_SLO" in str(error)
    else:
        raise AssertionError("a word that says nothing was taken")
    return found
