"""Limits of containers by cgroup, version 1 or 2, whichever has the cpu and memory controllers.

`find_cgroups` tries to make a group below this process's own (version 1) or beside it (version 2,
which allows no groups below one that holds processes) and says why when that is not permitted; the
node reports it in a condition. Everything here blocks; call it from a thread.
"""

import contextlib
import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from volcano.api.objects import JsonObject
from volcano.resources.quantity import parse_quantity

CPU_PERIOD_MICROSECONDS = 100_000
CPU_QUOTA_MIN = 1_000
CPU_SHARES_MIN = 2
CPU_SHARES_MAX = 262_144
_FOLDER = "volcano"
_CONTROLLERS = ("memory", "cpu")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a container may use; None without a limit.

    Attributes:
        cpu_milli: limit in thousandths of a core; `cpu_request_milli` its share under contention.
        memory_bytes: beyond this the kernel kills the container.
    """

    cpu_milli: int | None = None
    cpu_request_milli: int = 0
    memory_bytes: int | None = None


def limits_of(container: JsonObject) -> Limits:
    """The limits that a container asks for."""
    resources = container.get("resources") or {}
    limits = resources.get("limits") or {}
    requests = {**limits, **(resources.get("requests") or {})}
    return Limits(
        cpu_milli=parse_quantity(limits["cpu"]).milli if "cpu" in limits else None,
        cpu_request_milli=parse_quantity(requests["cpu"]).milli if "cpu" in requests else 0,
        memory_bytes=parse_quantity(limits["memory"]).value if "memory" in limits else None,
    )


@dataclass(frozen=True, slots=True)
class Cgroups:
    """Makes and reads groups.

    Attributes:
        version: 1 or 2; 0 when no limits can be enforced, and `reason` says why.
        parents: the folder below which groups are made, per controller (one in version 2).
    """

    version: int
    parents: Mapping[str, Path]
    reason: str = ""

    @property
    def enforced(self) -> bool:
        """Whether limits hold."""
        return self.version > 0

    def create(self, name: str, limits: Limits) -> tuple[str, ...]:
        """Make the group of one run; the folders whose `cgroup.procs` its command joins.

        Raises:
            OSError: the kernel refused a folder or a limit.
        """
        folders = []
        for controller, parent in self.parents.items():
            folder = parent / name
            folder.mkdir(exist_ok=True)
            for file, value in _settings(self.version, controller, limits):
                (folder / file).write_text(value)
            folders.append(str(folder))
        return tuple(folders)


def _settings(version: int, controller: str, limits: Limits) -> list[tuple[str, str]]:
    """The files of a group's folder and what goes into them."""
    if version == 1 and controller == "memory":
        if limits.memory_bytes is None:
            return []
        return [("memory.limit_in_bytes", str(limits.memory_bytes))]
    if version == 1:
        shares = limits.cpu_request_milli * 1024 // 1000
        settings = [("cpu.shares", str(min(max(shares, CPU_SHARES_MIN), CPU_SHARES_MAX)))]
        if limits.cpu_milli is not None:
            settings.append(("cpu.cfs_period_us", str(CPU_PERIOD_MICROSECONDS)))
            settings.append(("cpu.cfs_quota_us", str(_quota(limits.cpu_milli))))
        return settings
    shares = min(max(limits.cpu_request_milli * 1024 // 1000, CPU_SHARES_MIN), CPU_SHARES_MAX)
    weight = 1 + (shares - CPU_SHARES_MIN) * 9999 // (CPU_SHARES_MAX - CPU_SHARES_MIN)
    settings = [("cpu.weight", str(weight))]
    if limits.cpu_milli is not None:
        settings.append(("cpu.max", f"{_quota(limits.cpu_milli)} {CPU_PERIOD_MICROSECONDS}"))
    if limits.memory_bytes is not None:
        settings.append(("memory.max", str(limits.memory_bytes)))
        settings.append(("memory.oom.group", "1"))
    return settings


def _quota(cpu_milli: int) -> int:
    return max(cpu_milli * CPU_PERIOD_MICROSECONDS // 1000, CPU_QUOTA_MIN)


def oom_killed(folders: tuple[str, ...]) -> bool:
    """Whether the kernel has killed for memory in the group of these folders."""
    for folder in folders:
        for file in ("memory.oom_control", "memory.events"):
            for line in _read(Path(folder, file)).splitlines():
                key, _, value = line.partition(" ")
                if key == "oom_kill" and value.strip() not in {"", "0"}:
                    return True
    return False


def pids_in(folders: tuple[str, ...]) -> list[int]:
    """The processes in the group now."""
    pids: set[int] = set()
    for folder in folders:
        pids |= {int(line) for line in _read(Path(folder, "cgroup.procs")).split()}
    return sorted(pids)


def remove(folders: tuple[str, ...]) -> bool:
    """Delete the group's folders; False while processes are left in one."""
    removed = True
    for folder in folders:
        try:
            Path(folder).rmdir()
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            removed = False
    return removed


def find_cgroups(
    mountinfo: str | None = None, own: str | None = None, folder: str = _FOLDER
) -> Cgroups:
    """What this process may use.

    Args:
        mountinfo, own: texts of /proc/self/mountinfo and /proc/self/cgroup; read when absent.
        folder: name of the folder that holds all our groups.
    """
    mounts = _mounts(_read(Path("/proc/self/mountinfo")) if mountinfo is None else mountinfo)
    groups = _own_groups(_read(Path("/proc/self/cgroup")) if own is None else own)
    if all(controller in mounts for controller in _CONTROLLERS):
        return _find_version_1(mounts, groups, folder)
    if "" in mounts:
        return _find_version_2(mounts[""], groups.get("", "/"), folder)
    return Cgroups(0, {}, "no cgroup file system with the cpu and memory controllers is mounted")


def _find_version_1(mounts: Mapping[str, Path], groups: Mapping[str, str], folder: str) -> Cgroups:
    parents = {}
    for controller in _CONTROLLERS:
        mount = mounts[controller]
        own = mount / groups.get(controller, "/").lstrip("/")
        parent = (own if own.is_dir() else mount) / folder
        refusal = _try_folder(parent)
        if refusal:
            return Cgroups(0, {}, refusal)
        if controller == "memory":
            with contextlib.suppress(OSError):
                (parent / "memory.use_hierarchy").write_text("1")
        parents[controller] = parent
    return Cgroups(1, parents)


def _find_version_2(mount: Path, own: str, folder: str) -> Cgroups:
    home = mount / own.lstrip("/")
    candidates = [home.parent] if home != mount else [mount]
    reason = ""
    for base in candidates:
        available = _read(base / "cgroup.controllers").split()
        missing = [name for name in _CONTROLLERS if name not in available]
        if missing:
            reason = f"{base} does not have the controllers {', '.join(missing)}"
            continue
        parent = base / folder
        reason = _enable(base) or _try_folder(parent) or _enable(parent)
        if not reason:
            return Cgroups(2, {"": parent})
    return Cgroups(0, {}, reason)


def _enable(base: Path) -> str:
    """Give the groups below this one the controllers; a text when that is refused."""
    active = _read(base / "cgroup.subtree_control").split()
    wanted = [f"+{name}" for name in _CONTROLLERS if name not in active]
    if not wanted:
        return ""
    try:
        (base / "cgroup.subtree_control").write_text(" ".join(wanted))
    except OSError as error:
        return f"{base} does not hand on its controllers: {error.strerror}"
    return ""


def _try_folder(parent: Path) -> str:
    """Make the folder for our groups and one group in it; a text when that is refused."""
    try:
        parent.mkdir(exist_ok=True)
        probe = parent / f"probe-{os.getpid()}"
        probe.mkdir(exist_ok=True)
        probe.rmdir()
    except OSError as error:
        return f"no group can be made in {parent}: {error.strerror}"
    return ""


def _mounts(mountinfo: str) -> dict[str, Path]:
    """Mount points by controller; version 2 under the empty name."""
    found: dict[str, Path] = {}
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields, kinds = left.split(), right.split()
        if len(fields) < 5 or len(kinds) < 3:
            continue
        if kinds[0] == "cgroup2":
            found.setdefault("", Path(fields[4]))
        elif kinds[0] == "cgroup":
            for option in kinds[2].split(","):
                if option in _CONTROLLERS:
                    found.setdefault(option, Path(fields[4]))
    return found


def _own_groups(text: str) -> dict[str, str]:
    """Paths of the own groups by controller; version 2 under the empty name."""
    groups: dict[str, str] = {}
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            groups[controller] = path
    return groups


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
