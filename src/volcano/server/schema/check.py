"""Validates custom resources against their structural schema, with kube-openapi's messages."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from volcano.api.re2 import compile_re2
from volcano.base.errors import Cause
from volcano.server.schema import causes
from volcano.server.schema.causes import show
from volcano.server.schema.formats import STRING_FORMATS
from volcano.server.schema.node import Node

_TYPES = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    dict: "object",
    list: "array",
    type(None): "null",
}
_BODY = "in body"


def validate(node: Node, value: Any, path: str = "") -> Iterator[Cause]:
    """What is wrong with a value, in the order of the schema.

    The root's metadata is not looked at: its rules are the same for all kinds.
    """
    schema = node.schema
    if not _has_type(schema, node, value):
        yield from _wrong_type(schema, node, value, path)
    kind = type(value)
    if value is not None:
        yield from _combined(node, value, path)
    if kind is str:
        yield from _text(schema, value, path)
    elif kind is list:
        yield from _array(node, value, path)
    elif kind in (int, float):
        yield from _number(schema, value, path)
    allowed = schema.get("enum")
    # True is 1 in Python, but not in JSON.
    if allowed is not None and (
        value not in allowed or (kind is bool and not any(one is value for one in allowed))
    ):
        supported = [item if isinstance(item, str) else show(item) for item in allowed]
        yield causes.not_supported(path, value, supported)
    if kind is dict:
        yield from _object(node, value, path)


def _declared(schema: dict[str, Any], node: Node) -> str:
    if node.shape == "int-or-string":
        return "integer,string"
    return str(schema.get("type", ""))


def _has_type(schema: dict[str, Any], node: Node, value: Any) -> bool:
    declared = _declared(schema, node)
    if not declared:
        return True
    if value is None:
        return node.nullable
    actual = _TYPES[type(value)]
    if actual in declared:
        return True
    if isinstance(value, float) and value.is_integer():
        return "integer" in declared
    return actual == "integer" and declared == "number"


def _wrong_type(schema: dict[str, Any], node: Node, value: Any, path: str) -> Iterator[Cause]:
    actual, declared = _TYPES[type(value)], _declared(schema, node)
    form = schema.get("format")
    if form and isinstance(value, list) and declared == "string":
        return  # Kubernetes lets this pass.
    if form and not isinstance(value, str | list) and value is not None:
        # With a format Kubernetes compares formats, and only numbers have one.
        actual, declared = _NUMBER_FORMATS.get(type(value), ""), form
    detail = f'{path} {_BODY} must be of type {declared}: "{actual}"'
    yield causes.type_invalid(path, actual, detail)


_NUMBER_FORMATS: dict[type, str] = {int: "int64", float: "float64"}


def _text(schema: dict[str, Any], value: str, path: str) -> Iterator[Cause]:
    yield from islice(_text_bounds(schema, value, path), 1)
    form = schema.get("format", "")
    accepts = STRING_FORMATS.get(form)
    if accepts is not None and not accepts(value):
        detail = f"{path} {_BODY} must be of type {form}: {causes.quote(value)}"
        yield causes.type_invalid(path, value, detail)


def _text_bounds(schema: dict[str, Any], value: str, path: str) -> Iterator[Cause]:
    """What a text breaks of length and pattern; only the first is told."""
    limit = schema.get("maxLength")
    if limit is not None and len(value) > limit:
        yield causes.too_long(path, limit)
    limit = schema.get("minLength")
    if limit is not None and len(value) < limit:
        detail = f"{path} {_BODY} should be at least {limit} chars long"
        yield causes.invalid(path, value, detail)
    pattern = schema.get("pattern")
    if pattern is not None:
        yield from _pattern_mismatch(pattern, value, path)


def _pattern_mismatch(pattern: str, value: str, path: str) -> Iterator[Cause]:
    try:
        fits = _compiled(pattern).search(value) is not None
    except ValueError as error:
        pattern, fits = f"{pattern}, but pattern is invalid: {error}", False
    if not fits:
        yield causes.invalid(path, value, f"{path} {_BODY} should match '{pattern}'")


_compiled = lru_cache(maxsize=1024)(compile_re2)


def _number(schema: dict[str, Any], value: float, path: str) -> Iterator[Cause]:
    if schema.get("type") == "integer":
        form = schema.get("format")
        size = 2**31 if form == "int32" else 2**63
        if value % 1 or not -size <= value < size:
            shown = f"with format {form}" if form in ("int32", "int64") else "(default format)"
            yield _composite(f"Checked value must be of type integer {shown} in {path}")
    factor = schema.get("multipleOf")
    if factor and (value / factor) % 1:
        detail = f"{path} {_BODY} should be a multiple of {show(factor)}"
        yield causes.invalid(path, value, detail)
    for key, sign, word in (("maximum", 1, "less"), ("minimum", -1, "greater")):
        bound = schema.get(key)
        if bound is None:
            continue
        exclusive = schema.get(f"exclusive{key.title()}") is True
        excess = (value - bound) * sign
        if excess > 0 or (exclusive and excess == 0):
            limit = f"than {show(bound)}" if exclusive else f"than or equal to {show(bound)}"
            yield causes.invalid(path, value, f"{path} {_BODY} should be {word} {limit}")


def _array(node: Node, value: list[Any], path: str) -> Iterator[Cause]:
    schema = node.schema
    if node.items is not None:
        for index, item in enumerate(value):
            yield from validate(node.items, item, f"{path}[{index}]")
    limit = schema.get("maxItems")
    if limit is not None and len(value) > limit:
        yield causes.too_many(path, len(value), limit)
    limit = schema.get("minItems")
    if limit is not None and len(value) < limit:
        detail = f"{path} {_BODY} should have at least {limit} items"
        yield causes.invalid(path, len(value), detail)
    if schema.get("uniqueItems") and len({show(item) for item in value}) < len(value):
        yield causes.invalid(path, "", f"{path} {_BODY} shouldn't contain duplicates")


def _object(node: Node, value: dict[str, Any], path: str) -> Iterator[Cause]:
    schema = node.schema
    limit = schema.get("minProperties")
    if limit is not None and len(value) < limit:
        detail = f"{path} {_BODY} should have at least {limit} properties"
        yield causes.invalid(path, len(value), detail)
    limit = schema.get("maxProperties")
    if limit is not None and len(value) > limit:
        yield causes.too_many(path, len(value), limit)
    for key, item in value.items():
        child = node.fields.get(key)
        if child is None:
            if node.values is not None:
                yield from validate(node.values, item, f"{path}.{key}" if path else key)
        elif not (node.embedded and key == "metadata"):
            yield from validate(child, item, f"{path}.{key}" if path else key)
    for key in node.required:
        if key not in value:
            yield causes.required(f"{path}.{key}" if path else key)


def _combined(node: Node, value: Any, path: str) -> Iterator[Cause]:
    schema = node.schema
    if node.shape == "int-or-string" or not ({"allOf", "anyOf", "oneOf", "not"} & schema.keys()):
        return
    yield from _all_of(schema.get("allOf") or (), value, path)
    yield from _alternatives(schema.get("anyOf") or (), value, path, exactly=False)
    yield from _alternatives(schema.get("oneOf") or (), value, path, exactly=True)
    refused = schema.get("not")
    if refused and next(_against(refused, value, ""), None) is None:
        yield _composite(f'"{path}" must not validate the schema (not)')


def _all_of(parts: Sequence[dict[str, Any]], value: Any, path: str) -> Iterator[Cause]:
    failures = [found for part in parts if (found := list(_against(part, value, path)))]
    for failure in failures:
        yield from failure
    if failures:
        none = ". None validated" if len(failures) == len(parts) else ""
        yield _composite(f'"{path}" must validate all the schemas (allOf){none}')


def _alternatives(
    parts: Sequence[dict[str, Any]], value: Any, path: str, *, exactly: bool
) -> Iterator[Cause]:
    """anyOf and oneOf; where none fits, also what the nearest alternative lacks."""
    outcomes = [list(_against(part, value, path)) for part in parts]
    valid = sum(not outcome for outcome in outcomes)
    if not parts or valid == 1 or (valid and not exactly):
        return
    if not exactly:
        yield _composite(f'"{path}" must validate at least one schema (anyOf)')
    else:
        count = f"Found {valid} valid alternatives" if valid else "Found none valid"
        yield _composite(f'"{path}" must validate one and only one schema (oneOf). {count}')
    if not valid:
        yield from min(outcomes, key=len)


def _composite(detail: str) -> Cause:
    """An error of the object as a whole; Kubernetes prints its missing path as `<nil>`."""
    return causes.invalid("<nil>", "", detail)


def _against(part: dict[str, Any], value: Any, path: str) -> Iterator[Cause]:
    yield from validate(_logical(part), value, path)


def _logical(part: dict[str, Any]) -> Node:
    """A node of a schema inside allOf/anyOf/oneOf/not; these are small, so made on the spot."""
    node = Node("any", part, required=tuple(part.get("required", ())))
    node.nullable = bool(part.get("nullable"))
    for key, child in part.get("properties", {}).items():
        node.fields[key] = _logical(child)
    if isinstance(part.get("items"), dict):
        node.items = _logical(part["items"])
    if isinstance(part.get("additionalProperties"), dict):
        node.values = _logical(part["additionalProperties"])
    return node


def list_duplicates(node: Node, value: Any, path: str = "") -> Iterator[Cause]:
    """Items of sets, and items of lists keyed by fields, that stand more than once."""
    if type(value) is list and node.shape == "array":
        yield from _repeated(node, value, path)
        if node.items is not None and node.items.shape in ("object", "array", "map"):
            for index, item in enumerate(value):
                yield from list_duplicates(node.items, item, f"{path}[{index}]")
    elif type(value) is dict:
        for key, item in value.items():
            child = node.fields.get(key)
            if child is not None and not (node.embedded and key == "metadata"):
                yield from list_duplicates(child, item, f"{path}.{key}" if path else key)
            elif child is None and node.values is not None:
                yield from list_duplicates(node.values, item, f"{path}[{key}]")


def _repeated(node: Node, value: list[Any], path: str) -> Iterator[Cause]:
    if len(value) < 2 or node.list_type not in ("set", "map"):
        return
    seen: dict[str, int] = {}
    for index, item in enumerate(value):
        identity = item
        if node.list_type == "map":
            if type(item) is not dict:
                continue
            identity = {key: item[key] for key in node.list_keys if key in item}
        text = show(identity)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            yield causes.duplicate(f"{path}[{index}]", identity)
