"""Table answers: what `kubectl get` shows."""

from collections.abc import Iterable
from typing import Literal

from volcano.api.objects import JsonObject
from volcano.server.registry import Column, ServedKind

IncludeObject = Literal["None", "Metadata", "Object"]


def columns(entry: ServedKind) -> list[Column]:
    """Columns of a kind's table."""
    raise NotImplementedError


def row(
    entry: ServedKind, obj: JsonObject, now: float, include_object: IncludeObject = "Metadata"
) -> JsonObject:
    """One TableRow."""
    raise NotImplementedError


def table(
    entry: ServedKind,
    objects: Iterable[JsonObject],
    now: float,
    *,
    include_object: IncludeObject = "Metadata",
    list_metadata: JsonObject | None = None,
    with_columns: bool = True,
) -> JsonObject:
    """A meta.k8s.io/v1 Table. For watch events: one object, columns only in the first event."""
    raise NotImplementedError


def wants_table(accept: str) -> bool:
    """Whether an Accept header asks for a v1 Table before plain JSON."""
    raise NotImplementedError
