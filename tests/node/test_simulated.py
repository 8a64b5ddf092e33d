"""Simulated pods: rules from annotations, lives on a clock that only the test moves."""

from pathlib import Path

import pytest

from tests.node.cluster import state_of, world
from tests.node.worlds import NOW, container, pod, pod_object
from tests.waiting import eventually
from volcano.api.kinds import LEASE, NODE, POD
from volcano.base.clock import ManualClock
from volcano.base.errors import ApiError
from volcano.node.fleet import parse_fleet
from volcano.node.rules import PREFIX, Rules, of_annotations, read_rules, seconds_of
from volcano.node.simulated import advance, restore_runs

FLEET = parse_fleet(
    """
nodes:
- {name: "sim-{index}", count: 3, kind: simulated, capacity: {cpu: 8, memory: 16Gi}}
simulation: {duration: 60s}
""",
    Path("/fleet.yaml"),
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1.5", 1.5), ("1h30m", 5400), ("45s", 45), ("500ms", 0.5), (" 2m ", 120)],
)
def test_durations(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-1", "5x", "1m 30s", "s"])
def test_no_durations(text):
    with pytest.raises(ValueError, match="a duration"):
        seconds_of(text)


def test_annotations_come_before_the_fleet():
    annotations = {PREFIX + "duration": "5s", PREFIX + "exit-code": "3", "other": "x"}
    rules = of_annotations(annotations, {"duration": "60s", "startup": "2s"})
    assert rules == Rules(duration=5, startup=2, exit_code=3)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"failure-odds": "1.5"}, "failure-odds: '1.5' is not a share"),
        ({"exit-code": "300"}, "exit-code: '300' is not an exit code"),
        ({"duration": "soon"}, "duration: 'soon' is not a duration"),
    ],
)
def test_wrong_rules(values, complaint):
    with pytest.raises(ValueError, match="is not") as refusal:
        read_rules(values)
    assert complaint in str(refusal.value)


def test_failures_are_drawn_by_uid_in_the_share_asked_for():
    rules = Rules(failure_odds=0.3, failure_exit_code=9)
    codes = [rules.exit_code_of(f"uid-{i}", "main", 0) for i in range(2000)]
    assert codes == [rules.exit_code_of(f"uid-{i}", "main", 0) for i in range(2000)]
    assert 0.25 < codes.count(9) / 2000 < 0.35


def life(world, rules, *moments):
    """(phase, when to look again, from now) at each moment after the start."""
    runs, seen = {}, []
    for moment in moments:
        runs, plan = advance(world, runs, rules, NOW + moment)
        wake = plan.wake_at - NOW if plan.wake_at is not None else None
        seen.append((plan.phase, wake))
    return seen


def started(**fields):
    return pod(status={"phase": "Pending", "startTime": "2027-01-15T08:00:00Z"}, **fields)


@pytest.mark.parametrize(
    ("world", "rules", "moments", "seen"),
    [
        pytest.param(
            started(),
            Rules(duration=10),
            (0, 9, 10),
            [("Running", 10), ("Running", 10), ("Succeeded", None)],
            id="runs and succeeds",
        ),
        pytest.param(
            started(),
            Rules(duration=10, exit_code=2),
            (0, 10),
            [("Running", 10), ("Failed", None)],
            id="runs and fails",
        ),
        pytest.param(
            started(), Rules(), (0, 9999), [("Running", None)] * 2, id="runs until deleted"
        ),
        pytest.param(
            started(),
            Rules(duration=10, startup=3),
            (0, 3, 13),
            [("Pending", 3), ("Running", 13), ("Succeeded", None)],
            id="takes time to start",
        ),
        pytest.param(
            started(initContainers=[container("first")]),
            Rules(duration=10),
            (0,),
            [("Running", 10)],
            id="init containers take no time",
        ),
        pytest.param(
            started(restartPolicy="OnFailure"),
            Rules(duration=10, exit_code=1),
            (0, 10, 20, 30),
            [("Running", 10), ("Running", 20), ("Running", 30), ("Running", 40)],
            id="restarts and backs off",
        ),
        pytest.param(
            started(activeDeadlineSeconds=5),
            Rules(duration=10),
            (0, 5),
            [("Running", 5), ("Failed", None)],
            id="deadline",
        ),
    ],
)
def test_life(world, rules, moments, seen):
    assert life(world, rules, *moments) == seen


