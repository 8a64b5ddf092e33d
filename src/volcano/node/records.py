"""What a process node keeps on disk about its pods, so that a restarted node knows what it did.

    pods/UID/pod.json                    namespace, name, node, devices, when the node took the pod
    pods/UID/done                        the final status was taken by the API; only logs remain
    pods/UID/volumes/NAME/               contents of volumes
    pods/UID/work/CONTAINER/             working directory of a container that names none
    pods/UID/runs/CONTAINER/N/           run number N (the restart count):
        intent.json                      written and synced before the start
        claim-ATTEMPT                    pid and start time, created by the shim, once
        exit                             exit code, put in place by an atomic rename
        refused.json                     why the command could not even be started
        killed                           the node decided to kill it
        log, log.times, log.start        output, its growth over time, where the kept part starts

A run is started at most once: the shim creates its claim exclusively before it starts the command,
and a node that gives an attempt up creates the claim itself. All functions here block; call them
from a thread.
"""

import json
import os
import shutil
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from volcano.node.plan import Ended, Run
from volcano.node.processes import ProcessId, is_alive

EXIT_KILLED = 137
EXIT_START_FAILED = 128


@dataclass(frozen=True, slots=True)
class Intent:
    """What the node was about to start.

    Attributes:
        attempt: counts the starts of this run that were given up before the command ran.
        level: back-off level of the run.
        boot_id: the boot in which the pids of this run mean something.
        cgroups: directories that the command joins.
    """

    attempt: int
    level: int
    boot_id: str
    cgroups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PodRecord:
    """Which pod a folder belongs to, and what the node gave it.

    Attributes:
        devices: resource → container → device indices.
        accepted_at: when the node took the pod, in seconds since the epoch.
    """

    namespace: str
    name: str
    node: str
    accepted_at: float
    devices: dict[str, dict[str, list[int]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run as found on disk: its number, folder, intent, and the process if it was started."""

    number: int
    path: Path
    intent: Intent
    process: ProcessId | None


class PodFolder:
    """The folder of one pod."""

    def __init__(self, root: Path, uid: str) -> None:
        assert uid
        assert "/" not in uid, f"a uid is one path segment, not {uid!r}"
        self.uid = uid
        self.path = root / uid

    def create(self, record: PodRecord) -> None:
        """Make the folder and remember the pod; replaces what was remembered."""
        self.path.mkdir(parents=True, exist_ok=True, mode=0o755)
        write_atomic(self.path / "pod.json", json.dumps(asdict(record)))

    def record(self) -> PodRecord | None:
        """The remembered pod; None without a folder or with an unreadable one."""
        content = _read_json(self.path / "pod.json")
        return None if content is None else PodRecord(**content)

    def exists(self) -> bool:
        """Whether the node has taken this pod."""
        return self.path.is_dir()

    def mark_done(self) -> None:
        """Remember that nothing is left to do or report for this pod."""
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / "done").touch()

    def is_done(self) -> bool:
        """Whether nothing is left to do or report."""
        return (self.path / "done").exists()

    def remove(self) -> None:
        """Delete the folder and all in it."""
        shutil.rmtree(self.path, ignore_errors=True)

    def run_dir(self, container: str, number: int) -> Path:
        """Folder of one run."""
        return self.path / "runs" / container / str(number)

    def containers(self) -> list[str]:
        """Containers that have runs."""
        runs = self.path / "runs"
        return sorted(entry.name for entry in runs.iterdir()) if runs.is_dir() else []

    def run_numbers(self, container: str) -> list[int]:
        """Numbers of the kept runs, oldest first."""
        folder = self.path / "runs" / container
        if not folder.is_dir():
            return []
        return sorted(int(entry.name) for entry in folder.iterdir() if entry.name.isdigit())

    def read_run(self, container: str, number: int) -> RunRecord | None:
        """One run; None if no start of it was intended."""
        path = self.run_dir(container, number)
        content = _read_json(path / "intent.json")
        if content is None:
            return None
        content["cgroups"] = tuple(content["cgroups"])
        intent = Intent(**content)
        return RunRecord(number, path, intent, read_claim(path, intent.attempt))

    def write_intent(self, container: str, number: int, intent: Intent) -> Path:
        """Remember a start before it is made, synced to disk; the run's folder."""
        path = self.run_dir(container, number)
        path.mkdir(parents=True, exist_ok=True)
        write_atomic(path / "intent.json", json.dumps(asdict(intent)), sync=True)
        return path

    def forget_runs_before(self, container: str, number: int) -> None:
        """Drop runs older than this one."""
        for old in self.run_numbers(container):
            if old < number:
                shutil.rmtree(self.run_dir(container, old), ignore_errors=True)


def claim_path(run_dir: Path, attempt: int) -> Path:
    """The file that decides whether an attempt starts."""
    return run_dir / f"claim-{attempt}"


def read_claim(run_dir: Path, attempt: int) -> ProcessId | None:
    """The process that claimed an attempt; None if none has (yet), or the node gave it up."""
    try:
        text = claim_path(run_dir, attempt).read_text()
    except FileNotFoundError:
        return None
    if not text.endswith("\n"):
        return None
    pid, _, start = text.partition(" ")
    return ProcessId(int(pid), int(start)) if pid.isdigit() else None


def give_up(run_dir: Path, attempt: int) -> bool:
    """Make sure that an attempt never starts; False if a shim has claimed it already."""
    try:
        descriptor = os.open(claim_path(run_dir, attempt), os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return claim_path(run_dir, attempt).read_text() == "given up\n"
    with os.fdopen(descriptor, "w") as file:
        file.write("given up\n")
    return True


def refuse(run_dir: Path, attempt: int, message: str) -> None:
    """Record that a run could not be started at all, as a run that ended with code 128."""
    give_up(run_dir, attempt)
    write_atomic(run_dir / "refused.json", json.dumps(message))
    write_atomic(run_dir / "exit", f"{EXIT_START_FAILED}\n")


def started_at(record: RunRecord) -> float:
    """When the run was claimed, that is started."""
    try:
        return claim_path(record.path, record.intent.attempt).stat().st_mtime
    except FileNotFoundError:
        return (record.path / "intent.json").stat().st_mtime


def observe(record: RunRecord, boot_id: str, *, oom_killed: bool) -> Run:
    """The state of a run that was started, from its files and the process table.

    Args:
        boot_id: of now; processes of another boot are gone.
        oom_killed: whether the kernel killed in its cgroup for memory.
    """
    since = started_at(record)
    run = Run(restarts=record.number, running_since=since, level=record.intent.level)
    exit_path = record.path / "exit"
    same_boot = record.intent.boot_id == boot_id
    alive = same_boot and record.process is not None and is_alive(record.process)
    if alive and not exit_path.exists():
        return run
    try:
        code = int(exit_path.read_text())
        finished = exit_path.stat().st_mtime
    except (FileNotFoundError, ValueError):
        return replace(run, ended=_end_without_code(record, since, same_boot=same_boot))
    refusal = _read_json(record.path / "refused.json")
    if refusal is not None:
        return replace(run, ended=Ended(code, "StartError", since, finished, refusal))
    reason = "Completed" if code == 0 else "Error"
    if oom_killed and code != 0:
        reason = "OOMKilled"
    return replace(run, ended=Ended(code, reason, since, max(finished, since)))


def _end_without_code(record: RunRecord, since: float, *, same_boot: bool) -> Ended:
    killed = record.path / "killed"
    if killed.exists():
        return Ended(EXIT_KILLED, "Error", since, max(killed.stat().st_mtime, since))
    why = (
        "its process and the shim above it are gone without an exit code; "
        "something outside the node killed them"
        if same_boot
        else "the machine was started anew while it ran"
    )
    message = f"run {record.number} cannot be accounted for: {why}"
    return Ended(EXIT_KILLED, "ContainerStatusUnknown", since, since, message)


def write_atomic(path: Path, text: str, *, sync: bool = False) -> None:
    """Put a file in place whole; with `sync` it and its name are on disk when this returns."""
    temporary = path.with_name(path.name + ".new")
    with temporary.open("w") as file:
        file.write(text)
        if sync:
            file.flush()
            os.fsync(file.fileno())
    temporary.replace(path)
    if sync:
        descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
