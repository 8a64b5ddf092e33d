"""What one cycle sees: node columns it may change, jobs and queues with counts of their own.

Usage is copied, everything else is shared with the state and read only. Nodes stand in the order
in which ties fall: of equal nodes the first wins, and the order comes from the cycle's seed and
the nodes' names alone, so a replay picks the same node and the order of events does not matter.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from volcano.base.clock import timestamp
from volcano.resources.vector import Amounts, Axes, add_to
from volcano.scheduler.model.job import JobState, PodGroup
from volcano.scheduler.model.queue import Queue
from volcano.scheduler.model.state import ClusterState
from volcano.scheduler.model.task import (
    READY_STATUSES,
    STATUS_COUNT,
    HostPort,
    Task,
    TaskClass,
    TaskStatus,
)
from volcano.scheduler.model.topology import NodeFacts

Rows = npt.NDArray[np.intp]
Bool = npt.NDArray[np.bool_]


class NodeView:
    """The session's node columns.

    Attributes:
        used: requests of tasks on the node, those being released included.
        pipelined: requests of tasks that will take room being released.
        scoring_used: cpu and memory as Kubernetes' scores count them, pipelined tasks included.
        ports: position → host ports taken.
    """

    def __init__(self, state: ClusterState, seed: int) -> None:
        nodes = state.node_order(seed)
        rows = np.fromiter((node.row for node in nodes), np.intp, len(nodes))
        axes = len(state.axes)
        self.nodes = nodes
        self.names = [node.name for node in nodes]
        self.position = {name: position for position, name in enumerate(self.names)}
        self.size = len(nodes)
        self.allocatable = state.allocatable.take(rows, axes)
        self.raw_allocatable = state.raw_allocatable.take(rows, axes)
        self.used = state.used.take(rows, axes)
        self.releasing = state.releasing.take(rows, axes)
        self.pipelined = [np.zeros(self.size, np.int64) for _ in range(axes)]
        self.scoring_used = state.scoring_used.take(rows, 2)
        self.has_releasing = any(column.any() for column in self.releasing)
        self.facts = NodeFacts(nodes)
        self.ports: dict[int, dict[HostPort, int]] = {}
        if state.ports:
            at = {node.row: position for position, node in enumerate(nodes)}
            self.ports = {at[row]: dict(ports) for row, ports in state.ports.items()}

    def apply(self, cls: TaskClass, rows: Sequence[int], sign: int, *, pipelined: bool) -> None:
        """Place (sign 1) or take back (sign -1) one task of a class on each of the rows."""
        target = self.pipelined if pipelined else self.used
        if len(rows) == 1:
            row = rows[0]
            for axis, amount in cls.request:
                target[axis][row] += sign * amount
            for column, amount in zip(self.scoring_used, cls.scoring_request, strict=True):
                column[row] += sign * amount
        else:
            unique, counts = np.unique(np.asarray(rows, np.intp), return_counts=True)
            signed = counts * sign
            for axis, amount in cls.request:
                target[axis][unique] += signed * amount
            for column, amount in zip(self.scoring_used, cls.scoring_request, strict=True):
                column[unique] += signed * amount
        if cls.host_ports:
            self._apply_ports(cls.host_ports, rows, sign)

    def _apply_ports(self, ports: Sequence[HostPort], rows: Sequence[int], sign: int) -> None:
        for row in rows:
            taken = self.ports.setdefault(row, {})
            for port in ports:
                taken[port] = taken.get(port, 0) + sign
                if not taken[port]:
                    del taken[port]
            if not taken:
                del self.ports[row]

    def holder(self, values: npt.NDArray[np.int64], among: npt.NDArray[np.intp]) -> int:
        """Where the largest value stands; of equals the node first by name, whatever the seed.

        A text that names a node must not change from cycle to cycle while nothing else does.
        """
        equals = np.flatnonzero(values == values.max())
        return int(min(equals, key=lambda at: self.names[int(among[at])]))

    def largest(self, axis: int) -> tuple[str, int] | None:
        """The node with most of a resource, and its amount; None if no node has any."""
        column = self.allocatable[axis] if axis < len(self.allocatable) else None
        if column is None or not self.size or not column.any():
            return None
        at = self.holder(column, np.arange(self.size))
        return self.names[at], int(column[at])

    def total(self) -> dict[int, float]:
        """Allocatable of all nodes together, by axis."""
        return {
            axis: float(column.sum()) for axis, column in enumerate(self.allocatable) if self.size
        }

    def digest(self) -> str:
        """A hash of everything a statement can change."""
        hasher = hashlib.blake2b()
        for columns in (self.used, self.pipelined, self.scoring_used):
            for column in columns:
                hasher.update(column.tobytes())
        hasher.update(
            repr(
                sorted((row, sorted(p.items(), key=repr)) for row, p in self.ports.items())
            ).encode()
        )
        return hasher.hexdigest()


_ALLOCATED, _BINDING, _BOUND, _RUNNING, _SUCCEEDED = (int(status) for status in READY_STATUSES)


@dataclass(slots=True, eq=False)
class JobView:
    """A job within one session.

    Attributes:
        phase: the PodGroup's, as the session has moved it.
        counts: number of tasks per status, the session's placements included.
        allocated: requests of tasks in allocated statuses, by axis; likewise.
        best_effort_waiting: pending tasks that ask for nothing and could be placed.
        placed: uid → (status, node) of tasks this session has assigned.
        last_placed: uid → (status, node) of tasks whose assignment was taken back.
        failures: class id → why no node took a task of the class.
        task_reasons: class id → why tasks of the class were not tried.
        reason: why the job as a whole was passed over; empty if it was not.
    """

    key: str
    group: PodGroup
    state: JobState
    priority: int
    phase: str
    counts: list[int]
    role_counts: dict[str, list[int]]
    allocated: dict[int, int]
    best_effort_waiting: int
    placed: dict[str, tuple[TaskStatus, str]] = field(default_factory=dict)
    last_placed: dict[str, tuple[TaskStatus, str]] = field(default_factory=dict)
    failures: dict[int, "FitFailure"] = field(default_factory=dict)
    task_reasons: dict[int, str] = field(default_factory=dict)
    reason: str = ""

    @property
    def queue(self) -> str:
        """Name of its queue."""
        return self.group.queue

    @property
    def min_member(self) -> int:
        """The gang's minimum."""
        return self.group.min_member

    @property
    def is_pending(self) -> bool:
        """Whether it still has to pass enqueue."""
        return self.phase in ("", "Pending")

    @property
    def ready_count(self) -> int:
        """Members that count towards the minimum."""
        counts = self.counts
        return (
            counts[_ALLOCATED]
            + counts[_BINDING]
            + counts[_BOUND]
            + counts[_RUNNING]
            + counts[_SUCCEEDED]
        )

    @property
    def waiting_count(self) -> int:
        """Members that wait for room being released."""
        return self.counts[TaskStatus.PIPELINED]

    @property
    def task_count(self) -> int:
        """All members."""
        return sum(self.counts)

    def waiting_tasks(self) -> Iterator[Task]:
        """Pending tasks that this session has not assigned."""
        placed = self.placed
        for uid, task in self.state.pending.items():
            if uid not in placed:
                yield task

    def move(self, task: Task, before: TaskStatus, after: TaskStatus) -> None:
        """Count a task of this job as having changed its status."""
        counts, roles = self.counts, self.role_counts[task.role]
        counts[before] -= 1
        counts[after] += 1
        roles[before] -= 1
        roles[after] += 1
        if task.spec.best_effort and not task.gates:
            self.best_effort_waiting += (after is TaskStatus.PENDING) - (
                before is TaskStatus.PENDING
            )

    def charge(self, request: Amounts, times: int) -> None:
        """Count requests as allocated (or, with negative times, no longer)."""
        add_to(self.allocated, request, times)

    def digest(self) -> tuple[object, ...]:
        """Everything a statement can change, but for last_placed and failures."""
        return (
            self.key,
            tuple(self.counts),
            tuple(sorted((role, tuple(c)) for role, c in self.role_counts.items())),
            tuple(sorted((a, n) for a, n in self.allocated.items() if n)),
            self.best_effort_waiting,
            tuple(sorted(self.placed.items())),
        )


