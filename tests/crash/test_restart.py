"""What a killed server finds when it is started again, and who may start one."""

import asyncio
import os
import random
import signal
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.crash.cluster import CrashCluster, free_port
from tests.waiting import eventually
from volcano.api.kinds import JOB, POD
from volcano.api.objects import JsonObject
from volcano.apps.up import PORT_NAME
from volcano.cli import local
from volcano.client.client import Client

pytestmark = [pytest.mark.process, pytest.mark.anyio]

REFUSED_SECONDS_MAX = 30.0


@pytest.fixture
async def cluster(tmp_path: Path, fleet: Path) -> AsyncIterator[CrashCluster]:
    made = CrashCluster(tmp_path / "run", fleet, free_port(random.Random()))
    try:
        made.start()
        await made.ready()
        yield made
    finally:
        made.clear_away()


def job(script: str) -> JsonObject:
    container = {"name": "main", "image": "none", "command": ["/bin/sh", "-c", script]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": JOB.api_version,
        "kind": JOB.kind,
        "metadata": {"name": "sleeper"},
        "spec": {
            "schedulerName": "volcano",
            "minAvailable": 1,
            "tasks": [{"name": "t", "replicas": 1, "template": template}],
        },
    }


@pytest.mark.parametrize("ends", ["after the restart", "while nothing runs"])
async def test_a_container_outlives_its_server(cluster: CrashCluster, ends: str) -> None:
    """It is adopted, not started again, and its exit code is taken."""
    folder = cluster.folder
    pid, go = folder / "pid", folder / "go"
    script = f"echo $PPID >>{pid}; until test -e {go}; do sleep 0.02; done; exit 9"
    client = await cluster.client()
    try:
        await client.create(JOB, job(script), "default")
        await eventually(lambda: pid.exists() and pid.read_text(), about="the container started")
        shim = int(pid.read_text())
        cluster.kill_server()
        assert local.read_process(shim) is not None, "containers outlive their server"
        await eventually(lambda: not cluster.schedulers(), about="schedulers do not")
        if ends == "while nothing runs":
            go.touch()
            await eventually(lambda: local.read_process(shim) is None, about="it ended alone")
        cluster.start()
        await cluster.ready()
        if ends == "after the restart":
            await eventually(lambda: running(client), about="it is still running")
            assert local.read_process(shim) is not None
            go.touch()
        (pod,) = await eventually(lambda: ended(client), within=30.0, about="the pod has ended")
    finally:
        await client.close()
    status = pod["status"]["containerStatuses"][0]
    assert status["state"]["terminated"]["exitCode"] == 9
    assert status["restartCount"] == 0
    assert len(pid.read_text().split()) == 1, "it was started once"
    assert await cluster.stop() == 0
    await cluster.nothing_left()


async def running(client: Client) -> list[JsonObject]:
    return await in_phase(client, "Running")


async def ended(client: Client) -> list[JsonObject]:
    return await in_phase(client, "Failed")


async def in_phase(client: Client, phase: str) -> list[JsonObject]:
    pods = (await client.list(POD, "default"))["items"]
    return [pod for pod in pods if (pod.get("status") or {}).get("phase") == phase]


def second(cluster: CrashCluster, port: int | None) -> tuple[int, str]:
    """Exit code and errors of a second `volcano up` on the same data."""
    refused = subprocess.run(
        local.up_arguments(cluster.data, port, str(cluster.fleet)),
        capture_output=True,
        text=True,
        check=False,
        timeout=REFUSED_SECONDS_MAX,
    )
    return refused.returncode, refused.stderr


async def test_a_second_server_is_refused_by_name(cluster: CrashCluster) -> None:
    """It names folder and process, changes nothing, and the first one goes on."""
    (cluster.data / PORT_NAME).write_text(str(cluster.port))
    before = {path.name: path.read_bytes() for path in cluster.data.iterdir() if path.is_file()}
    assert cluster.process is not None
    for port in (cluster.port + 1, None):
        code, error = await asyncio.to_thread(second, cluster, port)
        assert code == 1
        assert str(cluster.data) in error
        assert f"process {cluster.process.pid}" in error
        assert "Traceback" not in error
    after = {path.name: path.read_bytes() for path in cluster.data.iterdir() if path.is_file()}
    assert {**after, "scheduler.log": b""} == {**before, "scheduler.log": b""}
    client = await cluster.client()
    try:
        assert (await client.list(POD, "default"))["items"] == []
    finally:
        await client.close()
    assert await cluster.stop() == 0
    await cluster.nothing_left()


async def test_a_killed_scheduler_is_started_again(cluster: CrashCluster) -> None:
    """And the server does not notice otherwise."""
    await eventually(cluster.scheduler, about="a scheduler")
    first = cluster.scheduler()
    assert first is not None
    assert cluster.process is not None
    os.kill(first, signal.SIGKILL)

    def another() -> bool:
        return cluster.scheduler() not in {None, first}

    await eventually(another, about="another scheduler")
    client = await cluster.client()
    try:
        await client.create(JOB, job("exit 0"), "default")
        await eventually(
            lambda: in_phase(client, "Succeeded"), within=30.0, about="a pod was scheduled"
        )
    finally:
        await client.close()
    assert await cluster.stop() == 0
    await cluster.nothing_left()


async def test_a_scheduler_ends_with_its_server(cluster: CrashCluster) -> None:
    """However that one ended."""
    await eventually(cluster.scheduler, about="a scheduler")
    cluster.kill_server()
    await cluster.nothing_left()
