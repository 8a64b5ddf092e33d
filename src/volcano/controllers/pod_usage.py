"""What a pod asks for, counted as a ResourceQuota counts it: the unit of `minResources`."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from volcano.api.objects import JsonObject
from volcano.resources.quantity import Quantity, format_nano, parse_quantity

_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage"})
_NANO = 10**9


@dataclass(slots=True)
class Amounts:
    """Amounts by resource name, in nano-units, each remembering how it was written."""

    nano: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    family: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, amount: Quantity, times: int = 1) -> None:
        """Add an amount so many times."""
        self.nano[name] += amount.nano * times
        self.family.setdefault(name, amount.family)

    def add_all(self, other: "Amounts", times: int = 1) -> None:
        """Add all amounts of another, each so many times."""
        for name, nano in other.nano.items():
            self.nano[name] += nano * times
            self.family.setdefault(name, other.family.get(name, "decimal"))

    def raise_to(self, other: "Amounts") -> None:
        """Take the larger amount of each resource."""
        for name, nano in other.nano.items():
            self.nano[name] = max(self.nano[name], nano)
            self.family.setdefault(name, other.family.get(name, "decimal"))

    def to_json(self) -> dict[str, str]:
        """A ResourceList for the wire, sorted by name."""
        return {
            name: format_nano(nano, self.family.get(name, "decimal"))
            for name, nano in sorted(self.nano.items())
        }


def pod_usage(spec: JsonObject) -> Amounts:
    """Quota usage of one pod with this spec; extended resources also under their bare name.

    A container that gives only a limit asks for as much, as the API server will store it.
    """
    requests, limits = _of_pod(spec, "requests"), _of_pod(spec, "limits")
    usage = Amounts()
    one = Quantity(_NANO)
    usage.add("pods", one)
    usage.add("count/pods", one)
    for name, nano in requests.nano.items():
        amount = Quantity(nano, requests.family.get(name, "decimal"))
        usage.add(name, amount)
        usage.add(f"requests.{name}", amount)
    for name, nano in limits.nano.items():
        if name in _STANDARD:
            usage.add(f"limits.{name}", Quantity(nano, limits.family.get(name, "decimal")))
    return usage


def _of_pod(spec: JsonObject, part: str) -> Amounts:
    """Requests or limits of a pod: all containers together, or its greediest init container."""
    total = Amounts()
    for container in spec.get("containers") or ():
        total.add_all(_of_container(container, part))
    sidecars, peak = Amounts(), Amounts()
    for container in spec.get("initContainers") or ():
        own = _of_container(container, part)
        if container.get("restartPolicy") == "Always":
            total.add_all(own)
            sidecars.add_all(own)
            peak.raise_to(sidecars)
        else:
            own.add_all(sidecars)
            peak.raise_to(own)
    total.raise_to(peak)
    overhead = _amounts(spec.get("overhead") or {})
    for name, nano in overhead.nano.items():
        if part == "requests" or name in total.nano:
            total.add(name, Quantity(nano, overhead.family[name]))
    return total


def _of_container(container: JsonObject, part: str) -> Amounts:
    resources = container.get("resources") or {}
    wanted = dict(resources.get(part) or {})
    if part == "requests":
        wanted = {**(resources.get("limits") or {}), **wanted}
    return _amounts(wanted)


def _amounts(listed: Mapping[str, str | float]) -> Amounts:
    amounts = Amounts()
    for name, text in listed.items():
        amounts.add(name, parse_quantity(text))
    return amounts


def total_usage(parts: Iterable[tuple[JsonObject, int]]) -> dict[str, str]:
    """Quota usage of so many pods of each spec, as a ResourceList."""
    total = Amounts()
    for spec, times in parts:
        if times:
            total.add_all(pod_usage(spec), times)
    return total.to_json()
