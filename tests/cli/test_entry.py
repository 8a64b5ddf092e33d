"""The console scripts: modules that wait for their first use, and leaving quickly but cleanly."""

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from volcano.cli.entry import load_at_first_use

NAME = "volcano_test_rarely_used"
VCCTL = (sys.executable, "-c", "from volcano.cli.entry import vcctl; vcctl()")


@pytest.fixture
def loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module that notes each time its code runs; the file with the notes."""
    notes = tmp_path / "notes"
    (tmp_path / f"{NAME}.py").write_text(
        f"with open({str(notes)!r}, 'a') as f: f.write('x')\nvalue = 7\ndef ask(): return value\n"
    )
    notes.touch()
    monkeypatch.syspath_prepend(tmp_path)
    yield notes
    sys.modules.pop(NAME, None)


def test_a_module_runs_at_its_first_use_and_once(loads: Path) -> None:
    load_at_first_use(NAME)
    module = importlib.import_module(NAME)
    assert loads.read_text() == ""
    assert module.ask() == 7
    assert module.value == 7
    assert loads.read_text() == "x"
    with pytest.raises(AttributeError, match="nothing"):
        _ = module.nothing


def test_names_can_be_taken_from_it(loads: Path) -> None:
    load_at_first_use(NAME)
    scope: dict = {}
    exec(f"from {NAME} import ask", scope)
    assert scope["ask"]() == 7
    assert loads.read_text() == "x"


def test_loaded_and_unknown_modules_are_left_alone(loads: Path) -> None:
    module = importlib.import_module(NAME)
    load_at_first_use(NAME)
    assert sys.modules[NAME] is module
    load_at_first_use("volcano_test_unknown")
    assert "volcano_test_unknown" not in sys.modules
    assert isinstance(module, ModuleType)


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
