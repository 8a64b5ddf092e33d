"""`volcano demo`: the example job on a cluster of its own, watched from the queue to the result.

A temporary data folder, a free port, one server process; all of them are gone at the end, whatever
the end was. On a terminal a live view, otherwise, or with CI or NO_COLOR set, plain lines.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Protocol, TextIO

import click

from volcano.api import kinds
from volcano.api.objects import JsonObject, name_of, uid_of
from volcano.base.errors import ApiError, VolcanoError
from volcano.base.limits import DEMO_LOG_LINES_MAX, DEMO_SECONDS_MAX, DEMO_STOP_SECONDS_MAX
from volcano.cli import demo_view, local
from volcano.cli.demo_view import DemoState
from volcano.cli.documents import read_manifest
from volcano.cli.example_files import example_job, examples_dir
from volcano.cli.logs import LogRequest, lines_of, sources_of
from volcano.client.blocking import BlockingClient
from volcano.client.config import KUBECONFIG_NAME, ClusterConfig, load_config

NAMESPACE = "default"
_POLL_SECONDS = 0.15
_READER_JOIN_SECONDS = 5.0


class Screen(Protocol):
    """Shows states as they come."""

    def show(self, state: DemoState, seconds: float) -> None:
        """Show a state, `seconds` after the job was submitted."""
        ...


class PlainScreen:
    """Lines about what is new."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._last = DemoState()

    def show(self, state: DemoState, seconds: float) -> None:
        """Print what changed, with the time since the start."""
        for line in demo_view.changes(self._last, state):
            self._out.write(f"[{seconds:5.1f}s] {line}\n")
        self._out.flush()
        self._last = state


