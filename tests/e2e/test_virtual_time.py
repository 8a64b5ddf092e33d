"""The virtual cluster itself: time moves only when asked, and what does not come is told."""

import time
from pathlib import Path

import pytest

from tests.e2e.world import job, pod, task, world
from volcano.api.kinds import POD
from volcano.base.errors import ConfigError
from volcano.scheduler import conf
from volcano.testing.cluster import VirtualCluster, simulated

pytestmark = pytest.mark.anyio


async def test_minutes_pass_in_no_time_and_nothing_moves_by_itself(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        start, real = w.cluster.now(), time.monotonic()
        await w.create(POD, pod("p", cpu="1", seconds=900))
        running = await w.pod_phase("p", "Running")
        await w.cluster.settle()
        assert w.cluster.now() - start < 1
        assert running["spec"]["nodeName"]
        await w.pod_phase("p", "Succeeded", within=1000)
        assert 900 <= w.cluster.now() - start < 901
        assert time.monotonic() - real < 300


async def test_what_does_not_come_is_told_with_the_last_answer(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        await w.submit(job("j", task(cpu="9"), minAvailable=1))
        with pytest.raises(AssertionError, match=r"not within 5 virtual s: j is Running"):
            await w.phase("j", "Running", within=5)


async def test_wrong_configuration_is_refused_at_once(tmp_path: Path) -> None:
    wrong = conf.load('actions: "enqueue, fly"\ntiers: []\n')
    with pytest.raises(ConfigError, match="unknown action 'fly'"):
        VirtualCluster(tmp_path, simulated(n1={"cpu": "1"}), wrong)
