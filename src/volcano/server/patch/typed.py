"""What server-side apply does with values by schema: field sets, comparison, merge, removal.

Maps are owned field by field and keyed lists item by item; atomic maps and lists, and scalars, are
leaves. Where the schema declares nothing (node None) maps are granular and lists atomic.
"""

from collections.abc import Iterator
from json.encoder import encode_basestring as quote
from typing import Any

from volcano.api.objects import JsonObject
from volcano.server.patch.fieldset import LEAF, FieldSet, show_element
from volcano.server.schema.defaults import copy_json
from volcano.server.schema.node import MISSING, Node

_EXISTING_PARTS = ("metadata", "spec", "status", "template", "strategy", "updateStrategy")
"""Structs that an empty object of a core kind already has, so that creation does not add them."""


def item_key(node: Node, item: Any) -> str | None:
    """The path element of an item of a keyed list; None if the item has no key."""
    if node.list_type == "set":
        return f"v:{_scalar(item)}" if not isinstance(item, dict | list) else None
    if type(item) is not dict:
        return None
    if node.single_key:
        value = item.get(node.single_key)
        if type(value) is str:
            return f'k:{{"{node.single_key}":{quote(value)}}}'
    pairs = []
    for name in node.list_keys:
        value = item.get(name, MISSING)
        if value is MISSING:
            value = _key_default(node, name)
            if value is MISSING:
                continue
        pairs.append(f'"{name}":{quote(value) if type(value) is str else _scalar(value)}')
    return f"k:{{{','.join(pairs)}}}" if pairs else None


def _key_default(node: Node, name: str) -> Any:
    if node.items is None or name not in node.items.fields:
        return MISSING
    return node.items.fields[name].default


