"""The PodGroup of a Job: what it should say, and the patch that brings an existing one there."""

from collections.abc import Mapping
from typing import Any

from volcano.api.batch import JobSpec, TaskSpec
from volcano.api.kinds import POD_GROUP
from volcano.api.objects import JsonObject, metadata
from volcano.api.scheduling import NetworkTopologySpec
from volcano.api.wellknown import JOB_VERSION, PARTITION_ID, TASK_SPEC
from volcano.controllers.effects import merge_diff
from volcano.controllers.job.machine import gang_of
from volcano.controllers.job.observed import Observed, owner_reference
from volcano.controllers.pod_usage import total_usage

ENQUEUED = frozenset({"Inqueue", "Running", "Unknown", "Completed"})
"""Phases of a PodGroup in which its pods may be made."""


def pod_group_name(name: str, uid: str) -> str:
    """Name of the PodGroup of a job."""
    return f"{name}-{uid}"


def wanted(o: Observed) -> JsonObject:
    """The PodGroup to create for a job."""
    meta = metadata(o.raw)
    # The version says for which run it was made: one left from an earlier run is not reused.
    annotations = {**(meta.get("annotations") or {}), JOB_VERSION: str(o.status.version)}
    group_meta: JsonObject = {
        "name": pod_group_name(o.name, o.uid),
        "namespace": o.namespace,
        "annotations": annotations,
        "ownerReferences": [owner_reference(o.raw)],
    }
    if meta.get("labels"):
        group_meta["labels"] = dict(meta["labels"])
    spec = {**_updated_spec(o), "queue": o.spec.queue}
    if o.spec.network_topology is not None:
        spec["networkTopology"] = _topology(o.spec.network_topology)
    return {
        "apiVersion": POD_GROUP.api_version,
        "kind": POD_GROUP.kind,
        "metadata": group_meta,
        "spec": spec,
    }


def update_of(o: Observed, stored: JsonObject) -> JsonObject:
    """The merge patch for an existing PodGroup; empty when it says what it should.

    Queue, labels, annotations and the group's own topology stay as they were made.
    """
    target = _updated_spec(o)
    spec = stored.get("spec") or {}
    current = {key: spec[key] for key in _UPDATED if key in spec}
    members = {**(current.get("minTaskMember") or {}), **target["minTaskMember"]}
    target["minTaskMember"] = members
    diff = merge_diff(current, target)
    return {"spec": diff} if diff else {}


def is_of_earlier_run(o: Observed, stored: JsonObject) -> bool:
    """Whether a PodGroup was made before all pods were last killed."""
    version = (metadata(stored).get("annotations") or {}).get(JOB_VERSION, "")
    return version.isdigit() and int(version) < o.status.version


_UPDATED = ("minMember", "minTaskMember", "minResources", "priorityClassName", "subGroupPolicy")


def _updated_spec(o: Observed) -> JsonObject:
    spec: JsonObject = {
        "minMember": o.spec.min_available,
        "minTaskMember": {task.name: _min_member(task) for task in o.spec.tasks},
        "minResources": min_resources(o.spec, o.priorities),
    }
    if o.spec.priority_class_name:
        spec["priorityClassName"] = o.spec.priority_class_name
    groups = [_sub_group(task) for task in o.spec.tasks if task.partition_policy is not None]
    if groups:
        spec["subGroupPolicy"] = groups
    return spec


def _min_member(task: TaskSpec) -> int:
    if task.min_available is not None:
        return task.min_available
    policy = task.partition_policy
    if policy is not None and policy.min_partitions and policy.partition_size:
        return policy.min_partitions * policy.partition_size
    return task.replicas


def _sub_group(task: TaskSpec) -> JsonObject:
    policy = task.partition_policy
    assert policy is not None, "only tasks with partitions have sub-groups"
    group: JsonObject = {
        "name": task.name,
        "subGroupSize": policy.partition_size,
        "minSubGroups": policy.min_partitions,
        "labelSelector": {"matchLabels": {TASK_SPEC: task.name}},
        "matchLabelKeys": [PARTITION_ID],
    }
    if policy.network_topology is not None:
        group["networkTopology"] = _topology(policy.network_topology)
    return group


def _topology(topology: NetworkTopologySpec) -> dict[str, Any]:
    wire: dict[str, Any] = {"mode": topology.mode}
    if topology.highest_tier_allowed is not None:
        wire["highestTierAllowed"] = topology.highest_tier_allowed
    elif topology.highest_tier_name:
        wire["highestTierName"] = topology.highest_tier_name
    return wire


def min_resources(spec: JobSpec, priorities: Mapping[str, int]) -> dict[str, str]:
    """What the first `minAvailable` pods ask for, the tasks of higher priority first."""
    tasks = sorted(spec.tasks, key=lambda task: -_priority(task, priorities))
    need = spec.min_available
    roles = [
        min(1, task.replicas if task.min_available is None else task.min_available)
        for task in tasks
    ]
    if need < sum(roles):
        # Different: a gang smaller than its number of roles still needs one pod of each to work,
        # so that it does not start where one role (the one with the GPU) can never run.
        taken = roles
    elif need < gang_of(spec):
        taken = _take(tasks, need, [task.replicas for task in tasks])
    else:
        taken = _take(tasks, need, [task.min_available or 0 for task in tasks])
        rest = [
            task.replicas - (task.min_available or 0) if task.min_available else task.replicas
            for task in tasks
        ]
        more = _take(tasks, need - sum(taken), rest)
        taken = [first + second for first, second in zip(taken, more, strict=True)]
    specs = [task.template.get("spec") or {} for task in tasks]
    return total_usage(zip(specs, taken, strict=True))


def _take(tasks: list[TaskSpec], need: int, available: list[int]) -> list[int]:
    """How many pods each task gives, in order, until `need` are found."""
    taken = []
    for _, count in zip(tasks, available, strict=True):
        share = max(0, min(need, count))
        taken.append(share)
        need -= share
    return taken


def _priority(task: TaskSpec, priorities: Mapping[str, int]) -> int:
    template = task.template.get("spec") or {}
    return priorities.get(template.get("priorityClassName", ""), 0)
