"""The phases of a Job as a table: what an action does in a phase, and where counting pods leads.

Pure data and arithmetic; `reconcile` turns the answers into effects. Entering a phase is written
first and its consequences (killing pods) follow from the phase, so that a controller that dies in
between picks up where it was. Differences from the original are marked so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from volcano.api.batch import JobPhase, JobSpec


class Action(StrEnum):
    """What policies, commands and the controller itself can ask of a job."""

    SYNC = "SyncJob"
    ABORT_JOB = "AbortJob"
    RESTART_JOB = "RestartJob"
    RESTART_TASK = "RestartTask"
    RESTART_POD = "RestartPod"
    RESTART_PARTITION = "RestartPartition"
    TERMINATE_JOB = "TerminateJob"
    COMPLETE_JOB = "CompleteJob"
    RESUME_JOB = "ResumeJob"


TARGETED = frozenset({Action.RESTART_TASK, Action.RESTART_POD, Action.RESTART_PARTITION})
"""Actions on some pods of a job, not on the whole."""


@dataclass(frozen=True, slots=True)
class Enter:
    """Go to a phase.

    Attributes:
        full: all pods belong to the past from here on: the job's version is raised.
        retry: it counts as a restart.
    """

    phase: JobPhase
    full: bool = True
    retry: bool = False


_RESTART = Enter(JobPhase.RESTARTING, retry=True)
_RESTART_SOME = Enter(JobPhase.RESTARTING, full=False, retry=True)
_ABORT = Enter(JobPhase.ABORTING)
_TERMINATE = Enter(JobPhase.TERMINATING)
_COMPLETE = Enter(JobPhase.COMPLETING)
# Different: a resume is no failure, so it does not count as a retry.
_RESUME = Enter(JobPhase.RESTARTING)

_STOP = {
    Action.ABORT_JOB: _ABORT,
    Action.TERMINATE_JOB: _TERMINATE,
    Action.COMPLETE_JOB: _COMPLETE,
}
_ACTIVE = {
    Action.RESTART_JOB: _RESTART,
    Action.RESTART_TASK: _RESTART_SOME,
    Action.RESTART_POD: _RESTART_SOME,
    Action.RESTART_PARTITION: _RESTART_SOME,
    **_STOP,
}

TABLE: Mapping[JobPhase, Mapping[Action, Enter]] = {
    JobPhase.PENDING: _ACTIVE,
    JobPhase.RUNNING: _ACTIVE,
    # Different: stopping is obeyed while restarting, too; restarting again is no further retry.
    JobPhase.RESTARTING: {
        Action.RESTART_JOB: Enter(JobPhase.RESTARTING),
        Action.RESTART_TASK: Enter(JobPhase.RESTARTING, full=False),
        Action.RESTART_POD: Enter(JobPhase.RESTARTING, full=False),
        Action.RESTART_PARTITION: Enter(JobPhase.RESTARTING, full=False),
        **_STOP,
    },
    JobPhase.ABORTING: {Action.RESUME_JOB: _RESUME},
    JobPhase.ABORTED: {Action.RESUME_JOB: _RESUME},
    JobPhase.COMPLETING: {},
    JobPhase.COMPLETED: {},
    JobPhase.TERMINATING: {},
    JobPhase.TERMINATED: {},
    JobPhase.FAILED: {},
}
"""What each action does in each phase; a pair that is missing changes nothing."""

ENDING: Mapping[JobPhase, JobPhase] = {
    JobPhase.ABORTING: JobPhase.ABORTED,
    JobPhase.COMPLETING: JobPhase.COMPLETED,
    JobPhase.TERMINATING: JobPhase.TERMINATED,
}
"""Where a phase leads once no pod is alive."""

STOPPED = frozenset(
    {
        *ENDING,
        JobPhase.ABORTED,
        JobPhase.COMPLETED,
        JobPhase.TERMINATED,
        JobPhase.FAILED,
    }
)
"""Phases in which no pod may be alive and no PodGroup may wait."""

FINISHED = frozenset({JobPhase.COMPLETED, JobPhase.TERMINATED, JobPhase.FAILED})
"""Phases for good; Aborted is none, it can be resumed."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Pods of a job by state; a pod on its way out counts as terminating only."""

    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    unknown: int = 0
    terminating: int = 0

    @property
    def alive(self) -> int:
        """Pods that may still do something."""
        return self.pending + self.running + self.unknown + self.terminating


def replicas_of(spec: JobSpec) -> int:
    """Pods of all tasks together."""
    return sum(task.replicas for task in spec.tasks)


def gang_of(spec: JobSpec) -> int:
    """Sum of what the tasks need at least; a task that does not say needs all its replicas."""
    return sum(
        task.replicas if task.min_available is None else task.min_available for task in spec.tasks
    )


def after_counting(
    phase: JobPhase, spec: JobSpec, counts: Counts, succeeded_by_task: Mapping[str, int]
) -> JobPhase:
    """The phase that the pods of a Pending or Running job lead to."""
    if phase is JobPhase.PENDING:
        started = counts.running + counts.succeeded + counts.failed
        return JobPhase.RUNNING if spec.min_available <= started else JobPhase.PENDING
    assert phase is JobPhase.RUNNING, f"pods are not counted in phase {phase}"
    replicas = replicas_of(spec)
    if replicas == 0:
        return JobPhase.RUNNING
    if spec.min_success is not None and counts.succeeded >= spec.min_success:
        return JobPhase.COMPLETED
    if counts.succeeded + counts.failed == replicas:
        return _after_all_ended(spec, counts, succeeded_by_task)
    if counts.pending > replicas - spec.min_available:
        return JobPhase.PENDING
    return JobPhase.RUNNING


def _after_all_ended(
    spec: JobSpec, counts: Counts, succeeded_by_task: Mapping[str, int]
) -> JobPhase:
    if spec.min_available >= gang_of(spec):
        for task in spec.tasks:
            enough = task.min_available is None or task.name not in succeeded_by_task
            if not enough and succeeded_by_task[task.name] < (task.min_available or 0):
                return JobPhase.FAILED
    if spec.min_success is not None and counts.succeeded < spec.min_success:
        return JobPhase.FAILED
    if counts.succeeded >= spec.min_available:
        return JobPhase.COMPLETED
    return JobPhase.FAILED


def after_restarting(
    spec: JobSpec, *, retry_count: int, min_available: int, terminating: int, resumed: bool
) -> JobPhase:
    """Where a Restarting job goes once the pods to be killed are on their way out."""
    if not resumed and retry_count >= spec.max_retry:
        return JobPhase.FAILED
    if replicas_of(spec) - terminating >= min_available:
        return JobPhase.PENDING
    return JobPhase.RESTARTING
