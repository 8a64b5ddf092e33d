"""Checks of a changed Job: it may be scaled and given another priority, nothing else."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from volcano.api.batch import JobSpec
from volcano.api.objects import JsonObject
from volcano.api.structural import struct_schema
from volcano.resources.quantity import parse_quantity
from volcano.webhooks.job_checks import partition_errors, topology_errors
from volcano.webhooks.shapes import JobShape, TaskShape

FIXED_FIELDS = (
    "job updates may not change fields other than `minAvailable`,"
    " `tasks[*].replicas under spec` and `PriorityClassName`"
)

# Fields whose zero value Go clients do not send: false, 0 and absent mean the same there.
_ZERO_IS_ABSENT = frozenset(
    {
        "failureThreshold",
        "hostIPC",
        "hostNetwork",
        "hostPID",
        "hostPort",
        "initialDelaySeconds",
        "maxRetry",
        "minAvailable",
        "minPartitions",
        "periodSeconds",
        "readOnly",
        "replicas",
        "stdin",
        "stdinOnce",
        "successThreshold",
        "timeoutSeconds",
        "tty",
    }
)
# Texts for which Go tells empty from absent.
_EMPTY_IS_SAID = frozenset({"storageClassName"})


def update_error(old: JsonObject, new: JsonObject, shape: JobShape, job_name: str) -> str:
    """What is wrong with the new spec of a Job, or an empty text; the first fault only.

    Args:
        old: the stored spec.
        new: the spec asked for.
        shape: `new`, read.
        job_name: for messages.
    """
    if old == new:
        return ""
    for task in shape.tasks:
        error = _task_error(task, job_name)
        if error:
            return error
    if shape.min_available > sum(task.replicas for task in shape.tasks):
        return "job 'minAvailable' must not be greater than total replicas"
    if shape.min_available < 0:
        return "job 'minAvailable' must be >= 0"
    for error in topology_errors(shape.network_topology):
        return error
    if len(old.get("tasks") or ()) != len(shape.tasks):
        return "job updates may not add or remove tasks"
    return "" if _fixed_part(old) == _fixed_part(new) else FIXED_FIELDS


def _task_error(task: TaskShape, job_name: str) -> str:
    if task.replicas < 0:
        return f"'replicas' must be >= 0 in task: {task.name}"
    if task.min_available is not None:
        if task.min_available < 0:
            return f"'minAvailable' must be >= 0 in task: {task.name}"
        if task.min_available > task.replicas:
            return f"'minAvailable' must be <= 'replicas' in task: {task.name}"
    return " ".join(partition_errors(task, job_name))


def _fixed_part(spec: JsonObject) -> Any:
    """What must not change, in a form where equal means equal to Kubernetes."""
    fixed = {key: spec[key] for key in spec if key not in ("minAvailable", "priorityClassName")}
    tasks: Sequence[Mapping[str, Any]] = spec.get("tasks") or ()
    fixed["tasks"] = [
        {key: task[key] for key in task if key not in ("replicas", "minAvailable")}
        for task in tasks
    ]
    volumes: Sequence[Mapping[str, Any]] = spec.get("volumes") or ()
    fixed["volumes"] = [
        # The controller writes the name of the claim that it made.
        {key: volume[key] for key in volume if key != "volumeClaimName"}
        if volume.get("volumeClaim") is not None
        else volume
        for volume in volumes
    ]
    return _semantic(fixed, _job_spec_schema())


@lru_cache(maxsize=1)
def _job_spec_schema() -> JsonObject:
    return struct_schema(JobSpec)


def _semantic(value: Any, schema: Mapping[str, Any]) -> Any:
    """A value with quantities by amount and without fields that say nothing."""
    if schema.get("pattern") and schema.get("x-kubernetes-int-or-string"):
        return parse_quantity(value).nano
    if isinstance(value, list):
        items = schema.get("items", {})
        return [_semantic(one, items) for one in value]
    if isinstance(value, dict):
        properties = schema.get("properties")
        if properties is None:
            # A map: its keys count, whatever they hold; null and an empty list are the same.
            each = schema.get("additionalProperties", {})
            return {key: _semantic(one, each) or None for key, one in value.items()}
        read = {key: _semantic(one, properties.get(key, {})) for key, one in value.items()}
        return {key: one for key, one in read.items() if not _says_nothing(key, one)}
    return value


def _says_nothing(key: str, value: Any) -> bool:
    if value is None or value in ([], {}):
        return True
    if value == "":
        return key not in _EMPTY_IS_SAID
    return key in _ZERO_IS_ABSENT and not value
