"""How an answer is written: plain JSON, a Table, metadata only; conversion between versions.

Stored bytes go out as they are wherever the representation allows it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import cast

import msgspec

from volcano.api.kinds import EVENT, EVENTS_EVENT
from volcano.api.objects import JsonObject
from volcano.base.errors import ApiError
from volcano.server import accept, tables
from volcano.server.refusals import bad_request
from volcano.server.resources import Resource
from volcano.server.store.log import Row

JSON = "application/json"
JSON_HEADERS: Mapping[str, str] = {"content-type": JSON}

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode


class Shape(Enum):
    """What each object is written as."""

    OBJECT = "object"
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"


@dataclass(frozen=True, slots=True)
class Representation:
    """A negotiated answer: the shape, and for tables how much of the object each row holds."""

    shape: Shape = Shape.OBJECT
    include: tables.IncludeObject = "Metadata"


@lru_cache(maxsize=256)
def negotiate(header: str, include: str = "") -> Representation:
    """The media type that an Accept header prefers of those we write.

    Raises:
        ApiError: NotAcceptable, or BadRequest for a wrong `includeObject`.
    """
    for one in accept.parse(header):
        if one.is_json and "as" not in one.parameters:
            return _PLAIN
        if one.asks_for("Table", *_META):
            return Representation(Shape.TABLE, _include(include))
        if any(one.asks_for(kind, *_META) for kind in _METADATA_ONLY):
            return Representation(Shape.METADATA)
    raise ApiError(
        "NotAcceptable",
        "only the following media types are accepted: application/json,"
        " application/json;as=Table;g=meta.k8s.io;v=v1,"
        " application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    )


_PLAIN = Representation()
_META = (tables.GROUP, tables.VERSION)
_METADATA_ONLY = ("PartialObjectMetadata", "PartialObjectMetadataList")


def _include(text: str) -> tables.IncludeObject:
    if text not in ("", "None", "Metadata", "Object"):
        raise bad_request(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{text}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        )
    return cast("tables.IncludeObject", text or "Metadata")


def object_bytes(resource: Resource, row: Row) -> bytes:
    """A stored object as JSON in the version asked for."""
    if not resource.converted:
        return row.value
    obj = decode(row.value)
    return encode(to_version(resource, obj))


def to_version(resource: Resource, obj: JsonObject) -> JsonObject:
    """A stored object in the version of `resource`; changed in place where it differs."""
    kind = resource.kind
    if obj.get("apiVersion") == kind.api_version:
        return obj
    if kind == EVENTS_EVENT:
        return _renamed(obj, kind.api_version, _EVENT_FIELDS)
    if kind == EVENT:
        return _renamed(obj, kind.api_version, {new: old for old, new in _EVENT_FIELDS.items()})
    obj["apiVersion"] = kind.api_version
    return obj


def to_stored(resource: Resource, obj: JsonObject) -> JsonObject:
    """An object of a request as it is stored: Events as core/v1, all else as it came."""
    if resource.kind != EVENTS_EVENT:
        return obj
    return _renamed(obj, EVENT.api_version, {new: old for old, new in _EVENT_FIELDS.items()})


_EVENT_FIELDS = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
"""Fields of a core Event and what events.k8s.io calls them; the others have one name."""


def _renamed(obj: JsonObject, api_version: str, names: Mapping[str, str]) -> JsonObject:
    renamed = {names.get(key, key): value for key, value in obj.items()}
    renamed["apiVersion"] = api_version
    return renamed


def metadata_only(obj: JsonObject) -> JsonObject:
    """The PartialObjectMetadata of an object."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": obj.get("metadata", {}),
    }


def single(
    resource: Resource, obj: JsonObject, representation: Representation, now: float
) -> JsonObject:
    """One object in a shape other than plain."""
    if representation.shape is Shape.METADATA:
        return metadata_only(obj)
    if representation.shape is Shape.TABLE:
        version = obj.get("metadata", {}).get("resourceVersion", "")
        return tables.table(
            resource.entry,
            [obj],
            now,
            include_object=representation.include,
            list_metadata={"resourceVersion": version},
        )
    return obj
