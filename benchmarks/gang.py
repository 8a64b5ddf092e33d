"""bench-gang: how fast one gang of thousands of pods is created, bound and running, and its cost.

A real `volcano up` on simulated nodes, with a data folder and port of its own, removed afterwards.
Only the job is asked after, a few times a second, so that the benchmark takes little of the
processor it measures. CPU seconds are what counts on a machine that others use too.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.local import Usage, client, cluster, folder, usage
from benchmarks.result import finish
from volcano.api.kinds import JOB, POD
from volcano.api.objects import name_of
from volcano.base.clock import parse_timestamp
from volcano.cli import local
from volcano.client.blocking import BlockingClient

WORLD = Path(__file__).parent / "worlds" / "gang.yaml"
LIMITS = {"running_seconds": 30.0, "server_rss_mb": 450.0}
SETTLE_SECONDS = 8.0
GANG_SECONDS_MAX = 600.0
_POLL_SECONDS = 0.2
_MB = 1e6
_NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class Processes:
    """The two processes of a running `volcano up`."""

    server: int
    scheduler: int

    def usage(self) -> tuple[Usage, Usage]:
        """What server and scheduler have used until now."""
        return usage([self.server]), usage([self.scheduler])


def processes(run: local.Run) -> Processes:
    """Server and scheduler of a run."""
    (scheduler,) = (pid for pid in local.our_processes(run) if pid != run.pid)
    return Processes(run.pid, scheduler)


def until(reached: Callable[[], bool], what: str) -> float:
    """The time (`perf_counter`) at which something holds.

    Raises:
        RuntimeError: it does not hold in time.
    """
    deadline = time.monotonic() + GANG_SECONDS_MAX
    while not reached():
        if time.monotonic() > deadline:
            raise RuntimeError(f"not {what} after {GANG_SECONDS_MAX:g} s")
        time.sleep(_POLL_SECONDS)
    return time.perf_counter()


def bound_seconds(api: BlockingClient, created_at: float) -> float:
    """From a time of the wall clock to the last pod's PodScheduled, in whole seconds."""
    times = [
        parse_timestamp(condition["lastTransitionTime"])
        for pod in api.list(POD, _NAMESPACE)["items"]
        for condition in pod["status"]["conditions"]
        if condition["type"] == "PodScheduled" and condition["status"] == "True"
    ]
    return max(times) - created_at


def measure(manifest: Mapping[str, Any], data: Path, nodes: str) -> dict[str, float]:
    """One gang on a fresh cluster, from the answer to its creation until all its pods run."""
    pods = sum(task["replicas"] for task in manifest["spec"]["tasks"])
    with cluster(data, nodes) as (run, _), client(data) as api:
        time.sleep(SETTLE_SECONDS)
        both = processes(run)
        server, scheduler = both.usage()
        job = api.create(JOB, dict(manifest), _NAMESPACE)
        begun, wall = time.perf_counter(), time.time()

        def status() -> Mapping[str, Any]:
            found: Mapping[str, Any] = api.get(JOB, name_of(job), _NAMESPACE).get("status") or {}
            return found

        def are_created() -> bool:
            counts = status()
            return bool(counts.get("pending", 0) + counts.get("running", 0) >= pods)

        created = until(are_created, "all created")
        running = until(lambda: status().get("running", 0) >= pods, "all running")
        server_after, scheduler_after = both.usage()
        return {
            "pods": pods,
            "created_seconds": created - begun,
            "bound_seconds": bound_seconds(api, wall),
            "running_seconds": running - begun,
            "server_cpu_seconds": server_after.cpu_seconds - server.cpu_seconds,
            "scheduler_cpu_seconds": scheduler_after.cpu_seconds - scheduler.cpu_seconds,
            "server_rss_mb": server_after.rss / _MB,
            "scheduler_rss_mb": scheduler_after.rss / _MB,
        }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, help="a gang of another size")
    given = parser.parse_args()
    world: dict[str, Any] = yaml.safe_load(WORLD.read_text())
    if given.pods:
        world["job"]["spec"]["minAvailable"] = given.pods
        world["job"]["spec"]["tasks"][0]["replicas"] = given.pods
    with folder() as data, tempfile.TemporaryDirectory(prefix="volcano-bench-") as aside:
        fleet = Path(aside) / "fleet.yaml"
        fleet.write_text(yaml.safe_dump(world["fleet"]))
        figures = measure(world["job"], data, str(fleet))
    finish(
        "gang",
        figures,
        limits=LIMITS,
        distributions=("aiohttp", "httptools", "uvloop", "msgspec", "numpy"),
    )


if __name__ == "__main__":
    main()
