"""Text of `volcano status`: what the run file, the process table and the API say."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from volcano.api import kinds
from volcano.api.objects import JsonObject
from volcano.base.errors import ApiError
from volcano.cli import local
from volcano.cli.ages import age_of
from volcano.client.blocking import BlockingClient
from volcano.client.config import KUBECONFIG_NAME, load_config


def status_text(run: local.Run, data: Path, now: float) -> str:
    """The lines about a running cluster.

    Args:
        now: seconds since the epoch, for the uptime.
    """
    memory = sum(local.resident_bytes(pid) for pid in local.our_processes(run))
    lines = [
        ("Server", run.url),
        ("Process", f"{run.pid}, up {age_of(run.started, now)}, {memory / 2**20:.0f} MiB resident"),
        ("Data", str(data)),
        ("Kubeconfig", str(data / KUBECONFIG_NAME)),
    ]
    config = load_config(str(data / KUBECONFIG_NAME), environ={}, home=data)
    try:
        with BlockingClient(config, user_agent="volcano", timeout_seconds=10.0) as client:
            lines += _counts(client)
    except ApiError as error:
        lines.append(("API", error.public))
    return "".join(f"{label + ':':<12}{value}\n" for label, value in lines)


def _counts(client: BlockingClient) -> list[tuple[str, str]]:
    nodes = client.list(kinds.NODE)["items"]
    jobs = client.list(kinds.JOB)["items"]
    pods = client.list(kinds.POD)["items"]
    ready = sum(1 for node in nodes if is_ready(node))
    job_phases = (((job.get("status") or {}).get("state") or {}).get("phase", "") for job in jobs)
    pod_phases = ((pod.get("status") or {}).get("phase", "") for pod in pods)
    return [
        ("Nodes", f"{ready} of {len(nodes)} ready"),
        ("Jobs", tally(job_phases)),
        ("Pods", tally(pod_phases)),
    ]


def is_ready(node: JsonObject) -> bool:
    """Whether a node's Ready condition is true."""
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(item.get("type") == "Ready" and item.get("status") == "True" for item in conditions)


def tally(phases: Iterable[str]) -> str:
    """How many there are, and how many in each phase: `3 (2 Running, 1 Pending)`."""
    counted = Counter(phase or "no phase" for phase in phases)
    total = sum(counted.values())
    if not total:
        return "0"
    parts = ", ".join(f"{count} {phase}" for phase, count in counted.most_common())
    return f"{total} ({parts})"
