"""LimitRanges: default requests and limits of containers, minima, maxima and ratios."""

from collections.abc import Callable, Iterable, Iterator

from volcano.api import kinds
from volcano.api.admission import ALLOWED, Admission, Lookup, Operation, Review
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.resources.quantity import Quantity, parse_quantity
from volcano.server.admission.chain import refused
from volcano.server.validation.defaults import qos_class

Amounts = dict[str, Quantity]
_LIMITED = frozenset({kinds.POD, kinds.PERSISTENT_VOLUME_CLAIM})


class LimitRangeDefaults:
    """Gives containers the requests and limits that their namespace's LimitRanges default."""

    name = "LimitRanger"
    kinds: frozenset[Kind] = frozenset({kinds.POD})
    operations: frozenset[Operation] = frozenset({"CREATE"})

    def admit(self, review: Review, lookup: Lookup) -> Admission:
        """The pod with defaults filled in."""
        pod = review.obj
        if pod is None or review.subresource:
            return ALLOWED
        items = [item for item in _items(review.namespace, lookup) if item["type"] == "Container"]
        if not any(item.get("default") or item.get("defaultRequest") for item in items):
            return ALLOWED
        spec = dict(pod.get("spec") or {})
        for field in ("initContainers", "containers"):
            if spec.get(field):
                spec[field] = [_defaulted(container, items) for container in spec[field]]
        status = {**(pod.get("status") or {}), "qosClass": qos_class(spec)}
        return Admission(patched={**pod, "spec": spec, "status": status})


class LimitRangeCheck:
    """Refuses pods and claims outside their namespace's LimitRanges."""

    name = "LimitRanger"
    kinds: frozenset[Kind] = _LIMITED
    operations: frozenset[Operation] = frozenset({"CREATE"})

    def admit(self, review: Review, lookup: Lookup) -> Admission:
        """Allow, or refuse with every bound that is broken."""
        if review.obj is None or review.subresource:
            return ALLOWED
        found: list[str] = []
        for item in _items(review.namespace, lookup):
            for requests, limits in _subjects(review, item["type"]):
                found.extend(_broken(item, requests, limits))
        if not found:
            return ALLOWED
        return refused(review, found[0] if len(found) == 1 else f"[{', '.join(found)}]")


def _items(namespace: str, lookup: Lookup) -> Iterator[JsonObject]:
    for limit_range in lookup.list(kinds.LIMIT_RANGE, namespace):
        yield from (limit_range.get("spec") or {}).get("limits") or ()


def _defaulted(container: JsonObject, items: Iterable[JsonObject]) -> JsonObject:
    resources = dict(container.get("resources") or {})
    limits = dict(resources.get("limits") or {})
    requests = dict(resources.get("requests") or {})
    for item in items:
        for name, amount in (item.get("defaultRequest") or {}).items():
            requests.setdefault(name, amount)
        for name, amount in (item.get("default") or {}).items():
            limits.setdefault(name, amount)
    if limits:
        resources["limits"] = limits
    if requests:
        resources["requests"] = requests
    return {**container, "resources": resources}


def _subjects(review: Review, kind: str) -> Iterator[tuple[Amounts, Amounts]]:
    """Requests and limits of each thing that an item of this type is about."""
    spec = (review.obj or {}).get("spec") or {}
    if review.kind == kinds.POD and kind == "Container":
        for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]:
            yield _amounts(container, "requests"), _amounts(container, "limits")
    elif review.kind == kinds.POD and kind == "Pod":
        yield pod_amounts(spec, "requests"), pod_amounts(spec, "limits")
    elif review.kind == kinds.PERSISTENT_VOLUME_CLAIM and kind == "PersistentVolumeClaim":
        requests = _amounts(spec, "requests")
        yield requests, requests


def _amounts(container: JsonObject, which: str) -> Amounts:
    amounts = (container.get("resources") or {}).get(which) or {}
    return {name: parse_quantity(amount) for name, amount in amounts.items()}


def pod_amounts(spec: JsonObject, which: str) -> Amounts:
    """What a pod asks for: its containers together, or its largest init container, and overhead.

    Init containers that go on running (restartPolicy Always) count like containers.
    """
    total: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        amounts = _amounts(container, which)
        if container.get("restartPolicy") == "Always":
            _combine(total, amounts, _sum)
            _combine(peak, total, _larger)
        else:
            _combine(peak, _combine(dict(total), amounts, _sum), _larger)
    for container in spec.get("containers") or ():
        _combine(total, _amounts(container, which), _sum)
    _combine(total, peak, _larger)
    for name, amount in (spec.get("overhead") or {}).items():
        if which == "requests" or name in total:
            _combine(total, {name: parse_quantity(amount)}, _sum)
    return total


def _combine(
    target: Amounts, added: Amounts, how: Callable[[Quantity, Quantity], Quantity]
) -> Amounts:
    for name, amount in added.items():
        target[name] = how(target[name], amount) if name in target else amount
    return target


def _sum(one: Quantity, other: Quantity) -> Quantity:
    return Quantity(one.nano + other.nano, one.family)


def _larger(one: Quantity, other: Quantity) -> Quantity:
    return one if one.nano >= other.nano else other


def _broken(item: JsonObject, requests: Amounts, limits: Amounts) -> Iterator[str]:
    kind = item["type"]
    for name, text in (item.get("min") or {}).items():
        yield from _below(kind, name, parse_quantity(text), requests, limits)
    for name, text in (item.get("max") or {}).items():
        yield from _above(kind, name, parse_quantity(text), requests, limits)
    for name, text in (item.get("maxLimitRequestRatio") or {}).items():
        yield from _ratio(kind, name, parse_quantity(text), requests, limits)


def _below(
    kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts
) -> Iterator[str]:
    if name not in requests:
        yield f"minimum {name} usage per {kind} is {bound}.  No request is specified"
    elif requests[name].nano < bound.nano:
        yield f"minimum {name} usage per {kind} is {bound}, but request is {requests[name]}"
    if name in limits and limits[name].nano < bound.nano:
        yield f"minimum {name} usage per {kind} is {bound}, but limit is {limits[name]}"


def _above(
    kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts
) -> Iterator[str]:
    if name not in limits:
        yield f"maximum {name} usage per {kind} is {bound}.  No limit is specified"
    elif limits[name].nano > bound.nano:
        yield f"maximum {name} usage per {kind} is {bound}, but limit is {limits[name]}"
    if name in requests and requests[name].nano > bound.nano:
        yield f"maximum {name} usage per {kind} is {bound}, but request is {requests[name]}"


def _ratio(
    kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts
) -> Iterator[str]:
    request, limit = requests.get(name), limits.get(name)
    head = f"{name} max limit to request ratio per {kind} is {bound}"
    if request is None or not request.nano:
        yield f"{head}, but no request is specified or request is 0"
    elif limit is None or not limit.nano:
        yield f"{head}, but no limit is specified or limit is 0"
    elif limit.nano * 10**9 > bound.nano * request.nano:
        yield f"{head}, but provided ratio is {limit.nano / request.nano:.6f}"
