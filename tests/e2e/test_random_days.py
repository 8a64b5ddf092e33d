"""Random days: jobs come, end, fail, are suspended, deleted; what must hold holds at any time."""

import random
from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.world import JOB_LABEL, NAMESPACE, World, job, task, world
from volcano.api.kinds import JOB, NODE, POD, POD_GROUP
from volcano.api.objects import JsonObject, metadata
from volcano.testing.cluster import simulated

pytestmark = pytest.mark.anyio
CORES = 4
FLEET = simulated(n1={"cpu": str(CORES)}, n2={"cpu": str(CORES)}, n3={"cpu": str(CORES)})
JOBS = 10
ENDED = ("Succeeded", "Failed")


def random_job(name: str, dice: random.Random) -> JsonObject:
    replicas = dice.randint(1, 5)
    minimum = dice.randint(1, replicas)
    work = task(
        replicas=replicas,
        cpu=str(dice.randint(1, 2)),
        seconds=dice.choice([5, 20, 60]),
        exit_code=dice.choice([0, 0, 0, 1]),
    )
    policies = [{"event": "PodFailed", "action": "RestartJob"}] if dice.random() < 0.3 else []
    return job(name, work, minAvailable=minimum, maxRetry=2, policies=policies)


async def check(w: World, whole: set[str]) -> None:
    """No node holds more than it has; of the jobs in `whole` no part of a gang runs alone."""
    pods = (await w.client.list(POD, NAMESPACE))["items"]
    load: Counter[str] = Counter()
    started: Counter[str] = Counter()
    for each in pods:
        node = each["spec"].get("nodeName")
        if not node:
            continue
        started[metadata(each)["labels"][JOB_LABEL]] += 1
        if each["status"]["phase"] not in ENDED:
            (part,) = each["spec"]["containers"]
            load[node] += int(part["resources"]["requests"]["cpu"])
    assert all(used <= CORES for used in load.values()), load
    for each in (await w.client.list(JOB, NAMESPACE))["items"]:
        name = metadata(each)["name"]
        if name in whole and started[name]:
            assert started[name] >= each["spec"]["minAvailable"], f"part of {name} runs alone"


async def all_ended(w: World) -> bool:
    jobs = (await w.client.list(JOB, NAMESPACE))["items"]
    phases = {(each.get("status") or {}).get("state", {}).get("phase") for each in jobs}
    return phases <= {"Completed", "Failed", "Terminated"}


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_day(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    async with world(tmp_path, FLEET) as w:
        undisturbed: set[str] = set()
        aborted: set[str] = set()
        for number in range(JOBS):
            name = f"j{number}"
            manifest = random_job(name, dice)
            await w.submit(manifest)
            if not manifest["spec"]["policies"]:
                undisturbed.add(name)
            await disturb(w, dice, undisturbed, aborted)
            for _ in range(dice.randint(0, 6)):
                await w.run_for(1)
                await check(w, undisturbed)
        for name in aborted:
            if await w.find(JOB, name) is not None and await w.phase_of(name) == "Aborted":
                await w.command(JOB, name, "ResumeJob")

        async def probe() -> bool:
            await check(w, undisturbed)
            return await all_ended(w)

        await w.until(probe, within=3600, about="all jobs have ended")
        await check_rest(w)


async def disturb(w: World, dice: random.Random, undisturbed: set[str], aborted: set[str]) -> None:
    """Now and then something happens to a job: deleted, suspended, or robbed of a pod."""
    kind = dice.choice(["none", "none", "delete", "abort", "pod"])
    jobs = (await w.client.list(JOB, NAMESPACE))["items"]
    name = metadata(dice.choice(jobs))["name"]
    if kind == "delete":
        undisturbed.discard(name)
        await w.client.delete(JOB, name, NAMESPACE)
    elif kind == "abort":
        undisturbed.discard(name)
        aborted.add(name)
        await w.command(JOB, name, "AbortJob")
    elif kind == "pod" and (pods := sorted(await w.pods(name))):
        undisturbed.discard(name)
        await w.client.delete(POD, dice.choice(pods), NAMESPACE)


async def check_rest(w: World) -> None:
    """At the end nothing is in use, and nothing belongs to a job that is gone."""
    await w.run_for(60)
    jobs = {metadata(each)["uid"] for each in (await w.client.list(JOB, NAMESPACE))["items"]}
    for kind in (POD, POD_GROUP):
        for each in (await w.client.list(kind, NAMESPACE))["items"]:
            owners = {owner["uid"] for owner in metadata(each)["ownerReferences"]}
            assert owners <= jobs
            if kind is POD:
                assert each["status"]["phase"] in ENDED
    nodes = (await w.client.list(NODE))["items"]
    assert len(nodes) == 3
