"""What the demo shows: states as plain values; plain lines and rich pictures made of them.

`state_of` reads API objects into a `DemoState`, `changes` says in lines what is new since the last
one, `picture` draws one for a terminal. Nothing here asks anybody; rich is imported by `picture`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from volcano.api.objects import JsonObject, metadata, name_of
from volcano.cli.job_view import pod_reason

if TYPE_CHECKING:
    import rich.console

GPU_PRODUCT_LABEL = "nvidia.com/gpu.product"
TASK_LABEL = "volcano.sh/task-spec"
LOG_LINES_SHOWN = 10
_PROGRESS = re.compile(r"\b(\d+)/(\d+)\b")
_PHASE_STYLES = {
    "Pending": "yellow",
    "Running": "green",
    "Completed": "bold cyan",
    "Succeeded": "cyan",
    "Failed": "bold red",
}


@dataclass(frozen=True, slots=True)
class PodState:
    """One pod of the job.

    Attributes:
        gpu: model of the GPU of its node; empty without a node or a GPU.
        reason: why it waits; empty once it runs.
    """

    name: str
    task: str
    phase: str
    node: str = ""
    gpu: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DemoState:
    """All that is shown at one moment; `progress` is a share from 0 to 1."""

    queue: str = ""
    queue_state: str = ""
    job: str = ""
    job_phase: str = ""
    group_phase: str = ""
    members_needed: int = 0
    pods: tuple[PodState, ...] = ()
    log: tuple[str, ...] = ()
    progress: float = 0.0

    @property
    def ended(self) -> bool:
        """Whether the job is in a phase that it does not leave by itself."""
        return self.job_phase in ("Completed", "Failed", "Aborted", "Terminated")


def state_of(
    job: JsonObject,
    group: JsonObject | None,
    queue: JsonObject | None,
    pods: Iterable[JsonObject],
    models: Mapping[str, str],
    log: Sequence[str],
) -> DemoState:
    """The state in the objects of one moment.

    Args:
        models: node name → GPU model.
        log: all log lines so far, oldest first.
    """
    phase = _phase(job, "state", "phase")
    return DemoState(
        queue=name_of(queue) if queue else str((job.get("spec") or {}).get("queue", "")),
        queue_state=_phase(queue or {}, "state"),
        job=name_of(job),
        job_phase=phase,
        group_phase=_phase(group or {}, "phase"),
        members_needed=int(((group or {}).get("spec") or {}).get("minMember") or 0),
        pods=tuple(_pod_state(pod, models) for pod in sorted(pods, key=name_of)),
        log=tuple(log),
        progress=1.0 if phase == "Completed" else progress_of(log),
    )


def _phase(obj: JsonObject, *path: str) -> str:
    value: Any = obj.get("status") or {}
    for key in path:
        value = value.get(key) or {} if isinstance(value, dict) else {}
    return value if isinstance(value, str) else ""


def _pod_state(pod: JsonObject, models: Mapping[str, str]) -> PodState:
    phase = _phase(pod, "phase")
    node = str((pod.get("spec") or {}).get("nodeName") or "")
    return PodState(
        name=name_of(pod),
        task=str((metadata(pod).get("labels") or {}).get(TASK_LABEL, "")),
        phase=phase,
        node=node,
        gpu=models.get(node, ""),
        reason=pod_reason(pod) if phase == "Pending" else "",
    )


def gpu_models(nodes: Iterable[JsonObject]) -> dict[str, str]:
    """Node name → GPU model, of the nodes that have one."""
    labelled = ((name_of(node), metadata(node).get("labels") or {}) for node in nodes)
    return {
        name: str(labels[GPU_PRODUCT_LABEL])
        for name, labels in labelled
        if GPU_PRODUCT_LABEL in labels
    }


def progress_of(log: Sequence[str]) -> float:
    """The last `n/m` in the log as a share; 0 without one."""
    for line in reversed(log):
        match = _PROGRESS.search(line)
        if match and int(match.group(2)) > 0:
            return min(1.0, int(match.group(1)) / int(match.group(2)))
    return 0.0


def changes(before: DemoState, now: DemoState) -> list[str]:
    """Plain lines about what is new, in the order in which things happen."""
    lines = []
    if now.queue_state and now.queue_state != before.queue_state:
        lines.append(f"queue {now.queue}: {now.queue_state}")
    if now.group_phase != before.group_phase:
        needed = f", {now.members_needed} members needed" if now.members_needed else ""
        lines.append(f"pod group: {now.group_phase or 'removed'}{needed}")
    known = {pod.name: pod for pod in before.pods}
    for pod in now.pods:
        lines += _pod_changes(known.get(pod.name), pod)
    lines += now.log[len(before.log) :]
    if now.job_phase != before.job_phase:
        lines.append(f"job {now.job}: {now.job_phase}")
    return lines


def _pod_changes(before: PodState | None, now: PodState) -> list[str]:
    lines = []
    if before is None or (before.phase, before.node) != (now.phase, now.node):
        lines.append(f"pod {now.name}: {now.phase}{_place(now)}")
    if now.reason.startswith("Unschedulable") and (before is None or before.reason != now.reason):
        lines.append(f"pod {now.name} waits: {now.reason}")
    return lines


def _place(pod: PodState) -> str:
    if not pod.node:
        return ""
    return f" on node {pod.node}" + (f" (GPU {pod.gpu})" if pod.gpu else "")


def failure_reason(state: DemoState) -> str:
    """Why the demo counts as failed, from what was last seen."""
    for pod in state.pods:
        if pod.phase == "Failed":
            return f"pod {pod.name} failed{_place(pod)}"
    waiting = [f"{pod.name}: {pod.reason}" for pod in state.pods if pod.reason]
    if waiting:
        return "; ".join(waiting)
    return f"the job is {state.job_phase or 'without a phase'}"


def result_line(log: Sequence[str]) -> str:
    """The last line of the log that tells an accuracy; empty without one."""
    return next((line for line in reversed(log) if "accuracy" in line), "")


def picture(state: DemoState, seconds: float, width: int) -> "rich.console.RenderableType":
    """The live view.

    Args:
        seconds: since the job was submitted.
        width: of the terminal, in columns.
    """
    from rich.console import Group, RenderableType
    from rich.panel import Panel
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    head = Table.grid(padding=(0, 3))
    head.add_row(
        Text.assemble("job ", (state.job, "bold")),
        _styled(state.job_phase or "submitted"),
        Text.assemble("queue ", (state.queue, "bold"), f" {state.queue_state}"),
        Text.assemble("pod group ", _styled(state.group_phase or "-")),
        f"{seconds:.1f} s",
    )
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="dim")
    for header in ("POD", "PHASE", "NODE", "GPU"):
        table.add_column(header, no_wrap=True)
    for pod in state.pods:
        gpu = Text(pod.gpu or "-", style="bold magenta" if pod.gpu else "dim")
        table.add_row(pod.name, _styled(pod.phase), pod.node or "-", gpu)
    waiting = [f"{pod.name}: {pod.reason}" for pod in state.pods if pod.reason]
    bar = ProgressBar(total=1.0, completed=state.progress, width=max(10, min(width - 4, 60)))
    tail = state.log[-LOG_LINES_SHOWN:]
    log = Text("\n".join([*tail, *[""] * (LOG_LINES_SHOWN - len(tail))]), style="dim")
    log.no_wrap = True
    log.overflow = "ellipsis"
    parts: list[RenderableType] = [head, Text(), table]
    parts += [Text(text, style="yellow") for text in waiting]
    parts += [Text(), bar, Text(), log]
    return Panel(Group(*parts), title="Volcano demo", border_style="blue")


def _styled(phase: str) -> Any:
    from rich.text import Text

    return Text(phase, style=_PHASE_STYLES.get(phase, "dim"))


def next_steps(folder: str) -> list[str]:
    """What to type after the demo.

    Args:
        folder: where the examples are.
    """
    return [
        "Next, on a cluster that stays:",
        "  volcano up --detach",
        f"  vcctl job run -f {folder}/example-job.yaml",
        "  vcctl job logs example-job -f",
        "  vcctl job view -N example-job",
        '  export KUBECONFIG="${VOLCANO_HOME:-$HOME/.local/state/volcano}/kubeconfig"',
        "  kubectl get vcjob,podgroups,pods -o wide",
        "  volcano down",
    ]
