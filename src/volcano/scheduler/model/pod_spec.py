"""From a pod's spec to its task class: requests, constraints, and what cannot be honoured yet.

`class_key` is cheap and total: two pods with one key have one class. `compile_class` runs once per
key. Requests follow Kubernetes: containers add up, init containers count by their largest step,
restartable ones (sidecars) add to all that follow, pod-level requests replace the sum, overhead is
added at the end.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from volcano.api.objects import JsonObject
from volcano.resources.quantity import parse_quantity
from volcano.resources.vector import MEMORY, PODS, Axes, add_to, is_scheduled, sparse
from volcano.scheduler.model.task import HostPort, NodeTerm, Requirement, TaskClass, Toleration

_encode = msgspec.json.Encoder().encode

SCORING_CPU_MILLI = 100
"""CPU that a container without a CPU request counts for in scores."""

SCORING_MEMORY_BYTES = 200 * 2**20
"""Memory that a container without a memory request counts for in scores."""

_POD_LEVEL = ("cpu", "memory")


def class_key(spec: JsonObject) -> bytes:
    """Bytes that are equal only for specs that are scheduled alike."""
    containers = spec.get("containers") or ()
    parts: list[Any] = [
        [(c.get("resources"), c.get("ports"), c.get("image")) for c in containers],
        spec.get("nodeSelector"),
        spec.get("tolerations"),
        spec.get("affinity"),
    ]
    parts.extend((field, spec[field]) for field in _RARE_FIELDS if spec.get(field))
    if init := spec.get("initContainers"):
        parts.append(
            [
                (c.get("resources"), c.get("ports"), c.get("image"), c.get("restartPolicy"))
                for c in init
            ]
        )
    if volumes := spec.get("volumes"):
        parts.append([kind for volume in volumes for kind in _CLAIMS if kind in volume])
    return _encode(parts)


_RARE_FIELDS = (
    "overhead",
    "resources",
    "resourceClaims",
    "topologySpreadConstraints",
    "hostNetwork",
)
_CLAIMS = ("persistentVolumeClaim", "ephemeral")


def compile_class(number: int, spec: JsonObject, axes: Axes) -> TaskClass:
    """The class of a spec. What is malformed makes the class unsupported, with the reason."""
    try:
        return _compile(number, spec, axes)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        return TaskClass(
            id=number,
            request=((PODS, 1),),
            scoring_request=(0, 0),
            best_effort=False,
            unsupported=f"the pod's spec cannot be read: {error}",
        )


def _compile(number: int, spec: JsonObject, axes: Axes) -> TaskClass:
    containers = spec.get("containers") or []
    init = spec.get("initContainers") or []
    request = _pod_request(spec, axes)
    affinity = spec.get("affinity") or {}
    node_affinity = affinity.get("nodeAffinity") or {}
    required = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    preferred = node_affinity.get("preferredDuringSchedulingIgnoredDuringExecution")
    return TaskClass(
        id=number,
        request=sparse(request),
        scoring_request=_scoring_request(spec),
        best_effort=not any(amount for axis, amount in request.items() if axis != PODS),
        node_selector=tuple(sorted((spec.get("nodeSelector") or {}).items())),
        required_terms=None
        if required is None
        else tuple(_term(term) for term in required.get("nodeSelectorTerms") or ()),
        preferred_terms=None
        if preferred is None
        else tuple(
            _term(entry.get("preference") or {}, int(entry.get("weight") or 0))
            for entry in preferred
        ),
        tolerations=tuple(_toleration(entry) for entry in spec.get("tolerations") or ()),
        host_ports=_host_ports(spec, [*containers, *filter(_is_sidecar, init)]),
        images=tuple(_image_name(str(c.get("image") or "")) for c in [*init, *containers]),
        container_count=max(1, len(containers) + len(init)),
        unsupported=_unsupported(spec, affinity),
    )


def _unsupported(spec: JsonObject, affinity: JsonObject) -> str:
    used = [
        text
        for field, text in (
            ("podAffinity", "pod affinity (spec.affinity.podAffinity)"),
            ("podAntiAffinity", "pod anti-affinity (spec.affinity.podAntiAffinity)"),
        )
        if affinity.get(field)
    ]
    if spec.get("topologySpreadConstraints"):
        used.append("topology spread (spec.topologySpreadConstraints)")
    if spec.get("resourceClaims"):
        used.append("resource claims (spec.resourceClaims)")
    for volume in spec.get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            used.append(f"the volume claim of volume {volume.get('name')!r}")
        elif "ephemeral" in volume:
            used.append(f"the ephemeral claim of volume {volume.get('name')!r}")
    if not used:
        return ""
    return "pod uses " + ", ".join(used) + ", which this scheduler cannot honour yet"


def _is_sidecar(container: JsonObject) -> bool:
    return container.get("restartPolicy") == "Always"


def _container_request(container: JsonObject, axes: Axes) -> dict[int, int]:
    """Requests of one container; where only a limit is given it is the request (API defaulting)."""
    resources = container.get("resources") or {}
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    if limits:
        requests = {**{n: q for n, q in limits.items() if is_scheduled(n)}, **requests}
    return axes.amounts(requests)


def _pod_request(spec: JsonObject, axes: Axes) -> dict[int, int]:
    total: dict[int, int] = {}
    for container in spec.get("containers") or ():
        add_to(total, _container_request(container, axes).items())
    sidecars: dict[int, int] = {}
    peak: dict[int, int] = {}
    for container in spec.get("initContainers") or ():
        step = _container_request(container, axes)
        add_to(step, sidecars.items())
        if _is_sidecar(container):
            add_to(total, _container_request(container, axes).items())
            sidecars = step
        for axis, amount in step.items():
            peak[axis] = max(peak.get(axis, 0), amount)
    for axis, amount in peak.items():
        total[axis] = max(total.get(axis, 0), amount)
    level = (spec.get("resources") or {}).get("requests") or {}
    total.update(
        axes.amounts(
            {n: q for n, q in level.items() if n in _POD_LEVEL or n.startswith("hugepages-")}
        )
    )
    add_to(total, axes.amounts(spec.get("overhead")).items())
    total[PODS] = 1
    return total


def _scoring_request(spec: JsonObject) -> tuple[int, int]:
    axes = Axes()
    overhead = axes.amounts(spec.get("overhead"))
    pair: list[int] = []
    for name, default in (("cpu", SCORING_CPU_MILLI), ("memory", SCORING_MEMORY_BYTES)):
        axis = axes.axis(name)
        total = sidecars = peak = 0
        for container in spec.get("containers") or ():
            total += _container_request(container, axes).get(axis, default)
        for container in spec.get("initContainers") or ():
            step = _container_request(container, axes).get(axis, default)
            if _is_sidecar(container):
                total += step
                sidecars += step
                peak = max(peak, sidecars)
            else:
                peak = max(peak, step + sidecars)
        pair.append(max(total, peak) + overhead.get(axis, 0))
    return pair[0], pair[MEMORY]


def _host_ports(spec: JsonObject, containers: Iterable[JsonObject]) -> tuple[HostPort, ...]:
    shared_network = bool(spec.get("hostNetwork"))
    ports: set[HostPort] = set()
    for container in containers:
        for entry in container.get("ports") or ():
            number = entry.get("hostPort") or (shared_network and entry.get("containerPort")) or 0
            if number:
                address = str(entry.get("hostIP") or "")
                ports.add(
                    HostPort(
                        str(entry.get("protocol") or "TCP"),
                        "" if address == "0.0.0.0" else address,
                        int(number),
                    )
                )
    return tuple(sorted(ports, key=lambda port: (port.protocol, port.address, port.port)))


def _toleration(entry: JsonObject) -> Toleration:
    return Toleration(
        key=str(entry.get("key") or ""),
        operator=str(entry.get("operator") or "Equal"),
        value=str(entry.get("value") or ""),
        effect=str(entry.get("effect") or ""),
    )


def _requirements(entries: Iterable[JsonObject] | None) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(
            str(entry["key"]),
            str(entry["operator"]),
            tuple(str(value) for value in entry.get("values") or ()),
        )
        for entry in entries or ()
    )


def _term(term: JsonObject, weight: int = 0) -> NodeTerm:
    return NodeTerm(
        _requirements(term.get("matchExpressions")), _requirements(term.get("matchFields")), weight
    )


def _image_name(image: str) -> str:
    """The name with a tag: `:latest` where none is written."""
    return image if ":" in image.rsplit("/", 1)[-1] else f"{image}:latest"


def pod_index(name: str) -> int:
    """The number after the last dash of a name of three parts or more; -1 without one."""
    parts = name.rsplit("-", 2)
    if len(parts) == 3 and parts[2].isascii() and parts[2].isdigit():
        return int(parts[2])
    return -1


def quantity_or_zero(text: str | float) -> int:
    """Whole value of an annotation that holds a quantity; 0 if it cannot be read."""
    try:
        return parse_quantity(text).value
    except ValueError:
        return 0
