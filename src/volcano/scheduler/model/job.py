"""Jobs: a PodGroup and its tasks, with the counts that a cycle needs kept up to date.

A job may exist before its PodGroup (pods came first) or without tasks (the group came first).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from volcano.api.objects import JsonObject, uid_of
from volcano.resources.vector import Axes
from volcano.scheduler.model.queue import creation_of
from volcano.scheduler.model.task import ALLOCATED_STATUSES, STATUS_COUNT, Task, TaskStatus

PHASE_PENDING = "Pending"
PHASE_INQUEUE = "Inqueue"
PHASE_RUNNING = "Running"
PHASE_UNKNOWN = "Unknown"
PHASE_COMPLETED = "Completed"

_NOT_YET = "which this scheduler cannot honour yet"


@dataclass(frozen=True, slots=True, eq=False)
class PodGroup:
    """What the scheduler reads of a PodGroup.

    Attributes:
        minimums: minimum members per role, only those above 0; none where their sum exceeds
            `min_member`: then the roles do not matter.
        min_resources: None when unset: then enqueue asks nobody.
        unsupported: what this scheduler cannot honour yet; empty if it can place the group.
    """

    key: str
    uid: str
    queue: str
    min_member: int
    minimums: Mapping[str, int]
    min_resources: Mapping[int, int] | None
    priority_class: str
    phase: str
    creation: float
    obj: JsonObject
    unsupported: str = ""

    @property
    def is_pending(self) -> bool:
        """Whether it still has to pass enqueue."""
        return self.phase in ("", PHASE_PENDING)


def read_pod_group(key: str, obj: JsonObject, axes: Axes, default_queue: str) -> PodGroup:
    """Read a PodGroup object; what cannot be read makes it unsupported, with the reason."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    unsupported = ""
    min_resources: Mapping[int, int] | None = None
    if spec.get("minResources") is not None:
        try:
            min_resources = axes.amounts(spec["minResources"])
        except ValueError as error:
            unsupported = f"spec.minResources of the pod group cannot be read: {error}"
    if spec.get("networkTopology"):
        unsupported = (
            f"the pod group asks for a network topology (spec.networkTopology), {_NOT_YET}"
        )
    if spec.get("subGroupPolicy"):
        unsupported = f"the pod group has sub-groups (spec.subGroupPolicy), {_NOT_YET}"
    min_member = int(spec.get("minMember") or 0)
    minimums = {
        str(role): int(count)
        for role, count in (spec.get("minTaskMember") or {}).items()
        if int(count)
    }
    return PodGroup(
        key=key,
        uid=uid_of(obj),
        queue=str(spec.get("queue") or default_queue),
        min_member=min_member,
        minimums=minimums if sum(minimums.values()) <= min_member else {},
        min_resources=min_resources,
        priority_class=str(spec.get("priorityClassName") or ""),
        phase=str(status.get("phase") or ""),
        creation=creation_of(obj),
        obj=obj,
        unsupported=unsupported,
    )


@dataclass(slots=True, eq=False)
class JobState:
    """The live job in the state.

    Attributes:
        counts: number of tasks per status.
        role_counts: the same per role.
        allocated: requests of tasks in allocated statuses, by axis.
        pending: uid → pending task.
        releasing_on_node: tasks being released that have a node.
    """

    key: str
    group: PodGroup | None = None
    tasks: dict[str, Task] = field(default_factory=dict)
    pending: dict[str, Task] = field(default_factory=dict)
    counts: list[int] = field(default_factory=lambda: [0] * STATUS_COUNT)
    role_counts: dict[str, list[int]] = field(default_factory=dict)
    allocated: dict[int, int] = field(default_factory=dict)
    releasing_on_node: int = 0

    def add(self, task: Task) -> None:
        """Count a task in."""
        self.tasks[task.uid] = task
        self._count(task, 1)

    def remove(self, task: Task) -> None:
        """Count a task out."""
        self.tasks.pop(task.uid, None)
        self._count(task, -1)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left of it."""
        return self.group is None and not self.tasks

    def _count(self, task: Task, step: int) -> None:
        status = task.status
        self.counts[status] += step
        roles = self.role_counts.get(task.role)
        if roles is None:
            roles = self.role_counts[task.role] = [0] * STATUS_COUNT
        roles[status] += step
        if status is TaskStatus.PENDING:
            if step > 0:
                self.pending[task.uid] = task
            else:
                self.pending.pop(task.uid, None)
        elif status in ALLOCATED_STATUSES:
            for axis, amount in task.spec.request:
                self.allocated[axis] = self.allocated.get(axis, 0) + step * amount
        elif status is TaskStatus.RELEASING and task.node:
            self.releasing_on_node += step
