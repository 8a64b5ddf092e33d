"""The end of a cycle: phases and conditions of groups, conditions of pods, events.

Only what changes is told: a condition that already says the same is not written again and brings
no event, and details in the conditions of a large group's pods are refreshed only now and then. Of
the pods of a group that wait for one reason, one gets an event; the group's own carries the counts.
"""

from collections.abc import Mapping, Sequence

from volcano.api import wellknown
from volcano.api.objects import JsonObject, metadata
from volcano.base import limits
from volcano.base.clock import parse_timestamp
from volcano.resources.vector import add_to
from volcano.scheduler import report
from volcano.scheduler.hooks import GroupState
from volcano.scheduler.model.decisions import (
    CycleResult,
    EventNote,
    PodConditionUpdate,
    PodGroupUpdate,
    QueueUpdate,
)
from volcano.scheduler.model.job import (
    PHASE_COMPLETED,
    PHASE_INQUEUE,
    PHASE_PENDING,
    PHASE_RUNNING,
    PHASE_UNKNOWN,
    PodGroup,
)
from volcano.scheduler.model.queue import Queue
from volcano.scheduler.model.task import SCHEDULED_STATUSES, Task, TaskStatus
from volcano.scheduler.session import Session
from volcano.scheduler.snapshot import JobView

_UNSCHEDULABLE = "Unschedulable"
_SCHEDULED = "Scheduled"
_IGNORED = ("transitionID", "lastTransitionTime")


def close(session: Session, result: CycleResult) -> None:
    """Tell of every job what has changed."""
    for job in session.snapshot.jobs.values():
        _close_job(session, job, result)
    for group in session.snapshot.orphans:
        _close_orphan(session, group, result)
    _close_queues(session, result)


def _close_queues(session: Session, result: CycleResult) -> None:
    """Tell what each queue's pods hold, those of its descendants included (spec scheduler 5.2)."""
    snapshot = session.snapshot
    held: dict[str, dict[int, int]] = {name: {} for name in snapshot.queues}
    for job in snapshot.jobs.values():
        if not job.allocated:
            continue
        for name in _line(snapshot.queues, job.group.queue):
            add_to(held[name], job.allocated.items())
    for name, sums in held.items():
        queue = snapshot.queues[name]
        allocated = {
            snapshot.axes.names[axis]: snapshot.axes.text(axis, amount)
            for axis, amount in sums.items()
            if amount
        }
        if allocated != queue.allocated:
            dropped = tuple(sorted(queue.allocated.keys() - allocated.keys()))
            result.queues.append(QueueUpdate(name, queue.uid, allocated, dropped))


def _line(queues: Mapping[str, Queue], name: str) -> Sequence[str]:
    """A queue and its ancestors, nearest first; a parent that is missing or comes again ends it.

    Without a parent of its own a queue stands below `root`.
    """
    line: list[str] = []
    while name in queues and name not in line:
        line.append(name)
        name = queues[name].parent or wellknown.ROOT_QUEUE
    return line


def _close_orphan(session: Session, group: PodGroup, result: CycleResult) -> None:
    message = f"queue {group.queue} does not exist"
    wanted = (_UNSCHEDULABLE, "NotEnoughResources", message)
    status = group.obj.get("status") or {}
    conditions, changed = _with_condition(session, status.get("conditions") or [], wanted)
    result.report.waiting[group.key] = message
    if changed:
        _update(group, {**status, "conditions": conditions}, result)
        result.events.append(_group_event(group, wanted))


def _update(group: PodGroup, status: JsonObject, result: CycleResult) -> None:
    meta = metadata(group.obj)
    result.pod_groups.append(
        PodGroupUpdate(meta.get("namespace", ""), meta.get("name", ""), group.uid, status)
    )


def _close_job(session: Session, job: JobView, result: CycleResult) -> None:
    state = session.hooks.group_state(job)
    text = ""
    wanted = None
    gathering = 0.0
    if state is not None and state.ready:
        wanted = (_SCHEDULED, "tasks in gang are ready to be scheduled", "")
    elif state is not None:
        text = report.job_text(job)
        wanted = (_UNSCHEDULABLE, "NotEnoughResources", _gang_text(job, state, text))
        gathering = _gathering_seconds(session, job)
    elif job.is_pending and job.reason and not job.task_count:
        wanted = (_UNSCHEDULABLE, "NotEnoughResources", job.reason)
    if gathering and wanted is not None:
        result.report.waiting[job.key] = wanted[2]
        result.look_again_in(gathering)
        wanted = None
    old = (job.group.obj.get("status") or {}).get("conditions") or []
    conditions, changed = _with_condition(session, old, wanted)
    unschedulable = wanted is not None and wanted[0] == _UNSCHEDULABLE
    if unschedulable and wanted is not None:
        result.report.waiting[job.key] = wanted[2]
    status = _status(job, conditions, unschedulable=unschedulable)
    if changed or _differs(job.group.obj.get("status") or {}, status):
        _update(job.group, status, result)
    if changed and wanted is not None:
        result.events.append(_group_event(job.group, wanted))
    if job.state.pending and not gathering:
        _close_pods(session, job, text, result)


def _gathering_seconds(session: Session, job: JobView) -> float:
    """How long a gang that lacks members may still be in the making; 0 if it is not."""
    if session.hooks.job_valid(job) is None:
        return 0.0
    tasks = job.state.tasks.values()
    newest = max(job.group.creation, *(task.creation for task in tasks))
    return max(0.0, newest + limits.GANG_GATHERING_SECONDS - session.snapshot.now)


