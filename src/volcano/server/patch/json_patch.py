"""JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7396)."""

from typing import Any

from volcano.api.objects import JsonObject
from volcano.base.errors import ApiError
from volcano.base.limits import JSON_PATCH_OPERATIONS_MAX
from volcano.server.patch.errors import bad_patch, unprocessable
from volcano.server.schema.defaults import copy_json

_MISSING: Any = object()


def json_patch(doc: JsonObject, operations: Any) -> JsonObject:
    """The document after a list of JSON Patch operations; `doc` stays as it is.

    Raises:
        ApiError: 400 a malformed patch, 413 too many operations, 422 one that does not apply.
    """
    if not isinstance(operations, list):
        raise bad_patch("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    if len(operations) > JSON_PATCH_OPERATIONS_MAX:
        raise ApiError(
            "RequestEntityTooLarge",
            f"The allowed maximum operations in a JSON patch is {JSON_PATCH_OPERATIONS_MAX}, "
            f"got {len(operations)}",
        )
    root: Any = copy_json(doc)
    for operation in operations:
        if not isinstance(operation, dict):
            raise bad_patch(
                "json: cannot unmarshal value into Go value of type jsonpatch.Operation"
            )
        root = _apply(root, operation)
    if not isinstance(root, dict):
        raise unprocessable("the patch replaces the object by something that is no object")
    return root


def _apply(root: Any, operation: dict[str, Any]) -> Any:
    kind = operation.get("op")
    path = operation.get("path")
    if not isinstance(path, str):
        raise unprocessable(f"{kind} operation failed to decode path: missing value")
    match kind:
        case "add":
            return _put(root, path, _value_of(operation), "add")
        case "remove":
            _take(root, path, "remove")
            return root
        case "replace":
            return _replace(root, path, _value_of(operation))
        case "move":
            source = _from(operation)
            if path.startswith(f"{source}/"):
                raise unprocessable(f"move operation cannot move {source} into itself")
            return _put(root, path, _take(root, source, "move"), "move")
        case "copy":
            source = _from(operation)
            value = _find(root, source, "copy")
            return _put(root, path, copy_json(value), "copy")
        case "test":
            found = _find(root, path, "test", missing=None)
            if not same_json(found, operation.get("value")):
                raise unprocessable(f"testing value {path} failed: test failed")
            return root
    raise unprocessable(f"Unexpected kind: {kind}")


def _value_of(operation: dict[str, Any]) -> Any:
    if "value" not in operation:
        raise unprocessable(f"{operation['op']} operation, missing value field: missing value")
    return copy_json(operation["value"])


def _from(operation: dict[str, Any]) -> str:
    source = operation.get("from")
    if not isinstance(source, str):
        raise unprocessable(f"{operation['op']} operation failed to decode from: missing value")
    return source


def _tokens(path: str, kind: str) -> list[str]:
    if path == "":
        return []
    if not path.startswith("/"):
        raise unprocessable(
            f'{kind} operation does not apply: doc is missing path: "{path}": missing value'
        )
    return [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]


def _container(root: Any, tokens: list[str], path: str, kind: str) -> Any:
    holder = root
    for token in tokens[:-1]:
        holder = _child(holder, token)
        if not isinstance(holder, dict | list):
            raise unprocessable(
                f'{kind} operation does not apply: doc is missing path: "{path}": missing value'
            )
    return holder


def _child(holder: Any, token: str) -> Any:
    if isinstance(holder, dict):
        return holder.get(token, _MISSING)
    if isinstance(holder, list):
        index = _index(token, len(holder))
        return holder[index] if index is not None and index < len(holder) else _MISSING
    return _MISSING


def _index(token: str, length: int) -> int | None:
    digits = token.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or (len(digits) > 1 and digits[0] == "0"):
        return None
    index = int(token)
    if index < 0:
        index += length
    return index if index >= 0 else None


def _find(root: Any, path: str, kind: str, missing: Any = _MISSING) -> Any:
    found = root
    for token in _tokens(path, kind):
        found = _child(found, token)
    if found is not _MISSING:
        return found
    if missing is not _MISSING:
        return missing
    raise unprocessable(
        f"{kind} operation does not apply: doc is missing from path: {path}: missing value"
    )


def _put(root: Any, path: str, value: Any, kind: str) -> Any:
    tokens = _tokens(path, kind)
    if not tokens:
        return value
    holder, last = _container(root, tokens, path, kind), tokens[-1]
    if isinstance(holder, dict):
        holder[last] = value
        return root
    if last == "-":
        holder.append(value)
        return root
    index = _index(last, len(holder))
    if index is None:
        raise unprocessable(
            f"error in {kind} for path: '{path}': value was not a proper array index: '{last}'"
        )
    if index > len(holder):
        raise unprocessable(
            f"error in {kind} for path: '{path}': Unable to access invalid index: {last}: "
            "invalid index referenced"
        )
    holder.insert(index, value)
    return root


def _take(root: Any, path: str, kind: str) -> Any:
    tokens = _tokens(path, kind)
    if not tokens:
        raise unprocessable(f"{kind} operation does not apply to the whole object")
    holder, last = _container(root, tokens, path, kind), tokens[-1]
    if isinstance(holder, dict):
        if last not in holder:
            raise unprocessable(
                f"error in {kind} for path: '{path}': "
                f"Unable to remove nonexistent key: {last}: missing value"
            )
        return holder.pop(last)
    index = _index(last, len(holder))
    if index is None or index >= len(holder):
        raise unprocessable(
            f"error in {kind} for path: '{path}': Unable to access invalid index: {last}: "
            "invalid index referenced"
        )
    return holder.pop(index)


def _replace(root: Any, path: str, value: Any) -> Any:
    tokens = _tokens(path, "replace")
    if not tokens:
        return value
    holder, last = _container(root, tokens, path, "replace"), tokens[-1]
    if _child(holder, last) is _MISSING:
        raise unprocessable(
            f"replace operation does not apply: doc is missing key: {path}: missing value"
        )
    if isinstance(holder, dict):
        holder[last] = value
    else:
        holder[_index(last, len(holder)) or 0] = value
    return root


def same_json(left: Any, right: Any) -> bool:
    """Equality of JSON values: unlike Python's, true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            same_json(item, right[key]) for key, item in left.items()
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_json, left, right))
    return bool(left == right)


def merge_patch(doc: Any, patch: Any) -> Any:
    """The document after a JSON Merge Patch; neither argument is changed.

    Raises:
        ApiError: 400, the patch is no object.
    """
    if not isinstance(patch, dict):
        raise bad_patch("Invalid JSON Patch")
    return _merged(doc, patch)


def _merged(doc: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return copy_json(patch)
    result = dict(doc) if isinstance(doc, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result


def merge_diff(before: Any, after: Any) -> Any:
    """The merge patch that turns one object into another (nulls inside `after` are lost)."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return copy_json(after)
    patch: JsonObject = {key: None for key in before if key not in after}
    for key, value in after.items():
        if key not in before or not same_json(before[key], value):
            patch[key] = merge_diff(before.get(key), value)
    return patch
