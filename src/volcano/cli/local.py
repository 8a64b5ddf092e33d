"""The local cluster as its command lines see it: data folder, run file, process.

`volcano.apps.start` is started as a program of its own (this package sits below it) and says in
`<data>/run.json` that it is ready. A pid counts only together with the start time the kernel gives
for it, and signals go through a pidfd, so that nothing else is ever stopped.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from volcano.base.errors import ApiError, ConfigError, VolcanoError
from volcano.base.limits import DOWN_SECONDS_MAX, LOG_TAIL_BYTES, UP_SECONDS_MAX
from volcano.client.config import KUBECONFIG_NAME

RUN_NAME = "run.json"
LOG_NAME = "volcano.log"
UP_MODULE = "volcano.apps.start"
_POLL_SECONDS = 0.02
_KILL_SECONDS = 5.0


class NotStartedError(VolcanoError):
    """The server did not become ready; the text has the end of its log."""


@dataclass(frozen=True, slots=True)
class Run:
    """A server as its run file describes it.

    Attributes:
        start_time: field 22 of /proc/<pid>/stat, in clock ticks since boot.
        started: RFC 3339 time at which it was ready.
    """

    pid: int
    start_time: int
    port: int
    url: str
    started: str


@dataclass(frozen=True, slots=True)
class Process:
    """One line of the process table."""

    pid: int
    parent: int
    state: str
    start_time: int


def read_process(pid: int) -> Process | None:
    """The process of that pid now; None if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text[text.rindex(")") + 2 :].split()
    return Process(pid, int(fields[1]), fields[0], int(fields[19]))


def read_run(data: Path) -> Run | None:
    """What the run file says; None if there is no such file.

    Raises:
        ConfigError: it is there and cannot be understood.
    """
    path = data / RUN_NAME
    try:
        document = json.loads(path.read_text())
        return Run(
            pid=int(document["pid"]),
            start_time=int(document["start_time"]),
            port=int(document["port"]),
            url=str(document["url"]),
            started=str(document["started"]),
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} is broken: {error!r}; remove it if nothing runs") from error


def is_alive(run: Run) -> bool:
    """Whether that very process runs."""
    process = read_process(run.pid)
    return (
        process is not None and process.start_time == run.start_time and process.state not in "ZX"
    )


def running(data: Path) -> Run | None:
    """The server that runs on a data folder now, if one does."""
    run = read_run(data)
    return run if run is not None and is_alive(run) else None


def up_arguments(
    data: Path, port: int | None, nodes: str | None, *, history_seconds: float | None = None
) -> list[str]:
    """Command line of the server; what was not asked for is left to it."""
    arguments = [sys.executable, "-m", UP_MODULE, "--data", str(data)]
    if port is not None:
        arguments += ["--port", str(port)]
    if nodes is not None:
        arguments += ["--nodes", nodes]
    if history_seconds is not None:
        arguments += ["--history-seconds", f"{history_seconds:g}"]
    return arguments


def start(arguments: Sequence[str], data: Path) -> subprocess.Popen[bytes]:
    """Start the server in a session of its own, its output appended to `<data>/volcano.log`."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (data / LOG_NAME).open("ab") as log:
        return subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def wait_ready(process: subprocess.Popen[bytes], data: Path) -> Run:
    """Wait until the started server answers /readyz.

    Raises:
        NotStartedError: it ended, or took longer than UP_SECONDS_MAX; it is ended then.
    """
    deadline = time.monotonic() + UP_SECONDS_MAX
    while time.monotonic() < deadline:
        code = process.poll()
        if code is not None:
            raise NotStartedError(
                f"volcano up ended with exit code {code}; the end of {data / LOG_NAME}:\n"
                + log_tail(data)
            )
        run = read_run(data)
        if run is not None and run.pid == process.pid and answers_ready(data):
            return run
        time.sleep(_POLL_SECONDS)
    process.terminate()
    raise NotStartedError(
        f"volcano up was not ready after {UP_SECONDS_MAX:.0f} s and was ended; the end of"
        f" {data / LOG_NAME}:\n{log_tail(data)}"
    )


def answers_ready(data: Path) -> bool:
    """Whether the server of a data folder says that it is ready."""
    from volcano.client.blocking import BlockingClient
    from volcano.client.config import load_config

    kubeconfig = data / KUBECONFIG_NAME
    if not kubeconfig.is_file():
        return False
    config = load_config(str(kubeconfig), environ={}, home=data)
    try:
        with BlockingClient(config, user_agent="volcano", timeout_seconds=2.0) as client:
            return client.read("/readyz").status == 200
    except ApiError:
        return False


def log_tail(data: Path) -> str:
    """The last lines of the server's log."""
    try:
        with (data / LOG_NAME).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - LOG_TAIL_BYTES))
            return file.read().decode("utf-8", "replace").strip()
    except FileNotFoundError:
        return "(no log)"


def stop(run: Run, *, seconds: float = DOWN_SECONDS_MAX) -> bool:
    """Ask the server to end and wait for it; False if it still runs after `seconds`.

    It stops its pods with their grace first. A process that is not the one of the run file is
    left alone and counts as ended.
    """
    descriptor = _open_exactly(run)
    if descriptor is None:
        return True
    try:
        return _signal_and_wait(descriptor, signal.SIGTERM, seconds)
    finally:
        os.close(descriptor)


def kill(run: Run) -> bool:
    """End the server at once; its containers are not asked."""
    descriptor = _open_exactly(run)
    if descriptor is None:
        return True
    try:
        return _signal_and_wait(descriptor, signal.SIGKILL, _KILL_SECONDS)
    finally:
        os.close(descriptor)


def _open_exactly(run: Run) -> int | None:
    """A pidfd of that very process: opened, then checked, so that no other can take its place."""
    try:
        descriptor = os.pidfd_open(run.pid)
    except ProcessLookupError:
        return None
    if is_alive(run):
        return descriptor
    os.close(descriptor)
    return None


def _signal_and_wait(descriptor: int, number: signal.Signals, seconds: float) -> bool:
    try:
        signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return True
    readable, _, _ = select.select([descriptor], [], [], seconds)
    return bool(readable)


def our_processes(run: Run) -> Iterator[int]:
    """Pids of the server and its own child processes (the scheduler), not of containers."""
    yield run.pid
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        process = read_process(int(entry.name))
        if process is None or process.parent != run.pid:
            continue
        if b"volcano.apps." in _command_line(process.pid):
            yield process.pid


def processes_in(folder: Path) -> list[int]:
    """Pids of processes of a data folder: named in their command line, or their output goes there.

    The process itself is left out.
    """
    inside = []
    needle = str(folder).encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        links = (_link(entry / name) for name in ("cwd", "fd/1", "fd/2"))
        named = needle in _command_line(int(entry.name))
        if named or any(link.is_relative_to(folder) for link in links):
            inside.append(int(entry.name))
    return inside


def _link(path: Path) -> Path:
    try:
        return path.readlink()
    except OSError:
        return Path()


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def resident_bytes(pid: int) -> int:
    """Resident memory of a process; 0 if it is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
