"""The next status of a Job, as JSON, and what changed in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from volcano.api.batch import JobPhase
from volcano.api.kinds import JOB
from volcano.api.objects import JsonObject, metadata, uid_of
from volcano.base.clock import parse_timestamp, timestamp
from volcano.base.durations import format_duration
from volcano.controllers.effects import Effect, Patch, merge_diff
from volcano.controllers.job.machine import STOPPED
from volcano.controllers.job.observed import Observed

COMMAND_MARK = "command"
"""Key in `status.controlledResources`: uid of the Command that the status already reflects."""


@dataclass(frozen=True, slots=True)
class NextState:
    """Where a job goes.

    Attributes:
        reason: one word for programs; `message` the same for people. None keeps what is there,
            as long as the phase stays.
        resources: `controlledResources` to be written.
    """

    phase: JobPhase
    version: int
    retry_count: int
    resources: Mapping[str, str]
    reason: str | None = None
    message: str = ""


def stay(o: Observed) -> NextState:
    """The state as it is."""
    status = o.status
    return NextState(o.phase, status.version, status.retry_count, status.controlled_resources)


def status_patch(o: Observed, state: NextState) -> Patch | None:
    """The write that brings `status` up to date; None when it is."""
    old: JsonObject = o.raw.get("status") or {}
    diff = merge_diff(old, _status(o, state, old))
    if not diff:
        return None
    version = metadata(o.raw).get("resourceVersion", "")
    return Patch(
        JOB,
        o.namespace,
        o.name,
        {"status": diff},
        subresource="status",
        resource_version=version,
    )


def write(o: Observed, state: NextState) -> list[Effect]:
    """`status_patch` as a list of effects."""
    patch = status_patch(o, state)
    return [patch] if patch is not None else []


def without_command(o: Observed, resources: dict[str, str] | None = None) -> dict[str, str]:
    """The bookkeeping without the mark of a Command that is gone."""
    kept = dict(o.status.controlled_resources if resources is None else resources)
    if kept.get(COMMAND_MARK) not in {uid_of(command) for command in o.commands}:
        kept.pop(COMMAND_MARK, None)
    return kept


def _status(o: Observed, state: NextState, old: JsonObject) -> JsonObject:
    counts = o.pods.counts()
    minimum = o.status.min_available if state.phase in STOPPED else o.spec.min_available
    numbers = {
        "minAvailable": minimum,
        "pending": counts.pending,
        "running": counts.running,
        "succeeded": counts.succeeded,
        "failed": counts.failed,
        "terminating": counts.terminating,
        "unknown": counts.unknown,
        "version": state.version,
        "retryCount": state.retry_count,
    }
    status = {key: value for key, value in old.items() if key not in numbers}
    status |= {key: value for key, value in numbers.items() if value}
    _set(status, "taskStatusCount", {t: {"phase": p} for t, p in o.pods.by_task().items()})
    _set(status, "controlledResources", dict(state.resources))
    changed = state.phase != o.status.state.phase
    status["state"] = _state(o, state, old.get("state") or {}, changed=changed)
    if changed:
        status["conditions"] = _conditions(o, state.phase, old.get("conditions") or [])
    if state.phase not in STOPPED:
        status.pop("runningDuration", None)
    elif changed or "runningDuration" not in status:
        status["runningDuration"] = _running_duration(o, status["state"])
    return status


def _set(status: JsonObject, key: str, value: JsonObject) -> None:
    if value:
        status[key] = value
    else:
        status.pop(key, None)


def _state(o: Observed, state: NextState, old: JsonObject, *, changed: bool) -> JsonObject:
    new: dict[str, Any] = {"phase": state.phase.value}
    if state.reason is not None or changed:
        if state.reason:
            new |= {"reason": state.reason, "message": state.message}
    else:
        new |= {key: old[key] for key in ("reason", "message") if old.get(key)}
    # Different: the time is that of the last change of phase, as its name says, and not of the
    # last change of any count; a job's time to live is counted from it.
    before = old.get("lastTransitionTime")
    new["lastTransitionTime"] = timestamp(o.now) if changed or not before else before
    return new


def _conditions(o: Observed, phase: JobPhase, old: list[JsonObject]) -> list[JsonObject]:
    kept = [condition for condition in old if condition.get("status") != phase]
    return [*kept, {"status": phase.value, "lastTransitionTime": timestamp(o.now)}]


def _running_duration(o: Observed, state: JsonObject) -> str:
    created = metadata(o.raw).get("creationTimestamp")
    if not created:
        return "0s"
    return format_duration(parse_timestamp(state["lastTransitionTime"]) - parse_timestamp(created))
