"""bench-apiserver: creates, gets and watch latency of the API server alone, by a separate process.

TLS, RBAC, admission, strict validation, managedFields and `synchronous=FULL` are on; 32 kept-alive
connections send 1.5 KB pods with distinct names. Every pod that was acknowledged is read back at
the end, and again after the server was killed and started anew. The same figures are taken once
more while a third process plans a gang of 10,000 pods over and over.

Before and after, the same load goes to a sketch of a server (`apiserver_sketch`): what part of its
rate ours has tells more than rates do, as machines differ and virtual ones have neighbours.
"""

import argparse
import asyncio
import gc
import itertools
import json
import os
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvloop

from benchmarks import scheduler
from benchmarks.apiserver_load import (
    CREATE,
    GROUP,
    Connection,
    create_pods,
    get_pods,
    pod,
    read_all,
    revision_of,
    tls,
    watch_lines,
)
from benchmarks.result import finish
from volcano.scheduler import conf, cycle
from volcano.server.auth import pki

CONNECTIONS = 32
SECONDS = 20.0
WATCH_RATE = 500
WATCH_SECONDS = 5.0
MINIMUMS = {
    "creates_per_second": 2_000,
    "gets_per_second": 5_000,
    "creates_while_planning_ratio": 0.5,
}
LIMITS = {"watch_latency_ms": 10.0}
_GANG = {
    "nodes": {"count": 5_000, "cpu": 32, "memory": "256Gi", "pods": 110},
    "groups": {"count": 1, "tasks": 10_000, "cpu": 1, "memory": "1Gi"},
}


