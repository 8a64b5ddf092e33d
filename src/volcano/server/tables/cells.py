"""What the printers share: cells, columns, and texts for the common parts of objects."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from volcano.api.objects import JsonObject
from volcano.server.registry import Column
from volcano.server.tables.ages import age

NONE = "<none>"
UNSET = "<unset>"
UNKNOWN = "<unknown>"
LISTED_MAX = 3
"""Addresses and ports shown before `+ N more...`."""

Cells = list[Any]
"""One value per column: texts, numbers, booleans or None."""

Print = Callable[[JsonObject, float], Cells]
"""Cells of an object at a time (seconds since the epoch)."""


@dataclass(frozen=True, slots=True)
class Printer:
    """How a kind is shown."""

    columns: tuple[Column, ...]
    cells: Print


def columns(*names: str, wide: Sequence[str] = ()) -> tuple[Column, ...]:
    """Text columns; `wide` ones are shown with `-o wide` only. A name may end in `:type`."""
    narrow = [_column(name, 0) for name in names]
    return (*narrow, *(_column(name, 1) for name in wide))


def part(obj: JsonObject, name: str) -> JsonObject:
    """A sub-object such as `spec`, empty when missing."""
    value = obj.get(name)
    return value if isinstance(value, dict) else {}


def items(obj: JsonObject, name: str) -> list[Any]:
    """A list field, empty when missing."""
    value = obj.get(name)
    return value if isinstance(value, list) else []


def name_of(obj: JsonObject) -> str:
    """The name, as the first cell."""
    return str(part(obj, "metadata").get("name", ""))


def created(obj: JsonObject, now: float) -> str:
    """The age of an object."""
    return age(part(obj, "metadata").get("creationTimestamp"), now)


def joined(texts: Iterable[Any], *, empty: str = NONE, separator: str = ",") -> str:
    """Texts with a separator, or what stands for none."""
    return separator.join(str(text) for text in texts) or empty


def some(texts: Sequence[str], *, empty: str = NONE) -> str:
    """The first few texts and how many more there are."""
    if len(texts) <= LISTED_MAX:
        return joined(texts, empty=empty)
    return f"{','.join(texts[:LISTED_MAX])} + {len(texts) - LISTED_MAX} more..."


def yes_no(value: Any, *, missing: str = UNSET) -> str:
    """A boolean as `True` or `False`."""
    return missing if value is None else str(bool(value))


def containers(template: JsonObject) -> tuple[str, str]:
    """Names and images of a pod template's containers: the CONTAINERS and IMAGES cells."""
    held = items(part(template, "spec"), "containers")
    names = (str(container.get("name", "")) for container in held)
    images = (str(container.get("image", "")) for container in held)
    return ",".join(names), ",".join(images)


def labels(pairs: Mapping[str, str] | None) -> str:
    """`a=b,c=d`, sorted."""
    return joined(f"{key}={value}" for key, value in sorted((pairs or {}).items()))


def selector(value: JsonObject | None) -> str:
    """A `metav1.LabelSelector` as text."""
    if not value:
        return NONE
    texts = [f"{key}={text}" for key, text in (value.get("matchLabels") or {}).items()]
    texts += [_requirement(one) for one in value.get("matchExpressions") or ()]
    return joined(sorted(texts))


def condition(obj: JsonObject, type_: str) -> JsonObject:
    """The status condition of a type, empty when there is none."""
    for one in items(part(obj, "status"), "conditions"):
        if one.get("type") == type_:
            return dict(one)
    return {}


def _requirement(one: JsonObject) -> str:
    key, values = one.get("key", ""), ",".join(sorted(one.get("values") or ()))
    match one.get("operator"):
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "DoesNotExist":
            return f"!{key}"
        case _:
            return str(key)


def _column(text: str, priority: int) -> Column:
    name, _, type_ = text.partition(":")
    return Column(
        name=name,
        type=type_ or "string",
        format="name" if name == "Name" else "",
        description=_DESCRIPTIONS.get(name, ""),
        priority=priority,
    )


_DESCRIPTIONS = {
    "Name": "Name of the object, unique in its namespace.",
    "Age": "Time since the object was created.",
    "Created At": "When the object was created.",
}
