"""Strategic merge patch: lists merge by key where the schema says so, with `$` directives.

Directives: `$patch` (replace, delete, merge), `$retainKeys`, `$setElementOrder/LIST`,
`$deleteFromPrimitiveList/LIST`.
"""

from typing import Any

from volcano.api.objects import JsonObject
from volcano.server.patch.errors import bad_patch, unprocessable
from volcano.server.schema.defaults import copy_json
from volcano.server.schema.node import Node
from volcano.server.schema.schema import Schema

_PATCH = "$patch"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder/"
_DELETE = "$deleteFromPrimitiveList/"


def strategic_merge(doc: JsonObject, patch: Any, schema: Schema) -> JsonObject:
    """The object after a strategic merge patch; neither argument is changed.

    Raises:
        ApiError: 400 a malformed patch or directive, 422 lists of lists.
    """
    if not isinstance(patch, dict):
        raise bad_patch("invalid JSON document")
    return _merge_map(copy_json(doc), copy_json(patch), schema.root)


def _child(node: Node | None, key: str) -> Node | None:
    if node is None:
        return None
    return node.fields.get(key) or node.values


def _merge_map(original: JsonObject, patch: JsonObject, node: Node | None) -> JsonObject:
    if _PATCH in patch:
        return _whole(patch)
    _retain_keys(original, patch)
    orders = {key: value for key, value in patch.items() if key.startswith(_ORDER)}
    for key in orders:
        del patch[key]
    for key, order in orders.items():
        _ordered(original, patch, key.removeprefix(_ORDER), order, node)
    for key, value in patch.items():
        if key.startswith(_DELETE):
            _delete_from(original, key.removeprefix(_DELETE), value)
        elif key == _DELETE[:-1]:
            raise bad_patch("invalid patch format of primitive list")
        elif value is None:
            original.pop(key, None)
        else:
            _merge_field(original, key, value, _child(node, key))
    return original


def _whole(patch: JsonObject) -> JsonObject:
    directive = patch.pop(_PATCH)
    if directive == "replace":
        return patch
    if directive == "delete":
        return {}
    raise bad_patch(f"unknown patch type: {directive} in map: {patch}")


def _merge_field(original: JsonObject, key: str, value: Any, node: Node | None) -> None:
    current = original.get(key)
    if isinstance(current, dict) and isinstance(value, dict):
        if node is not None and "replace" in node.strategies:
            original[key] = _plain(value)
        else:
            original[key] = _merge_map(current, value, node)
    elif isinstance(current, list) and isinstance(value, list):
        if node is not None and "merge" in node.strategies:
            original[key] = _merge_list(current, value, node)
        else:
            original[key] = value
    else:
        kept = _plain(value)
        if kept is _NOTHING:
            original.pop(key, None)
        else:
            original[key] = kept


_NOTHING: Any = object()


def _plain(value: Any) -> Any:
    """A patch value that meets nothing: without directives and nulls."""
    if isinstance(value, dict):
        if value.get(_PATCH) == "delete":
            return _NOTHING
        result = {}
        for key, item in value.items():
            if key in (_PATCH, _RETAIN) or key.startswith((_ORDER, _DELETE)):
                continue
            kept = _plain(item)
            if kept is not None and kept is not _NOTHING:
                result[key] = kept
        return result
    if isinstance(value, list):
        # An item with a directive says something about the list; it is no content.
        plain = [item for item in value if not (isinstance(item, dict) and _PATCH in item)]
        return [_plain(item) for item in plain]
    return value


def _retain_keys(original: JsonObject, patch: JsonObject) -> None:
    if _RETAIN not in patch:
        return
    kept = patch.pop(_RETAIN)
    if not isinstance(kept, list):
        raise bad_patch("invalid patch format of retainKeys")
    for key, value in patch.items():
        if value is not None and not key.startswith((_ORDER, _DELETE)) and key not in kept:
            raise bad_patch("invalid patch format of retainKeys")
    for key in [key for key in original if key not in kept]:
        del original[key]


def _delete_from(original: JsonObject, key: str, values: Any) -> None:
    if not isinstance(values, list):
        raise bad_patch("invalid patch format of primitive list")
    current = original.get(key)
    if isinstance(current, list):
        original[key] = [item for item in current if item not in values]


