"""Whose pods the cluster's own scheduler takes: Volcano's, and those that name no scheduler."""

from pathlib import Path

import pytest

from tests.e2e.world import pod, world
from volcano.api.kinds import POD, POD_GROUP
from volcano.api.wellknown import GROUP_NAME, QUEUE_NAME
from volcano.base.errors import ApiError

pytestmark = pytest.mark.anyio


async def test_pod_that_names_no_scheduler_runs_in_a_group_of_its_own(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        manifest = pod("p", cpu="1", seconds=5)
        del manifest["spec"]["schedulerName"]
        created = await w.create(POD, manifest)
        assert created["spec"]["schedulerName"] == "default-scheduler"
        running = await w.pod_phase("p", "Running")
        group = await w.find(POD_GROUP, running["metadata"]["annotations"][GROUP_NAME])
        assert group is not None
        assert group["spec"]["minMember"] == 1
        assert group["spec"]["queue"] == "default"
        await w.pod_phase("p", "Succeeded")


async def test_pod_that_names_no_scheduler_says_why_it_waits(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        manifest = pod("p", cpu="100")
        del manifest["spec"]["schedulerName"]
        await w.create(POD, manifest)
        assert "cpu" in await w.why_pending("p")


async def test_pod_that_names_no_scheduler_is_checked_like_volcanos(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        manifest = pod("p", cpu="1")
        del manifest["spec"]["schedulerName"]
        manifest["metadata"]["annotations"]["volcano.sh/jdb-min-available"] = "-1"
        with pytest.raises(ApiError, match="must be a positive integer"):
            await w.create(POD, manifest)


async def test_pod_of_a_scheduler_that_is_not_there_stays_pending(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        manifest = pod("p", cpu="1")
        manifest["spec"]["schedulerName"] = "somebody"
        manifest["metadata"]["annotations"][QUEUE_NAME] = "default"
        await w.create(POD, manifest)
        await w.run_for(120)
        found = await w.find(POD, "p")
        assert found is not None
        assert "nodeName" not in found["spec"]
        assert GROUP_NAME not in found["metadata"]["annotations"]
        assert found["status"] == {"phase": "Pending", "qosClass": "Burstable"}
