"""The life of a pod as a table: states of its containers in, next actions and phase out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.node.worlds import NOW, container, ended, pod, running, sidecar
from volcano.node.plan import Ended, Run, Stopping, back_off_seconds, decide, next_level
from volcano.node.pods import Role

TWO = [container("one"), container("two")]
INIT = {"initContainers": [container("first"), container("second")]}
SIDE = {"initContainers": [sidecar()]}


def check(world, runs, *, phase, start=(), stop=(), kill=(), finished=False, at=NOW, **expected):
    plan = decide(pod(**world), runs, at)
    assert plan.phase == phase
    assert tuple(s.name for s in plan.start) == start
    assert plan.stop == stop
    assert plan.kill == kill
    assert plan.finished is finished
    for name, value in expected.items():
        assert getattr(plan, name) == value, name


@pytest.mark.parametrize(
    ("world", "runs", "expected"),
    [
        pytest.param({}, {}, {"phase": "Pending", "start": ("main",)}, id="new pod starts"),
        pytest.param({}, {"main": running()}, {"phase": "Running"}, id="runs"),
        pytest.param(
            {}, {"main": ended()}, {"phase": "Succeeded", "finished": True}, id="ended well"
        ),
        pytest.param(
            {}, {"main": ended(3)}, {"phase": "Failed", "finished": True}, id="ended badly"
        ),
        pytest.param(
            {"containers": TWO},
            {"one": ended(3), "two": running()},
            {"phase": "Running"},
            id="one of two still runs",
        ),
        pytest.param(
            {"containers": TWO},
            {"one": ended(3), "two": ended()},
            {"phase": "Failed", "finished": True},
            id="one of two ended badly",
        ),
        pytest.param(
            {"containers": TWO},
            {"one": running()},
            {"phase": "Pending", "start": ("two",)},
            id="second not started yet",
        ),
        pytest.param(
            {"restartPolicy": "OnFailure"},
            {"main": ended()},
            {"phase": "Succeeded", "finished": True},
            id="OnFailure and well",
        ),
        pytest.param(
            {"restartPolicy": "OnFailure"},
            {"main": ended(1)},
            {"phase": "Running", "start": ("main",)},
            id="OnFailure restarts at once the first time",
        ),
        pytest.param(
            {"restartPolicy": "Always"},
            {"main": ended()},
            {"phase": "Running", "start": ("main",)},
            id="Always restarts after success",
        ),
        pytest.param(
            {"restartPolicy": "Always"},
            {"main": ended(1, level=1, restarts=1)},
            {"phase": "Running", "wake_at": NOW - 1 + 10, "back_off": {"main": 10.0}},
            id="second restart waits",
        ),
        pytest.param(
            {"restartPolicy": "Always"},
            {"main": ended(1, level=1, restarts=1, at=NOW - 10)},
            {"phase": "Running", "start": ("main",)},
            id="wait is over",
        ),
        pytest.param(
            {"restartPolicy": "Always"},
            {"main": ended(1, level=9, restarts=9, ran=600)},
            {"phase": "Running", "start": ("main",)},
            id="ten minutes of running forgive",
        ),
        pytest.param(
            {},
            {"main": Run(retry_at=NOW + 4)},
            {"phase": "Pending", "wake_at": NOW + 4},
            id="retry",
        ),
        pytest.param(INIT, {}, {"phase": "Pending", "start": ("first",)}, id="first init"),
        pytest.param(
            INIT, {"first": ended()}, {"phase": "Pending", "start": ("second",)}, id="second init"
        ),
        pytest.param(INIT, {"first": running()}, {"phase": "Pending"}, id="init runs"),
        pytest.param(
            INIT, {"first": ended(1)}, {"phase": "Failed", "finished": True}, id="init fails, Never"
        ),
        pytest.param(
            {**INIT, "restartPolicy": "Always"},
            {"first": ended(1)},
            {"phase": "Pending", "start": ("first",)},
            id="init fails, Always",
        ),
        pytest.param(
            {**INIT, "restartPolicy": "Always"},
            {"first": ended(), "second": ended()},
            {"phase": "Pending", "start": ("main",)},
            id="inits done",
        ),
        pytest.param(SIDE, {}, {"phase": "Pending", "start": ("side",)}, id="sidecar first"),
        pytest.param(
            SIDE, {"side": running()}, {"phase": "Pending", "start": ("main",)}, id="then the app"
        ),
        pytest.param(
            SIDE,
            {"side": running(), "main": ended()},
            {"phase": "Running", "stop": ("side",)},
            id="sidecar stops when the app is done",
        ),
        pytest.param(
            SIDE,
            {"side": ended(143), "main": ended()},
            {"phase": "Succeeded", "finished": True},
            id="a sidecar's end does not matter",
        ),
        pytest.param(
            SIDE,
            {"side": ended(1), "main": running()},
            {"phase": "Running", "start": ("side",)},
            id="sidecar restarts, whatever the pod's policy",
        ),
    ],
)
def test_life(world, runs, expected):
    check(world, runs, **expected)


def deleted(at, grace=30):
    from volcano.base.clock import timestamp

    return {
        "meta": {"deletionTimestamp": timestamp(at), "deletionGracePeriodSeconds": grace},
        "status": {"phase": "Running"},
    }


@pytest.mark.parametrize(
    ("world", "runs", "expected"),
    [
        pytest.param(
            deleted(NOW + 30),
            {"main": running()},
            {"phase": "Running", "stop": ("main",), "wake_at": NOW + 30},
            id="deleted: asked to stop",
        ),
        pytest.param(
            deleted(NOW + 5),
            {"main": running(stopping_since=NOW - 25)},
            {"phase": "Running", "wake_at": NOW + 5},
            id="deleted: grace",
        ),
        pytest.param(
            deleted(NOW),
            {"main": running(stopping_since=NOW - 30)},
            {"phase": "Running", "kill": ("main",)},
            id="deleted: grace is over",
        ),
        pytest.param(
            deleted(NOW, 0),
            {"main": running()},
            {"phase": "Running", "kill": ("main",)},
            id="no grace",
        ),
        pytest.param(
            deleted(NOW + 30),
            {"main": ended(143)},
            {"phase": "Failed", "finished": True},
            id="deleted and ended",
        ),
        pytest.param(
            {**deleted(NOW + 30), "status": {"phase": "Pending"}},
            {},
            {"phase": "Pending", "finished": True},
            id="deleted before it started",
        ),
        pytest.param(
            {**deleted(NOW + 30), "restartPolicy": "Always"},
            {"main": ended(1)},
            {"phase": "Failed", "finished": True},
            id="deleted: no restart",
        ),
        pytest.param(
            {**deleted(NOW + 30), **SIDE},
            {"main": running(), "side": running()},
            {"phase": "Running", "stop": ("main",), "wake_at": NOW + 30},
            id="deleted: the app first",
        ),
        pytest.param(
            {**deleted(NOW + 30), **SIDE},
            {"main": ended(143), "side": running()},
            {"phase": "Running", "stop": ("side",), "wake_at": NOW + 30},
            id="deleted: then the sidecar",
        ),
        pytest.param(
            {"status": {"phase": "Failed"}},
            {"main": running()},
            {"phase": "Failed", "stop": ("main",)},
            id="failed by someone else: stop",
        ),
    ],
)
def test_end(world, runs, expected):
    check(world, runs, **expected)


DEADLINE = {
    "activeDeadlineSeconds": 60,
    "terminationGracePeriodSeconds": 7,
    "status": {"phase": "Running", "startTime": "2027-01-15T08:00:00Z"},
}


@pytest.mark.parametrize(
    ("at", "runs", "expected"),
    [
        pytest.param(
            59, {"main": running()}, {"phase": "Running", "wake_at": NOW + 60}, id="before"
        ),
        pytest.param(
            60,
            {"main": running()},
            {"phase": "Running", "stop": ("main",), "reason": "DeadlineExceeded"},
            id="reached",
        ),
        pytest.param(
            67,
            {"main": running(stopping_since=NOW + 60)},
            {"phase": "Running", "kill": ("main",)},
            id="and its grace",
        ),
        pytest.param(
            61,
            {"main": ended(143, stopping_since=NOW + 60)},
            {"phase": "Failed", "finished": True, "reason": "DeadlineExceeded"},
            id="stopped",
        ),
        pytest.param(
            99,
            {"main": ended(0)},
            {"phase": "Succeeded", "finished": True, "reason": ""},
            id="ended by itself before it was noticed",
        ),
    ],
)
def test_deadline(at, runs, expected):
    check(DEADLINE, runs, at=NOW + at, **expected)


def test_shutdown_of_the_node_fails_what_ran():
    stopping = Stopping(NOW + 5, "Terminated", "node stopped")
    world = pod(restartPolicy="Always")
    assert decide(world, {"main": running()}, NOW, stopping).stop == ("main",)
    plan = decide(world, {"main": ended(143, stopping_since=NOW)}, NOW + 1, stopping)
    assert (plan.phase, plan.reason, plan.finished) == ("Failed", "Terminated", True)


def test_back_off_doubles_up_to_five_minutes():
    pauses = [back_off_seconds(level) for level in range(1, 9)]
    assert pauses == [0, 10, 20, 40, 80, 160, 300, 300]
    assert back_off_seconds(10_000) == 300


def test_a_long_run_starts_the_count_over():
    assert next_level(ended(1, level=6)) == 7
    assert next_level(ended(1, level=6, ran=600.0)) == 1


def runs_of(names):
    """Any mixture of states."""
    end = st.builds(
        Ended,
        exit_code=st.sampled_from([0, 1, 137]),
        reason=st.just("Error"),
        started_at=st.just(NOW - 50),
        finished_at=st.floats(NOW - 40, NOW),
    )
    run = st.builds(
        Run,
        restarts=st.integers(0, 5),
        running_since=st.sampled_from([None, NOW - 50]),
        ended=st.none() | end,
        level=st.integers(0, 8),
        stopping_since=st.none() | st.floats(NOW - 40, NOW),
        retry_at=st.none() | st.floats(NOW - 10, NOW + 10),
    )
    return st.dictionaries(st.sampled_from(names), run)


@given(
    runs=runs_of(["first", "side", "one", "two"]),
    policy=st.sampled_from(["Always", "OnFailure", "Never"]),
    phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
    gone_in=st.none() | st.integers(-20, 20),
)
def test_whatever_the_states(runs, policy, phase, gone_in):
    world = pod(
        initContainers=[container("first"), sidecar()],
        containers=TWO,
        restartPolicy=policy,
        **({**deleted(NOW + gone_in), "status": {"phase": phase}} if gone_in is not None else {}),
    )
    plan = decide(world, runs, NOW)
    alive = {name for name, run in runs.items() if run.running}
    starts = {start.name for start in plan.start}
    assert not starts & alive, "what runs is not started again"
    assert set(plan.stop) | set(plan.kill) <= alive, "only what runs is stopped"
    assert not (plan.finished and (alive or starts)), "the end is the end"
    assert plan.finished or alive or starts or plan.wake_at is not None, "never stuck"
    if gone_in is not None:
        assert not starts
    for start in plan.start:
        run = runs.get(start.name, Run())
        assert start.restarts == run.restarts + (run.ended is not None), "each run has its number"
        spec = world.container(start.name)
        if policy == "Never" and spec.role is not Role.SIDECAR:
            assert run.ended is None, "Never means never"
