"""Starts one run of a container, at most once, and takes it to its end. Everything here blocks.

    intent (synced) → shim claims → command runs → exit code file → `settle`

The node stands beside, not above: the shim has a session of its own and no pipe of ours, so that
containers outlive the node, and a restarted node finds them by their records (`adopt`).
"""

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from volcano.base.errors import NodeError
from volcano.base.limits import (
    CONTAINER_CLAIM_SECONDS_MAX,
    CONTAINER_RUNS_KEPT,
    PROCESS_GONE_SECONDS_MAX,
)
from volcano.node import cgroups, machine, processes, records, volumes
from volcano.node.cgroups import Cgroups, Limits
from volcano.node.plan import Run
from volcano.node.records import Intent, PodFolder, RunRecord
from volcano.node.spawn import spawn_session
from volcano.node.volumes import Mount

SHELL = "/bin/sh"
SHIM = Path(__file__).with_name("shim.sh")
ENTER = Path(__file__).with_name("enter.py")
_POLL_SECONDS = 0.001


@dataclass(frozen=True, slots=True)
class Order:
    """One run to start.

    Attributes:
        directory: where the command starts; empty for a directory of the container's own.
    """

    container: str
    number: int
    level: int
    command: Sequence[str]
    env: dict[str, str]
    directory: str = ""
    mounts: list[Mount] = field(default_factory=list)
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class Machine:
    """What starting needs to know of this machine; found once.

    Attributes:
        mount_namespaces: whether containers can have their volumes at absolute paths.
    """

    cgroups: Cgroups
    boot_id: str
    mount_namespaces: bool


def find_machine() -> Machine:
    """Try what is permitted here."""
    return Machine(cgroups.find_cgroups(), machine.boot_id(), _can_mount())


def _can_mount() -> bool:
    """Run the real entry program with one mount at a path that does not exist."""
    with tempfile.TemporaryDirectory(prefix="volcano-probe-") as folder:
        target = f"/volcano-probe-{os.getpid()}"
        plan = _write_enter_plan(Path(folder), [Mount(Path(folder), target)], "/")
        command = [*_enter_command(plan), SHELL, "-c", f"test -e {target}/mnt"]
        pid = spawn_session(command[0], command, {})
        _, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status) == 0


def launch(folder: PodFolder, order: Order, here: Machine) -> RunRecord:
    """Start a run and return once its shim has claimed it.

    A command that cannot be found or a directory that is not there makes a run that ended with
    code 128 and the reason, as a container runtime does.

    Raises:
        NodeError: the run was not started, and will not be; it may be tried again.
    """
    attempt = _next_attempt(folder, order)
    directory = _working_directory(folder, order)
    groups = _make_groups(folder, order, here)
    intent = Intent(attempt, order.level, here.boot_id, groups)
    run_dir = folder.write_intent(order.container, order.number, intent)
    folder.forget_runs_before(order.container, order.number - CONTAINER_RUNS_KEPT + 1)
    refusal = refusal_of(order, directory)
    if refusal:
        records.refuse(run_dir, attempt, refusal)
        return RunRecord(order.number, run_dir, intent, None)
    command, env = list(order.command), dict(order.env)
    if order.mounts and here.mount_namespaces:
        plan = _write_enter_plan(run_dir, order.mounts, directory)
        command = [*_enter_command(plan), *command]
    elif order.mounts:
        links = folder.path / "mounts" / order.container
        volumes.link_mounts(order.mounts, links)
        env[volumes.MOUNTS_VARIABLE] = str(links)
    entered = len(command) > len(order.command)
    pid = _spawn(run_dir, attempt, "/" if entered else directory, groups, command, env)
    return _await_claim(RunRecord(order.number, run_dir, intent, None), pid)


def _next_attempt(folder: PodFolder, order: Order) -> int:
    """The attempt to make; earlier ones of this run were given up, or this must not be asked."""
    before = folder.read_run(order.container, order.number)
    if before is None:
        return 0
    attempt = before.intent.attempt
    if not records.give_up(before.path, attempt):
        raise NodeError(
            f"run {order.number} of container {order.container} was started already; "
            f"it is never started twice"
        )
    return attempt + 1


def _working_directory(folder: PodFolder, order: Order) -> str:
    if order.directory:
        return order.directory
    own = folder.path / "work" / order.container
    own.mkdir(parents=True, exist_ok=True)
    return str(own)


def _make_groups(folder: PodFolder, order: Order, here: Machine) -> tuple[str, ...]:
    if not here.cgroups.enforced:
        return ()
    name = f"{folder.uid}-{order.container}-{order.number}"
    try:
        return here.cgroups.create(name, order.limits)
    except OSError as error:
        raise NodeError(
            f"container {order.container}: its limits cannot be set: {error}"
        ) from error


def refusal_of(order: Order, directory: str) -> str:
    """Why the command cannot be started on this machine; empty when it can, or mounts decide."""
    targets = [mount.target for mount in order.mounts]
    if not _below(directory, targets) and not Path(directory).is_dir():
        return f"working directory {directory!r} does not exist on this machine"
    program = order.command[0] if order.command else ""
    if not program:
        return "the command is empty"
    if "/" in program:
        path = Path(directory, program)
        if _below(str(path), targets) or os.access(path, os.X_OK):
            return ""
        state = "permission denied" if path.exists() else "no such file or directory"
        return f'exec: "{program}": stat {program}: {state}'
    search = order.env.get("PATH", "")
    if any(_below(entry, targets) for entry in search.split(":")):
        return ""
    if shutil.which(program, path=search) is None:
        return f'exec: "{program}": executable file not found in $PATH'
    return ""


