"""Jobs whose requests are refused, or whose names are taken."""

from pathlib import Path

import pytest

from tests.controllers.harness import Cluster, cluster, job, state_of, task
from tests.waiting import eventually
from volcano.api.kinds import JOB, NODE, POD, RESOURCE_QUOTA
from volcano.api.objects import controller_of, metadata, uid_of

pytestmark = pytest.mark.anyio


async def test_refused_pods_are_told_and_made_when_there_is_room(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        quota = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}}
        await c.create(RESOURCE_QUOTA, quota)
        await c.create(JOB, job("j", task(replicas=2)))
        await c.admit("j")
        assert len(await c.pods("j", 1)) == 1
        told = await eventually(lambda: c.events("j", "FailedCreate"))
        assert "exceeded quota" in told[0]["message"]
        await c.client.delete(RESOURCE_QUOTA, "few", "default")
        assert len(await c.pods("j", 2)) == 2


async def test_name_taken_by_someone_else_is_waited_for(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        foreign = {
            "metadata": {"name": "j-work-0"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        await c.create(POD, foreign)
        await c.create(JOB, job("j"))
        await c.admit("j")
        told = await eventually(lambda: c.events("j", "FailedCreate"))
        assert "belongs to nobody we know" in told[0]["message"]
        await c.client.delete(POD, "j-work-0", "default")

        async def ours() -> bool:
            pod = await c.find(POD, "j-work-0")
            return pod is not None and controller_of(pod) is not None

        await eventually(ours)


async def test_job_made_again_waits_for_the_pods_of_the_old_one(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        await c.create(NODE, {"metadata": {"name": "n"}})
        await c.create(JOB, job("j"))
        await c.admit("j")
        await c.pods("j", 1)
        target = {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": "n"}}
        body = {"metadata": {"name": "j-work-0"}, **target}
        await c.client.create_subresource(POD, "j-work-0", "binding", body, "default")
        await c.run_pod("j-work-0")
        await c.phase("j", "Running")
        old = uid_of(await c.job("j"))
        await c.client.delete(JOB, "j", "default")
        await eventually(lambda: _terminating(c))
        await c.create(JOB, job("j"))
        assert uid_of(await c.job("j")) != old
        await c.admit("j")
        await eventually(lambda: c.events("j", "FailedCreate"))
        assert state_of(await c.job("j"))["phase"] == "Pending"
        await c.client.delete(POD, "j-work-0", "default", grace_seconds=0)
        pod = (await c.pods("j", 1))["j-work-0"]
        owner = controller_of(pod)
        assert owner is not None
        assert owner["uid"] == uid_of(await c.job("j"))


async def _terminating(c: Cluster) -> bool:
    pod = await c.find(POD, "j-work-0")
    return pod is not None and "deletionTimestamp" in metadata(pod)
