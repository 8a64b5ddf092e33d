"""bench-local: what `volcano up` costs on this machine, and how fast a job becomes a process.

Real processes with data folders and ports of their own, as a user would start them; everything is
ended and removed afterwards. See docs/benchmarks.md for what each figure means.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.result import finish
from volcano.api.kinds import CONFIG_MAP, JOB, POD, Kind
from volcano.base.limits import DOWN_SECONDS_MAX
from volcano.cli import local
from volcano.client.blocking import BlockingClient
from volcano.client.config import KUBECONFIG_NAME, load_config

WORLD = Path(__file__).parent / "worlds" / "local.yaml"
LIMITS = {
    "up_seconds": 2.0,
    "idle_rss_mb": 150.0,
    "idle_cpu_percent": 2.0,
    "idle_5000_cpu_percent": 10.0,
    "job_to_process_ms": 300.0,
}
PARTS = ("up", "idle", "idle-5000", "job")
SETTLE_SECONDS = 5.0
JOB_SECONDS_MAX = 30.0
_POLL_SECONDS = 0.05
_MB = 1e6
_NAMESPACE = "default"
_KINDS = {kind.kind: kind for kind in (POD, CONFIG_MAP)}


@dataclass(frozen=True, slots=True)
class Options:
    """How much is measured: repetitions, and seconds of idleness."""

    starts: int = 3
    jobs: int = 30
    idle_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds since each process began, and memory, of some processes added up.

    Attributes:
        rss: resident bytes; pages that processes share count once for each.
        pss: the same with shared pages divided among those who share them.
    """

    cpu_seconds: float
    rss: int
    pss: int


def usage(pids: list[int]) -> Usage:
    """What these processes have used until now."""
    ticks = 0
    pss = 0
    for pid in pids:
        stat = Path(f"/proc/{pid}/stat").read_text()
        user, system = stat[stat.rindex(")") + 2 :].split()[11:13]
        ticks += int(user) + int(system)
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        pss += 1024 * int(rollup[rollup.index("\nPss:") + 5 :].split(maxsplit=1)[0])
    rss = sum(local.resident_bytes(pid) for pid in pids)
    return Usage(ticks / os.sysconf("SC_CLK_TCK"), rss, pss)


@contextmanager
def folder() -> Iterator[Path]:
    """An empty data folder, removed at the end."""
    with tempfile.TemporaryDirectory(prefix="volcano-bench-") as path:
        yield Path(path)


