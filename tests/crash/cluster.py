"""Processes of a cluster on this machine, started like `volcano up`, killed without a word."""

import os
import random
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tests.waiting import eventually
from volcano.cli import local
from volcano.client.client import Client
from volcano.client.config import load_config
from volcano.client.http_transport import HttpTransport

HISTORY_SECONDS = 1.0
"""How long the servers keep history: so short that one forgets some of it before it is killed."""

READY_SECONDS_MAX = 60.0
GONE_SECONDS_MAX = 15.0
SCHEDULER = b"volcano.apps.scheduler"
_PORTS = range(20_000, 32_000)
"""Below the ports that outgoing connections get, one of which might take ours between two lives."""


def free_port(chance: random.Random) -> int:
    """A port of the loopback address that nobody listens on now."""
    for port in chance.sample(_PORTS, 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port")


@dataclass(slots=True)
class CrashCluster:
    """One data folder and the server that runs on it, if any.

    Attributes:
        folder: holds the data folder, the containers' files and nothing else.
        start_seconds: what the last complete start took.
    """

    folder: Path
    fleet: Path
    port: int
    start_seconds: float = 1.2
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "up.log"

    def arguments(self) -> list[str]:
        return local.up_arguments(
            self.data, self.port, str(self.fleet), history_seconds=HISTORY_SECONDS
        )

    def start(self) -> None:
        """Start a server; it is not ready yet."""
        assert self.process is None, "one server at a time"
        self.folder.mkdir(exist_ok=True)
        self.started = time.monotonic()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.arguments(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def is_ready(self) -> bool:
        """Whether the running server has written that it is ready."""
        process = self.process
        assert process is not None, "no server was started"
        assert process.poll() is None, f"volcano up ended with {process.returncode}: {self.tail()}"
        run = local.read_run(self.data)
        return run is not None and run.pid == process.pid

    async def ready(self) -> None:
        """Wait until the server is ready."""
        if self.is_ready():
            return
        await eventually(self.is_ready, within=READY_SECONDS_MAX, about=f"ready: {self.tail()}")
        self.start_seconds = time.monotonic() - self.started

    def kill_server(self) -> None:
        """kill -9; returns when it is gone. Its scheduler sees the end of its pipe."""
        assert self.process is not None, "no server runs"
        code = self.process.poll()
        assert code is None, f"volcano up ended by itself with {code}: {self.tail()}"
        self.process.kill()
        self.process.wait()
        self.process = None

    def scheduler(self) -> int | None:
        """Pid of the scheduler of the running server."""
        assert self.process is not None, "no server runs"
        own = [pid for pid in children_of(self.process.pid) if SCHEDULER in command_line(pid)]
        return own[0] if own else None

    def kill_scheduler(self) -> None:
        """kill -9, if there is one now."""
        pid = self.scheduler()
        if pid is not None:
            os.kill(pid, signal.SIGKILL)

    async def stop(self) -> int:
        """Ctrl-C; the exit code. Containers get their grace."""
        process = self.process
        assert process is not None, "no server runs"
        process.send_signal(signal.SIGINT)
        await eventually(lambda: process.poll() is not None, within=60.0, about="Ctrl-C ends it")
        self.process = None
        return process.returncode

    async def client(self) -> Client:
        """A client of its own, over HTTPS as the administrator; ended with `close`."""
        path = self.data / "kubeconfig"
        await eventually(path.is_file, within=READY_SECONDS_MAX, about="kubeconfig")
        return Client(HttpTransport(load_config(str(path), environ={}, home=self.folder)))

    def clear_away(self) -> None:
        """Kill whatever is left of the cluster, containers too."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
        for pid in self.left():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def left(self) -> list[int]:
        """Processes that belong to this cluster."""
        return local.processes_in(self.folder)

    async def nothing_left(self) -> None:
        """Wait until no process belongs to this cluster."""
        await eventually(
            lambda: not self.left(), within=GONE_SECONDS_MAX, about="every process has ended"
        )

    def schedulers(self) -> list[int]:
        """All schedulers of this cluster, also those of servers that are gone."""
        return [pid for pid in self.left() if SCHEDULER in command_line(pid)]

    def tail(self, path: Path | None = None) -> str:
        """The end of a log, the server's unless told otherwise."""
        path = path or self.log
        text = path.read_text(errors="replace") if path.exists() else ""
        return text[-4000:]


def children_of(pid: int) -> list[int]:
    """Child processes of a process."""
    processes = (
        local.read_process(int(entry.name))
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit()
    )
    return [process.pid for process in processes if process and process.parent == pid]


def command_line(pid: int) -> bytes:
    """The command line of a process, empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
