"""What jobs let in have been promised and do not use yet; shared by the plugins that admit jobs."""

from collections.abc import Mapping

from volcano.resources.vector import PODS, add_to
from volcano.scheduler.model.job import PHASE_INQUEUE, PHASE_RUNNING
from volcano.scheduler.model.task import ALLOCATED_STATUSES
from volcano.scheduler.snapshot import JobView

QUEUE_GATE = "scheduling.volcano.sh/queue-allocation-gate"


def promised(job: JobView) -> Mapping[int, int]:
    """The part of a let-in job's minimum resources that its tasks do not use yet, by axis."""
    minimum = job.group.min_resources
    if minimum is None:
        return {}
    if job.phase == PHASE_RUNNING:
        if sum(job.counts[status] for status in ALLOCATED_STATUSES) < job.min_member:
            return {}
    elif job.phase != PHASE_INQUEUE:
        return {}
    rest = {
        axis: amount - job.allocated.get(axis, 0)
        for axis, amount in minimum.items()
        if amount > job.allocated.get(axis, 0)
    }
    return without_gated(job, rest)


def without_gated(job: JobView, amounts: Mapping[int, int]) -> Mapping[int, int]:
    """Amounts less what the job's gated tasks ask for, not below zero."""
    gated: dict[int, int] = {}
    for task in job.state.pending.values():
        if task.gates and task.gates != (QUEUE_GATE,):
            add_to(gated, task.spec.request)
    if not gated:
        return amounts
    return {axis: max(0, amount - gated.get(axis, 0)) for axis, amount in amounts.items()}


def elastic(job: JobView) -> Mapping[int, int]:
    """What a job uses beyond its minimum resources, by axis."""
    minimum = job.group.min_resources or {}
    return {
        axis: amount - minimum.get(axis, 0)
        for axis, amount in job.allocated.items()
        if amount > minimum.get(axis, 0)
    }


def exceeding(
    asked: Mapping[int, int], base: Mapping[int, float], limit: Mapping[int, float]
) -> list[int]:
    """Axes asked for in which base + asked is above the limit; an unnamed limit is 0."""
    return [
        axis
        for axis, amount in asked.items()
        if amount > 0 and axis != PODS and base.get(axis, 0) + amount > limit.get(axis, 0)
    ]
