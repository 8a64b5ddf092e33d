"""Pods: defaults from resource groups, disruption budgets, and whether their queue is open."""

import re
from collections.abc import Mapping, Sequence
from functools import partial

from volcano.api import kinds, wellknown
from volcano.api.admission import Lookup, Review
from volcano.api.objects import JsonObject, controller_of
from volcano.api.scheduling import QueueState
from volcano.webhooks.check import (
    MutatingCheck,
    Options,
    PatchOperation,
    ValidatingCheck,
    Verdict,
    add,
    annotations_of,
    spec_of,
)
from volcano.webhooks.queue_view import find_queue, state_of
from volcano.webhooks.resource_groups import ResourceGroup

INT32_MAX = 2**31 - 1

_WHOLE = re.compile(r"[+-]?[0-9]+")


def mutating(options: Options) -> MutatingCheck:
    """The check at `/pods/mutate`."""
    return MutatingCheck(
        path="/pods/mutate",
        name="mutatepod.volcano.sh",
        kinds=frozenset({kinds.POD}),
        plan=partial(_plan, options),
    )


def validating(options: Options) -> ValidatingCheck:
    """The check at `/pods/validate`."""
    return ValidatingCheck(
        path="/pods/validate",
        name="validatepod.volcano.sh",
        kinds=frozenset({kinds.POD}),
        operations=frozenset({"CREATE"}),
        decide=partial(_decide, options),
    )


def _plan(options: Options, review: Review, _lookup: Lookup) -> Sequence[PatchOperation]:
    assert review.obj is not None
    spec = spec_of(review.obj)
    if spec is None:
        return ()
    annotations = annotations_of(review.obj)
    operations: list[PatchOperation] = []
    if options.queue_admission_gate:
        operations += _gate_operations(spec, annotations)
    for group in options.resource_groups:
        if group.matches(review.namespace, annotations):
            return [*operations, *_group_operations(spec, group)]
    return operations


def _gate_operations(spec: JsonObject, annotations: Mapping[str, str]) -> list[PatchOperation]:
    if annotations.get(wellknown.QUEUE_ALLOCATION_GATE) != "true":
        return []
    gate = {"name": wellknown.QUEUE_ALLOCATION_GATE}
    gates = spec.get("schedulingGates")
    if not gates:
        return [add("/spec/schedulingGates", [gate])]
    return [] if gate in gates else [add("/spec/schedulingGates/-", gate)]


def _group_operations(spec: JsonObject, group: ResourceGroup) -> list[PatchOperation]:
    operations = []
    if group.labels:
        selector = {**(spec.get("nodeSelector") or {}), **group.labels}
        operations.append(add("/spec/nodeSelector", selector))
    affinity = group.parsed_affinity()
    if affinity is not None and not spec.get("affinity"):
        operations.append(add("/spec/affinity", affinity))
    if group.tolerations:
        tolerations = [*(spec.get("tolerations") or ()), *group.tolerations]
        operations.append(add("/spec/tolerations", tolerations))
    if group.scheduler_name:
        operations.append(add("/spec/schedulerName", group.scheduler_name))
    return operations


def _decide(options: Options, review: Review, lookup: Lookup) -> Verdict:
    scheduler = (spec_of(review.obj) or {}).get("schedulerName")
    if scheduler not in options.scheduler_names:
        return Verdict()
    obj = review.obj or {}
    return Verdict(
        disruption_budget_error(annotations_of(obj))
        or closed_queue_error(obj, review.namespace, lookup)
    )


def closed_queue_error(pod: JsonObject, namespace: str, lookup: Lookup) -> str:
    """Why a pod without owner and group cannot get a group in its queue, or an empty text.

    Pods of a workload join the group that their owner may already have in a closing queue; whether
    a new one may be made is decided when it is.
    """
    annotations = annotations_of(pod)
    if annotations.get(wellknown.GROUP_NAME) or controller_of(pod) is not None:
        return ""
    name = annotations.get(wellknown.QUEUE_NAME) or wellknown.DEFAULT_QUEUE
    if name == wellknown.DEFAULT_QUEUE:
        found = lookup.get(kinds.NAMESPACE, "", namespace) or {}
        name = annotations_of(found).get(wellknown.QUEUE_NAME) or name
    queue = find_queue(lookup, name)
    if queue is None or (state := state_of(queue)) not in (QueueState.CLOSED, QueueState.CLOSING):
        return ""
    return f"can only submit Pod to queue with state `Open`, queue `{name}` status is `{state}`."


def disruption_budget_error(annotations: Mapping[str, str]) -> str:
    """What is wrong with the disruption-budget annotations, or an empty text."""
    keys = (wellknown.JDB_MIN_AVAILABLE, wellknown.JDB_MAX_UNAVAILABLE)
    present = [key for key in keys if key in annotations]
    for key in present:
        error = _budget_value_error(key, annotations[key])
        if error:
            return error
    if len(present) > 1:
        return f"not allow configure multiple annotations <[{' '.join(present)}]> at same time"
    return ""


def _budget_value_error(key: str, value: str) -> str:
    if _WHOLE.fullmatch(value) and -INT32_MAX - 1 <= int(value) <= INT32_MAX:
        if int(value) > 0:
            return ""
        return f'invalid value "{value}" for {key}, it must be a positive integer'
    percent = value.replace("%", "")
    if not _WHOLE.fullmatch(percent):
        return f'invalid value "{value}" for {key}'
    if 0 < int(percent) < 100:
        return ""
    return (
        f'invalid value "{value}" for {key}, it must be a valid percentage which between 1% ~ 99%'
    )
