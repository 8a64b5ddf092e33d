"""A session: one cycle's snapshot, its plugins opened on it, and what has been decided so far."""

from collections.abc import Sequence
from typing import Any

from volcano.scheduler.conf import PluginEntry, SchedulerConf
from volcano.scheduler.explain import Explainer
from volcano.scheduler.hooks import Hooks, Plugin
from volcano.scheduler.model.decisions import Bind
from volcano.scheduler.model.task import Task, TaskClass, TaskStatus
from volcano.scheduler.plan import Search
from volcano.scheduler.snapshot import JobView, Snapshot
from volcano.scheduler.statement import Statement


class Session:
    """What actions work with.

    Attributes:
        open_statements: job key → a statement that keeps room for a job not ready yet.
        expected: class id → pending tasks of the class in the session.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        conf: SchedulerConf,
        tiers: Sequence[Sequence[tuple[Plugin[Any], PluginEntry]]],
    ) -> None:
        self.snapshot = snapshot
        self.conf = conf
        for tier in tiers:
            for plugin, _ in tier:
                plugin.open(snapshot)
        self.hooks = Hooks(tiers)
        self.search = Search(snapshot.nodes, self.hooks.filters, self.hooks.scorers)
        self.explainer = Explainer(snapshot, self.search)
        self.binds: list[Bind] = []
        self.bound_jobs: set[str] = set()
        self.enqueued: list[JobView] = []
        self.discarded = 0
        self.open_statements: dict[str, Statement] = {}
        self.expected: dict[int, int] = {}
        for job in snapshot.jobs.values():
            for task in job.state.pending.values():
                number = task.spec.id
                self.expected[number] = self.expected.get(number, 0) + 1

    def statement(self) -> Statement:
        """A new transaction."""
        return Statement(self)

    def expect(self, cls: TaskClass) -> int:
        """How many pending tasks of a class the session has."""
        return self.expected.get(cls.id, 1)

    def bind(self, tasks: Sequence[tuple[JobView, Task, int]]) -> None:
        """Hand tasks over to be bound to node positions."""
        names = self.snapshot.nodes.names
        for job, task, row in tasks:
            job.move(task, TaskStatus.ALLOCATED, TaskStatus.BINDING)
            job.placed[task.uid] = (TaskStatus.BINDING, names[row])
            job.last_placed.pop(task.uid, None)
            self.binds.append(Bind(task.namespace, task.name, task.uid, names[row]))
            self.bound_jobs.add(job.key)
