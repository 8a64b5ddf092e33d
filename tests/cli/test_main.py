"""The volcano program: help texts, and colours on a real terminal."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.conftest import JOBS, FakeApi
from volcano.cli.main import volcano

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("words", ["", "up", "down", "status", "demo", "version", "completion"])
def test_help(words: str, pytestconfig: pytest.Config) -> None:
    result = CliRunner().invoke(volcano, [*words.split(), "--help"], prog_name="volcano")
    assert result.exit_code == 0
    golden = GOLDEN / f"volcano {words}.txt".replace(" ", "_")
    if pytestconfig.getoption("--update"):
        golden.write_text(result.stdout)
    assert result.stdout == golden.read_text()


def on_a_terminal(*words: str, environ: dict[str, str], home: Path) -> str:
    """Output of vcctl whose standard output is a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from volcano.cli.entry import vcctl; vcctl()", *words]
    base = {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "xterm", "COLUMNS": "200"}
    with subprocess.Popen(command, env={**base, **environ}, stdout=theirs) as process:
        os.close(theirs)
        text = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:
                break
            if not chunk:
                break
            text += chunk
        assert process.wait(60) == 0
    os.close(ours)
    return text.decode().replace("\r\n", "\n")


@pytest.mark.process
@pytest.mark.parametrize(
    ("environ", "coloured"),
    [pytest.param({}, True, id="terminal"), pytest.param({"NO_COLOR": "1"}, False, id="NO_COLOR")],
)
def test_tables_are_coloured_on_a_terminal_only(
    api: FakeApi, tmp_path: Path, environ: dict[str, str], coloured: bool
) -> None:
    job = {"metadata": {"name": "one"}, "spec": {}, "status": {"state": {"phase": "Running"}}}
    api.add(JOBS.format("default"), job)
    text = on_a_terminal("job", "list", "--master", api.url, environ=environ, home=tmp_path)
    assert ("\x1b[32mRunning" in text) is coloured
    assert ("\x1b" in text) is coloured
