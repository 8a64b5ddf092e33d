"""Processes of this machine by pid and start time: alive, signalled, gone.

A pid alone names nothing for long, so every question and every signal here takes the pid together
with the start time that the kernel gives (`/proc/PID/stat`, field 22), and signals go through a
pidfd, which cannot come to mean another process in between.
"""

import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process of this boot: pid and start time in clock ticks since boot."""

    pid: int
    start: int


def read_stat(pid: int) -> tuple[str, int] | None:
    """State letter and start time of a process; None if there is none of that pid."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text[text.rindex(")") + 2 :].split()
    return fields[0], int(fields[19])


def is_alive(process: ProcessId) -> bool:
    """Whether this very process still runs; a zombie does not."""
    stat = read_stat(process.pid)
    return stat is not None and stat[1] == process.start and stat[0] not in "ZX"


def open_process(process: ProcessId) -> int | None:
    """A pidfd of this very process, readable once it has ended; None if it is gone."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return None
    stat = read_stat(process.pid)
    if stat is None or stat[1] != process.start:
        os.close(descriptor)
        return None
    return descriptor


def send_signal(process: ProcessId, number: int) -> bool:
    """Signal this very process; False if it is gone."""
    descriptor = open_process(process)
    if descriptor is None:
        return False
    try:
        signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)
    return True


def kill_tree(leader: ProcessId, others: Iterable[int] = ()) -> None:
    """SIGKILL to a session leader's process group, its descendants, and `others` (a cgroup's pids).

    Nothing is sent for a leader that is gone, except to `others`, which the caller has just read.
    """
    descriptor = open_process(leader)
    if descriptor is not None:
        try:
            for process in _descendants(leader.pid):
                send_signal(process, signal.SIGKILL)
            _kill_group(leader.pid)
        finally:
            os.close(descriptor)
    for pid in others:
        send_kill(pid)


def reap(pid: int) -> None:
    """Collect an ended child, if it is a child of this process."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return


def _kill_group(pid: int) -> None:
    try:
        if os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def send_kill(pid: int) -> None:
    """SIGKILL to a pid that was just read from a cgroup of ours."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _descendants(root: int) -> list[ProcessId]:
    """Everything started below a process and not handed to init, as it is now."""
    parents: dict[int, list[ProcessId]] = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            text = Path(entry.path, "stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        fields = text[text.rindex(")") + 2 :].split()
        parents.setdefault(int(fields[1]), []).append(ProcessId(int(entry.name), int(fields[19])))
    found: list[ProcessId] = []
    frontier = [root]
    while frontier:
        children = parents.get(frontier.pop(), [])
        found += children
        frontier += [child.pid for child in children]
    return found