def _scalar(value: Any) -> str:
    if type(value) is str:
        return quote(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _granular(node: Node | None, value: Any) -> bool:
    return type(value) is dict and (node is None or node.granular)


def _keyed(node: Node | None, value: Any) -> bool:
    return type(value) is list and node is not None and node.keyed


def child_of(node: Node | None, name: str) -> Node | None:
    """The node of a field of a map."""
    if node is None:
        return None
    return node.fields.get(name) or node.values


def added(node: Node | None, value: Any) -> FieldSet:
    """The node of a value that was not there before: every place in it is a member."""
    if not value:
        return LEAF
    kind = type(value)
    if kind is dict:
        if node is None:
            return _added_fields({".": LEAF}, {}, None, value)
        if node.granular:
            return _added_fields({".": LEAF}, node.wire, node.values, value)
    elif kind is list and node is not None and node.keyed:
        return _added_items({".": LEAF}, node, value)
    return LEAF


def _added_fields(
    result: FieldSet, wire: dict[str, tuple[str, Node | None]], rest: Node | None, value: JsonObject
) -> FieldSet:
    for name, item in value.items():
        known = wire.get(name)
        if known is None:
            deep = type(item) is dict or type(item) is list
            result[f"f:{name}"] = added(rest, item) if deep else LEAF
            continue
        element, child = known
        result[element] = LEAF if child is None or not item else added(child, item)
    return result


def _added_items(result: FieldSet, node: Node, value: list[Any]) -> FieldSet:
    for item in value:
        key = item_key(node, item)
        if key is None:
            continue
        # An item that stands twice is owned as a whole.
        result[key] = LEAF if key in result else added(node.items, item)
    return result


def created(node: Node, obj: JsonObject, *, custom: bool) -> FieldSet:
    """The set of a new object's fields, as an `Update` manager gets them.

    Structs that are there even in an empty object of a core kind are no members themselves.
    """
    result: FieldSet = {}
    wire = node.wire
    for name, item in obj.items():
        element, child = wire.get(name) or (f"f:{name}", child_of(node, name))
        if child is None:
            result[element] = LEAF
        elif not custom and type(item) is dict and name in _EXISTING_PARTS:
            inner = created(child, item, custom=False)
            if inner:
                result[element] = inner
        elif not custom and name == "containers" and child.keyed and type(item) is list:
            result[element] = _added_items({}, child, item) or LEAF
        else:
            result[element] = added(child, item)
    return result


def applied(node: Node | None, value: Any) -> FieldSet:
    """The set of fields that an applied configuration names (without the maps that hold them)."""
    result: FieldSet = {}
    if _granular(node, value):
        for name, item in value.items():
            below = _applied_below(child_of(node, name), item)
            if node is None or name not in node.fields:
                below = {".": LEAF, **below} if below else LEAF
            if below is not None:
                result[f"f:{name}"] = below
    elif node is not None and _keyed(node, value):
        for item in value:
            key = item_key(node, item)
            if key is None:
                continue
            inner = None if key in result else _applied_below(node.items, item)
            result[key] = {".": LEAF, **inner} if inner else LEAF
    return result


def _applied_below(node: Node | None, item: Any) -> FieldSet | None:
    """The node of a value: a leaf, what is below it, or None for an empty keyed list."""
    if item and (_granular(node, item) or _keyed(node, item)):
        return applied(node, item) or None
    return None if _keyed(node, item) else LEAF


class Comparison:
    """Fields added, modified and removed between two objects."""

    __slots__ = ("added", "modified", "removed")

    def __init__(self) -> None:
        self.added: FieldSet = {}
        self.modified: FieldSet = {}
        self.removed: FieldSet = {}


def compare(node: Node | None, old: Any, new: Any) -> Comparison:
    """Compare two values that are both there (granular map or keyed list at the top)."""
    result = Comparison()
    if old == new:
        return result
    if _keyed(node, new if type(new) is list else old) and node is not None:
        pairs = _item_pairs(node, old or [], new or [])
        child_nodes = dict.fromkeys(pairs, node.items)
    else:
        before = old if type(old) is dict else {}
        after = new if type(new) is dict else {}
        names = dict.fromkeys([*before, *after])
        pairs = {
            f"f:{name}": (before.get(name, MISSING), after.get(name, MISSING)) for name in names
        }
        child_nodes = {f"f:{name}": child_of(node, name) for name in names}
    for key, (left, right) in pairs.items():
        _compare_pair(result, key, child_nodes[key], left, right)
    return result


def _compare_pair(result: Comparison, key: str, node: Node | None, left: Any, right: Any) -> None:
    if left is MISSING:
        result.added[key] = added(node, right)
    elif right is MISSING:
        result.removed[key] = added(node, left)
    elif left == right:
        return
    elif _descends(node, left, right):
        inner = compare(node, left, right)
        if inner.added:
            result.added[key] = inner.added
        if inner.modified:
            result.modified[key] = inner.modified
        if inner.removed:
            result.removed[key] = inner.removed
    else:
        result.modified[key] = LEAF


def _descends(node: Node | None, left: Any, right: Any) -> bool:
    """Whether two different values are compared inside: both containers, not both empty."""
    for one, two in ((left, right), (right, left)):
        if (
            one
            and (two is None or type(two) is type(one))
            and (_granular(node, one) or _keyed(node, one))
        ):
            return True
    return False


def _item_pairs(node: Node, old: list[Any], new: list[Any]) -> dict[str, tuple[Any, Any]]:
    pairs: dict[str, tuple[Any, Any]] = {}
    for item in old:
        key = item_key(node, item)
        if key is not None:
            pairs[key] = (_twice(pairs.get(key, (MISSING,))[0], item), MISSING)
    for item in new:
        key = item_key(node, item)
        if key is not None:
            left, right = pairs.get(key, (MISSING, MISSING))
            pairs[key] = (left, _twice(right, item))
    return pairs


def _twice(present: Any, item: Any) -> Any:
    """Items with one key are compared together, as a list."""
    if present is MISSING:
        return item
    return [*present, item] if type(present) is list else [present, item]


def merge(node: Node | None, live: Any, config: Any) -> Any:
    """The live value with an applied configuration laid over it; shares parts with both."""
    if _granular(node, config) and (type(live) is dict or not config):
        result = dict(live) if type(live) is dict else {}
        for name, item in config.items():
            child = child_of(node, name)
            result[name] = merge(child, live[name], item) if name in result else item
        return result
    if node is not None and _keyed(node, config) and type(live) is list:
        return _merge_items(node, live, config)
    return config


def _merge_items(node: Node, live: list[Any], config: list[Any]) -> list[Any]:
    """Applied items in their order; live-only items keep their places between the shared ones."""
    live_keys = [item_key(node, item) for item in live]
    present = dict(zip(reversed(live_keys), reversed(live), strict=True))
    wanted: dict[str | None, Any] = {}
    for item in config:
        wanted.setdefault(item_key(node, item), item)
    result: list[Any] = []
    queue = list(wanted)
    shared = [key for key in queue if key in present]

    def take() -> str | None:
        key = queue.pop(0)
        mine = wanted[key]
        result.append(merge(node.items, present[key], mine) if key in present else mine)
        return key

    for key, item in zip(live_keys, live, strict=True):
        if key not in wanted:
            result.append(item)
        elif shared and key == shared[0]:
            del shared[0]
            while take() != key:
                pass
    while queue:
        take()
    return result


def removed(node: Node | None, value: Any, fields: FieldSet) -> Any:
    """A copy of the value without the members of `fields`."""
    if not fields:
        return value
    if _granular(node, value):
        result = {}
        for name, item in value.items():
            gone = fields.get(f"f:{name}")
            if gone is None:
                result[name] = item
            elif gone and "." not in gone:
                result[name] = removed(child_of(node, name), item, gone)
        return result
    if node is not None and _keyed(node, value):
        kept = []
        for item in value:
            gone = fields.get(item_key(node, item) or "")
            if gone is None:
                kept.append(item)
            elif gone and "." not in gone:
                kept.append(removed(node.items, item, gone))
        return kept
    return value


def with_named(node: Node | None, fields: FieldSet) -> FieldSet:
    """`fields` with each declared field on the way to a member a member too."""
    result: FieldSet = {}
    for key, below in fields.items():
        if key == ".":
            result[key] = below
            continue
        name = key[2:] if key.startswith("f:") else ""
        child = child_of(node, name) if name else (node.items if node is not None else None)
        inner = with_named(child, below)
        if inner and name and node is not None and name in node.fields:
            inner = {".": LEAF, **inner}
        result[key] = inner
    return result


def mismatches(node: Node | None, value: Any, path: str = "") -> Iterator[str]:
    """How a configuration does not fit its schema, as structured-merge-diff words it."""
    if node is None or value is None:
        return
    match node.shape:
        case "object" | "map":
            yield from _map_mismatches(node, value, path)
        case "array":
            yield from _list_mismatches(node, value, path)
        case "string" | "bytes" | "time" if type(value) is not str:
            shown = f"&value.valueUnstructured{{Value:{_go(value)}}}"
            yield f"{path}: expected string, got {shown}"
        case "boolean" if type(value) is not bool:
            yield f"{path}: expected boolean, got &{{{_go_plain(value)}}}"
        case "integer" | "number" if type(value) not in (int, float):
            yield f"{path}: expected numeric (int or float), got {_go_type(value)}"
        case "quantity" | "int-or-string" if isinstance(value, dict | list):
            yield f"{path}: expected any scalar, got &{{{_go_plain(value)}}}"


def _map_mismatches(node: Node, value: Any, path: str) -> Iterator[str]:
    if type(value) is not dict:
        yield f"{path}: expected map, got &{{{_go_plain(value)}}}"
        return
    for name, item in value.items():
        child = child_of(node, name)
        if child is None and not node.keep_unknown:
            yield f"{path}.{name}: field not declared in schema"
        else:
            yield from mismatches(child, item, f"{path}.{name}")


def _list_mismatches(node: Node, value: Any, path: str) -> Iterator[str]:
    if type(value) is not list:
        yield f"{path}: expected list, got &{{{_go_plain(value)}}}"
        return
    seen: set[str] = set()
    for index, item in enumerate(value):
        shown = f"[{index}]"
        if node.keyed:
            key = item_key(node, item)
            if key is None:
                yield f"{path}: element {index}: {_keyless(node, item)}"
                return
            shown = show_element(key)
            if key in seen:
                yield f"{path}: duplicate entries for key {shown}"
            seen.add(key)
        yield from mismatches(node.items, item, f"{path}{shown}")


def _keyless(node: Node, item: Any) -> str:
    if node.list_type == "set":
        return "associative list without keys has an element that's a map type"
    if item is None:
        return "associative list with keys may not have a null element"
    if type(item) is not dict:
        return "associative list with keys may not have non-map elements"
    keys = " ".join(quote(name) for name in node.list_keys)
    return (
        f"associative list with keys has an element that omits all key fields [{keys}] "
        "(and doesn't have default values for any key fields)"
    )


def _go(value: Any) -> str:
    return quote(value) if type(value) is str else _go_plain(value)


def _go_plain(value: Any) -> str:
    """A JSON value as Go's `%v` prints it."""
    if isinstance(value, dict):
        pairs = " ".join(f"{name}:{_go_plain(item)}" for name, item in sorted(value.items()))
        return f"map[{pairs}]"
    if isinstance(value, list):
        return "[" + " ".join(map(_go_plain, value)) + "]"
    if value is None:
        return "<nil>"
    return value if isinstance(value, str) else _scalar(value)


def _go_type(value: Any) -> str:
    names = {str: "string", bool: "bool", dict: "map[string]interface {}", list: "[]interface {}"}
    return names.get(type(value), type(value).__name__)


def detached(value: Any) -> Any:
    """A copy that shares nothing with the objects it was merged from."""
    return copy_json(value)
