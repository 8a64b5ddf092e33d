"""A real `volcano up` in a folder of its own, for tests that need real processes.

    with running_cluster(folder) as cluster:
        cluster.kubectl("get", "nodes").stdout

Neighbours: `waiting` for what should come to pass; `volcano.testing.cluster` is the same system on
one loop in virtual time, and the better choice unless a test needs processes, disk or TLS.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.waiting import wait_until
from volcano.cli import local

Finished = subprocess.CompletedProcess[str]
START_SECONDS = 60.0
STOP_SECONDS = 60.0
CALL_SECONDS = 60.0
KUBECTL = Path(sys.executable).with_name("kubectl")
"""The kubectl of the wheel, never one that happens to be on PATH."""

_VOLCANO = [sys.executable, "-c", "from volcano.cli.main import main; main()"]


@dataclass(frozen=True, slots=True)
class RunningCluster:
    """A cluster that runs on `data`; `home` is HOME of all programs and holds their caches."""

    data: Path
    home: Path
    process: subprocess.Popen[bytes]

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        return self.data / "kubeconfig"

    @property
    def environment(self) -> Mapping[str, str]:
        """What programs that talk to the cluster get as their environment, and nothing else."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "VOLCANO_HOME": str(self.data),
            "KUBECONFIG": str(self.kubeconfig),
        }

    def kubectl(self, *words: str, stdin: str = "", within: float = CALL_SECONDS) -> Finished:
        """Run kubectl to its end, whatever its exit code."""
        return self.call([str(KUBECTL), *words], stdin=stdin, within=within)

    def call(self, words: Sequence[str], *, stdin: str = "", within: float = 60.0) -> Finished:
        """Run any program to its end, whatever its exit code."""
        return subprocess.run(
            words,
            env=self.environment,
            cwd=self.home,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=within,
            check=False,
        )

    def start_kubectl(self, *words: str) -> subprocess.Popen[str]:
        """Start kubectl and go on; the caller waits for it or ends it."""
        return subprocess.Popen(
            [str(KUBECTL), *words],
            env=self.environment,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def output(self) -> str:
        """What `volcano up` has printed so far."""
        return (self.home / "volcano-up.log").read_text()


@contextmanager
def running_cluster(folder: Path, *, nodes: str = "demo") -> Iterator[RunningCluster]:
    """A cluster of its own on a free port; afterwards stopped, with no process left behind.

    Args:
        folder: an empty one; holds the data and a home.
        nodes: as in `volcano up --nodes`.

    Raises:
        AssertionError: it does not start, or does not end cleanly.
    """
    data, home = folder / "data", folder / "home"
    home.mkdir()
    data.mkdir(mode=0o700)
    # The kept port 0: a free one, chosen when it is bound, so that workers never collide.
    (data / "port").write_text("0")
    with (home / "volcano-up.log").open("wb") as log:
        process = subprocess.Popen(
            [*_VOLCANO, "up", "--data", str(data), "--nodes", nodes],
            env={"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    cluster = RunningCluster(data, home, process)
    try:
        wait_until(lambda: _ready(cluster), within=START_SECONDS, about="volcano up is ready")
        yield cluster
    finally:
        _stop(cluster)
    assert process.returncode == 0, cluster.output()


def _ready(cluster: RunningCluster) -> bool:
    code = cluster.process.poll()
    assert code is None, f"volcano up ended with {code}: {cluster.output()}"
    return local.answers_ready(cluster.data) and local.running(cluster.data) is not None


def _stop(cluster: RunningCluster) -> None:
    cluster.process.send_signal(signal.SIGINT)
    try:
        cluster.process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        cluster.process.kill()
        cluster.process.wait()
        raise AssertionError(f"volcano up did not stop: {cluster.output()}") from None
    finally:
        left = local.processes_in(cluster.data)
        assert left == [], f"processes left behind: {left}\n{cluster.output()}"
