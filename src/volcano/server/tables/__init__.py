"""Table answers (meta.k8s.io/v1): what `kubectl get` shows.

Built-in kinds have printers here, one module per family; the kinds of CRDs are shown by the
columns the CRD declares; everything else by name and age. Pure: objects and the time in, JSON out.
Large lists may be put together row by row (`row`) in slices, and watches send a table of one row
per event, with the columns in the first only.
"""

import json
from collections.abc import Iterable
from typing import Any, Literal

from volcano.api import kinds
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject, metadata
from volcano.server.registry import Column, ServedKind
from volcano.server.tables import ages, cells, cluster, events, jsonpath, pods, workloads
from volcano.server.tables.cells import Cells, Printer

IncludeObject = Literal["None", "Metadata", "Object"]
"""What a row holds of its object beside the cells, as in the query parameter `includeObject`."""

GROUP = "meta.k8s.io"
VERSION = "v1"
CONTENT_TYPE = "application/json"
"""Of a table; clients look at the kind in the body."""

_BUILTIN: dict[Kind, Printer] = {
    kinds.POD: pods.PODS,
    **workloads.PRINTERS,
    **cluster.PRINTERS,
    **events.PRINTERS,
}
_NAME = cells.columns("Name")
_AGE = Column("Age", "date", ".metadata.creationTimestamp", description="Time since creation.")


def columns(entry: ServedKind) -> list[Column]:
    """The columns of a kind's table, in the order of the cells."""
    printer = _BUILTIN.get(entry.kind) if not entry.custom else None
    return list(printer.columns) if printer else [*_NAME, *(entry.columns or (_AGE,))]


def row(
    entry: ServedKind, obj: JsonObject, now: float, include_object: IncludeObject = "Metadata"
) -> JsonObject:
    """One TableRow.

    Args:
        now: seconds since the epoch, for ages.
        include_object: the whole object, its metadata, or nothing beside the cells.
    """
    printer = _BUILTIN.get(entry.kind) if not entry.custom else None
    shown = printer.cells(obj, now) if printer else _column_cells(entry, obj, now)
    line: JsonObject = {"cells": shown}
    if printer is pods.PODS and (conditions := pods.row_conditions(obj)):
        line["conditions"] = conditions
    if include_object == "Object":
        line["object"] = obj
    elif include_object == "Metadata":
        line["object"] = {
            "kind": "PartialObjectMetadata",
            "apiVersion": f"{GROUP}/{VERSION}",
            "metadata": metadata(obj),
        }
    else:
        line["object"] = None
    return line


def table(
    entry: ServedKind,
    objects: Iterable[JsonObject],
    now: float,
    *,
    include_object: IncludeObject = "Metadata",
    list_metadata: JsonObject | None = None,
    with_columns: bool = True,
) -> JsonObject:
    """A Table of some objects.

    Args:
        list_metadata: resourceVersion, continue and remainingItemCount of the list.
        with_columns: False for the later events of a watch.
    """
    definitions = [_definition(column) for column in columns(entry)] if with_columns else None
    return {
        "kind": "Table",
        "apiVersion": f"{GROUP}/{VERSION}",
        "metadata": list_metadata or {},
        "columnDefinitions": definitions,
        "rows": [row(entry, obj, now, include_object) for obj in objects],
    }


def _definition(column: Column) -> JsonObject:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def _column_cells(entry: ServedKind, obj: JsonObject, now: float) -> Cells:
    declared = entry.columns or (_AGE,)
    return [cells.name_of(obj), *(_cell(column, obj, now) for column in declared)]


def _cell(column: Column, obj: JsonObject, now: float) -> Any:
    """The first value at the column's path, by the column's type; None when there is none."""
    found = jsonpath.find(jsonpath.parse(column.json_path), obj)
    if not found or found[0] is None:
        return None
    value = found[0]
    match column.type:
        case "date":
            return ages.age(value, now) if isinstance(value, str) else None
        case "integer":
            return int(value) if _is_number(value) else None
        case "number":
            return value if _is_number(value) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case _:
            return _text(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any) -> str:
    """A value in a text column, as Go's templates print it."""
    if isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"))
