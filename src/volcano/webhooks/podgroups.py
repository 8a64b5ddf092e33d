"""PodGroups: the queue of their namespace, and whether their queue takes work."""

from collections.abc import Sequence

import msgspec

from volcano.api import kinds, wellknown
from volcano.api.admission import Lookup, Review
from volcano.api.scheduling import QueueState
from volcano.webhooks.check import (
    MutatingCheck,
    PatchOperation,
    ValidatingCheck,
    Verdict,
    add,
    annotations_of,
    spec_of,
    without_nulls,
)
from volcano.webhooks.queue_view import find_queue, queue_not_found, state_of
from volcano.webhooks.shapes import PodGroupShape


def mutating() -> MutatingCheck:
    """The check at `/podgroups/mutate`."""
    return MutatingCheck(
        path="/podgroups/mutate",
        name="mutatepodgroup.volcano.sh",
        kinds=frozenset({kinds.POD_GROUP}),
        plan=_plan,
    )


def validating() -> ValidatingCheck:
    """The check at `/podgroups/validate`."""
    return ValidatingCheck(
        path="/podgroups/validate",
        name="validatepodgroup.volcano.sh",
        kinds=frozenset({kinds.POD_GROUP}),
        operations=frozenset({"CREATE"}),
        decide=_decide,
    )


def _plan(review: Review, lookup: Lookup) -> Sequence[PatchOperation]:
    spec = spec_of(review.obj)
    if spec is None or spec.get("queue") != wellknown.DEFAULT_QUEUE:
        return ()
    namespace = lookup.get(kinds.NAMESPACE, "", review.namespace)
    annotations = annotations_of(namespace or {})
    if wellknown.QUEUE_NAME not in annotations:
        return ()
    return [add("/spec/queue", annotations[wellknown.QUEUE_NAME])]


def _decide(review: Review, lookup: Lookup) -> Verdict:
    spec = msgspec.convert(without_nulls(spec_of(review.obj) or {}), PodGroupShape)
    errors = [*_queue_errors(spec.queue, lookup)]
    if spec.network_topology is not None and spec.network_topology.has_both_limits:
        errors.append(
            "must not specify 'highestTierAllowed' and 'highestTierName'"
            " in networkTopology simultaneously."
        )
    for policy in spec.sub_group_policy:
        if policy.network_topology is not None and policy.network_topology.has_both_limits:
            errors.append(
                f"in subGroupPolicy '{policy.name}': must not specify 'highestTierAllowed' and"
                " 'highestTierName' in networkTopology simultaneously."
            )
            break
    return Verdict("; ".join(errors))


def _queue_errors(name: str, lookup: Lookup) -> list[str]:
    if not name:
        return []
    queue = find_queue(lookup, name)
    if queue is None:
        return [f"unable to find queue: {queue_not_found(name)}"]
    state = state_of(queue)
    if state == QueueState.OPEN:
        return []
    return [
        f"can only submit PodGroup to queue with state `Open`, queue `{name}` status is `{state}`."
    ]
