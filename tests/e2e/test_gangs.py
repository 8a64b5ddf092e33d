"""Gangs on the whole system in virtual time: all or nothing, and why nothing."""

from pathlib import Path

import pytest

from tests.e2e.world import NAMESPACE, World, job, pod, task, world
from volcano.api.kinds import JOB, NODE, POD, POD_GROUP
from volcano.testing.cluster import simulated

pytestmark = pytest.mark.anyio


HELD_AT_THE_DOOR = (
    "The job needs cpu 6 at least; 5200m is left to promise (largest node: large with 4)"
)
HELD_BY_QUEUE = (
    "The job needs cpu 7 at least; queue default may hold 6, of which 6 is free"
    " (largest node: large with 4)"
)
NO_NODE = "The pod asks for cpu 3; most is free on small: 2 (largest node: large with 4)"
FLEET = simulated(n1={"cpu": "4"}, n2={"cpu": "4"}, n3={"cpu": "2"})


@pytest.mark.parametrize(
    ("holder", "each", "pods", "text"),
    [
        pytest.param("2", "3", 0, HELD_AT_THE_DOOR, id="not let in: the cluster is promised"),
        pytest.param("", "3500m", 0, HELD_BY_QUEUE, id="not let in: more than the queue may hold"),
        pytest.param("", "3", 2, NO_NODE, id="let in: only one of two fits"),
    ],
)
async def test_a_gang_that_does_not_fit_waits_whole_and_says_what_lacks(
    tmp_path: Path, holder: str, each: str, pods: int, text: str
) -> None:
    async with world(tmp_path, simulated(small={"cpu": "2"}, large={"cpu": "4"})) as w:
        if holder:
            await w.create(POD, pod("holder", cpu=holder))
            await w.pod_phase("holder", "Running")
        await w.submit(job("gang", task(replicas=2, cpu=each), minAvailable=2))
        condition = await w.group_condition("gang")
        assert text in condition["message"]
        assert condition["reason"] == "NotEnoughResources"
        await w.run_for(30)
        assert await w.bound("gang") == {}
        assert len(await w.pods("gang")) == pods
        assert await w.phase_of("gang") == "Pending"


async def hold_one_core_of_n1(w: World, *, seconds: float) -> None:
    """Leave room for two pods of four cores in sum, but on no two nodes."""
    selector = {"nodeSelector": {"kubernetes.io/hostname": "n1"}}
    await w.create(POD, pod("holder", cpu="1", seconds=seconds, spec=selector))
    await w.pod_phase("holder", "Running")


async def test_when_room_appears_all_members_are_bound_in_one_cycle(tmp_path: Path) -> None:
    async with world(tmp_path, FLEET) as w:
        await hold_one_core_of_n1(w, seconds=60)
        await w.submit(job("gang", task(replicas=2, cpu="4", seconds=60), minAvailable=2))
        condition = await w.group_condition("gang")
        assert "The pod asks for cpu 4; most is free on n" in condition["message"]
        assert len(await w.pods("gang")) == 2
        assert await w.bound("gang") == {}

        async def some() -> bool:
            return bool(await w.bound("gang"))

        await w.until(some, within=120)
        assert len(await w.bound("gang")) == 2
        stamps = {
            c["lastTransitionTime"]
            for each in (await w.pods("gang")).values()
            for c in each["status"]["conditions"]
            if c["type"] == "PodScheduled" and c["status"] == "True"
        }
        assert len(stamps) == 1
        await w.phase("gang", "Completed", within=120)
        group = await w.find(POD_GROUP, (await w.pods("gang")).popitem()[0])
        assert group is None


