"""Pods as real processes: a real API server in memory, a real runner, real commands."""


import pytest

from tests.node.cluster import state_of, world
from volcano.node.fleet import demo_fleet

pytestmark = [pytest.mark.process, pytest.mark.anyio]


@pytest.fixture
async def cluster(tmp_path):
    async with world(tmp_path, demo_fleet()) as made:
        yield made


async def test_a_bound_pod_runs_and_its_log_can_be_read(cluster):
    await cluster.run(["sh", "-c", "echo hello; echo oops >&2"])
    pod = await cluster.until("Succeeded")
    assert state_of(pod)["terminated"]["exitCode"] == 0
    assert await cluster.log() == "hello\noops\n"
    assert pod["status"]["podIP"]
    assert not pod["status"]["podIP"].startswith("127.")
    conditions = {c["type"]: c["status"] for c in pod["status"]["conditions"]}
    assert conditions["Ready"] == "False"


async def test_an_exit_code_fails_the_pod(cluster):
    await cluster.run(["sh", "-c", "exit 42"])
    pod = await cluster.until("Failed")
    assert state_of(pod)["terminated"]["exitCode"] == 42