def wants_picture(out: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether to draw a live view: on a terminal, without CI and NO_COLOR."""
    quiet = environ.get("CI") or environ.get("NO_COLOR") or environ.get("TERM") == "dumb"
    return out.isatty() and not quiet


@contextmanager
def _screen() -> Iterator[Screen]:
    if not wants_picture(sys.stdout, os.environ):
        yield PlainScreen(sys.stdout)
        return
    from rich.console import Console
    from rich.live import Live

    console = Console()
    with Live(console=console, refresh_per_second=8) as live:

        class LiveScreen:
            def show(self, state: DemoState, seconds: float) -> None:
                live.update(demo_view.picture(state, seconds, console.width))

        yield LiveScreen()


class _InterruptedError(VolcanoError):
    """A signal asked for the end."""


def run_demo(*, keep: bool = False) -> int:
    """Run the demo to its exit code: 0 only if the job completed.

    Args:
        keep: leave the data folder for a look.
    """
    data = Path(tempfile.mkdtemp(prefix="volcano-demo-"))
    port = free_port()
    click.echo(f"Starting a cluster for the demo at https://127.0.0.1:{port}, data in {data}")
    click.echo("Node capacities are nominal; the commands really run on this machine.")
    process = None
    with _signals_as_errors() as signals:
        try:
            process = local.start(local.up_arguments(data, port, "demo"), data)
            signals.arm()
            local.wait_ready(process, data)
            return _watch_job(data)
        except _InterruptedError as error:
            click.echo(f"\n{error.public}: cleaning up", err=True)
            return 130
        except VolcanoError as error:
            click.echo(f"The demo failed: {error.public}", err=True)
            return 1
        finally:
            signals.hold()
            if process is not None:
                _clean_up(process, data)
            if keep:
                click.echo(f"Data kept in {data}")
            else:
                _remove(data)


def _remove(data: Path) -> None:
    try:
        shutil.rmtree(data)
    except OSError as error:
        click.echo(f"the data folder could not be removed: {error}", err=True)


def free_port() -> int:
    """A port that is free on 127.0.0.1 now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class _Signals:
    """INT, TERM and HUP as an error, the first of them only; until `arm` it waits.

    An error in the middle of starting a process would lose the process.
    """

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self._armed = False
        self._first = ""

    def arm(self) -> None:
        """From now on a signal interrupts at once; so does one that came before."""
        self._armed = True
        if self._first:
            self._interrupt()

    def hold(self) -> None:
        """Further signals change nothing."""
        for each in self.numbers:
            signal.signal(each, signal.SIG_IGN)

    def take(self, number: int, _: FrameType | None) -> None:
        """The handler."""
        self._first = self._first or signal.Signals(number).name
        if self._armed:
            self._interrupt()

    def _interrupt(self) -> None:
        self.hold()
        raise _InterruptedError(f"interrupted by {self._first}")


@contextmanager
def _signals_as_errors() -> Iterator[_Signals]:
    """Have signals interrupt the body, once it has armed them."""
    signals = _Signals()
    before = {number: signal.signal(number, signals.take) for number in signals.numbers}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _watch_job(data: Path) -> int:
    config = load_config(str(data / KUBECONFIG_NAME), environ={}, home=data)
    with BlockingClient(config, user_agent="volcano-demo") as client:
        created = client.create(kinds.JOB, read_manifest(str(example_job())), NAMESPACE)
        began = time.monotonic()
        watcher = _Watcher(client, created, _LogCollector(config, name_of(created)))
        with _screen() as screen:
            state = _until_ended(watcher, screen, began)
    return _report(state, time.monotonic() - began)


def _until_ended(watcher: "_Watcher", screen: Screen, began: float) -> DemoState:
    while True:
        state = watcher.look()
        screen.show(state, time.monotonic() - began)
        if state.ended:
            watcher.logs.join()
            state = watcher.look()
            screen.show(state, time.monotonic() - began)
            return state
        if time.monotonic() - began > DEMO_SECONDS_MAX:
            return state
        time.sleep(_POLL_SECONDS)


def _report(state: DemoState, seconds: float) -> int:
    click.echo()
    if state.job_phase != "Completed":
        if not state.ended:
            click.echo(f"The job did not end within {DEMO_SECONDS_MAX:.0f} s.", err=True)
        reason = demo_view.failure_reason(state)
        click.echo(f"The demo failed: {reason}", err=True)
        return 1
    click.echo(f"Job {state.job} Completed in {seconds:.1f} s. {demo_view.result_line(state.log)}")
    for pod in state.pods:
        click.echo(f"  {pod.name} ran on node {pod.node} with one {pod.gpu or 'unknown GPU'}")
    click.echo()
    click.echo("\n".join(demo_view.next_steps(str(examples_dir()))))
    return 0


@dataclass
class _LogCollector:
    """Follows the log of each container that has begun, in threads, into one list of lines."""

    config: ClusterConfig
    job: str
    lines: list[str] = field(default_factory=list)
    _threads: dict[tuple[str, str], threading.Thread] = field(default_factory=dict)

    def follow(self, pods: list[JsonObject]) -> None:
        """Start reading what is not read yet."""
        for source in sources_of(pods, LogRequest(NAMESPACE, self.job)):
            key = (source.uid, source.container)
            if key not in self._threads:
                read: Callable[[str, str], None] = self._read
                thread = threading.Thread(
                    target=read, args=[source.pod, source.container], daemon=True
                )
                self._threads[key] = thread
                thread.start()

    def join(self) -> None:
        """Wait, bounded, until the logs of ended containers are read."""
        for thread in self._threads.values():
            thread.join(_READER_JOIN_SECONDS)

    def _read(self, pod: str, container: str) -> None:
        with BlockingClient(self.config, user_agent="volcano-demo") as client:
            try:
                chunks = client.pod_log(pod, NAMESPACE, container=container, follow=True)
                with closing(chunks):
                    for line in lines_of(chunks):
                        if len(self.lines) < DEMO_LOG_LINES_MAX:
                            self.lines.append(line.decode("utf-8", "replace").rstrip())
            except ApiError as error:
                self.lines.append(f"{pod}: the log cannot be read: {error.public}")


class _Watcher:
    """Reads all that the view shows."""

    def __init__(self, client: BlockingClient, job: JsonObject, logs: _LogCollector) -> None:
        self.logs = logs
        self._client = client
        self._job = job
        self._models = demo_view.gpu_models(client.list(kinds.NODE)["items"])

    def look(self) -> DemoState:
        """The state now."""
        name = name_of(self._job)
        job = self._client.get(kinds.JOB, name, NAMESPACE)
        selector = f"volcano.sh/job-name={name}"
        pods = self._client.list(kinds.POD, NAMESPACE, label_selector=selector)["items"]
        group = self._get_or_none(kinds.POD_GROUP, f"{name}-{uid_of(job)}", NAMESPACE)
        queue = self._get_or_none(kinds.QUEUE, str(job["spec"].get("queue") or "default"), "")
        self.logs.follow(pods)
        return demo_view.state_of(job, group, queue, pods, self._models, list(self.logs.lines))

    def _get_or_none(self, kind: kinds.Kind, name: str, namespace: str) -> JsonObject | None:
        try:
            return self._client.get(kind, name, namespace)
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            return None


def _clean_up(server: subprocess.Popen[bytes], data: Path) -> None:
    """End the server, which stops its pods; then whatever of the demo should still run."""
    process = local.read_process(server.pid)
    if process is not None:
        run = local.Run(server.pid, process.start_time, 0, "", "")
        if not local.stop(run, seconds=DEMO_STOP_SECONDS_MAX):
            click.echo(
                f"the server did not end in {DEMO_STOP_SECONDS_MAX:.0f} s; it is killed", err=True
            )
            local.kill(run)
    server.wait()
    for pid in local.processes_in(data):
        left = local.read_process(pid)
        if left is not None:
            local.kill(local.Run(pid, left.start_time, 0, "", ""))
