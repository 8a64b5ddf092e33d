"""Tasks (one per pod) and task classes (one per distinct scheduling-relevant spec).

A `Task` is a value: the state replaces it when the pod changes, a session never changes it. What
decides where a pod may run, and how well, hangs on its `TaskClass`, which equal pods share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from volcano.api.objects import JsonObject
from volcano.resources.vector import Amounts


class TaskStatus(IntEnum):
    """Life of a task; the first three and BINDING are made by the scheduler."""

    PENDING = 0
    ALLOCATED = 1
    PIPELINED = 2
    BINDING = 3
    BOUND = 4
    RUNNING = 5
    RELEASING = 6
    SUCCEEDED = 7
    FAILED = 8
    UNKNOWN = 9


STATUS_COUNT = len(TaskStatus)

ALLOCATED_STATUSES = (
    TaskStatus.ALLOCATED,
    TaskStatus.BINDING,
    TaskStatus.BOUND,
    TaskStatus.RUNNING,
)
"""Statuses whose requests count as used by their job and queue."""

READY_STATUSES = (*ALLOCATED_STATUSES, TaskStatus.SUCCEEDED)
"""Statuses that count towards a gang's minimum."""

VALID_STATUSES = (*READY_STATUSES, TaskStatus.PIPELINED, TaskStatus.PENDING)
"""Statuses of members that a gang can still count on."""

SCHEDULED_STATUSES = (
    TaskStatus.RUNNING,
    TaskStatus.BOUND,
    TaskStatus.FAILED,
    TaskStatus.SUCCEEDED,
)
"""Statuses of members that have reached a node."""

TERMINATED_STATUSES = (TaskStatus.SUCCEEDED, TaskStatus.FAILED)


@dataclass(frozen=True, slots=True)
class Toleration:
    """One toleration; empty key, value or effect as in Kubernetes."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Taint:
    """One taint of a node."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Requirement:
    """One `matchExpressions` or `matchFields` entry."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """One node selector term: all of it must hold; an empty term matches nothing."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()
    weight: int = 0


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port a pod takes on its node; the empty address is every address."""

    protocol: str
    address: str
    port: int


@dataclass(frozen=True, slots=True, eq=False)
class TaskClass:
    """What equal pods share: everything that decides where a pod may run.

    Attributes:
        id: number within one state; also the identity used by caches.
        request: amounts asked of a node, `pods` included.
        scoring_request: cpu (milli) and memory (bytes) with the defaults Kubernetes scores with.
        best_effort: asks for nothing but a pod slot.
        unsupported: what this scheduler cannot honour yet; empty if it can place the pod.
    """

    id: int
    request: Amounts
    scoring_request: tuple[int, int]
    best_effort: bool
    node_selector: tuple[tuple[str, str], ...] = ()
    required_terms: tuple[NodeTerm, ...] | None = None
    preferred_terms: tuple[NodeTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    images: tuple[str, ...] = ()
    container_count: int = 1
    unsupported: str = ""

    def amount(self, axis: int) -> int:
        """The amount asked on one axis."""
        for candidate, amount in self.request:
            if candidate == axis:
                return amount
        return 0


@dataclass(slots=True, eq=False)
class Task:
    """One pod as the scheduler sees it.

    Attributes:
        key: `namespace/name`.
        job: `namespace/podgroup`, empty without a group.
        index: number at the end of the name, -1 without one.
        order: default order within a job: index, creation time, uid.
        gates: names of the scheduling gates that hold the pod.
        cls: set when the task is first looked at by a cycle, or when it occupies a node.
        pod: the object as last seen; read only.
    """

    key: str
    uid: str
    namespace: str
    name: str
    job: str
    role: str
    index: int
    status: TaskStatus
    node: str
    priority: int
    creation: float
    gates: tuple[str, ...]
    pod: JsonObject
    cls: TaskClass | None = None

    @property
    def order(self) -> tuple[int, float, str]:
        """Default order: by index where the name ends in one, then creation time, then uid."""
        return (self.index if self.index >= 0 else _NO_INDEX, self.creation, self.uid)

    @property
    def spec(self) -> TaskClass:
        """The class, for a task that has been classified."""
        assert self.cls is not None, f"task {self.key} has no class yet"
        return self.cls

    @property
    def scheduled_condition(self) -> JsonObject:
        """The pod's `PodScheduled` condition; empty if it has none."""
        for condition in (self.pod.get("status") or {}).get("conditions") or ():
            if condition.get("type") == "PodScheduled":
                return dict(condition)
        return {}

    def same_for_scheduling(self, other: "Task") -> bool:
        """Whether the other differs in nothing that a cycle looks at."""
        return (
            self.uid == other.uid
            and self.status is other.status
            and self.node == other.node
            and self.job == other.job
            and self.role == other.role
            and self.priority == other.priority
            and self.gates == other.gates
            and self.pod.get("spec") == other.pod.get("spec")
        )

    def with_status(self, status: TaskStatus, node: str) -> "Task":
        """The same pod in another status."""
        return Task(
            self.key,
            self.uid,
            self.namespace,
            self.name,
            self.job,
            self.role,
            self.index,
            status,
            node,
            self.priority,
            self.creation,
            self.gates,
            self.pod,
            self.cls,
        )


_NO_INDEX = 1 << 62

RoleCounts = Mapping[str, Sequence[int]]
"""Role → number of tasks per status."""
