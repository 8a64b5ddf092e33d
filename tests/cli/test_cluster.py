"""volcano and vcctl against each other: a real cluster, started and stopped as people do it."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.waiting import wait_until
from volcano.cli import local

pytestmark = pytest.mark.process

BARE_STARTS_MAX = 8
"""What `vcctl job list` may take in starts of a bare Python, where that is more than 0.15 s: 4.7 to
6 were seen, with and without other programs on all cores."""

JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: {name}}}
spec:
  schedulerName: volcano
  minAvailable: {replicas}
  tasks:
  - name: t
    replicas: {replicas}
    template:
      spec:
        restartPolicy: Never
        containers:
        - name: c
          image: none
          command: [sh, -c, "{script}"]
          resources:
            requests: {{cpu: 1}}
            limits: {{nvidia.com/gpu: {gpu}}}
"""

Run = Callable[..., str]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("cluster")
    try:
        assert "export KUBECONFIG=" in call(folder, "volcano", "up", "--detach")
        yield folder
    finally:
        call(folder, "volcano", "down")
        assert local.processes_in(folder) == []
    call(folder, "volcano", "down", "--purge", "--yes")
    assert not (folder / "data").exists()


def start(home: Path, program: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", f"from volcano.cli.entry import {program}; {program}()", *words],
        env={"PATH": os.environ["PATH"], "HOME": str(home), "VOLCANO_HOME": str(home / "data")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def cpu_seconds(run: Callable[[], object]) -> float:
    """User and system time of the processes that `run` starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def call(home: Path, program: str, *words: str) -> str:
    done = start(home, program, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def submit(home: Path, name: str, script: str, *, replicas: int = 1, gpu: int = 0) -> None:
    file = home / f"{name}.yaml"
    file.write_text(JOB.format(name=name, script=script, replicas=replicas, gpu=gpu))
    assert call(home, "vcctl", "job", "run", "-f", str(file)) == f"run job {name} successfully\n"


def phase(home: Path, name: str) -> str:
    rows = call(home, "vcctl", "job", "list", "--selector", name).splitlines()[1:]
    return rows[0].split()[2] if rows else ""


def test_second_up_is_refused_and_status_knows_the_first(home: Path) -> None:
    done = start(home, "volcano", "up")
    assert done.returncode == 1
    assert f"a cluster already runs on {home / 'data'}" in done.stderr
    status = call(home, "volcano", "status")
    assert "4 of 4 ready" in status


def test_a_job_from_run_to_delete(home: Path) -> None:
    submit(home, "hello", "echo one; echo two")
    assert call(home, "vcctl", "job", "logs", "hello", "-f") == "[t-0] one\n[t-0] two\n"
    wait_until(lambda: phase(home, "hello") == "Completed", within=30)
    assert "Phase:\tCompleted" in call(home, "vcctl", "job", "view", "hello")
    assert call(home, "vcctl", "job", "delete", "hello") == "delete job hello successfully\n"
    wait_until(lambda: phase(home, "hello") == "", within=30)


def test_suspend_and_resume(home: Path) -> None:
    submit(home, "sleeper", "sleep 1000")
    wait_until(lambda: phase(home, "sleeper") == "Running", within=30)
    call(home, "vcctl", "job", "suspend", "sleeper")
    wait_until(lambda: phase(home, "sleeper") == "Aborted", within=30)
    call(home, "vcctl", "job", "resume", "sleeper")
    wait_until(lambda: phase(home, "sleeper") == "Running", within=30)
    call(home, "vcctl", "job", "delete", "sleeper")


def test_view_says_why_a_job_waits(home: Path) -> None:
    submit(home, "greedy", "true", replicas=3, gpu=1)

    def waiting() -> str:
        text = call(home, "vcctl", "job", "view", "greedy")
        return text.partition("\nWaiting:\n")[2].partition("\nEvents:")[0]

    parts = ("NotEnoughResources", "(Pending, 3 members needed)", "nvidia.com/gpu", "Warnings:")
    wait_until(lambda: all(part in waiting() for part in parts), within=30)
    call(home, "vcctl", "job", "delete", "greedy")


def test_list_takes_little_time(home: Path) -> None:
    """Of a core, TLS and client certificate included; what the machine does beside adds to both."""
    listing, bare = [], []
    for _ in range(7):
        listing.append(cpu_seconds(lambda: call(home, "vcctl", "job", "list")))
        bare.append(cpu_seconds(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True)))
    assert min(listing) < max(0.15, BARE_STARTS_MAX * min(bare))


def test_queues(home: Path) -> None:
    assert call(home, "vcctl", "queue", "create", "-n", "gold", "-w", "3")
    call(home, "vcctl", "queue", "operate", "-n", "gold", "-a", "update", "-w", "5")

    def row() -> list[str]:
        return call(home, "vcctl", "queue", "get", "-n", "gold").splitlines()[1].split()

    wait_until(lambda: row()[:3] == ["gold", "5", "Open"])
    call(home, "vcctl", "queue", "operate", "-n", "gold", "-a", "close")
    wait_until(lambda: row()[2] == "Closed", within=30)
    call(home, "vcctl", "queue", "delete", "-n", "gold")
    refused = start(home, "vcctl", "queue", "delete", "-n", "default")
    assert refused.returncode == 1
    assert refused.stderr.startswith("Failed to delete queue: ")