class ServerProcess:
    """The server under load and how much CPU it has used."""

    def __init__(self, folder: Path, module: str = "benchmarks.apiserver_server") -> None:
        self._folder = folder
        self._module = module
        self.start()

    def start(self) -> None:
        """Start it and wait until it answers."""
        begun = time.perf_counter()
        command = [sys.executable, "-m", self._module, str(self._folder)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        ready = json.loads(self._process.stdout.readline())
        self.port: int = ready["port"]
        self.up_seconds = time.perf_counter() - begun

    def cpu_seconds(self) -> float:
        """User and system time so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mb(self) -> float:
        """Resident memory now."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def end(self, how: signal.Signals) -> None:
        """Send a signal and wait for the end."""
        self._process.send_signal(how)
        self._process.wait(30)


def plan_forever() -> None:
    """Plan one gang of 10,000 pods again and again: the scheduler process at its busiest."""
    state, _ = scheduler.fill(scheduler.objects(_GANG))
    configuration = conf.load(scheduler.ALL_PLUGINS)
    gc.freeze()
    print("planning", flush=True)
    while True:
        result = cycle.run(state, configuration, now=0.0, seed=1)
        assert len(result.binds) == 10_000


@contextmanager
def planning() -> Iterator[None]:
    """A process that plans while the block runs."""
    command = [sys.executable, "-m", "benchmarks.apiserver", "--plan"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield
    finally:
        process.kill()
        process.wait()


async def watch_latency(
    connections: list[Connection], port: int, context: ssl.SSLContext, names: Iterator[str]
) -> tuple[list[float], dict[str, str]]:
    """Seconds from a create's answer to its event elsewhere, at `WATCH_RATE` creates a second."""
    _, body = await connections[0].send("POST", CREATE, pod(next(names)))
    total = int(WATCH_RATE * WATCH_SECONDS)
    answered: dict[str, float] = {}
    arrived: dict[str, float] = {}
    acknowledged: dict[str, str] = {}
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for connection in connections:
        free.put_nowait(connection)

    async def listen() -> None:
        async for moment, line in watch_lines(port, context, revision_of(body)):
            at = line.index(b'"name":"') + 8
            arrived[line[at : line.index(b'"', at)].decode()] = moment
            if len(arrived) == total:
                return

    async def create(connection: Connection, name: str) -> None:
        _, answer = await connection.send("POST", CREATE, pod(name))
        answered[name] = time.perf_counter()
        acknowledged[name] = revision_of(answer)
        free.put_nowait(connection)

    async with asyncio.TaskGroup() as tasks, asyncio.timeout(WATCH_SECONDS + 15):
        tasks.create_task(listen())
        await asyncio.sleep(0.2)
        start = time.perf_counter()
        for number in range(total):
            await asyncio.sleep(max(0.0, start + number / WATCH_RATE - time.perf_counter()))
            tasks.create_task(create(await free.get(), next(names)))
    return [max(0.0, arrived[name] - moment) for name, moment in answered.items()], acknowledged


async def load(
    server: ServerProcess, context: ssl.SSLContext, names: Iterator[str], seconds: float
) -> tuple[dict[str, float], dict[str, str]]:
    """All figures once; and what was acknowledged."""
    connections = [await Connection.open(server.port, context) for _ in range(CONNECTIONS)]
    await create_pods(connections, names, 1.0)
    before = server.cpu_seconds()
    creates = await create_pods(connections, names, seconds)
    create_cpu = server.cpu_seconds() - before
    before = server.cpu_seconds()
    gets = await get_pods(connections, list(creates.acknowledged), seconds)
    get_cpu = server.cpu_seconds() - before
    late, more = await watch_latency(connections, server.port, context, names)
    late.sort()
    for connection in connections:
        connection.close()
    figures = {
        "creates_per_second": creates.rate,
        "create_p99_ms": creates.percentile_ms(0.99),
        "create_cpu_us": create_cpu / len(creates.latencies) * 1e6,
        "gets_per_second": gets.rate,
        "get_p99_ms": gets.percentile_ms(0.99),
        "get_cpu_us": get_cpu / len(gets.latencies) * 1e6,
        "watch_latency_ms": late[len(late) // 2] * 1000,
        "watch_latency_p99_ms": late[int(len(late) * 0.99)] * 1000,
    }
    return figures, creates.acknowledged | more


async def sketch_load(
    server: ServerProcess, context: ssl.SSLContext, seconds: float
) -> dict[str, float]:
    """What the sketch manages, before or after."""
    connections = [await Connection.open(server.port, context) for _ in range(CONNECTIONS)]
    names = (f"sketch-{number:07}" for number in itertools.count())
    await create_pods(connections, names, 1.0)
    creates = await create_pods(connections, names, seconds)
    gets = await get_pods(connections, ["sketch"] * CONNECTIONS, seconds)
    for connection in connections:
        connection.close()
    return {
        "sketch_creates_per_second": creates.rate,
        "sketch_gets_per_second": gets.rate,
    }


def sketched(folder: Path, context: ssl.SSLContext, seconds: float) -> dict[str, float]:
    """The sketch's rates now, on a folder that has keys."""
    server = ServerProcess(folder, "benchmarks.apiserver_sketch")
    try:
        return uvloop.run(sketch_load(server, context, seconds))
    finally:
        server.end(signal.SIGTERM)


async def read_back(
    server: ServerProcess, context: ssl.SSLContext, acknowledged: dict[str, str]
) -> None:
    """Every acknowledged pod is there, at the revision that was told."""
    connection = await Connection.open(server.port, context)
    found = await read_all(connection)
    connection.close()
    lost = [name for name, revision in acknowledged.items() if found.get(name) != revision]
    assert not lost, f"{len(lost)} acknowledged pods are missing or older, e.g. {lost[:3]}"


def run(folder: Path, seconds: float, *, plan: bool) -> dict[str, float]:
    """Start the server, load it, read back, kill it, read back again."""
    server = ServerProcess(folder)
    keys = pki.Pki(folder / "pki")
    issued = pki.client_certificate(keys, "bench", (GROUP,), now=time.time())
    certificate = folder / "bench.pem"
    pki.write_private(certificate, issued.certificate + issued.key)
    context = tls(keys, str(certificate))
    names = (f"bench-{number:07}" for number in itertools.count())
    try:
        before = sketched(folder, context, seconds / 4)
        figures, acknowledged = uvloop.run(load(server, context, names, seconds))
        after = sketched(folder, context, seconds / 4)
        for name, rate in before.items():
            figures[name] = (rate + after[name]) / 2
        for what in ("creates", "gets"):
            of_sketch = figures[f"{what}_per_second"] / figures[f"sketch_{what}_per_second"]
            figures[f"{what}_ratio_of_sketch"] = of_sketch
        if plan:
            with planning():
                busy, more = uvloop.run(load(server, context, names, seconds / 2))
            figures |= {f"{name}_while_planning": value for name, value in busy.items()}
            ratio = busy["creates_per_second"] / figures["creates_per_second"]
            figures["creates_while_planning_ratio"] = ratio
            acknowledged |= more
        figures["server_rss_mb"] = server.rss_mb()
        uvloop.run(read_back(server, context, acknowledged))
        server.end(signal.SIGKILL)
        server.start()
        uvloop.run(read_back(server, context, acknowledged))
        figures["pods_read_back"] = float(len(acknowledged))
        figures["restart_seconds"] = server.up_seconds
    finally:
        server.end(signal.SIGTERM)
    return figures


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="length of each phase")
    parser.add_argument("--no-plan", action="store_true", help="leave the planning process out")
    parser.add_argument("--plan", action="store_true", help=argparse.SUPPRESS)
    options: Any = parser.parse_args()
    if options.plan:
        plan_forever()
        return
    with tempfile.TemporaryDirectory(prefix="volcano-bench-") as folder:
        figures = run(Path(folder), options.seconds, plan=not options.no_plan)
    for name, least in MINIMUMS.items():
        if name in figures:
            word = "met" if figures[name] >= least else "MISSED"
            print(f"{name}: at least {least:g}: {word}")
    finish(
        "apiserver",
        figures,
        limits=LIMITS,
        distributions=("aiohttp", "httptools", "uvloop", "msgspec"),
    )


if __name__ == "__main__":
    main()
