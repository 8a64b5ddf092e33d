"""One scheduling cycle: open a session on the state, run the actions, close it.

Pure but for the timer: the same state, configuration, time and seed give the same decisions. The
state is only read; whoever applies the result tells the state what it assumes.
"""

import contextlib
import gc
import time
from collections.abc import Callable, Iterator

from volcano.base import limits
from volcano.base.errors import ConfigError
from volcano.scheduler.actions import ACTIONS, NOT_YET
from volcano.scheduler.close import close
from volcano.scheduler.conf import SchedulerConf, hint
from volcano.scheduler.model.decisions import CycleResult
from volcano.scheduler.model.state import ClusterState
from volcano.scheduler.plugins import make_plugins
from volcano.scheduler.session import Session
from volcano.scheduler.snapshot import take_snapshot


def check(conf: SchedulerConf) -> None:
    """Look whether every action, plugin and argument of a configuration exists.

    Raises:
        ConfigError: names what does not, with the nearest that does.
    """
    for name in conf.actions:
        if name in NOT_YET:
            raise ConfigError(
                f"action {name} is not available yet; take it out of `actions`."
                f" Available: {', '.join(ACTIONS)}"
            )
        if name not in ACTIONS:
            raise ConfigError(f"unknown action {name!r}{hint(name, list(ACTIONS))}")
    for name in conf.configurations:
        if name not in ACTIONS and name not in NOT_YET:
            raise ConfigError(f"configurations: unknown action {name!r}{hint(name, list(ACTIONS))}")
        if name in ("allocate", "backfill"):
            arguments = conf.action_arguments(name)
            arguments.boolean("predicateErrorCacheEnable", default=True)
            arguments.finish()
        elif name == "enqueue":
            conf.action_arguments(name).finish()
    make_plugins(conf)


def open_session(state: ClusterState, conf: SchedulerConf, now: float, seed: int) -> Session:
    """A session on the state as it is now."""
    state.drop_unused_classes(limits.SCHEDULER_CLASSES_MAX)
    return Session(take_snapshot(state, now, seed), conf, make_plugins(conf))


def run(
    state: ClusterState,
    conf: SchedulerConf,
    now: float,
    seed: int,
    *,
    timer: Callable[[], float] = time.perf_counter,
) -> CycleResult:
    """Decide what to do about the cluster as it is now.

    Args:
        now: seconds since the epoch, for the times in conditions.
        seed: breaks ties; another seed may choose another of equal nodes.
        timer: seconds of a monotonic clock, for the report.
    """
    with _collector_paused():
        return _run(state, conf, now, seed, timer)


def _run(
    state: ClusterState, conf: SchedulerConf, now: float, seed: int, timer: Callable[[], float]
) -> CycleResult:
    result = CycleResult()
    seconds = result.report.seconds
    mark = timer()
    session = open_session(state, conf, now, seed)
    mark = _lap(seconds, "open", mark, timer)
    for name in conf.actions:
        ACTIONS[name](session)
        mark = _lap(seconds, name, mark, timer)
    close(session, result)
    result.binds = session.binds
    report = result.report
    report.nodes = session.snapshot.nodes.size
    report.jobs = len(session.snapshot.jobs)
    report.tasks_pending = sum(session.expected.values()) - len(session.binds)
    report.enqueued = len(session.enqueued)
    report.bound = len(session.binds)
    report.discarded = session.discarded
    _lap(seconds, "close", mark, timer)
    return result


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    """No garbage collection within a cycle.

    A cycle makes many objects and hardly any rings of them, while a full collection walks all that
    the state holds: on 10,000 pods that costs as much as the planning.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _lap(seconds: dict[str, float], name: str, mark: float, timer: Callable[[], float]) -> float:
    now = timer()
    seconds[name] = seconds.get(name, 0.0) + now - mark
    return now
