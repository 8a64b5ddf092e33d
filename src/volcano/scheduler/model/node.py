"""Nodes: what the scheduler reads of a Node object; usage lives in the columns of the state."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from volcano.api.objects import JsonObject, metadata, name_of
from volcano.resources.vector import CPU, MEMORY, Axes
from volcano.scheduler.model.pod_spec import quantity_or_zero
from volcano.scheduler.model.task import Taint

_NOT_READY = {"False": "node.kubernetes.io/not-ready", "Unknown": "node.kubernetes.io/unreachable"}
_OVERSUBSCRIPTION = {
    CPU: "volcano.sh/oversubscription-cpu",
    MEMORY: "volcano.sh/oversubscription-memory",
}


@dataclass(slots=True)
class Node:
    """One node.

    Attributes:
        row: its place in the columns of the state.
        allocatable: what pods may use, over-subscription included, by axis.
        raw_allocatable: the same without over-subscription: what Kubernetes' scores look at.
        taints: the node's own, and the one that Kubernetes gives a node whose Ready condition is
            not True, in case nobody has written it yet.
        images: name → bytes.
    """

    name: str
    row: int
    allocatable: dict[int, int]
    raw_allocatable: dict[int, int]
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    unschedulable: bool
    images: Mapping[str, int] = field(default_factory=dict)


def read_node(obj: JsonObject, row: int, axes: Axes) -> Node:
    """Read a Node object.

    Raises:
        ValueError: an amount in `status.allocatable` is not a quantity.
    """
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    raw = axes.amounts(status.get("allocatable"))
    annotations = metadata(obj).get("annotations") or {}
    allocatable = dict(raw)
    for axis, annotation in _OVERSUBSCRIPTION.items():
        if annotation in annotations:
            allocatable[axis] = allocatable.get(axis, 0) + quantity_or_zero(annotations[annotation])
    return Node(
        name=name_of(obj),
        row=row,
        allocatable=allocatable,
        raw_allocatable=raw,
        labels=metadata(obj).get("labels") or {},
        taints=_taints(spec, status),
        unschedulable=bool(spec.get("unschedulable")),
        images=_images(status),
    )


def _taints(spec: JsonObject, status: JsonObject) -> tuple[Taint, ...]:
    taints = [
        Taint(str(t.get("key") or ""), str(t.get("value") or ""), str(t.get("effect") or ""))
        for t in spec.get("taints") or ()
    ]
    for condition in status.get("conditions") or ():
        if condition.get("type") == "Ready":
            key = _NOT_READY.get(str(condition.get("status")))
            if key and not any(t.key == key and t.effect == "NoSchedule" for t in taints):
                taints.append(Taint(key, "", "NoSchedule"))
    return tuple(taints)


def _images(status: JsonObject) -> Mapping[str, int]:
    return {
        str(name): int(image.get("sizeBytes") or 0)
        for image in status.get("images") or ()
        for name in image.get("names") or ()
    }