@dataclass(frozen=True, slots=True)
class Lack:
    """A resource that no suitable node has enough of, in units of its axis."""

    resource: str
    wanted: int
    most_free: int
    freest_node: str
    largest: int
    largest_node: str


@dataclass(frozen=True, slots=True)
class FitFailure:
    """Why no node took a task: how many nodes refused for which reason, and what was lacking."""

    nodes: int
    reasons: tuple[tuple[str, int], ...]
    lacks: tuple[Lack, ...] = ()
    headline: str = ""

    @property
    def is_total(self) -> bool:
        """Whether every node refused."""
        return bool(self.headline) or sum(count for _, count in self.reasons) == self.nodes


@dataclass(slots=True)
class Snapshot:
    """One cycle's world.

    Attributes:
        now: the time of the cycle in seconds since the epoch.
        timestamp: the same, as written in conditions.
        total: allocatable of all nodes, by axis.
        orphans: groups whose queue does not exist: the cycle leaves them alone.
    """

    now: float
    timestamp: str
    seed: int
    axes: Axes
    nodes: NodeView
    jobs: dict[str, JobView]
    queues: Mapping[str, Queue]
    total: dict[int, float]
    orphans: list[PodGroup]

    def digest(self) -> str:
        """A hash of everything a statement can change."""
        hasher = hashlib.blake2b(self.nodes.digest().encode())
        for key in sorted(self.jobs):
            hasher.update(repr(self.jobs[key].digest()).encode())
        return hasher.hexdigest()


def take_snapshot(state: ClusterState, now: float, seed: int) -> Snapshot:
    """The world as the state has it now."""
    jobs: dict[str, JobView] = {}
    orphans: list[PodGroup] = []
    for key, job in state.jobs.items():
        group = job.group
        if group is None:
            continue
        if group.queue not in state.queues:
            orphans.append(group)
            continue
        jobs[key] = _job_view(state, job, group)
    nodes = NodeView(state, seed)
    return Snapshot(
        now=now,
        timestamp=timestamp(now),
        seed=seed,
        axes=state.axes,
        nodes=nodes,
        jobs=jobs,
        queues=dict(state.queues),
        total=nodes.total(),
        orphans=orphans,
    )


def _job_view(state: ClusterState, job: JobState, group: PodGroup) -> JobView:
    best_effort = 0
    for task in job.pending.values():
        cls = task.cls or state.classify(task)
        if cls.best_effort and not task.gates:
            best_effort += 1
    return JobView(
        key=job.key,
        group=group,
        state=job,
        priority=state.priority_of(group.priority_class),
        phase=group.phase,
        counts=job.counts.copy(),
        role_counts={role: counts.copy() for role, counts in job.role_counts.items()},
        allocated=job.allocated.copy(),
        best_effort_waiting=best_effort,
    )


NO_COUNTS: Sequence[int] = (0,) * STATUS_COUNT
"""Counts of a role that has no task."""