def test_what_the_status_says_is_taken_up():
    status = {
        "phase": "Running",
        "containerStatuses": [
            {
                "name": "main",
                "restartCount": 2,
                "state": {"running": {"startedAt": "2027-01-15T07:59:55Z"}},
            }
        ],
    }
    runs = restore_runs(pod_object(status=status))
    assert (runs["main"].restarts, runs["main"].running_since) == (2, NOW - 5)
    _, plan = advance(started(), runs, Rules(duration=10), NOW)
    assert plan.wake_at == NOW + 5


@pytest.fixture
def clock():
    return ManualClock(NOW)


@pytest.fixture
async def cluster(tmp_path, clock):
    async with world(tmp_path, FLEET, clock) as made:
        yield made


@pytest.mark.anyio
async def test_pods_pass_through_their_phases(cluster, clock):
    meta = {"annotations": {PREFIX + "duration": "10s", PREFIX + "exit-code": "4"}}
    await cluster.run(["x"], node="sim-1", meta=meta)
    await cluster.until("Running")
    await clock.advance(9)
    assert (await cluster.get())["status"]["phase"] == "Running"
    await clock.advance(1)
    pod = await cluster.until("Failed")
    assert state_of(pod)["terminated"]["exitCode"] == 4
    with pytest.raises(ApiError, match="ran on simulated node sim-1: nothing runs there"):
        await cluster.log()


@pytest.mark.anyio
async def test_a_life_goes_on_after_a_restart(cluster, clock):
    await cluster.run(["x"], node="sim-2")
    await cluster.until("Running")
    await clock.advance(50)
    await cluster.restart_nodes()
    await clock.advance(9)
    assert (await cluster.get())["status"]["phase"] == "Running"
    await clock.advance(2)
    await cluster.until("Succeeded")


@pytest.mark.anyio
async def test_deletion(cluster):
    await cluster.run(["x"], node="sim-1")
    await cluster.until("Running")
    await cluster.client.delete(POD, "a", "default")
    await cluster.gone()


@pytest.mark.anyio
async def test_a_wrong_annotation_fails_the_pod_and_names_it(cluster):
    meta = {"annotations": {PREFIX + "duration": "soon"}}
    await cluster.run(["x"], node="sim-1", meta=meta)
    pod = await cluster.until("Failed")
    assert pod["status"]["reason"] == "InvalidSimulation"
    assert "simulation.volcano.sh/duration: 'soon' is not" in pod["status"]["message"]


@pytest.mark.anyio
async def test_heartbeats_are_slow_and_spread(cluster, clock):
    async def heartbeats():
        nodes = (await cluster.client.list(NODE))["items"]
        return [n["status"]["conditions"][0]["lastHeartbeatTime"] for n in nodes]

    async def renewals():
        leases = (await cluster.client.list(LEASE, "kube-node-lease"))["items"]
        return [lease["spec"]["renewTime"] for lease in leases]

    first, leases = await heartbeats(), await renewals()
    await clock.advance(399)
    assert await heartbeats() == first
    assert await renewals() == leases
    await clock.advance(2)
    await eventually(changed(heartbeats, first, 1))
    await clock.advance(800)
    await eventually(changed(heartbeats, first, 3))
    await eventually(changed(renewals, leases, 3))


def changed(read, before, count):
    async def compare():
        now = await read()
        return sum(a != b for a, b in zip(before, now, strict=True)) == count

    return compare
