"""Controllers that die at any moment: jobs still end right, and no pod is made twice."""

import asyncio
import random
from contextlib import suppress
from pathlib import Path

import pytest

from tests.controllers.harness import Cluster, cluster, job, policy, start_manager, state_of, task
from tests.waiting import eventually
from volcano.api.kinds import JOB, POD, POD_GROUP
from volcano.api.objects import JsonObject, metadata, name_of, uid_of
from volcano.base.errors import ApiError

pytestmark = pytest.mark.anyio
_FINAL = {"Completed", "Failed", "Aborted", "Terminated"}


async def play_others(c: Cluster) -> None:
    """Scheduler and nodes: admit every group, run every pod, end it; `bad` pods fail each time."""
    while True:
        for group in (await c.client.list(POD_GROUP, "default"))["items"]:
            if (group.get("status") or {}).get("phase", "Pending") == "Pending":
                with suppress(ApiError):
                    status = {"status": {"phase": "Inqueue"}}
                    await c.client.patch(POD_GROUP, name_of(group), status, "default")
        for pod in (await c.client.list(POD, "default"))["items"]:
            with suppress(ApiError):
                if "deletionTimestamp" in metadata(pod):
                    continue
                if pod["status"]["phase"] == "Pending":
                    await c.run_pod(name_of(pod))
                elif pod["status"]["phase"] == "Running":
                    await c.end_pod(name_of(pod), 1 if "bad" in name_of(pod) else 0)
        for _ in range(20):
            await asyncio.sleep(0)


async def kill_often(c: Cluster, seed: int) -> None:
    """Run controllers and end them without notice, again and again."""
    dice = random.Random(seed)
    while True:
        run = asyncio.create_task(start_manager(c.server).run())
        try:
            for _ in range(dice.randrange(20, 700)):
                await asyncio.sleep(0)
        finally:
            run.cancel()
            await asyncio.gather(run, return_exceptions=True)


@pytest.mark.parametrize("seed", range(6))
async def test_jobs_end_right_however_often_controllers_die(tmp_path: Path, seed: int) -> None:
    async with cluster(tmp_path, controllers=False) as c:
        made: dict[tuple[str, str], set[str]] = {}
        tasks = [
            asyncio.create_task(play_others(c)),
            asyncio.create_task(kill_often(c, seed)),
            asyncio.create_task(_watch_pods(c, made)),
        ]
        try:
            await eventually(lambda: _default_is_open(c), within=30, about="queues")
            await c.create(JOB, job("good", task(replicas=3)))
            restart = [policy("RestartJob", "PodFailed")]
            await c.create(JOB, job("bad", task(replicas=2), policies=restart, maxRetry=2))
            abort = [policy("AbortJob", "PodFailed")]
            await c.create(JOB, job("badly", task(replicas=2), policies=abort))
            ends = {}
            for name in ("good", "bad", "badly"):
                ends[name] = await eventually(lambda n=name: _ended(c, n), within=60, about=name)
        finally:
            for work in tasks:
                work.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    assert state_of(ends["good"])["phase"] == "Completed"
    assert state_of(ends["bad"])["phase"] == "Failed"
    assert ends["bad"]["status"]["retryCount"] == 2
    assert state_of(ends["badly"])["phase"] == "Aborted"
    twice = {key: uids for key, uids in made.items() if len(uids) > 1}
    assert not twice


async def _watch_pods(c: Cluster, made: dict[tuple[str, str], set[str]]) -> None:
    async for event in c.client.watch(POD, "default", resource_version="0"):
        if event.type == "ADDED":
            version = metadata(event.object)["annotations"]["volcano.sh/job-version"]
            made.setdefault((name_of(event.object), version), set()).add(uid_of(event.object))


async def _ended(c: Cluster, name: str) -> JsonObject | None:
    found = await c.job(name)
    return found if state_of(found).get("phase") in _FINAL else None


async def _default_is_open(c: Cluster) -> bool:
    from volcano.api.kinds import QUEUE

    found = await c.find(QUEUE, "default")
    return found is not None and (found.get("status") or {}).get("state") == "Open"
