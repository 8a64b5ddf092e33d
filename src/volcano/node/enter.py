"""The last step before a container's command when it has volumes: mounts, root, directory, exec.

Run as a program (`python -I -S enter.py PLAN COMMAND…`) between the shim and the command; it
becomes the command by exec, so it adds no process. It imports nothing of ours, and neither json nor
pathlib, which halves the 40 ms that it takes. PLAN is a file of texts ended by NUL: scratch
directory, working directory, then source, target and `ro` or `rw` of each mount.

In a mount namespace of its own it puts each volume at its mount path. Where the path does not exist
on the machine, its nearest existing parent is covered by a small file system that holds the
parent's own entries and the new one: nothing is created on the machine itself. A path directly
below `/` needs the same for `/`, which then becomes a new root by chroot.
"""

# ruff: noqa: PTH102, PTH103, PTH112, PTH114, PTH115, PTH116, PTH120, PTH123, PTH211
# pathlib alone would take 15 ms of each start.

import ctypes
import errno
import os
import sys

CLONE_NEWNS = 0x00020000
MS_RDONLY = 1
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
EXIT_CANNOT_START = 128
EXIT_NOT_FOUND = 127
EXIT_NOT_EXECUTABLE = 126
LINKS_MAX = 40

_libc = ctypes.CDLL(None, use_errno=True)


def main(arguments: list[str]) -> None:
    """Enter what the plan says and become the command."""
    plan_path, *command = arguments
    with open(plan_path) as file:
        scratch, directory, *fields = file.read().split("\0")[:-1]
    mounts = list(zip(fields[::3], fields[1::3], fields[2::3], strict=True))
    try:
        root = enter_mounts(mounts, scratch)
        if root != "/":
            os.chroot(root)
        os.chdir(directory)
    except OSError as error:
        sys.stderr.write(f"volcano: cannot prepare the container: {error}\n")
        sys.exit(EXIT_CANNOT_START)
    try:
        os.execvp(command[0], command)  # noqa: S606 - becoming the command is the point
    except OSError as error:
        sys.stderr.write(f"volcano: cannot run {command[0]}: {error.strerror}\n")
        sys.exit(EXIT_NOT_FOUND if error.errno == errno.ENOENT else EXIT_NOT_EXECUTABLE)


def enter_mounts(mounts: list[tuple[str, str, str]], scratch: str) -> str:
    """Make the namespace and the mounts in it; the directory to use as root.

    Args:
        mounts: source, target (absolute) and mode (`ro` or `rw`) of each.
        scratch: an existing directory that new file systems are put together in.
    """
    if _libc.unshare(CLONE_NEWNS) != 0:
        raise _error("unshare")
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    mount("tmpfs", scratch, "tmpfs", options="mode=0755")
    tree = Tree(scratch)
    for source, target, mode in sorted(mounts, key=lambda entry: entry[1].count("/")):
        place = tree.place(target, is_dir=os.path.isdir(source))
        mount(source, place, flags=MS_BIND | MS_REC)
        if mode == "ro":
            mount("none", place, flags=MS_REMOUNT | MS_BIND | MS_RDONLY)
    return tree.root


class Tree:
    """The file tree as the container sees it: `root` is `/` or a new root in the scratch."""

    def __init__(self, scratch: str) -> None:
        self.root = "/"
        self._scratch = scratch
        self._volumes: list[str] = []
        self._covered = 0

    def place(self, target: str, *, is_dir: bool) -> str:
        """A path to mount on for this target of the container, made where it is missing."""
        path = resolve(self.root, target)
        parent = path
        while not os.path.lexists(parent):
            parent = os.path.dirname(parent)
        if parent != path and not self._may_change(parent):
            self._cover(parent)
            path = resolve(self.root, target)
        if not os.path.lexists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            make(path, is_dir=is_dir)
        self._volumes.append(path)
        return path

    def _may_change(self, path: str) -> bool:
        """Whether entries made there stay off the machine: our file system, or inside a volume."""
        if os.stat(path).st_dev == os.stat(self._scratch).st_dev:
            return True
        inside = any(path == v or path.startswith(v + "/") for v in self._volumes)
        return inside and os.access(path, os.W_OK)

    def _cover(self, directory: str) -> None:
        """Put a copy of the directory's entries (as mounts and links) over it."""
        self._covered += 1
        copy = f"{self._scratch}/{self._covered}"
        os.mkdir(copy)
        for entry in os.scandir(directory):
            twin = f"{copy}/{entry.name}"
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), twin)
                continue
            make(twin, is_dir=entry.is_dir())
            mount(entry.path, twin, flags=MS_BIND | MS_REC)
        if directory == "/":
            self.root = copy
        else:
            mount(copy, directory, flags=MS_BIND | MS_REC)


def make(path: str, *, is_dir: bool) -> None:
    """An empty directory or file to mount on."""
    if is_dir:
        os.mkdir(path)
    else:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))


def resolve(root: str, target: str) -> str:
    """Where a path of a process with that root leads, symbolic links followed inside the root."""
    base = root.rstrip("/")
    done: list[str] = []
    todo = [part for part in reversed(target.split("/")) if part not in {"", "."}]
    links = 0
    while todo:
        part = todo.pop()
        if part == "..":
            done = done[:-1]
            continue
        path = base + "/" + "/".join([*done, part])
        if not os.path.islink(path):
            done.append(part)
            continue
        links += 1
        if links > LINKS_MAX:
            raise OSError(errno.ELOOP, f"too many symbolic links in {target}")
        link = os.readlink(path)
        if link.startswith("/"):
            done = []
        todo += [piece for piece in reversed(link.split("/")) if piece not in {"", "."}]
    return base + "/" + "/".join(done)


def mount(
    source: str, target: str, kind: str = "none", *, flags: int = 0, options: str = ""
) -> None:
    """mount(2)."""
    arguments = [text.encode() for text in (source, target, kind)]
    if _libc.mount(*arguments, ctypes.c_ulong(flags), options.encode() or None) != 0:
        raise _error(f"mount on {target}")


def _error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")


if __name__ == "__main__":
    main(sys.argv[1:])
