"""Facts about this machine that nodes report: cores, memory, GPUs, addresses, kernel."""

import fcntl
import os
import platform
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "i686": "386", "armv7l": "arm"}
_NVIDIA_SMI_SECONDS_MAX = 10
_FALLBACK_ADDRESS = "127.0.0.1"
# Documentation addresses: connecting a UDP socket sends nothing, it only picks the route.
_ROUTE_PROBE = ("192.0.2.1", 9)
_NAME_SIZE = 256
_SIOCGIFADDR = 0x8915


@dataclass(frozen=True, slots=True)
class GpuFacts:
    """One real GPU; `product` in the spelling of GPU Feature Discovery."""

    index: int
    product: str
    memory_mib: int


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """What `host` offers as one node."""

    host_name: str
    cpus: int
    memory_bytes: int
    gpus: tuple[GpuFacts, ...]


def facts() -> MachineFacts:
    """Look at the machine; runs nvidia-smi where it is installed, so not for an event loop."""
    return MachineFacts(host_name(), len(os.sched_getaffinity(0)), memory_bytes(), find_gpus())


def host_name() -> str:
    """The machine's name in the spelling of a node name."""
    text = re.sub(r"[^a-z0-9.-]+", "-", socket.gethostname().lower()).strip("-.")
    return text or "localhost"


def architecture() -> str:
    """The processor architecture as `kubernetes.io/arch` names it."""
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)


def memory_bytes() -> int:
    """Physical memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def find_gpus() -> tuple[GpuFacts, ...]:
    """The NVIDIA GPUs that nvidia-smi lists; none where it is missing or fails."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    try:
        answer = subprocess.run(
            [program, "--query-gpu=index,name,memory.total", "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=_NVIDIA_SMI_SECONDS_MAX,
            check=True,
        )
    except (subprocess.SubprocessError, OSError):
        return ()
    return parse_gpus(answer.stdout)


def parse_gpus(text: str) -> tuple[GpuFacts, ...]:
    """Read nvidia-smi's `index, name, memory.total` lines; lines of another shape are left out."""
    found = []
    for line in text.splitlines():
        parts = [part.strip() for part in line.split(",")]
        if len(parts) == 3 and parts[0].isdigit() and parts[2].isdigit():
            found.append(GpuFacts(int(parts[0]), parts[1].replace(" ", "-"), int(parts[2])))
    return tuple(found)


def address() -> str:
    """An IPv4 address of this machine that is not loopback; 127.0.0.1 if it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ROUTE_PROBE)
            chosen = str(probe.getsockname()[0])
        except OSError:
            chosen = ""
    if chosen and not chosen.startswith("127."):
        return chosen
    return next(_interface_addresses(), _FALLBACK_ADDRESS)


def _interface_addresses() -> Iterator[str]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = name.encode()[:15].ljust(_NAME_SIZE, b"\0")
            try:
                answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
            except OSError:
                continue
            text = socket.inet_ntoa(answer[20:24])
            if not text.startswith("127."):
                yield text


@dataclass(frozen=True, slots=True)
class SystemFacts:
    """What `status.nodeInfo` says about the machine."""

    machine_id: str
    boot_id: str
    kernel: str
    os_image: str


@lru_cache(maxsize=1)
def system_facts() -> SystemFacts:
    """Identity of machine, boot, kernel and distribution; empty texts where unreadable."""
    release = _read("/etc/os-release")
    pretty = re.search(r'^PRETTY_NAME="?([^"\n]*)"?$', release, re.MULTILINE)
    return SystemFacts(
        machine_id=_read("/etc/machine-id").strip(),
        boot_id=boot_id(),
        kernel=platform.release(),
        os_image=pretty.group(1) if pretty else platform.system(),
    )


def boot_id() -> str:
    """The kernel's name of this boot: pids and start times mean something only within one."""
    return _read("/proc/sys/kernel/random/boot_id").strip()


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
