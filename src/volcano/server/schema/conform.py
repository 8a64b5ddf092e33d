"""Makes an object conform to its schema: drops unknown fields and nulls, names wrong types.

Core kinds are decoded into Go structs by kube-apiserver, so a wrong type there is a decoding error
(400); custom resources stay untyped until validation (422), except their metadata.
"""

from typing import Any

from volcano.api.objects import JsonObject
from volcano.server.schema.formats import QUANTITY_MESSAGE, base64_error_at
from volcano.server.schema.go_types import embedded, named_type
from volcano.server.schema.node import Node


class DecodeError(ValueError):
    """A body that does not decode; the text is the one kube-apiserver gives."""


def conform(node: Node, obj: JsonObject, *, custom: bool) -> list[str]:
    """Drop unknown fields and nulls of fields that may not be null, in place.

    Returns:
        `unknown field "PATH"` for each field dropped.

    Raises:
        DecodeError: a value has the wrong type, in a core kind or in metadata.
    """
    if node.check(obj):
        return []
    walk = _Walk(custom=custom)
    walk.object(node, obj, "", _Place("", ()))
    return [f'unknown field "{path}"' for path in walk.unknown]


class _Place:
    """Where decoding is, as Go's decoder counts: the struct and the stack of field names."""

    __slots__ = ("stack", "struct")

    def __init__(self, struct: str, stack: tuple[str, ...]) -> None:
        self.struct = struct
        self.stack = stack

    def below(self, struct: str, name: str) -> "_Place":
        inner = embedded(struct, name)
        return _Place(struct, (*self.stack, inner, name) if inner else (*self.stack, name))


class _Walk:
    def __init__(self, *, custom: bool) -> None:
        self.typed = not custom
        self.unknown: list[str] = []

    def value(self, node: Node, value: Any, path: str, place: _Place) -> None:
        if node.check(value):
            return
        if type(value) is dict and node.shape == "object":
            self.object(node, value, path, place)
        elif type(value) is dict and node.shape == "map":
            self.map(node, value, path, place)
        elif type(value) is list and node.shape == "array":
            self.array(node, value, path, place)
        elif self.typed:
            raise DecodeError(_mismatch(node, value, place))

    def object(self, node: Node, obj: JsonObject, path: str, place: _Place) -> None:
        struct = node.struct or place.struct
        for key in list(obj):
            where = f"{path}.{key}" if path else key
            child = node.fields.get(key) or node.values
            if child is None:
                if not node.keep_unknown:
                    self.unknown.append(where)
                    del obj[key]
            elif obj[key] is None:
                if not child.nullable:
                    del obj[key]
            elif self.typed or not (node.embedded and key == "metadata"):
                self.value(child, obj[key], where, place.below(struct, key))
            else:
                self.typed = True
                self.value(child, obj[key], where, _Place("", ()))
                self.typed = False

    def map(self, node: Node, obj: JsonObject, path: str, place: _Place) -> None:
        child = node.values
        if child is None:
            return
        for key in list(obj):
            if obj[key] is None and not child.nullable:
                if self.typed and child.shape == "string":
                    obj[key] = ""
                else:
                    del obj[key]
            else:
                self.value(child, obj[key], f"{path}.{key}", place)

    def array(self, node: Node, items: list[Any], path: str, place: _Place) -> None:
        child = node.items
        if child is None:
            return
        for index, item in enumerate(items):
            if item is None and self.typed:
                items[index] = {"string": "", "object": {}}.get(child.shape)
            else:
                self.value(child, item, f"{path}[{index}]", place)


def json_type(value: Any) -> str:
    """Name of a JSON value's type as Go's decoder gives it."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int | float):
        return "number"
    return "array" if isinstance(value, list) else "object"


def _mismatch(node: Node, value: Any, place: _Place) -> str:
    kind, go_type = json_type(value), node.go_type
    name = place.stack[-1] if place.stack else ""
    match node.shape:
        case "quantity":
            return QUANTITY_MESSAGE
        case "int-or-string":
            go_type = "int32"
        case "time" if kind == "string":
            layout = "2006-01-02T15:04:05Z07:00"
            return f'parsing time "{value}" as "{layout}": cannot parse "{value}" as "2006"'
        case "time":
            go_type = "string"
        case "bytes" if kind == "string":
            return f"illegal base64 data at input byte {base64_error_at(value) or 0}"
        case "integer" if kind == "number":
            kind = f"number {value}"
        case "map" if node.values is not None and node.values.shape == "quantity":
            go_type = "v1.ResourceList"
        case "string" | "array":
            go_type = named_type(place.struct, name) or go_type
            if node.shape == "string":
                go_type = go_type.removeprefix("[]")
    field = ".".join(place.stack)
    if not field:
        return f"json: cannot unmarshal {kind} into Go value of type {go_type}"
    return (
        f"json: cannot unmarshal {kind} into Go struct field "
        f"{place.struct}.{field} of type {go_type}"
    )
