"""priority: who is more important goes first, and only the less important can be its victims."""

from collections.abc import Sequence
from dataclasses import dataclass

from volcano.scheduler.conf import Arguments
from volcano.scheduler.hooks import Key, Plugin, Victim
from volcano.scheduler.model.task import Task
from volcano.scheduler.snapshot import JobView, Snapshot


@dataclass(frozen=True, slots=True)
class Args:
    """No arguments."""

    @classmethod
    def read(cls, _: Arguments) -> "Args":
        """The arguments of a plugin entry."""
        return cls()


class Priority(Plugin[Args]):
    """Higher priority first: jobs by their group's class, tasks by their pod."""

    name = "priority"
    Args = Args

    def open(self, snapshot: Snapshot) -> None:
        """Remember the jobs, to find a preemptor's."""
        self._jobs = snapshot.jobs

    def job_order(self, job: JobView) -> Key:
        """Higher first."""
        return -job.priority

    def task_order(self, task: Task) -> Key:
        """Higher first."""
        return -task.priority

    def job_starving(self, job: JobView) -> bool:
        """As long as not all of its tasks have a place."""
        return job.ready_count + job.waiting_count < job.task_count

    def preemptable(self, preemptor: Task, candidates: Sequence[Victim]) -> Sequence[Victim]:
        """Jobs of lower priority; within the preemptor's own job, tasks of lower priority."""
        own = self._jobs.get(preemptor.job)
        if own is None:
            return []
        return [
            victim
            for victim in candidates
            if (
                victim.task.priority < preemptor.priority
                if victim.job is own
                else victim.job.priority < own.priority
            )
        ]