async def test_of_two_gangs_that_each_fit_alone_one_runs_and_the_other_follows(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as w:
        gangs = [job(n, task(replicas=3, cpu="2", seconds=60), minAvailable=3) for n in ("a", "b")]
        await w.submit(*gangs)

        async def one_runs() -> bool:
            return sorted([await w.phase_of("a"), await w.phase_of("b")]) == ["Pending", "Running"]

        await w.until(one_runs)
        first, second = ("a", "b") if await w.phase_of("a") == "Running" else ("b", "a")
        assert len(await w.bound(first)) == 3
        await w.run_for(30)
        assert await w.bound(second) == {}
        await w.phase(first, "Completed", within=60)
        await w.phase(second, "Running")
        assert len(await w.bound(second)) == 3
        await w.phase(second, "Completed", within=120)


async def test_minimum_below_replicas_starts_with_what_fits(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        await w.submit(job("elastic", task(replicas=6, cpu="2"), minAvailable=3))
        running = await w.phase("elastic", "Running")
        await w.run_for(5)
        assert len(await w.bound("elastic")) == 4
        assert running["status"]["minAvailable"] == 3
        phases = sorted(each["status"]["phase"] for each in (await w.pods("elastic")).values())
        assert phases == ["Pending"] * 2 + ["Running"] * 4


async def test_deleted_member_of_a_waiting_gang_is_made_again_and_the_gang_runs(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, FLEET) as w:
        await hold_one_core_of_n1(w, seconds=100)
        await w.submit(job("gang", task(replicas=2, cpu="4", seconds=10), minAvailable=2))
        await w.group_condition("gang")
        old = (await w.pods("gang"))["gang-work-1"]["metadata"]["uid"]
        await w.client.delete(POD, "gang-work-1", NAMESPACE)

        async def again() -> bool:
            found = (await w.pods("gang")).get("gang-work-1")
            return found is not None and found["metadata"]["uid"] != old

        await w.until(again)
        assert await w.bound("gang") == {}
        await w.phase("gang", "Completed", within=200)


async def test_deleted_member_of_a_running_gang_is_replaced(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        await w.submit(job("gang", task(replicas=2, cpu="4"), minAvailable=2))
        await w.phase("gang", "Running")
        await w.client.delete(POD, "gang-work-0", NAMESPACE)

        async def both_run() -> bool:
            pods = await w.pods("gang")
            live = [p for p in pods.values() if "deletionTimestamp" not in p["metadata"]]
            return len(live) == 2 and all(p["status"]["phase"] == "Running" for p in live)

        await w.until(both_run, within=90)
        await w.phase("gang", "Running")


async def test_minimum_that_rises_after_the_pods_came_binds_no_part(tmp_path: Path) -> None:
    """cases.md 18: a node of 7 cores holds three pods of 2; four are needed in the end."""
    async with world(tmp_path, simulated(n1={"cpu": "7"})) as w:
        taint = {"key": "upgrade", "effect": "NoSchedule"}
        await w.client.patch(NODE, "n1", {"spec": {"taints": [taint]}})
        await w.submit(job("gang", task(replicas=4, cpu="2"), minAvailable=2))
        await w.group_condition("gang")
        assert len(await w.pods("gang")) == 4
        await w.client.patch(JOB, "gang", {"spec": {"minAvailable": 4}}, NAMESPACE)
        await w.run_for(1)
        await w.client.patch(NODE, "n1", {"spec": {"taints": []}})
        await w.run_for(100)
        assert await w.bound("gang") == {}
        condition = await w.group_condition("gang")
        assert "4 minAvailable" in condition["message"]


async def test_task_minimum_that_needs_a_gpu_holds_the_whole_job(tmp_path: Path) -> None:
    """cases.md 8: both tasks' minimum counts, and the reason names the GPU."""
    async with world(tmp_path) as w:
        tasks = [
            task("ps", cpu="1", more={"minAvailable": 1}),
            task("worker", cpu="1", gpu="1", more={"minAvailable": 1}),
        ]
        await w.submit(job("train", *tasks, minAvailable=1))
        condition = await w.group_condition("train")
        assert "nvidia.com/gpu" in condition["message"]
        group = await w.group("train")
        assert group["spec"]["minResources"]["nvidia.com/gpu"] == "1"
        assert group["spec"]["minResources"]["cpu"] == "2"
        await w.run_for(30)
        assert await w.bound("train") == {}
