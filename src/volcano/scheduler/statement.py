"""A statement: placements that take effect in the session at once and leave it together.

`commit` hands the allocated tasks over to be bound; `discard` takes everything back, last first,
and the snapshot is as it was, to the bit. A statement that is neither committed nor discarded
keeps its room until the session ends, and nothing of it reaches the cluster.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from volcano.scheduler.hooks import Hooks
from volcano.scheduler.model.task import Task, TaskClass, TaskStatus
from volcano.scheduler.plan import Search
from volcano.scheduler.snapshot import JobView, Snapshot

PENDING, ALLOCATED, PIPELINED = TaskStatus.PENDING, TaskStatus.ALLOCATED, TaskStatus.PIPELINED


class World(Protocol):
    """What a statement needs of its session."""

    snapshot: Snapshot
    hooks: Hooks
    search: Search

    def bind(self, tasks: Sequence[tuple[JobView, Task, int]]) -> None:
        """Hand tasks over to be bound to node positions."""
        ...


@dataclass(frozen=True, slots=True)
class _Run:
    """Tasks of one job and class with their rows; the unit of the log."""

    job: JobView
    cls: TaskClass
    tasks: Sequence[Task]
    rows: Sequence[int]
    status: TaskStatus


class Statement:
    """The log of one transaction."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._log: list[_Run] = []

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been placed."""
        return not self._log

    def checkpoint(self) -> int:
        """A mark to roll back to."""
        return len(self._log)

    def place(
        self,
        job: JobView,
        tasks: list[Task],
        limit: int,
        expected: int,
        enough: Callable[[], bool],
    ) -> int:
        """Place tasks of one class until `enough`, or `limit`, or until one finds no node.

        A task takes idle room if any node has it, else room that is being released.

        Args:
            tasks: the next one last; those placed are taken off.
            expected: how many tasks of the class the session may still place.

        Returns:
            How many were placed.
        """
        cls = tasks[-1].spec
        plan = self._world.search.plan(cls, expected)
        names = self._world.snapshot.nodes.names
        placed: list[Task] = []
        rows: list[int] = []
        done = False
        while not done and len(rows) < limit and (row := plan.best()) >= 0:
            task = tasks.pop()
            placed.append(task)
            rows.append(row)
            job.move(task, PENDING, ALLOCATED)
            job.placed[task.uid] = (ALLOCATED, names[row])
            plan.advance(row)
            done = enough()
        plan.flush()
        count = len(rows)
        if count:
            job.charge(cls.request, count)
            self._log.append(_Run(job, cls, placed, rows, ALLOCATED))
            self._world.hooks.allocated(job, cls, count)
        while not done and count < limit and self._pipeline(job, cls, tasks[-1]):
            tasks.pop()
            count += 1
            done = enough()
        return count

    def _pipeline(self, job: JobView, cls: TaskClass, task: Task) -> bool:
        row = self._world.search.future_choice(cls)
        if row is None:
            return False
        nodes = self._world.snapshot.nodes
        nodes.apply(cls, [row], 1, pipelined=True)
        self._world.search.touch([row])
        job.move(task, PENDING, PIPELINED)
        job.placed[task.uid] = (PIPELINED, nodes.names[row])
        self._log.append(_Run(job, cls, [task], [row], PIPELINED))
        self._world.hooks.allocated(job, cls, 1)
        return True

    def rollback(self, mark: int) -> None:
        """Take back what was placed since a checkpoint, last first."""
        while len(self._log) > mark:
            run = self._log.pop()
            pipelined = run.status is PIPELINED
            self._world.snapshot.nodes.apply(run.cls, run.rows, -1, pipelined=pipelined)
            self._world.search.touch(run.rows)
            job = run.job
            for task in run.tasks:
                job.move(task, run.status, PENDING)
                job.last_placed[task.uid] = job.placed.pop(task.uid)
            if not pipelined:
                job.charge(run.cls.request, -len(run.tasks))
            self._world.hooks.allocated(job, run.cls, -len(run.tasks))

    def discard(self) -> None:
        """Take everything back."""
        self.rollback(0)

    def commit(self) -> None:
        """Hand the allocated tasks over to be bound; promises of room being released stay."""
        for run in self._log:
            if run.status is ALLOCATED:
                self._world.bind(
                    [(run.job, task, row) for task, row in zip(run.tasks, run.rows, strict=True)]
                )
        self._log = []
