"""Queues: defaults, the checks of one queue by itself, and when which check is due.

Where a queue stands among the others is judged in `queue_tree`.
"""

from collections.abc import Sequence
from functools import partial

import msgspec

from volcano.api import kinds, wellknown
from volcano.api.admission import Lookup, Review
from volcano.api.objects import JsonObject, name_of
from volcano.api.scheduling import QueueState
from volcano.resources.quantity import parse_quantity
from volcano.webhooks import queue_tree
from volcano.webhooks.check import (
    MutatingCheck,
    Options,
    PatchOperation,
    ValidatingCheck,
    Verdict,
    add,
    annotations_of,
    spec_of,
    without_nulls,
)
from volcano.webhooks.hierarchy import hierarchy_error
from volcano.webhooks.queue_view import (
    allocated_pods,
    children_of,
    find_queue,
    queue_not_found,
    state_of,
)
from volcano.webhooks.shapes import QueueShape

_WHOLE_RESOURCES = frozenset(
    {
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
    }
)
_EDITABLE_STATES = ("", QueueState.OPEN, QueueState.CLOSED)


def mutating() -> MutatingCheck:
    """The check at `/queues/mutate`."""
    return MutatingCheck(
        path="/queues/mutate",
        name="mutatequeue.volcano.sh",
        kinds=frozenset({kinds.QUEUE}),
        plan=_plan,
    )


def validating(options: Options) -> ValidatingCheck:
    """The check at `/queues/validate`."""
    return ValidatingCheck(
        path="/queues/validate",
        name="validatequeue.volcano.sh",
        kinds=frozenset({kinds.QUEUE}),
        operations=frozenset({"CREATE", "UPDATE", "DELETE"}),
        decide=partial(_decide, options),
    )


def _plan(review: Review, _lookup: Lookup) -> Sequence[PatchOperation]:
    assert review.obj is not None
    operations: list[PatchOperation] = []
    annotations = annotations_of(review.obj)
    hierarchy = annotations.get(wellknown.HIERARCHY)
    weights = annotations.get(wellknown.HIERARCHY_WEIGHTS)
    if hierarchy and weights and not hierarchy.startswith(wellknown.ROOT_QUEUE):
        for key, value in (
            (wellknown.HIERARCHY, f"root/{hierarchy}"),
            (wellknown.HIERARCHY_WEIGHTS, f"1/{weights}"),
        ):
            operations.append(add(f"/metadata/annotations/{key.replace('/', '~1')}", value))
    spec = review.obj.get("spec")
    if spec is None:
        return [*operations, add("/spec", {"reclaimable": True, "weight": 1})]
    if not isinstance(spec, dict):
        return operations
    if spec.get("reclaimable") is None:
        operations.append(add("/spec/reclaimable", True))
    if not spec.get("weight"):
        operations.append(add("/spec/weight", 1))
    return operations


def _decide(options: Options, review: Review, lookup: Lookup) -> Verdict:
    if review.operation == "DELETE":
        return Verdict(_deletion_error(review.name, lookup, options))
    assert review.obj is not None
    new = _shape(review.obj)
    old = _shape(review.old) if review.old is not None else None
    name = review.name or name_of(review.obj)
    errors = _own_errors(review.obj, new, review.old, name, lookup)
    if errors:
        return Verdict(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    if old is None or old.parent != new.parent:
        error = queue_tree.structure_error(name, new.parent, lookup, options.queue_depth_max)
        if error:
            return Verdict(error)
    resources_changed = old is None or _amounts(old) != _amounts(new)
    if name == wellknown.ROOT_QUEUE:
        if old is not None and resources_changed and options.protect_root_queue:
            return Verdict(
                "root queue's resource attributes (capability, deserved, guarantee)"
                " cannot be modified"
            )
        return Verdict()
    if resources_changed or old is None or old.parent != new.parent:
        return Verdict(queue_tree.resource_error(name, new, lookup))
    return Verdict()


def _shape(queue: JsonObject) -> QueueShape:
    return msgspec.convert(without_nulls(spec_of(queue) or {}), QueueShape)


def _amounts(spec: QueueShape) -> list[dict[str, int]]:
    """The three resource lists by amount, for comparison."""
    lists = (spec.capability, spec.deserved, spec.guarantee.resource)
    return [{key: parse_quantity(text).nano for key, text in one.items()} for one in lists]


def _own_errors(
    queue: JsonObject, spec: QueueShape, old: JsonObject | None, name: str, lookup: Lookup
) -> list[str]:
    errors = [*_amount_errors(spec), *_order_errors(spec)]
    state = state_of(queue)
    # The status of a stored queue travels with every update: only a new state can be wrong.
    if state not in _EDITABLE_STATES and (old is None or state_of(old) != state):
        errors.append(
            f'requestBody.spec.state: Invalid value: "{state}":'
            " queue state must be in [Open Closed]"
        )
    wrong = hierarchy_error(name, annotations_of(queue), lookup)
    return [*errors, wrong] if wrong else errors


def _amount_errors(spec: QueueShape) -> list[str]:
    errors = []
    for path, amounts in (
        ("capability", spec.capability),
        ("deserved", spec.deserved),
        ("guarantee.resource", spec.guarantee.resource),
    ):
        for resource in sorted(amounts):
            quantity = parse_quantity(amounts[resource])
            where = f'requestBody.spec.{path}.{resource}: Invalid value: "{quantity}"'
            if quantity.nano < 0:
                errors.append(f"{where}: must be greater than or equal to 0")
            if quantity.nano % 10**9 and _is_whole(resource):
                errors.append(f"{where}: must be an integer")
    return errors


def _is_whole(resource: str) -> bool:
    """Whether a resource is counted in whole units: pods and other objects, extended resources."""
    extended = "/" in resource and "kubernetes.io/" not in resource
    return resource in _WHOLE_RESOURCES or extended


def _order_errors(spec: QueueShape) -> list[str]:
    """Guarantee ≤ deserved ≤ capability, each where the right-hand side is needed."""
    errors = []
    guarantee, deserved, capability = spec.guarantee.resource, spec.deserved, spec.capability
    for resource in sorted({*guarantee, *deserved}):
        where = f"requestBody.spec.deserved.{resource}: Invalid value"
        has = parse_quantity(deserved[resource]) if resource in deserved else None
        if resource in guarantee:
            least = parse_quantity(guarantee[resource])
            if has is None:
                errors.append(
                    f'{where}: "<nil>": deserved[{resource}] must be >='
                    f" guarantee[{resource}]={least}"
                )
            elif has.nano < least.nano:
                errors.append(
                    f'{where}: "{has}": deserved[{resource}]={has} must be >='
                    f" guarantee[{resource}]={least}"
                )
        if has is not None and resource in capability:
            most = parse_quantity(capability[resource])
            if has.nano > most.nano:
                errors.append(
                    f'{where}: "{has}": deserved[{resource}]={has} must be <='
                    f" capability[{resource}]={most}"
                )
    return errors


def _deletion_error(name: str, lookup: Lookup, options: Options) -> str:
    if name in (wellknown.DEFAULT_QUEUE, wellknown.ROOT_QUEUE):
        return f"`{name}` queue can not be deleted"
    queue = find_queue(lookup, name)
    if queue is None:
        return queue_not_found(name)
    pods = allocated_pods(queue)
    if pods and options.check_allocated_pods:
        return f"queue {name} cannot be deleted because it has allocated Pods: {pods}"
    children = [name_of(child) for child in children_of(lookup, name)]
    if children:
        return (
            f"queue {name} can not be deleted because it has {len(children)} child queues:"
            f" {', '.join(children)}"
        )
    return ""
