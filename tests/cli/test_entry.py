"""The console scripts: leaving quickly but cleanly."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

VCCTL = (sys.executable, "-c", "from volcano.cli.entry import vcctl; vcctl()")


def environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home)}


@pytest.mark.process
def test_output_and_exit_code_arrive(tmp_path: Path) -> None:
    done = subprocess.run(
        [*VCCTL, "version"], env=environment(tmp_path), capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("API Version: v1alpha1\n")
    done = subprocess.run(
        [*VCCTL, "job", "list"],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "no cluster is configured" in done.stderr


@pytest.mark.process
@pytest.mark.parametrize("closed", [False, True], ids=["reader gone", "closed"])
def test_output_that_nobody_reads(tmp_path: Path, *, closed: bool) -> None:
    command = [*VCCTL, "version"]
    if closed:
        command = ["sh", "-c", 'exec "$@" >&-', "sh", *command]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        command,
        env=environment(tmp_path),
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    os.close(writing)
    assert done.stderr == ""
    assert done.returncode == (0 if closed else 1)
