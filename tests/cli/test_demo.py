"""volcano demo as people run it: real processes, without a terminal; nothing is left behind."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import wait_until
from volcano.cli import local

pytestmark = pytest.mark.process
PROGRAM = [sys.executable, "-c", "from volcano.cli.main import main; main()", "demo"]


def start_demo(folder: Path) -> subprocess.Popen:
    """A demo whose data folder lies in `folder`, its output in `folder`/output."""
    with (folder / "output").open("wb") as output:
        return subprocess.Popen(
            PROGRAM,
            env={**os.environ, "TMPDIR": str(folder), "CI": "true"},
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )


def output_of(folder: Path) -> str:
    return (folder / "output").read_text()


def assert_nothing_left(folder: Path) -> None:
    assert local.processes_in(folder) == []
    assert not list(folder.glob("volcano-demo-*")), "the data folder is removed"


def test_the_job_completes_on_gpu_nodes(tmp_path: Path) -> None:
    demo = start_demo(tmp_path)
    code = demo.wait(180)
    text = output_of(tmp_path)
    assert code == 0, text
    for task in ("task1", "task2"):
        assert re.search(rf"example-job-{task}-0: Running on node \S+ \(GPU Tesla-", text)
    for part in ("Job example-job Completed in", "accuracy 9", "vcctl job view -N example-job"):
        assert part in text
    assert "\x1b" not in text
    assert_nothing_left(tmp_path)


@pytest.mark.parametrize(
    ("number", "when"),
    [
        pytest.param(signal.SIGINT, "epoch 1/", id="Ctrl-C while the job runs"),
        pytest.param(signal.SIGTERM, "Starting a cluster", id="TERM while the cluster starts"),
    ],
)
def test_interrupted(tmp_path: Path, number: signal.Signals, when: str) -> None:
    demo = start_demo(tmp_path)
    wait_until(lambda: when in output_of(tmp_path), within=60)
    demo.send_signal(number)
    assert demo.wait(90) == 130, output_of(tmp_path)
    assert f"interrupted by {number.name}: cleaning up" in output_of(tmp_path)
    assert_nothing_left(tmp_path)


def test_a_crashed_server_leaves_no_container(tmp_path: Path) -> None:
    demo = start_demo(tmp_path)
    wait_until(lambda: "epoch 1/" in output_of(tmp_path), within=60)
    (data,) = tmp_path.glob("volcano-demo-*")
    run = local.read_run(data)
    assert run is not None
    assert local.kill(run)
    assert demo.wait(90) == 1, output_of(tmp_path)
    assert "The demo failed: cannot reach the server" in output_of(tmp_path)
    assert_nothing_left(tmp_path)
