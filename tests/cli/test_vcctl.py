"""The vcctl program: help, parse errors, completion, start-up cost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.conftest import JOBS, FakeApi
from volcano.cli.commands import commands_first, run
from volcano.cli.vcctl import vcctl

GOLDEN = Path(__file__).parent / "golden"


def helped(*words: str) -> str:
    result = CliRunner().invoke(vcctl, list(words), prog_name="vcctl")
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.parametrize(
    "words",
    [
        "",
        "job",
        "job run",
        "job list",
        "job view",
        "job suspend",
        "job resume",
        "job delete",
        "job logs",
        "queue",
        "queue create",
        "queue delete",
        "queue operate",
        "queue list",
        "queue get",
        "version",
    ],
)
def test_help(words: str, pytestconfig: pytest.Config) -> None:
    text = helped(*words.split(), "--help")
    golden = GOLDEN / f"vcctl {words}.txt".replace(" ", "_")
    if pytestconfig.getoption("--update"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text()
    assert helped("help", *words.split()) == text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["jbo"], 'Error: unknown command "jbo" for "vcctl"', id="unknown group"),
        pytest.param(["job", "lits"], 'unknown command "lits" for "vcctl job"', id="unknown leaf"),
        pytest.param(["job", "list", "--bogus"], "Error: no such option '--bogus'", id="flag"),
        pytest.param(
            ["job", "run", "-r", "x"], "Error: invalid value for '--replicas'", id="value"
        ),
        pytest.param(
            ["job", "list", "-o", "xml"], "Error: invalid value for '--output'", id="form"
        ),
        pytest.param(["queue", "create", "-w", "9999999999"], "does not fit 32 bits", id="int32"),
    ],
)
def test_parse_errors_are_one_line_and_code_1(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert run(vcctl, words, "vcctl") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def test_close_names_are_offered(capsys: pytest.CaptureFixture[str]) -> None:
    run(vcctl, ["jb"], "vcctl")
    assert "Did you mean this?\n\tjob\n" in capsys.readouterr().err


def test_unknown_help_topic(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(vcctl, ["help", "nope"], "vcctl") == 0
    assert "Unknown help topic [`nope`]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "want"),
    [
        ("job list -n x", "job list -n x"),
        ("-k f job list", "job list -k f"),
        ("--kubeconfig=f job -n x list -q y", "job list --kubeconfig=f -n x -q y"),
        ("-kf job list", "job list -kf"),
        ("job --all-namespaces list", "job list --all-namespaces"),
        ("--help", "--help"),
        ("-h job", "job -h"),
        ("version", "version"),
        ("-- job", "-- job"),
    ],
)
def test_commands_come_first(typed: str, want: str) -> None:
    booleans = frozenset({"--help", "-h", "--all-namespaces"})
    assert commands_first(typed.split(), 2, booleans) == want.split()


def test_version() -> None:
    lines = helped("version").splitlines()
    assert lines[:2] == ["API Version: v1alpha1", "Version: 0.1.0"]
    assert len(lines) == 6


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_script(shell: str) -> None:
    assert "_VCCTL_COMPLETE" in helped("completion", shell)


LOOK = """
import json, sys
from volcano.cli.vcctl import main
assert main() == 0
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""
HEAVY = {"numpy", "aiohttp", "cryptography", "rich", "asyncio", "structlog", "yaml", "uvloop"}
SLOW = {"msgspec", "http.client", "email", "dataclasses", "encodings.idna", "logging"}
"""Small, but together they took longer than all that is left."""


@pytest.mark.process
def test_list_imports_little(api: FakeApi, tmp_path: Path) -> None:
    job = {"metadata": {"name": "one", "namespace": "default"}, "spec": {}, "status": {}}
    api.add(JOBS.format("default"), job)
    done = subprocess.run(
        [sys.executable, "-c", LOOK, "job", "list", "--master", api.url],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "one" in done.stdout
    assert not (HEAVY | SLOW) & set(json.loads(done.stderr))


@pytest.mark.process
def test_bash_completes_names_from_the_cluster(api: FakeApi, tmp_path: Path) -> None:
    for name in ("one", "two"):
        api.add(JOBS.format("default"), {"metadata": {"name": name}, "spec": {}, "status": {}})
    words = f"vcctl job view --master {api.url} -N o"
    done = subprocess.run(
        [sys.executable, "-c", "from volcano.cli.entry import vcctl; vcctl()"],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "_VCCTL_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": "6",
        },
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.strip() == "plain,one"
