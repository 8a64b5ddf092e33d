"""Why a pod or a group waits, in words: the texts of conditions and events.

The frame of each text is what Volcano's clients are used to read (`0/4 nodes are unavailable: …`,
`2/3 tasks in gang unschedulable: …`); what is lacking, and where most of it is, is added.
"""

from volcano.resources.vector import amount_text
from volcano.scheduler.model.task import TaskClass, TaskStatus
from volcano.scheduler.snapshot import FitFailure, JobView, Lack

_STATUS_NAMES = {status: status.name.capitalize() for status in TaskStatus}


def failure_text(failure: FitFailure) -> str:
    """`0/N nodes are unavailable: counts. What is lacking.`"""
    if failure.headline:
        return failure.headline
    text = f"0/{failure.nodes} nodes are unavailable"
    if failure.reasons:
        counts = sorted(f"{count} {reason}" for reason, count in failure.reasons)
        text += f": {', '.join(counts)}."
    if failure.lacks:
        text += " " + lack_text(failure.lacks[0])
    return text


def lack_text(lack: Lack) -> str:
    """What was asked, and where most of it is: free, or at all if no node is large enough."""
    wanted = amount_text(lack.resource, lack.wanted)
    if lack.wanted > lack.largest:
        if not lack.largest:
            return f"The pod asks for {lack.resource} {wanted}, which no suitable node offers."
        largest = amount_text(lack.resource, lack.largest)
        return (
            f"The pod asks for {lack.resource} {wanted}, more than any node has:"
            f" the largest, {lack.largest_node}, has {largest}."
        )
    free = amount_text(lack.resource, lack.most_free)
    return (
        f"The pod asks for {lack.resource} {wanted}; most is free on {lack.freest_node}: {free}"
        f" (largest node: {lack.largest_node} with"
        f" {amount_text(lack.resource, lack.largest)})."
    )


def job_text(job: JobView) -> str:
    """State of a gang: counts, reasons of what is pending, and where the trouble began."""
    head = "pod group is ready" if is_ready(job) else "pod group is not ready"
    entries = [
        f"{count} {_STATUS_NAMES[TaskStatus(status)]}"
        for status, count in enumerate(job.counts)
        if count
    ]
    entries.append(f"{job.min_member} minAvailable")
    text = f"{head}, {', '.join(sorted(entries))}"
    pending = job.counts[TaskStatus.PENDING]
    if pending:
        could = sum(1 for status, _ in job.last_placed.values() if status is TaskStatus.ALLOCATED)
        reasons = {"Schedulable": could, "Unschedulable": pending - could}
        shown = sorted(f"{count} {reason}" for reason, count in reasons.items() if count > 0)
        text += f"; Pending: {', '.join(shown)}"
    if job.reason:
        return f"{text}. Origin reason is: {job.reason}"
    origin = _origin(job)
    return f"{text}. Origin reason is {origin}" if origin else text


def is_ready(job: JobView) -> bool:
    """Whether the job's minimum is met, pending members that ask for nothing included."""
    return job.ready_count + job.best_effort_waiting >= job.min_member


def class_failure(job: JobView, cls: TaskClass) -> str:
    """Why pending tasks of a class found no place, if they were tried."""
    reason = job.task_reasons.get(cls.id)
    if reason:
        return reason
    failure = job.failures.get(cls.id)
    return failure_text(failure) if failure is not None else ""


def _origin(job: JobView) -> str:
    """The first pending task, in default order, that found no place, and why."""
    if not job.failures and not job.task_reasons:
        return ""
    troubled = job.failures.keys() | job.task_reasons.keys()
    tasks = [
        task
        for task in job.waiting_tasks()
        if task.spec.id in troubled and task.uid not in job.last_placed
    ]
    if not tasks:
        return ""
    task = min(tasks, key=lambda task: task.order)
    return f"{task.name}: {class_failure(job, task.spec)}"
