"""The example job: its manifest, and its scripts as two processes that meet through a file."""

import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from volcano.cli.documents import read_manifest
from volcano.cli.example_files import example_job, example_scripts

MANIFEST_SHA256 = "6f4796b6460723fe708377accae57776fa850ff6cacc60faf6895db59ae7f78d"


def run_script(name: str, output: Path, **environ: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, str(example_scripts() / name)],
        env={"PATH": os.environ["PATH"], "EXAMPLE_OUTPUT": str(output), **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_the_manifest_is_the_published_one() -> None:
    assert hashlib.sha256(example_job().read_bytes()).hexdigest() == MANIFEST_SHA256
    job = read_manifest(str(example_job()))
    assert [task["name"] for task in job["spec"]["tasks"]] == ["task1", "task2"]


@pytest.mark.process
def test_training_and_evaluation_meet(tmp_path: Path) -> None:
    evaluation = run_script("evaluate.py", tmp_path, HOSTNAME="example-job-task2-0")
    training = run_script("train.py", tmp_path, HOSTNAME="example-job-task1-0")
    trained, _ = training.communicate(timeout=120)
    evaluated, _ = evaluation.communicate(timeout=120)
    assert training.returncode == 0, trained
    assert evaluation.returncode == 0, evaluated
    assert re.search(r"epoch \d+/\d+ loss", trained)
    found = re.search(r"accuracy ([\d.]+)%", evaluated)
    assert found is not None
    assert float(found.group(1)) > 90
    (folder,) = tmp_path.iterdir()
    assert [path.name for path in folder.iterdir()] == ["model-evaluated.npz"]
    assert not list(example_scripts().glob("*.npz"))


WAIT = """
import sys, time
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import pathlib
from evaluate import wait_for_model
wait_for_model(pathlib.Path(sys.argv[2]), time.time(), seconds=float(sys.argv[3]))
"""


@pytest.mark.process
@pytest.mark.parametrize(
    ("age_seconds", "code"),
    [
        pytest.param(None, 1, id="no model: bounded"),
        pytest.param(3600, 1, id="left behind by an earlier run"),
        pytest.param(1, 0, id="of this run"),
    ],
)
def test_which_model_is_taken(tmp_path: Path, age_seconds: int | None, code: int) -> None:
    model = tmp_path / "model.npz"
    if age_seconds is not None:
        model.write_bytes(b"")
        then = time.time() - age_seconds
        os.utime(model, (then, then))
    words = [sys.executable, "-c", WAIT, str(example_scripts()), str(model), "0.2"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code
    assert ("no model in" in done.stderr) is (code == 1)


@pytest.mark.process
def test_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    script = (
        "import sys; sys.dont_write_bytecode = True; sys.path.insert(0, sys.argv[1])\n"
        "from run_folder import run_folder; print(run_folder())"
    )

    def folder(pod: str, port: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", script, str(example_scripts())],
            env={
                "EXAMPLE_OUTPUT": str(tmp_path),
                "HOSTNAME": pod,
                "KUBERNETES_SERVICE_PORT": port,
            },
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    assert folder("j-task1-0", "1") == folder("j-task2-0", "1")
    assert folder("j-task1-0", "1") != folder("other-task1-0", "1")
    assert folder("j-task1-0", "1") != folder("j-task1-0", "2")
