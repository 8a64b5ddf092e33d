"""Structural schemas from msgspec structs and from the core schema data.

What a CRD may hold is narrower than OpenAPI: no references, a type everywhere, only a few
`x-kubernetes-` extensions. This turns a struct of `volcano.api` into such a schema; a field marked
as a core type gets that definition of `volcano.api.schemas`, written out in place.
"""

from typing import Any

import msgspec
from msgspec import inspect as shapes

from volcano.api import schemas
from volcano.api.meta import QUANTITY_PATTERN
from volcano.api.objects import JsonObject

_INT_OR_STRING: JsonObject = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}
_TEXT: JsonObject = {"type": "string"}
_TEXTS: JsonObject = {"type": "object", "additionalProperties": _TEXT}
# Of the metadata embedded in templates only this is kept: the rest is set by the API server.
_EMBEDDED_META: JsonObject = {
    "type": "object",
    "properties": {
        "annotations": _TEXTS,
        "finalizers": {"type": "array", "items": _TEXT},
        "labels": _TEXTS,
        "name": _TEXT,
        "namespace": _TEXT,
    },
}
_CORE_KEYS = (
    "type",
    "format",
    "required",
    "enum",
    "default",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
)
# Defaults of enum types, which the original's CRDs do not carry (spec api 2.1).
_UNSTORED_CORE_DEFAULTS = frozenset(
    ("io.k8s.api.core.v1.AzureDiskVolumeSource", field) for field in ("cachingMode", "kind")
)


def struct_schema(struct: type[msgspec.Struct]) -> JsonObject:
    """The structural schema of a struct, its docstring's first line as description."""
    shape = shapes.type_info(struct)
    assert isinstance(shape, shapes.StructType)
    first_line = (struct.__doc__ or "").partition("\n")[0]
    return {"description": first_line, **_object(shape)}


def core_type_schema(name: str) -> JsonObject:
    """The structural schema of a core definition, references written out."""
    if name == schemas.QUANTITY:
        return {**_INT_OR_STRING, "pattern": QUANTITY_PATTERN}
    if name == schemas.INT_OR_STRING:
        return dict(_INT_OR_STRING)
    if name == schemas.OBJECT_META:
        return dict(_EMBEDDED_META)
    return _core(schemas.definitions()[name], name)


def _core(schema: JsonObject, owner: str) -> JsonObject:
    kept = {key: schema[key] for key in _CORE_KEYS if key in schema}
    reference = schemas.reference_of(schema)
    if reference is not None:
        return {**core_type_schema(reference), **kept}
    properties = schema.get("properties")
    if properties is not None:
        kept["properties"] = {field: _core(properties[field], owner) for field in properties}
        for field, found in kept["properties"].items():
            if (owner, field) in _UNSTORED_CORE_DEFAULTS:
                del found["default"]
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            kept[key] = _core(schema[key], owner)
    return kept


def _object(shape: shapes.StructType) -> JsonObject:
    properties: JsonObject = {}
    for field in shape.fields:
        properties[field.encode_name] = _field(field)
    schema: JsonObject = {"type": "object", "properties": properties}
    required = sorted(field.encode_name for field in shape.fields if field.required)
    if required:
        schema["required"] = required
    return schema


def _field(field: shapes.Field) -> JsonObject:
    schema = _shape(field.type)
    stored = isinstance(field.type, shapes.Metadata) and (field.type.extra or {}).get("stored")
    if stored:
        schema["default"] = field.default
    return schema


def _shape(shape: shapes.Type) -> JsonObject:
    """The schema of a type; a union with None is the other type, for CRDs know absence only."""
    match shape:
        case shapes.Metadata():
            return _annotated(shape)
        case shapes.UnionType(types=types):
            rest = [one for one in types if not isinstance(one, shapes.NoneType)]
            if len(rest) != 1:
                raise TypeError(f"a CRD field has one type, not {rest}")
            return _shape(rest[0])
        case shapes.StructType():
            return _object(shape)
        case shapes.LiteralType(values=values):
            return {"type": "string", "enum": list(values)}
        case shapes.EnumType(cls=cls):
            return {"type": "string", "enum": [str(member.value) for member in cls]}
        case shapes.BoolType():
            return {"type": "boolean"}
        case shapes.IntType():
            return {"type": "integer", **_given(minimum=shape.ge, maximum=shape.le)}
        case shapes.StrType():
            return {"type": "string", **_text_limits(shape)}
        case shapes.DictType(value_type=value):
            return {"type": "object", "additionalProperties": _shape(value)}
        case shapes.VarTupleType():
            limits = _given(minItems=shape.min_length, maxItems=shape.max_length)
            return {"type": "array", "items": _shape(shape.item_type), **limits}
        case _:
            raise TypeError(f"no structural schema for {shape}")


def _annotated(shape: shapes.Metadata) -> JsonObject:
    extra = shape.extra or {}
    beside = shape.extra_json_schema or {}
    head = {"description": beside["description"]} if "description" in beside else {}
    if "definition" in extra:
        body = core_type_schema(extra["definition"])
    elif "quantity" in extra:
        body = core_type_schema(schemas.QUANTITY)
    else:
        body = _shape(shape.type)
    return {**head, **body, **beside}


def _text_limits(shape: shapes.StrType) -> JsonObject:
    return _given(minLength=shape.min_length, maxLength=shape.max_length, pattern=shape.pattern)


def _given(**pairs: Any) -> JsonObject:
    return {key: value for key, value in pairs.items() if value is not None}