def _gang_text(job: JobView, state: GroupState, text: str) -> str:
    return f"{state.missing}/{job.task_count} tasks in gang unschedulable: {text}"


def _group_event(group: PodGroup, wanted: tuple[str, str, str]) -> EventNote:
    reference = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "namespace": metadata(group.obj).get("namespace", ""),
        "name": metadata(group.obj).get("name", ""),
        "uid": group.uid,
    }
    if wanted[0] == _SCHEDULED:
        return EventNote(reference, "Normal", _SCHEDULED, "pod group is ready")
    return EventNote(reference, "Warning", _UNSCHEDULABLE, wanted[2])


def _with_condition(
    session: Session, old: Sequence[JsonObject], wanted: tuple[str, str, str] | None
) -> tuple[list[JsonObject], bool]:
    """The conditions with the wanted one in place of the one of its type; whether that is news."""
    if wanted is None:
        return list(old), False
    kind, reason, message = wanted
    for condition in old:
        if (
            condition.get("type") == kind
            and condition.get("status") == "True"
            and condition.get("reason", "") == reason
            and condition.get("message", "") == message
        ):
            return list(old), False
    new: JsonObject = {
        "type": kind,
        "status": "True",
        "transitionID": str(session.snapshot.seed),
        "lastTransitionTime": session.snapshot.timestamp,
        "reason": reason,
    }
    if message:
        new["message"] = message
    if any(condition.get("type") == kind for condition in old):
        return [new if condition.get("type") == kind else condition for condition in old], True
    return [*old, new], True


def _status(job: JobView, conditions: list[JsonObject], *, unschedulable: bool) -> JsonObject:
    counts = job.counts
    status: JsonObject = {
        **(job.group.obj.get("status") or {}),
        "phase": _phase(job, unschedulable=unschedulable),
    }
    for field, of in (
        ("running", TaskStatus.RUNNING),
        ("succeeded", TaskStatus.SUCCEEDED),
        ("failed", TaskStatus.FAILED),
    ):
        status.pop(field, None)
        if counts[of]:
            status[field] = counts[of]
    if conditions:
        status["conditions"] = conditions
    return status


def _phase(job: JobView, *, unschedulable: bool) -> str:
    counts = job.counts
    if counts[TaskStatus.RUNNING] and unschedulable:
        return PHASE_UNKNOWN
    scheduled = sum([counts[s] for s in SCHEDULED_STATUSES]) + job.state.releasing_on_node
    if scheduled and scheduled >= job.min_member:
        ended = counts[TaskStatus.FAILED] + counts[TaskStatus.SUCCEEDED]
        return PHASE_COMPLETED if scheduled == ended else PHASE_RUNNING
    return PHASE_INQUEUE if job.phase == PHASE_INQUEUE else PHASE_PENDING


def _differs(old: JsonObject, new: JsonObject) -> bool:
    return any(
        (old.get(field) or None) != (new.get(field) or None)
        for field in ("phase", "running", "succeeded", "failed")
    )


def _close_pods(session: Session, job: JobView, text: str, result: CycleResult) -> None:
    told: set[str] = set()
    many = len(job.state.pending) > limits.POD_CONDITIONS_PROMPT_MAX
    for uid, task in job.state.pending.items():
        if task.gates:
            continue
        status, node = job.placed.get(uid, (TaskStatus.PENDING, ""))
        if status is TaskStatus.BINDING:
            continue
        if status is TaskStatus.PENDING and uid in job.last_placed:
            status, node = job.last_placed[uid]
        reason, message = "Unschedulable", ""
        if status is TaskStatus.ALLOCATED:
            reason = "Schedulable"
            message = (
                f"Pod {task.key} can possibly be assigned to {node}, once minAvailable is satisfied"
            )
        elif status is TaskStatus.PIPELINED:
            message = (
                f"Pod {task.key} can possibly be assigned to {node}, once resource is released"
                " and minAvailable is satisfied"
            )
        else:
            message = report.class_failure(job, task.spec) or job.reason
            if not message:
                text = text or report.job_text(job)
                message = text
        _tell_pod(session, task, reason, message, result, told, many=many)


def _tell_pod(
    session: Session,
    task: Task,
    reason: str,
    message: str,
    result: CycleResult,
    told: set[str],
    *,
    many: bool,
) -> None:
    since = session.snapshot.timestamp
    old = task.scheduled_condition
    if old.get("status") == "False":
        if old.get("reason") == reason and (
            old.get("message") == message or (many and _is_fresh(session, old))
        ):
            return
        since = old.get("lastTransitionTime") or since
    result.pod_conditions.append(
        PodConditionUpdate(
            task.namespace,
            task.name,
            task.uid,
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": session.snapshot.timestamp,
                "lastTransitionTime": since,
                "reason": reason,
                "message": message,
            },
        )
    )
    if reason == "Unschedulable" and message not in told:
        told.add(message)
        reference = {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": task.namespace,
            "name": task.name,
            "uid": task.uid,
        }
        result.events.append(EventNote(reference, "Warning", "FailedScheduling", message))


def _is_fresh(session: Session, condition: JsonObject) -> bool:
    """Whether a condition was written too recently to be written again for its details."""
    written = condition.get("lastProbeTime")
    if not written:
        return False
    try:
        age = session.snapshot.now - parse_timestamp(written)
    except ValueError:
        return False
    return age < limits.POD_CONDITION_REFRESH_SECONDS
