"""PriorityClass names become numbers when a pod is created."""

from volcano.api import kinds
from volcano.api.admission import ALLOWED, Admission, Lookup, Operation, Review
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.server.admission.chain import refused

PREEMPT_LOWER = "PreemptLowerPriority"


class PriorityAdmission:
    """Sets `priority` and `preemptionPolicy` from the pod's class, or from the global default."""

    name = "Priority"
    kinds: frozenset[Kind] = frozenset({kinds.POD})
    operations: frozenset[Operation] = frozenset({"CREATE"})

    def admit(self, review: Review, lookup: Lookup) -> Admission:
        """The pod with its priority, or a refusal."""
        pod = review.obj
        if pod is None or review.subresource:
            return ALLOWED
        spec: JsonObject = dict(pod.get("spec") or {})
        name = spec.get("priorityClassName")
        found = lookup.get(kinds.PRIORITY_CLASS, "", name) if name else _global_default(lookup)
        if found is None and name:
            return refused(review, f"no PriorityClass with name {name} was found")
        value, policy = 0, PREEMPT_LOWER
        if found is not None:
            spec["priorityClassName"] = found["metadata"]["name"]
            value = found.get("value", 0)
            policy = found.get("preemptionPolicy", PREEMPT_LOWER)
        if spec.get("priority") not in (None, value):
            return refused(
                review,
                f"the integer value of priority ({spec['priority']}) must not be provided in pod"
                f" spec; priority admission controller computed {value} from the given"
                " PriorityClass name",
            )
        if spec.get("preemptionPolicy") not in (None, policy):
            return refused(
                review,
                f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be"
                f" provided in pod spec; priority admission controller computed {policy} from the"
                " given PriorityClass name",
            )
        spec["priority"], spec["preemptionPolicy"] = value, policy
        return Admission(patched={**pod, "spec": spec})


def _global_default(lookup: Lookup) -> JsonObject | None:
    """Of several global defaults the one with the lowest value, as in Kubernetes."""
    defaults = [one for one in lookup.list(kinds.PRIORITY_CLASS) if one.get("globalDefault")]
    return min(defaults, key=lambda one: int(one.get("value", 0)), default=None)
