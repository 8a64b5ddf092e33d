"""Queues: what the scheduler reads of a Queue object."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from volcano.api.objects import JsonObject, metadata, name_of
from volcano.base.clock import parse_timestamp
from volcano.resources.vector import Axes

STATE_OPEN = "Open"


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue; amounts by axis. An unset list is an empty mapping.

    Attributes:
        allocated: `status.allocated` as written, by resource name.
        trouble: why a part of the object could not be read; the part counts as unset.
    """

    name: str
    weight: int = 1
    priority: int = 0
    parent: str = ""
    reclaimable: bool = True
    state: str = STATE_OPEN
    creation: float = 0.0
    capability: Mapping[int, int] = field(default_factory=dict)
    deserved: Mapping[int, int] = field(default_factory=dict)
    guarantee: Mapping[int, int] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    uid: str = ""
    allocated: Mapping[str, str] = field(default_factory=dict)
    trouble: str = ""

    @property
    def is_open(self) -> bool:
        """Whether the queue takes work: its state is Open, or not written yet."""
        return self.state in (STATE_OPEN, "")


def read_queue(obj: JsonObject, axes: Axes) -> Queue:
    """Read a Queue object; a list that cannot be read counts as unset, with `trouble` saying so."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    troubles: list[str] = []

    def amounts(field_name: str, value: JsonObject | None) -> Mapping[int, int]:
        try:
            return axes.amounts(value)
        except ValueError as error:
            troubles.append(f"spec.{field_name}: {error}")
            return {}

    weight = spec.get("weight")
    return Queue(
        name=name_of(obj),
        weight=1 if weight is None else int(weight),
        priority=int(spec.get("priority") or 0),
        parent=str(spec.get("parent") or ""),
        reclaimable=spec.get("reclaimable") is not False,
        state=str(status.get("state") or ""),
        creation=creation_of(obj),
        capability=amounts("capability", spec.get("capability")),
        deserved=amounts("deserved", spec.get("deserved")),
        guarantee=amounts("guarantee.resource", (spec.get("guarantee") or {}).get("resource")),
        annotations=metadata(obj).get("annotations") or {},
        uid=str(metadata(obj).get("uid") or ""),
        allocated={name: str(amount) for name, amount in (status.get("allocated") or {}).items()},
        trouble="; ".join(troubles),
    )


def creation_of(obj: JsonObject) -> float:
    """Creation time in seconds since the epoch; 0 without a readable one."""
    text = metadata(obj).get("creationTimestamp")
    if not text:
        return 0.0
    try:
        return parse_timestamp(text)
    except ValueError:
        return 0.0