def _merge_list(current: list[Any], patch: list[Any], node: Node) -> list[Any]:
    """Merge by key, or as a set of scalars; patched items keep the order of the patch."""
    if not current and not patch:
        return current
    _uniform(current, patch)
    if not isinstance((patch or current)[0], dict):
        merged = list(dict.fromkeys([*current, *patch]))
        return _arranged(merged, patch, current, "")
    if not node.merge_key:
        raise bad_patch(f"cannot merge lists without merge key for {node.go_type}")
    merged, order, before = _merge_keyed(current, patch, node)
    return _arranged(merged, order, before, node.merge_key)


def _uniform(current: list[Any], patch: list[Any]) -> None:
    kinds = {dict if isinstance(item, dict) else type(item) for item in (*current, *patch)}
    if list in kinds:
        raise unprocessable("lists of lists are not supported")
    if dict in kinds and len(kinds) > 1:
        raise bad_patch("list element types are not identical: a list holds objects or scalars")


def _merge_keyed(
    current: list[Any], patch: list[Any], node: Node
) -> tuple[list[Any], list[Any], list[Any]]:
    key, merged, changed, replace = node.merge_key, list(current), [], False
    for item in patch:
        directive = item.get(_PATCH)
        if directive is None:
            changed.append(item)
        elif directive == "replace":
            replace = True
        elif directive == "delete":
            if key not in item:
                raise bad_patch(_no_merge_key(item, key))
            merged = [one for one in merged if one.get(key) != item[key]]
        elif directive == "merge":
            raise bad_patch("merging lists cannot yet be specified in the patch")
        else:
            raise bad_patch(f"unknown patch type: {directive} in map: {item}")
    if replace:
        return changed, changed, []
    before = list(merged)
    for item in changed:
        if key not in item:
            raise bad_patch(_no_merge_key(item, key))
        index = _position(merged, item, key)
        if index < 0:
            merged.append(_plain(item))
        else:
            merged[index] = _merge_map(merged[index], item, node.items)
    return merged, changed, before


def _no_merge_key(item: JsonObject, key: str) -> str:
    shown = " ".join(f"{name}:{value}" for name, value in sorted(item.items()))
    return f"map: map[{shown}] does not contain declared merge key: {key}"


def _position(items: list[Any], wanted: Any, key: str) -> int:
    for index, item in enumerate(items):
        if key and isinstance(item, dict) and isinstance(wanted, dict):
            if key in item and item[key] == wanted.get(key):
                return index
        elif item == wanted:
            return index
    return -1


def _ordered(
    original: JsonObject, patch: JsonObject, key: str, order: Any, node: Node | None
) -> None:
    """Merge one list and bring it in the order that `$setElementOrder` asks for."""
    child = _child(node, key)
    if not isinstance(order, list):
        raise bad_patch("invalid patch format of setElementOrder list")
    merge_key = child.merge_key if child is not None else ""
    current, change = original.get(key), patch.pop(key, None)
    for value in (current, change):
        if value is not None and not isinstance(value, list):
            raise bad_patch(f"expected a slice, but received a {type(value).__name__} in {key}")
    _check_order(change or [], order, merge_key)
    if current is None and change is None:
        return
    if current is None:
        merged = _plain(change)
    elif change is None:
        merged = current
    elif child is not None and "merge" in child.strategies:
        merged = _merge_list(current, change, child)
    else:
        merged = change
    original[key] = _arranged(merged, order, current or [], merge_key)


def _check_order(change: list[Any], order: list[Any], merge_key: str) -> None:
    if not order:
        return
    position = 0
    for item in change:
        if isinstance(item, dict) and _PATCH in item:
            continue
        found = _position(order[position:], item, merge_key)
        if found < 0:
            raise bad_patch(
                f"The order in patch list:\n{change}\n doesn't match $setElementOrder list:\n"
                f"{order}\n"
            )
        position += found + 1


def _arranged(merged: list[Any], order: list[Any], server: list[Any], merge_key: str) -> list[Any]:
    """Items named in `order` in that order; the others keep their places as on the server."""
    named = [item for item in merged if _position(order, item, merge_key) >= 0]
    others = [item for item in merged if _position(order, item, merge_key) < 0]
    named.sort(key=lambda item: _position(order, item, merge_key))
    others.sort(key=lambda item: _position(server, item, merge_key))
    result: list[Any] = []
    left = right = 0
    while left < len(others) and right < len(named):
        one = _position(server, others[left], merge_key)
        two = _position(server, named[right], merge_key)
        if 0 <= one < two:
            result.append(others[left])
            left += 1
        else:
            result.append(named[right])
            right += 1
    return result + others[left:] + named[right:]