def _below(path: str, targets: Sequence[str]) -> bool:
    return any(path == target or path.startswith(target + "/") for target in targets)


def _enter_command(plan: Path) -> list[str]:
    return [sys.executable, "-I", "-S", str(ENTER), str(plan)]


def _write_enter_plan(folder: Path, mounts: Sequence[Mount], directory: str) -> Path:
    scratch = folder / "mnt"
    scratch.mkdir(exist_ok=True)
    plan = folder / "enter"
    fields = [str(scratch), directory]
    for mount in mounts:
        fields += [str(mount.source), mount.target, "ro" if mount.read_only else "rw"]
    plan.write_text("".join(f"{field}\0" for field in fields))
    return plan


def _spawn(
    run_dir: Path,
    attempt: int,
    directory: str,
    groups: tuple[str, ...],
    command: Sequence[str],
    env: dict[str, str],
) -> int:
    """Start the shim in a session of its own; its pid."""
    claim = records.claim_path(run_dir, attempt).name
    odd = {name: value for name, value in env.items() if not name.isidentifier()}
    if odd:
        # A shell drops variables whose names are no identifiers; env puts them back.
        pairs = [f"{name}={value}" for name, value in odd.items()]
        command = ["/usr/bin/env", *pairs, *command]
        env = {name: value for name, value in env.items() if name not in odd}
    arguments = [SHELL, str(SHIM), str(run_dir), claim, directory, " ".join(groups), *command]
    try:
        return spawn_session(SHELL, arguments, env)
    except (OSError, ValueError) as error:
        records.give_up(run_dir, attempt)
        raise NodeError(f"the shim of {run_dir} cannot be started: {error}") from error


def _await_claim(record: RunRecord, pid: int) -> RunRecord:
    claimed = _claimed_in_time(record)
    if claimed is not None:
        return claimed
    records.give_up(record.path, record.intent.attempt)
    process = records.read_claim(record.path, record.intent.attempt)
    if process is not None:
        return replace(record, process=process)
    processes.reap(pid)
    raise NodeError(
        f"the shim of {record.path} (pid {pid}) did not start within "
        f"{CONTAINER_CLAIM_SECONDS_MAX:g} s; the run will be tried again"
    )


def adopt(folder: PodFolder, container: str, here: Machine) -> tuple[Run, RunRecord | None]:
    """What became of a container while no node looked; the record if its process still runs.

    A run whose intent was written but that no shim has claimed was never started, and will not be
    by a late shim: the state is that of the run before it.
    """
    last: Run | None = None
    for number in folder.run_numbers(container):
        record = folder.read_run(container, number)
        if record is None:
            continue
        record = _resolve_claim(record)
        if record is None:
            continue
        run = _observe(record, here)
        if last is not None:
            run = replace(run, last=last.ended)
        if run.running:
            return run, record
        _sweep(record)
        last = run
    return last or Run(), None


def _resolve_claim(record: RunRecord) -> RunRecord | None:
    """The record with its process, if a shim has or had it; None if it was never started."""
    if record.process is not None or (record.path / "exit").exists():
        return record
    if records.give_up(record.path, record.intent.attempt):
        return None
    return _claimed_in_time(record) or record


def _claimed_in_time(record: RunRecord) -> RunRecord | None:
    """The record with the process of the shim that claims it; None if none does in time."""
    deadline = time.monotonic() + CONTAINER_CLAIM_SECONDS_MAX
    while time.monotonic() < deadline:
        process = records.read_claim(record.path, record.intent.attempt)
        if process is not None:
            return replace(record, process=process)
        time.sleep(_POLL_SECONDS)
    return None


def _observe(record: RunRecord, here: Machine) -> Run:
    killed = cgroups.oom_killed(record.intent.cgroups)
    return records.observe(record, here.boot_id, oom_killed=killed)


def settle(record: RunRecord, here: Machine) -> Run:
    """The end of a run whose shim is gone: what is left of it is killed, its group removed."""
    if record.process is not None:
        processes.reap(record.process.pid)
    run = _observe(record, here)
    _sweep(record)
    return run


def _sweep(record: RunRecord) -> None:
    """Kill what is left in the group of a run that ended, and remove the group.

    Raises:
        NodeError: a process does not go away.
    """
    deadline = time.monotonic() + PROCESS_GONE_SECONDS_MAX
    while True:
        left = cgroups.pids_in(record.intent.cgroups)
        for pid in left:
            processes.send_kill(pid)
        if not left and cgroups.remove(record.intent.cgroups):
            return
        if time.monotonic() > deadline:
            raise NodeError(f"processes {left} of {record.path} do not go away after SIGKILL")
        time.sleep(_POLL_SECONDS)


def stop(record: RunRecord) -> None:
    """Ask a run to end: SIGTERM to its shim, which passes it on.

    Waits for the log, which the shim's child opens when it can receive signals (see shim.sh).
    """
    deadline = time.monotonic() + CONTAINER_CLAIM_SECONDS_MAX
    while not (record.path / "log").exists() and time.monotonic() < deadline:
        if record.process is None or not processes.is_alive(record.process):
            return
        time.sleep(_POLL_SECONDS)
    if record.process is not None:
        processes.send_signal(record.process, signal.SIGTERM)


def kill(record: RunRecord) -> None:
    """End a run now, and remember that it was us."""
    (record.path / "killed").touch()
    if record.process is not None:
        processes.kill_tree(record.process, cgroups.pids_in(record.intent.cgroups))
