"""Compiles an OpenAPI v3 schema into `Node`s: what conform, defaults, validation and patches walk.

One node per place in the schema; a `$ref` becomes one shared node, so recursive types are cycles of
nodes. Each node has a `check` closure that says without building paths whether a value needs any
attention (unknown field, null, wrong type); nearly every object passes it, and only one that does
not pays for the walk that names the field.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from volcano.api.objects import JsonObject
from volcano.api.schemas import INT_OR_STRING, OBJECT_META, QUANTITY, reference_of
from volcano.server.schema.formats import is_base64, is_quantity, is_time

Check = Callable[[Any], bool]

MISSING: Any = object()
"""Stands for "no default": None is a default that a schema may give."""

_INT32 = (-(2**31), 2**31 - 1)
_INT64 = (-(2**63), 2**63 - 1)
_TIME_REFS = {
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "v1.Time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "v1.MicroTime",
}
_PYTHON_TYPES: Mapping[str, type] = {"string": str, "boolean": bool, "object": dict, "array": list}


def _unset(_value: Any) -> bool:
    raise AssertionError("this schema node is still being compiled")


@dataclass(slots=True, eq=False)
class Node:
    """One place in a schema.

    Attributes:
        shape: `object` (declared fields), `map` (any keys, one value schema), `array`, `string`,
            `integer`, `number`, `boolean`, `quantity`, `int-or-string`, `time`, `bytes` or `any`.
        go_type: the Go type as decoding errors of kube-apiserver name it, e.g. `[]v1.Container`.
        struct: the Go struct name of an object, e.g. `PodSpec`; empty elsewhere.
        keep_unknown: undeclared fields stay (x-kubernetes-preserve-unknown-fields).
        embedded: an embedded resource: apiVersion, kind and metadata are declared implicitly.
        schema: the OpenAPI schema, for the constraints that only validation reads.
        check: whether a value conforms with nothing to drop and no wrong type.
        defaults_inside: whether it or anything below has a default.
        granular: server-side apply owns the fields of this map one by one.
        keyed: server-side apply owns the items of this list one by one (a set, or a map by keys).
        single_key: the key field of a list keyed by one, else empty.
        wire: by field name, its `f:NAME` in managed fields and, unless always a leaf, its node.
    """

    shape: str
    schema: JsonObject
    go_type: str = ""
    struct: str = ""
    fields: dict[str, "Node"] = field(default_factory=dict)
    values: "Node | None" = None
    items: "Node | None" = None
    keep_unknown: bool = False
    embedded: bool = False
    nullable: bool = False
    required: tuple[str, ...] = ()
    default: Any = MISSING
    list_type: str = "atomic"
    list_keys: tuple[str, ...] = ()
    atomic: bool = False
    merge_key: str = ""
    strategies: frozenset[str] = frozenset()
    check: Check = _unset
    defaults_inside: bool = False
    wire: dict[str, "tuple[str, Node | None]"] = field(default_factory=dict)
    granular: bool = True
    keyed: bool = False
    single_key: str = ""


class Compiler:
    """Turns schemas into nodes; nodes of named definitions are made once and shared."""

    def __init__(self, definitions: Mapping[str, JsonObject]) -> None:
        self._definitions = definitions
        self._named: dict[str, Node] = {}

    def definition(self, name: str) -> Node:
        """The node of a named definition.

        Raises:
            KeyError: no definition has that name.
        """
        known = self._named.get(name)
        if known is not None:
            return known
        node = self._special(name)
        if node is not None:
            self._named[name] = node
            return node
        node = Node("any", {})
        self._named[name] = node
        self._fill(node, self._definitions[name], name)
        return node

    def compile(self, schema: JsonObject, *, root: bool = False) -> Node:
        """The node of a schema; with `root` that of a whole custom resource."""
        name = reference_of(schema)
        if name is not None:
            node = self.definition(name)
            beside = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
            return _beside(node, beside) if beside else node
        node = Node("any", schema)
        self._fill(node, schema, "", embedded=root)
        return node

    def _special(self, name: str) -> Node | None:
        if name == QUANTITY:
            return Node("quantity", {}, "resource.Quantity", check=is_quantity, granular=False)
        if name == INT_OR_STRING:
            return Node(
                "int-or-string",
                {},
                "intstr.IntOrString",
                check=_is_int_or_string,
                granular=False,
            )
        if name in _TIME_REFS:
            return Node("time", {}, _TIME_REFS[name], check=is_time, granular=False)
        return None

    def _fill(self, node: Node, schema: JsonObject, name: str, *, embedded: bool = False) -> None:
        node.schema = schema
        node.shape = _shape_of(schema)
        node.nullable = bool(schema.get("nullable"))
        node.default = schema.get("default", MISSING)
        node.required = tuple(schema.get("required", ()))
        node.keep_unknown = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
        node.embedded = embedded or bool(schema.get("x-kubernetes-embedded-resource"))
        _read_merging(node, schema)
        node.struct = name.rpartition(".")[2]
        if name:
            node.go_type = go_type_of(name) if node.shape == "object" else ""
            # RawExtension, FieldsV1 and their like declare nothing and hold anything.
            if node.shape == "object" and not schema.get("properties"):
                node.keep_unknown = True
        for key, value in schema.get("properties", {}).items():
            node.fields[key] = self.compile(value)
        if node.embedded:
            self._add_identity(node)
        additional = schema.get("additionalProperties")
        if isinstance(additional, dict):
            node.values = self.compile(additional)
        elif additional:
            node.keep_unknown = True
        items = schema.get("items")
        if isinstance(items, dict):
            node.items = self.compile(items)
        node.granular = node.shape in ("object", "map", "any") and not node.atomic
        node.keyed = node.shape == "array" and node.list_type in ("map", "set")
        if node.list_type == "map" and len(node.list_keys) == 1:
            node.single_key = node.list_keys[0]
        node.wire = {key: (f"f:{key}", _inner(child)) for key, child in node.fields.items()}
        node.go_type = node.go_type or _go_type(node)
        node.check = _check_of(node)
        node.defaults_inside = _defaults_inside(node)

    def _add_identity(self, node: Node) -> None:
        node.shape = "object"
        for key in ("apiVersion", "kind"):
            if key not in node.fields:
                node.fields[key] = self.compile({"type": "string"})
        if OBJECT_META in self._definitions:
            node.fields["metadata"] = self.definition(OBJECT_META)
        elif "metadata" not in node.fields:
            node.fields["metadata"] = self.compile(
                {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
            )


def go_type_of(name: str) -> str:
    """`io.k8s.api.core.v1.PodSpec` as Go names the type: `v1.PodSpec`."""
    parts = name.split(".")
    return f"{parts[-2].replace('-', '')}.{parts[-1]}" if len(parts) > 1 else name


def _inner(node: Node) -> Node | None:
    """The node, unless managed fields never look inside it."""
    # The shape of a definition that is still being filled is not known yet ("any").
    return node if node.granular or node.keyed else None


def _beside(node: Node, beside: JsonObject) -> Node:
    """A copy of a referenced node with what stands beside the reference."""
    copied = replace(node)
    if "default" in beside:
        copied.default, copied.defaults_inside = beside["default"], True
    if "nullable" in beside:
        copied.nullable = bool(beside["nullable"])
    _read_merging(copied, beside)
    copied.granular = copied.shape in ("object", "map", "any") and not copied.atomic
    return copied


def _read_merging(node: Node, schema: JsonObject) -> None:
    node.list_type = schema.get("x-kubernetes-list-type", node.list_type)
    node.list_keys = tuple(sorted(schema.get("x-kubernetes-list-map-keys", node.list_keys)))
    if "x-kubernetes-map-type" in schema:
        node.atomic = schema["x-kubernetes-map-type"] == "atomic"
    node.merge_key = schema.get("x-kubernetes-patch-merge-key", node.merge_key)
    strategy = schema.get("x-kubernetes-patch-strategy")
    if strategy:
        node.strategies = frozenset(strategy.split(","))


def _shape_of(schema: JsonObject) -> str:
    declared = schema.get("type")
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        return "int-or-string"
    if declared == "string":
        return {"byte": "bytes", "date-time": "time"}.get(schema.get("format", ""), "string")
    if declared == "object" or "properties" in schema or "additionalProperties" in schema:
        if "properties" in schema or schema.get("x-kubernetes-preserve-unknown-fields"):
            return "object"
        return "map" if "additionalProperties" in schema else "object"
    return str(declared) if declared else "any"


def _go_type(node: Node) -> str:
    match node.shape:
        case "array":
            return f"[]{node.items.go_type}" if node.items else "[]interface {}"
        case "map":
            return f"map[string]{node.values.go_type}" if node.values else "map[string]string"
        case "integer":
            return str(node.schema.get("format", "int64"))
        case "number":
            return "float64"
        case "boolean":
            return "bool"
        case "bytes":
            return "[]uint8"
        case "time":
            return "v1.Time"
        case "int-or-string":
            return "intstr.IntOrString"
        case "string":
            return "string"
    return "map[string]interface {}"


def _defaults_inside(node: Node) -> bool:
    below = [*node.fields.values()]
    below += [child for child in (node.values, node.items) if child is not None]
    return node.default is not MISSING or any(child.defaults_inside for child in below)


def _is_int_or_string(value: Any) -> bool:
    return type(value) is str or type(value) is int


def _is_number(value: Any) -> bool:
    return type(value) is float or type(value) is int


def _anything(_value: Any) -> bool:
    return True


def _check_of(node: Node) -> Check:
    match node.shape:
        case "object":
            return _object_check(node)
        case "map":
            return _map_check(node)
        case "array":
            return _array_check(node)
        case "integer":
            low, high = _INT32 if node.schema.get("format") == "int32" else _INT64
            return lambda value: type(value) is int and low <= value <= high
        case "string":
            return lambda value: type(value) is str
        case "boolean":
            return lambda value: type(value) is bool
    return {
        "number": _is_number,
        "bytes": is_base64,
        "time": is_time,
        "int-or-string": _is_int_or_string,
    }.get(node.shape, _anything)


def _entry(node: Node) -> tuple[type | None, Check | None]:
    """Exact Python type and, where the type alone does not decide, the check behind it."""
    if node.shape in ("string", "boolean"):
        return _PYTHON_TYPES[node.shape], None
    # A definition that is still being filled (a recursive type) gets its check later.
    if node.check is _unset:
        return None, lambda value: node.check(value)  # noqa: PLW0108 - node.check changes later
    return _PYTHON_TYPES.get(node.shape), node.check


def _object_check(node: Node) -> Check:
    if not node.fields:
        if node.keep_unknown:
            return lambda value: type(value) is dict
        return lambda value: type(value) is dict and not value
    table = {key: _entry(child) for key, child in node.fields.items()}
    get, keep = table.get, node.keep_unknown
    rest = node.values

    def check(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for key, item in value.items():
            entry = get(key)
            if entry is None:
                if keep or (rest is not None and rest.check(item)):
                    continue
                return False
            expected, deep = entry
            if expected is not None and type(item) is not expected:
                return False
            if deep is not None and not deep(item):
                return False
        return True

    return check


def _map_check(node: Node) -> Check:
    child = node.values
    if child is None:
        return lambda value: type(value) is dict
    if child.shape == "string":
        return _all_strings

    def check(value: Any) -> bool:
        if type(value) is not dict:
            return False
        deep = child.check
        return all(deep(item) for item in value.values())

    return check


def _all_strings(value: Any) -> bool:
    if type(value) is not dict:
        return False
    return all(type(item) is str for item in value.values())


def _array_check(node: Node) -> Check:
    child = node.items
    if child is None:
        return lambda value: type(value) is list

    def check(value: Any) -> bool:
        if type(value) is not list:
            return False
        deep = child.check
        for item in value:  # noqa: SIM110 - a generator costs three times the loop here
            if not deep(item):
                return False
        return True

    return check
