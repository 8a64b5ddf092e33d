"""The demo of an installation whose example fails: exit code 1, the reason, nothing left behind."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import volcano
from volcano.cli import local
from volcano.cli.example_files import examples_dir

pytestmark = pytest.mark.process


def test_failing_example_ends_the_demo_with_its_reason(tmp_path: Path) -> None:
    package = Path(volcano.__file__).parent
    own = tmp_path / "src" / "volcano"
    shutil.copytree(package, own, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(examples_dir(), own / "examples")
    (own / "examples" / "example-job" / "train.py").write_text(
        "raise SystemExit('no data today')\n"
    )
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", "from volcano.cli.main import main; main()", "demo"],
        env={**os.environ, "PYTHONPATH": str(own.parent), "TMPDIR": str(scratch), "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    text = done.stdout + done.stderr
    assert done.returncode == 1, text
    assert "no data today" in text
    assert "The demo failed: pod example-job-task1-0 failed on node " in done.stderr
    assert local.processes_in(scratch) == []
    assert not list(scratch.glob("volcano-demo-*"))
