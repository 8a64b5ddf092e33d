"""Starting, finding and stopping the local server, with a small stand-in for it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import wait_until
from volcano.base.errors import ConfigError
from volcano.cli import local
from volcano.cli.commands import run
from volcano.cli.main import volcano

STAND_IN = """
import http.server, json, os, pathlib, signal, sys
data = pathlib.Path(sys.argv[1])

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"ok" if self.path == "/readyz" else b'{"items": [], "metadata": {}}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
url = f"http://127.0.0.1:{server.server_port}"
config = {"clusters": [{"name": "c", "cluster": {"server": url}}],
          "contexts": [{"name": "x", "context": {"cluster": "c"}}], "current-context": "x"}
(data / "kubeconfig").write_text(json.dumps(config))
start_time = int(open("/proc/self/stat").read().rsplit(") ", 1)[1].split()[19])
run = {"pid": os.getpid(), "start_time": start_time, "port": server.server_port, "url": url,
       "started": "2026-01-02T03:04:05Z"}
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
(data / "run.json").write_text(json.dumps(run))
print("serving", flush=True)
server.serve_forever()
"""


def start(data: Path, script: str = STAND_IN) -> subprocess.Popen:
    return local.start([sys.executable, "-c", script, str(data)], data)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def server(data: Path) -> Iterator[tuple[subprocess.Popen, local.Run]]:
    process = start(data)
    try:
        yield process, local.wait_ready(process, data)
    finally:
        process.kill()
        process.wait()


def volcano_command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = run(volcano, words, "volcano")
    out, err = capsys.readouterr()
    return code, out, err


def write_run(data: Path, **fields: object) -> None:
    data.mkdir(exist_ok=True)
    document = {"pid": 1, "start_time": 1, "port": 1, "url": "https://x:1", "started": ""}
    (data / "run.json").write_text(json.dumps({**document, **fields}))


@pytest.mark.process
def test_from_start_to_stop(server: tuple[subprocess.Popen, local.Run], data: Path) -> None:
    process, found = server
    assert found.pid == process.pid
    assert local.running(data) == found
    assert process.pid in local.our_processes(found)
    assert process.pid in local.processes_in(data)
    assert local.resident_bytes(process.pid) > 1_000_000
    assert data.stat().st_mode & 0o777 == 0o700
    assert local.stop(found, seconds=10)
    assert process.wait(10) == 0
    assert local.running(data) is None


@pytest.mark.process
def test_a_server_that_ends_at_once_shows_its_log(data: Path) -> None:
    process = start(data, "raise SystemExit('port 7443 is taken')")
    with pytest.raises(local.NotStartedError, match=r"exit code 1(.|\n)*port 7443 is taken"):
        local.wait_ready(process, data)


@pytest.mark.process
def test_another_process_of_the_same_pid_is_left_alone(data: Path) -> None:
    bystander = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    try:
        process = local.read_process(bystander.pid)
        assert process is not None
        write_run(data, pid=bystander.pid, start_time=process.start_time + 1)
        stale = local.read_run(data)
        assert stale is not None
        assert local.running(data) is None
        assert local.stop(stale, seconds=5)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


@pytest.mark.process
def test_stop_is_bounded(data: Path) -> None:
    script = "import signal; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True)"
    deaf = start(data, f"{script}\nwhile True: signal.pause()")
    try:
        wait_until(lambda: "deaf" in local.log_tail(data))
        process = local.read_process(deaf.pid)
        assert process is not None
        run_of = local.Run(deaf.pid, process.start_time, 0, "", "")
        assert not local.stop(run_of, seconds=0.1)
        assert local.kill(run_of)
    finally:
        deaf.kill()
        assert deaf.wait() == -signal.SIGKILL


def test_broken_run_file_is_named(data: Path) -> None:
    data.mkdir()
    (data / "run.json").write_text("{")
    with pytest.raises(ConfigError, match=r"run\.json is broken"):
        local.read_run(data)


def test_what_was_not_asked_for_is_left_to_the_server(data: Path) -> None:
    plain = local.up_arguments(data, None, None)
    assert plain == [sys.executable, "-m", "volcano.apps.start", "--data", str(data)]
    assert local.up_arguments(data, 1, "host")[5:] == ["--port", "1", "--nodes", "host"]
    kept = local.up_arguments(data, None, None, history_seconds=90.0)
    assert kept[5:] == ["--history-seconds", "90"]


class TestCommands:
    @pytest.mark.process
    def test_status_and_down(
        self,
        server: tuple[subprocess.Popen, local.Run],
        data: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        code, out, _ = volcano_command(capsys, "status", "--data", str(data))
        assert code == 0
        assert f"Server:     {server[1].url}\n" in out
        assert "Nodes:      0 of 0 ready\nJobs:       0\nPods:       0\n" in out

        code, _, err = volcano_command(capsys, "up", "--data", str(data))
        assert code == 1
        assert f"a cluster already runs on {data}: {server[1].url}" in err

        code, out, _ = volcano_command(capsys, "down", "--data", str(data), "--purge", "--yes")
        assert code == 0
        assert out == (f"stopped {server[1].url} (process {server[1].pid})\nremoved {data}\n")
        assert not data.exists()

    def test_nothing_runs(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert volcano_command(capsys, "down", "--data", str(data))[:2] == (
            0,
            f"no cluster runs on {data}\n",
        )
        assert volcano_command(capsys, "status", "--data", str(data))[0] == 1

    def test_status_after_a_crash(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        write_run(data, pid=os.getpid(), start_time=1)
        code, out, _ = volcano_command(capsys, "status", "--data", str(data))
        assert code == 1
        assert "ended without cleaning up" in out

    def test_purge_never_removes_a_folder_that_is_not_ours(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "thesis.tex").write_text("precious")
        words = ("down", "--data", str(tmp_path), "--purge", "--yes")
        code, _, err = volcano_command(capsys, *words)
        assert code == 1
        assert "does not look like a data folder" in err
        assert (tmp_path / "thesis.tex").exists()

    def test_purge_asks(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        write_run(data)
        code, _, err = volcano_command(capsys, "down", "--data", str(data), "--purge")
        assert code == 1
        assert "confirm with --yes" in err
        assert data.exists()

    def test_unexpected_words_are_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, _, err = volcano_command(capsys, "up", "now")
        assert code == 1
        assert "unexpected extra argument" in err