@contextmanager
def cluster(data: Path, nodes: str | None = None) -> Iterator[tuple[local.Run, float]]:
    """A running `volcano up`; yields it and the seconds from its start until /readyz said ok."""
    begun = time.perf_counter()
    process = local.start(local.up_arguments(data, 0, nodes), data)
    try:
        run = local.wait_ready(process, data)
        yield run, time.perf_counter() - begun
    finally:
        process.terminate()
        try:
            process.wait(DOWN_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def client(data: Path) -> BlockingClient:
    """An administrator's client of the cluster of a data folder."""
    config = load_config(str(data / KUBECONFIG_NAME), environ={}, home=data)
    return BlockingClient(config, user_agent="bench-local")


def world() -> dict[str, Any]:
    """The data file: fleet, filling, job."""
    found: dict[str, Any] = yaml.safe_load(WORLD.read_text())
    return found


def fill(data: Path, filling: list[Mapping[str, Any]]) -> int:
    """Create the objects of the data file; how many."""
    total = 0
    with client(data) as api:
        for entry in filling:
            kind: Kind = _KINDS[entry["object"]["kind"]]
            for index in range(entry["count"]):
                meta = {**entry["object"]["metadata"], "name": f"filling-{index}"}
                api.create(kind, {**entry["object"], "metadata": meta}, _NAMESPACE)
                total += 1
    return total


def measure_up(options: Options, filling: list[Mapping[str, Any]]) -> dict[str, float]:
    """Starts on a fresh folder and on one with many objects; the larger median counts."""
    fresh, full = [], []
    for _ in range(options.starts):
        with folder() as data, cluster(data) as (_, seconds):
            fresh.append(seconds)
    with folder() as data:
        with cluster(data):
            objects = fill(data, filling)
        for _ in range(options.starts):
            with cluster(data) as (_, seconds):
                full.append(seconds)
    medians = (statistics.median(fresh), statistics.median(full))
    return {
        "up_seconds": max(medians),
        "up_fresh_seconds": medians[0],
        "up_full_seconds": medians[1],
        "up_full_objects": objects,
    }


def measure_idle(seconds: float, nodes: str | None = None) -> tuple[float, Usage]:
    """Percent of a core that an idle cluster takes, and what it holds at the end."""
    with folder() as data, cluster(data, nodes) as (run, _):
        time.sleep(SETTLE_SECONDS)
        pids = sorted(local.our_processes(run))
        before, begun = usage(pids), time.perf_counter()
        time.sleep(seconds)
        after, taken = usage(pids), time.perf_counter() - begun
        if sorted(local.our_processes(run)) != pids:
            raise RuntimeError(f"a process ended meanwhile; the log:\n{local.log_tail(data)}")
    return 100.0 * (after.cpu_seconds - before.cpu_seconds) / taken, after


def idle_figures(options: Options) -> dict[str, float]:
    """The default fleet at rest."""
    percent, held = measure_idle(options.idle_seconds)
    return {
        "idle_rss_mb": held.rss / _MB,
        "idle_pss_mb": held.pss / _MB,
        "idle_cpu_percent": percent,
    }


def idle_fleet_figures(options: Options, fleet: Mapping[str, Any]) -> dict[str, float]:
    """Many simulated nodes at rest."""
    with folder() as aside:
        path = aside / "fleet.yaml"
        path.write_text(yaml.safe_dump(fleet))
        percent, held = measure_idle(options.idle_seconds, str(path))
    return {"idle_5000_cpu_percent": percent, "idle_5000_rss_mb": held.rss / _MB}


def measure_job(data: Path, manifest: Mapping[str, Any], name: str) -> float:
    """Seconds from the start of `vcctl job run` to the time that the job's process prints."""
    path = data / f"{name}.yaml"
    path.write_text(yaml.safe_dump({**manifest, "metadata": {"name": name}}))
    vcctl = Path(sys.executable).with_name("vcctl")
    arguments = [str(vcctl), "--kubeconfig", str(data / KUBECONFIG_NAME)]
    begun = time.time()
    subprocess.run(
        [*arguments, "job", "run", "-f", str(path)], check=True, stdout=subprocess.DEVNULL
    )
    deadline = time.monotonic() + JOB_SECONDS_MAX
    with client(data) as api:
        while (api.get(JOB, name, _NAMESPACE).get("status") or {}).get("state", {}).get(
            "phase"
        ) != "Completed":
            if time.monotonic() > deadline:
                raise RuntimeError(f"job {name} is not Completed after {JOB_SECONDS_MAX:g} s")
            time.sleep(_POLL_SECONDS)
        answer = api.read(f"/api/v1/namespaces/{_NAMESPACE}/pods/{name}-main-0/log")
    return float(answer.body) - begun


def job_figures(
    options: Options, manifest: Mapping[str, Any], *, settle_seconds: float = SETTLE_SECONDS
) -> dict[str, float]:
    """Jobs one after the other on an idle cluster."""
    with folder() as data, cluster(data):
        time.sleep(settle_seconds)
        times = [measure_job(data, manifest, f"job-{i}") for i in range(options.jobs)]
    return {
        "job_to_process_ms": 1_000 * statistics.median(times),
        "job_to_process_max_ms": 1_000 * max(times),
    }


def main() -> None:
    """Measure and print."""
    usual = Options()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append", help="measure only these parts")
    parser.add_argument("--starts", type=int, default=usual.starts)
    parser.add_argument("--jobs", type=int, default=usual.jobs)
    parser.add_argument("--idle-seconds", type=float, default=usual.idle_seconds)
    given = parser.parse_args()
    # Told to end, it ends what it has started, as after Ctrl-C.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    options = Options(given.starts, given.jobs, given.idle_seconds)
    data = world()
    parts: dict[str, Callable[[], dict[str, float]]] = {
        "up": lambda: measure_up(options, data["filling"]),
        "idle": lambda: idle_figures(options),
        "idle-5000": lambda: idle_fleet_figures(options, data["fleet"]),
        "job": lambda: job_figures(options, data["job"]),
    }
    figures: dict[str, float] = {}
    for name, part in parts.items():
        if not given.only or name in given.only:
            figures |= part()
    finish(
        "local",
        figures,
        limits=LIMITS,
        distributions=("aiohttp", "httptools", "uvloop", "msgspec", "numpy"),
    )


if __name__ == "__main__":
    main()
