"""Where a queue stands in the tree: depth, parents, and resources that must add up.

Amounts: cpu in thousandths, memory in bytes, pods as a count, all else in thousandths; names that
no queue arithmetic knows (`count/…` and bare ones) are left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from volcano.api import wellknown
from volcano.api.admission import Lookup
from volcano.api.objects import JsonObject, name_of
from volcano.resources.quantity import format_nano, parse_quantity
from volcano.webhooks.check import spec_of, without_nulls
from volcano.webhooks.queue_view import (
    allocated_pods,
    children_of,
    find_queue,
    is_below_root,
    parent_of,
    queue_not_found,
)
from volcano.webhooks.shapes import QueueShape

ABSENT_BELOW = 0.1
"""Amounts under this count as not given (the tolerance of the original's resource arithmetic)."""

_NANO = 10**9
_MILLI = 10**6

Amounts = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Branch:
    """A queue of the tree, with its new values if it is the one under review."""

    name: str
    parent: str
    capability: Amounts
    deserved: Amounts
    guarantee: Amounts


def structure_error(name: str, parent: str, lookup: Lookup, depth_max: int) -> str:
    """Why a queue cannot be put below a parent, or an empty text."""
    if is_below_root(parent):
        return ""
    if parent == name:
        return f"queue {name} cannot use itself as parent"
    depth, ancestor = 1, parent
    while not is_below_root(ancestor):
        depth += 1
        # The limit also ends a walk in a circle.
        if depth > depth_max:
            return f"queue {name} exceeds the maximum allowed depth of {depth_max}"
        above = find_queue(lookup, ancestor)
        if ancestor == name:
            return f"queue {name} cannot use its descendant {parent} as parent"
        if above is None:
            missing = queue_not_found(ancestor)
            return f"failed to get parent queue {ancestor} of queue {name}: {missing}"
        ancestor = parent_of(above)
    holder = find_queue(lookup, parent)
    pods = allocated_pods(holder) if holder is not None else ""
    if pods and not children_of(lookup, parent):
        return (
            f"queue {parent} cannot be the parent queue of queue {name}"
            f" because it has allocated Pods: {pods}"
        )
    return ""


def resource_error(name: str, spec: QueueShape, lookup: Lookup) -> str:
    """Why a queue's resources do not fit those above and below it, or an empty text."""
    queue = _branch(name, spec)
    if not is_below_root(queue.parent):
        stored = find_queue(lookup, queue.parent)
        if stored is None:
            return f"parent queue {queue.parent} not found: {queue_not_found(queue.parent)}"
        parent = _stored_branch(stored)
        siblings = (_stored_branch(one) for one in children_of(lookup, queue.parent))
        family = [queue, *(one for one in siblings if one.name != name)]
        error = _ancestor_error(queue, lookup) or _sum_error("parent queue", parent, family)
        if error:
            return error
    children = [_stored_branch(child) for child in children_of(lookup, name)]
    if not children:
        return ""
    return _descendant_error(queue, children, lookup) or _sum_error("queue", queue, children)


def _branch(name: str, spec: QueueShape) -> Branch:
    return Branch(
        name,
        spec.parent,
        queue_amounts(spec.capability),
        queue_amounts(spec.deserved),
        queue_amounts(spec.guarantee.resource),
    )


def _stored_branch(queue: JsonObject) -> Branch:
    spec = msgspec.convert(without_nulls(spec_of(queue) or {}), QueueShape)
    return _branch(name_of(queue), spec)


def queue_amounts(resources: Mapping[str, str | float]) -> dict[str, float]:
    """The amounts of a resource list in the units of queue arithmetic."""
    amounts = {}
    for name, text in resources.items():
        if _is_counted(name):
            unit = _NANO if name in ("memory", "pods") else _MILLI
            amounts[name] = parse_quantity(text).nano / unit
    return amounts


def _is_counted(name: str) -> bool:
    if name in ("cpu", "memory", "pods", "ephemeral-storage"):
        return True
    if name.startswith(wellknown.COUNT_PREFIX):
        return False
    return "/" in name or name.startswith(("hugepages-", "attachable-volumes-"))


def _ancestor_error(queue: Branch, lookup: Lookup) -> str:
    for resource in sorted(queue.capability):
        own = queue.capability[resource]
        if own < ABSENT_BELOW:
            continue
        limit = _limit_above(queue.parent, resource, lookup)
        if limit is not None and own > limit:
            return (
                f"queue {queue.name} capability[{resource}]={_text(resource, own)}"
                f" exceeds its ancestor's capability={_text(resource, limit)}"
            )
    return ""


def _limit_above(parent: str, resource: str, lookup: Lookup) -> float | None:
    """The capability of the nearest ancestor below root that limits a resource."""
    seen: set[str] = set()
    while not is_below_root(parent) and parent not in seen:
        seen.add(parent)
        stored = find_queue(lookup, parent)
        if stored is None:
            return None
        branch = _stored_branch(stored)
        if branch.capability.get(resource, 0) > 0:
            return branch.capability[resource]
        parent = branch.parent
    return None


def _descendant_error(queue: Branch, children: Sequence[Branch], lookup: Lookup) -> str:
    for resource in sorted(queue.capability):
        own = queue.capability[resource]
        if own < ABSENT_BELOW:
            continue
        most = _most_below(children, resource, lookup, frozenset({queue.name}))
        if own < most:
            return (
                f"queue {queue.name} capability[{resource}]={_text(resource, own)}"
                " is smaller than its descendants' max"
                f" capability={_text(resource, most)}"
            )
    return ""


def _most_below(
    children: Iterable[Branch], resource: str, lookup: Lookup, above: frozenset[str]
) -> float:
    """The largest capability below a queue; one that sets none passes on those below it."""
    most = 0.0
    for child in children:
        if child.name in above:
            continue
        own = child.capability.get(resource, 0)
        if own <= 0:
            below = (_stored_branch(one) for one in children_of(lookup, child.name))
            own = _most_below(below, resource, lookup, above | {child.name})
        most = max(most, own)
    return most


def _sum_error(noun: str, parent: Branch, children: Sequence[Branch]) -> str:
    for what in ("guarantee", "deserved"):
        limit: Amounts = getattr(parent, what)
        total: dict[str, float] = {"cpu": 0, "memory": 0}
        for child in children:
            for resource, amount in getattr(child, what).items():
                total[resource] = total.get(resource, 0) + amount
        if _exceeds(total, limit):
            return (
                f"{noun} {parent.name} validation failed:"
                f" sum of children's {what} ({_listed(total)})"
                f" exceeds parent's {what} limit ({_listed(limit)})"
            )
    return ""


def _exceeds(total: Amounts, limit: Amounts) -> bool:
    """Whether any amount is over its limit; other resources than cpu and memory need one."""
    for resource, amount in total.items():
        if resource not in limit and resource not in ("cpu", "memory"):
            return True
        if amount > limit.get(resource, 0):
            return True
    return False


def _listed(amounts: Amounts) -> str:
    whole = {"cpu": 0.0, "memory": 0.0, **amounts}
    rest = sorted(whole.keys() - {"cpu", "memory"})
    return ", ".join(f"{name} {whole[name]:.2f}" for name in ("cpu", "memory", *rest))


def _text(resource: str, amount: float) -> str:
    if resource == "cpu":
        return format_nano(round(amount * _MILLI))
    if resource == "memory":
        return format_nano(round(amount * _NANO), "binary")
    return f"{amount:.2f}"
