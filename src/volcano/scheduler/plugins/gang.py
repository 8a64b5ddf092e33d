"""gang: a job starts only when its minimum of members, in all and per role, has a place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from volcano.scheduler.conf import Arguments
from volcano.scheduler.hooks import GroupState, Key, Plugin, Refusal, Victim, Vote
from volcano.scheduler.model.task import (
    READY_STATUSES,
    SCHEDULED_STATUSES,
    VALID_STATUSES,
    Task,
    TaskStatus,
)
from volcano.scheduler.snapshot import NO_COUNTS, JobView

_WITH_PIPELINED = (*READY_STATUSES, TaskStatus.PIPELINED)


@dataclass(frozen=True, slots=True)
class Args:
    """No arguments."""

    @classmethod
    def read(cls, _: Arguments) -> "Args":
        """The arguments of a plugin entry."""
        return cls()


class Gang(Plugin[Args]):
    """All or nothing: members that succeeded count; pending ones that ask for nothing count too."""

    name = "gang"
    Args = Args

    def job_valid(self, job: JobView) -> Refusal | None:
        """Enough living members must exist, per role and in all."""
        for role, minimum in job.group.minimums.items():
            found = _count(job.role_counts.get(role, NO_COUNTS), VALID_STATUSES)
            if found < minimum:
                return Refusal(
                    "NotEnoughPodsOfTask",
                    f"not enough valid pods of each task: {role or 'unnamed'} has {found},"
                    f" its minimum is {minimum}",
                )
        found = _count(job.counts, VALID_STATUSES)
        if found < job.min_member:
            return Refusal(
                "NotEnoughTasks",
                f"not enough valid tasks for gang-scheduling: valid {found}, min {job.min_member}",
            )
        return None

    def job_order(self, job: JobView) -> Key:
        """Jobs that still have to start go before those that run."""
        return 1 if _is_ready(job) else 0

    def job_ready(self, job: JobView) -> bool:
        """Whether the minimum has places."""
        return _is_ready(job) and self._roles_have(job, READY_STATUSES)

    def job_pipelined(self, job: JobView) -> Vote:
        """Whether the minimum has places or promises."""
        enough = job.waiting_count + job.ready_count + job.best_effort_waiting >= job.min_member
        return Vote.PERMIT if enough and self._roles_have(job, _WITH_PIPELINED) else Vote.REJECT

    def job_starving(self, job: JobView) -> bool:
        """Whether the minimum has neither places nor promises."""
        return job.waiting_count + job.ready_count < job.min_member

    def group_state(self, job: JobView) -> GroupState | None:
        """Ready, or how many are missing; silent while members on their way out keep it whole."""
        if not job.task_count:
            return None
        if _is_ready(job):
            return GroupState(ready=True)
        if _held_by_releasing(job):
            return None
        tried = sum(1 for status, _ in job.last_placed.values() if status is TaskStatus.ALLOCATED)
        return GroupState(ready=False, missing=max(0, job.min_member - tried - job.ready_count))

    def preemptable(
        self,
        preemptor: Task,  # noqa: ARG002  # the hook's signature
        candidates: Sequence[Victim],
    ) -> Sequence[Victim]:
        """Only members beyond a gang's minimum."""
        left: dict[str, int] = {}
        chosen: list[Victim] = []
        for victim in candidates:
            job = victim.job
            ready = left.setdefault(job.key, job.ready_count)
            if ready > job.min_member:
                left[job.key] = ready - 1
                chosen.append(victim)
        return chosen

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Victim]) -> Sequence[Victim]:
        """Only members beyond a gang's minimum."""
        return self.preemptable(reclaimer, candidates)

    def _roles_have(self, job: JobView, statuses: Sequence[TaskStatus]) -> bool:
        minimums = job.group.minimums
        if not minimums:
            return True
        waiting = _best_effort_by_role(job) if job.best_effort_waiting else {}
        return all(
            _count(job.role_counts.get(role, NO_COUNTS), statuses) + waiting.get(role, 0) >= minimum
            for role, minimum in minimums.items()
        )


def _is_ready(job: JobView) -> bool:
    return job.ready_count + job.best_effort_waiting >= job.min_member


def _count(counts: Sequence[int], statuses: Sequence[TaskStatus]) -> int:
    return sum([counts[status] for status in statuses])


def _best_effort_by_role(job: JobView) -> Mapping[str, int]:
    waiting: dict[str, int] = {}
    for task in job.waiting_tasks():
        if task.spec.best_effort and not task.gates:
            waiting[task.role] = waiting.get(task.role, 0) + 1
    return waiting


def _held_by_releasing(job: JobView) -> bool:
    releasing = job.state.releasing_on_node
    if not releasing or job.counts[TaskStatus.PENDING] or job.counts[TaskStatus.PIPELINED]:
        return False
    return _count(job.counts, SCHEDULED_STATUSES) + releasing >= job.min_member
