"""ResourceQuotas: what a namespace may hold, checked against what it holds at this moment.

Usage is counted from the objects themselves, those under way included, so that a burst of
creates cannot slip past a quota. `status.used` is written by a controller and not read here.
"""

from collections.abc import Iterable, Mapping

from volcano.api import kinds
from volcano.api.admission import ALLOWED, Admission, Lookup, Operation, Review
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.resources.quantity import Quantity, parse_quantity
from volcano.server.admission.chain import refused
from volcano.server.admission.limit_ranges import Amounts, pod_amounts

_COUNTED_BY_NAME: Mapping[str, str] = {
    "pods": "pods",
    "services": "services",
    "secrets": "secrets",
    "configmaps": "configmaps",
    "persistentvolumeclaims": "persistentvolumeclaims",
    "resourcequotas": "resourcequotas",
    "replicationcontrollers": "replicationcontrollers",
}
_BARE_REQUESTS = ("cpu", "memory", "ephemeral-storage")
_ONE = Quantity(10**9)


class QuotaAdmission:
    """Refuses what would exceed a quota of its namespace.

    Args:
        counted: every namespaced kind, so that `count/KIND` works for all of them.
    """

    name = "ResourceQuota"
    operations: frozenset[Operation] = frozenset({"CREATE", "UPDATE"})

    def __init__(self, counted: Iterable[Kind]) -> None:
        self.kinds: frozenset[Kind] = frozenset(kind for kind in counted if kind.namespaced)

    def admit(self, review: Review, lookup: Lookup) -> Admission:
        """Allow, or refuse naming each quota that would be exceeded."""
        obj = review.obj
        if obj is None or review.subresource:
            return ALLOWED
        quotas = list(lookup.list(kinds.RESOURCE_QUOTA, review.namespace))
        if not quotas:
            return ALLOWED
        asked = usage(review.kind, obj)
        before = usage(review.kind, review.old) if review.old is not None else {}
        for quota in quotas:
            problem = _exceeds(review, quota, asked, before, lookup)
            if problem:
                return refused(review, problem)
        return ALLOWED


def usage(kind: Kind, obj: JsonObject) -> Amounts:
    """What one object counts for, by quota resource; pods that have ended count for nothing."""
    counted: Amounts = {f"count/{kind.resource}": _ONE}
    name = _COUNTED_BY_NAME.get(kind.resource)
    if name is not None:
        counted[name] = _ONE
    if kind == kinds.POD:
        if (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
            return {f"count/{kind.resource}": _ONE}
        spec = obj.get("spec") or {}
        for resource, amount in pod_amounts(spec, "requests").items():
            counted[f"requests.{resource}"] = amount
            if resource in _BARE_REQUESTS:
                counted[resource] = amount
        for resource, amount in pod_amounts(spec, "limits").items():
            counted[f"limits.{resource}"] = amount
    elif kind == kinds.PERSISTENT_VOLUME_CLAIM:
        requests = ((obj.get("spec") or {}).get("resources") or {}).get("requests") or {}
        if "storage" in requests:
            counted["requests.storage"] = parse_quantity(requests["storage"])
    elif kind == kinds.SERVICE:
        counted.update(_service_usage(obj))
    return counted


def _service_usage(service: JsonObject) -> Amounts:
    spec = service.get("spec") or {}
    ports = Quantity(len(spec.get("ports") or ()) * 10**9)
    match spec.get("type"):
        case "NodePort":
            return {"services.nodeports": ports}
        case "LoadBalancer":
            return {"services.loadbalancers": _ONE, "services.nodeports": ports}
    return {}


def in_scope(quota: JsonObject, kind: Kind, obj: JsonObject) -> bool:
    """Whether an object falls under a quota's scopes."""
    spec = quota.get("spec") or {}
    scopes = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    scopes += (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    if not scopes:
        return True
    return kind == kinds.POD and all(_in_one(scope, obj) for scope in scopes)


def _in_one(scope: JsonObject, pod: JsonObject) -> bool:
    spec = pod.get("spec") or {}
    match scope["scopeName"]:
        case "Terminating":
            return spec.get("activeDeadlineSeconds") is not None
        case "NotTerminating":
            return spec.get("activeDeadlineSeconds") is None
        case "BestEffort":
            return _best_effort(spec)
        case "NotBestEffort":
            return not _best_effort(spec)
        case "PriorityClass":
            name = spec.get("priorityClassName") or ""
            values = scope.get("values") or ()
            match scope.get("operator"):
                case "In":
                    return name in values
                case "NotIn":
                    return name not in values
                case "DoesNotExist":
                    return not name
            return bool(name)
    return False


def _best_effort(spec: JsonObject) -> bool:
    asked = {**pod_amounts(spec, "requests"), **pod_amounts(spec, "limits")}
    return not any(asked[name].nano for name in ("cpu", "memory") if name in asked)


def _exceeds(
    review: Review, quota: JsonObject, asked: Amounts, before: Amounts, lookup: Lookup
) -> str:
    hard = {
        name: parse_quantity(amount)
        for name, amount in ((quota.get("spec") or {}).get("hard") or {}).items()
    }
    assert review.obj is not None
    if not in_scope(quota, review.kind, review.obj):
        return ""
    name = quota["metadata"]["name"]
    missing = _unspecified(review, hard, asked)
    if missing:
        return f"failed quota: {name}: must specify {missing}"
    grown = {
        resource: amount
        for resource, amount in asked.items()
        if resource in hard and amount.nano > before.get(resource, Quantity(0)).nano
    }
    if not grown:
        return ""
    used = used_of(quota, review.kind, review.namespace, lookup)
    over = []
    for resource in sorted(grown):
        now = used.get(resource, Quantity(0))
        added = grown[resource].nano - before.get(resource, Quantity(0)).nano
        if now.nano + added > hard[resource].nano:
            over.append((resource, Quantity(added, grown[resource].family), now, hard[resource]))
    if not over:
        return ""
    requested = ",".join(f"{resource}={amount}" for resource, amount, _, _ in over)
    in_use = ",".join(f"{resource}={amount}" for resource, _, amount, _ in over)
    limited = ",".join(f"{resource}={amount}" for resource, _, _, amount in over)
    return f"exceeded quota: {name}, requested: {requested}, used: {in_use}, limited: {limited}"


def used_of(quota: JsonObject, kind: Kind, namespace: str, lookup: Lookup) -> Amounts:
    """What the objects of one kind in a namespace use of a quota."""
    total: dict[str, int] = {}
    family: dict[str, str] = {}
    for obj in lookup.list(kind, namespace):
        if not in_scope(quota, kind, obj):
            continue
        for resource, amount in usage(kind, obj).items():
            total[resource] = total.get(resource, 0) + amount.nano
            family[resource] = amount.family
    return {resource: Quantity(nano, family[resource]) for resource, nano in total.items()}


def _unspecified(review: Review, hard: Amounts, asked: Amounts) -> str:
    """Compute resources under quota that a pod does not name, as Kubernetes lists them."""
    if review.kind != kinds.POD or review.operation != "CREATE" or review.obj is None:
        return ""
    wanted = [
        name
        for name in sorted(hard)
        if name in _BARE_REQUESTS[:2]
        or name in ("requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
    ]
    missing = [name for name in wanted if name not in asked]
    if not missing:
        return ""
    containers = ",".join(
        container["name"] for container in (review.obj.get("spec") or {}).get("containers") or ()
    )
    return "; ".join(f"{name} for: {containers}" for name in missing)
