"""Which changes of objects wake the scheduler, and how the state follows the API."""

import asyncio
import copy
from pathlib import Path

import pytest

from tests.e2e.world import queue
from tests.scheduler.world import group, node, pod
from volcano.api import kinds
from volcano.api.kinds import NODE, POD, POD_GROUP, PRIORITY_CLASS, QUEUE, Kind
from volcano.api.objects import JsonObject, key_of
from volcano.base.clock import ManualClock
from volcano.base.http import Request, Response
from volcano.client.client import Client
from volcano.scheduler.cache import Cache, can_wait, worth_a_cycle
from volcano.scheduler.model import ClusterState
from volcano.testing.cluster import VirtualCluster, simulated

Q = {"metadata": {"name": "q"}, "spec": {"weight": 1}, "status": {"state": "Open"}}
CLASS = {"metadata": {"name": "high"}, "value": 5}
HEARTBEAT = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-02T03:04:05Z"}
SCHEDULED = {"type": "PodScheduled", "status": "False", "message": "waits"}


@pytest.mark.parametrize(
    ("kind", "obj", "path", "value", "worth"),
    [
        pytest.param(NODE, node("n"), "status.allocatable.cpu", "8", True, id="node grows"),
        pytest.param(NODE, node("n"), "spec.unschedulable", True, True, id="node cordoned"),
        pytest.param(NODE, node("n"), "metadata.labels.zone", "a", True, id="node labelled"),
        pytest.param(
            NODE, node("n", ready="True"), "status.conditions", [HEARTBEAT], False, id="heartbeat"
        ),
        pytest.param(
            NODE,
            node("n", ready="True"),
            "status.conditions",
            [{**HEARTBEAT, "status": "False"}],
            True,
            id="node not ready",
        ),
        pytest.param(NODE, node("n"), "metadata.resourceVersion", "9", False, id="version only"),
        pytest.param(POD, pod("p"), "status.phase", "Succeeded", True, id="pod ends"),
        pytest.param(POD, pod("p"), "spec.nodeName", "n", True, id="pod bound"),
        pytest.param(POD, pod("p"), "status.podIP", "10.0.0.1", False, id="pod gets an address"),
        pytest.param(POD, pod("p"), "status.conditions", [SCHEDULED], False, id="own condition"),
        pytest.param(POD, pod("p"), "metadata.deletionTimestamp", "now", True, id="pod deleted"),
        pytest.param(POD, pod("p"), "metadata.uid", "other", True, id="another pod of that name"),
        pytest.param(POD_GROUP, group("g"), "spec.minMember", 3, True, id="minimum changes"),
        pytest.param(POD_GROUP, group("g"), "status.phase", "Running", True, id="phase of group"),
        pytest.param(POD_GROUP, group("g"), "status.running", 2, False, id="counts of group"),
        pytest.param(QUEUE, Q, "status.state", "Closed", True, id="queue closes"),
        pytest.param(QUEUE, Q, "spec.weight", 2, True, id="weight changes"),
        pytest.param(QUEUE, Q, "status.running", 2, False, id="counts of queue"),
        pytest.param(PRIORITY_CLASS, CLASS, "value", 6, True, id="value of a class"),
        pytest.param(PRIORITY_CLASS, CLASS, "globalDefault", True, True, id="default class"),
        pytest.param(PRIORITY_CLASS, CLASS, "description", "x", False, id="words"),
    ],
)
def test_what_is_worth_a_cycle(
    kind: Kind, obj: JsonObject, path: str, value: object, worth: bool
) -> None:
    new = copy.deepcopy(obj)
    *parents, last = path.split(".")
    place = new
    for name in parents:
        place = place.setdefault(name, {})
    place[last] = value
    assert worth_a_cycle(kind, obj, new) is worth
    assert not worth_a_cycle(kind, new, copy.deepcopy(new))
    assert worth_a_cycle(kind, None, new)
    assert worth_a_cycle(kind, new, None)


class Silent:
    """A transport that is never asked."""

    async def send(self, request: Request) -> Response:
        raise AssertionError(request.path)

    async def close(self) -> None: ...


async def _wakes(cluster: VirtualCluster) -> tuple[Cache, ClusterState, list[int], asyncio.Task]:
    woken = [0]

    def wake() -> None:
        woken[0] += 1

    state = ClusterState()
    cache = Cache(cluster.client, state, clock=cluster.clock, wake=wake)
    task = asyncio.create_task(cache.run())
    await cluster.until(lambda: all(i.has_synced() for i in cache.informers.values()))
    return cache, state, woken, task


@pytest.mark.anyio
async def test_state_follows_the_api_and_heartbeats_wake_nobody(tmp_path: Path) -> None:
    async with VirtualCluster(tmp_path, simulated(n1={"cpu": "4"})) as cluster:
        cache, state, woken, task = await _wakes(cluster)
        await cache.synced()
        assert set(state.nodes) == {"n1"}
        assert {"default", "root"} <= state.queues.keys()
        before = woken[0]
        await cluster.run_for(1200)
        assert woken[0] == before
        await cluster.client.create(QUEUE, queue("q", weight=1))
        await cluster.until(lambda: "q" in state.queues)
        assert woken[0] > before
        await cluster.client.delete(QUEUE, "q")
        await cluster.until(lambda: "q" not in state.queues)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _can_wait(state: ClusterState, obj: JsonObject) -> bool:
    key = key_of(obj)
    before = state.tasks.get(key)
    state.put(POD, obj)
    return can_wait(state, before, state.tasks[key])


def test_members_of_an_incomplete_gang_can_wait_and_the_last_one_cannot() -> None:
    state = ClusterState()
    state.put(POD_GROUP, group("g", 2))
    assert _can_wait(state, pod("a", "g", 1))
    assert not _can_wait(state, pod("b", "g", 1))
    assert not _can_wait(state, pod("c", "g", 1))


def test_pods_that_run_where_they_were_placed_can_wait_and_those_that_end_cannot() -> None:
    state = ClusterState()
    state.put(NODE, node("n"))
    state.put(POD_GROUP, group("g", 1))
    waiting = pod("a", "g", 1)
    assert not _can_wait(state, waiting)
    state.assume("ns", "a", waiting["metadata"]["uid"], "n")
    assert _can_wait(state, pod("a", "g", 1, at="n"))
    assert _can_wait(state, pod("a", "g", 1, at="n", phase="Running"))
    assert not _can_wait(state, pod("a", "g", 1, at="n", phase="Succeeded"))
    assert not _can_wait(state, pod("b", "g", 1, at="n", phase="Running"))


def test_restoring_what_is_not_known_does_nothing() -> None:
    cache = Cache(Client(Silent()), ClusterState(), clock=ManualClock(), wake=lambda: None)
    cache.restore(POD_GROUP, "ns/none")
    assert kinds.POD_GROUP in cache.informers
