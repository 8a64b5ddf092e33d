"""overcommit: jobs are let in while their minimums fit a budget somewhat above the cluster."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from volcano.base.errors import ConfigError
from volcano.resources.vector import add_to
from volcano.scheduler.conf import Arguments
from volcano.scheduler.demand import exceeding, promised, without_gated
from volcano.scheduler.hooks import Plugin, Refusal, Vote
from volcano.scheduler.snapshot import JobView, Snapshot

_FACTOR = 1.2


@dataclass(frozen=True, slots=True)
class Args:
    """`overcommit-factor`: budget as a multiple of the cluster; below 1 counts as 1.2."""

    factor: float = _FACTOR

    @classmethod
    def read(cls, arguments: Arguments) -> "Args":
        """The arguments of a plugin entry."""
        factor = arguments.number("overcommit-factor", _FACTOR)
        if math.isnan(factor):
            raise ConfigError("plugin overcommit: argument overcommit-factor must be a number")
        return cls(factor if factor >= 1 else _FACTOR)


class Overcommit(Plugin[Args]):
    """Idle of the whole cluster times the factor, less what let-in jobs have not used yet."""

    name = "overcommit"
    Args = Args
    enqueue_by_demand = True

    def open(self, snapshot: Snapshot) -> None:
        """Add up the budget and the promises."""
        self._axes = snapshot.axes
        self._nodes = snapshot.nodes
        self._idle = {
            axis: total * self.args.factor - float(snapshot.nodes.used[axis].sum())
            for axis, total in snapshot.total.items()
        }
        self._promised: dict[int, float] = {}
        for job in snapshot.jobs.values():
            add_to(self._promised, promised(job).items())

    def job_enqueueable(self, job: JobView) -> Vote | Refusal:
        """Whether the minimum fits what is left of the budget."""
        minimum = job.group.min_resources
        if minimum is None:
            return Vote.PERMIT
        over = exceeding(minimum, self._promised, self._idle)
        if not over:
            return Vote.PERMIT
        names = [self._axes.names[axis] for axis in self._axes.by_precedence(over)]
        texts = ", ".join(f"overused {name}" for name in names)
        return Refusal(
            "Unschedulable",
            f"resource in cluster is overused: {texts}. {self._shortage(minimum, names[0])}",
        )

    def _shortage(self, minimum: Mapping[int, int], name: str) -> str:
        """What the job needs at least of a resource, what is left, and the largest node."""
        axis = self._axes.axis(name)
        left = max(0, int(self._idle.get(axis, 0) - self._promised.get(axis, 0)))
        text = (
            f"The job needs {name} {self._axes.text(axis, minimum[axis])} at least;"
            f" {self._axes.text(axis, left)} is left to promise"
        )
        largest = self._nodes.largest(axis)
        if largest is None:
            return f"{text}, and no node offers it."
        node, amount = largest
        return f"{text} (largest node: {node} with {self._axes.text(axis, amount)})."

    def job_enqueued(self, job: JobView) -> None:
        """Count a let-in job's minimum."""
        add_to(self._promised, without_gated(job, job.group.min_resources or {}).items())
