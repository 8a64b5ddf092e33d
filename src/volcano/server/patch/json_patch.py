"""JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7396)."""

from typing import Any

from volcano.api.objects import JsonObject
from volcano.base.errors import ApiError
from volcano.base.limits import JSON_PATCH_OPERATIONS_MAX
from volcano.server.patch.errors import bad_patch, unprocessable
from volcano.server.schema.defaults import copy_json


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
            value = copy_json(operation.get("value"))
            return _put(root, path, value, "add", f"error in add for path: '{path}'")
        case "remove":
            _take(root, path, "remove", f"error in remove for path: '{path}'")
            return root
        case "replace":
            return _replace(root, path, copy_json(operation.get("value")))
        case "move":
            return _move(root, _from(operation), path)
        case "copy":
            source = _from(operation)
            value = _get(root, source, "copy from", f"error in copy for from: '{source}'")
            return _put(
                root, path, copy_json(value), "copy", "error while adding value during copy"
            )
        case "test":
            found = _get(root, path, "test", f"error in test for path: '{path}'")
            if not same_json(found, operation.get("value")):
                raise unprocessable(f"testing value {path} failed: test failed")
            return root
    raise unprocessable(f"Unexpected kind: {kind}")


def _from(operation: dict[str, Any]) -> str:
    source = operation.get("from")
    if not isinstance(source, str):
        raise unprocessable(f"{operation['op']} operation failed to decode from: missing value")
    return source


def _tokens(path: str, kind: str) -> list[str]:
    if path == "":
        return []
    if not path.startswith("/"):
        raise _missing(path, kind)
    return [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]


_MISSING_TEXTS = {
    "add": 'add operation does not apply: doc is missing path: "{}"',
    "remove": 'remove operation does not apply: doc is missing path: "{}"',
    "replace": "replace operation does not apply: doc is missing path: {}",
    "move": "move operation does not apply: doc is missing destination path: {}",
    "move from": "move operation does not apply: doc is missing from path: {}",
    "copy": "copy operation does not apply: doc is missing destination path: {}",
    "copy from": "copy operation does not apply: doc is missing from path: {}",
    "test": "test operation does not apply: is missing path: {}",
}


def _missing(path: str, kind: str) -> ApiError:
    return unprocessable(f"{_MISSING_TEXTS[kind].format(path)}: missing value")


def _container(root: Any, tokens: list[str], path: str, kind: str) -> Any:
    """The object or list that holds the last token of a path."""
    holder = root
    for token in tokens[:-1]:
        if isinstance(holder, dict):
            holder = holder.get(token)
        else:
            index = _index(token, len(holder))
            holder = holder[index] if isinstance(index, int) else None
        if not isinstance(holder, dict | list):
            raise _missing(path, kind)
    return holder


def _index(token: str, length: int) -> int | str:
    """A position below `length`, from the end if negative; else what is wrong with it."""
    digits = token.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        return f'strconv.Atoi: parsing "{token}": invalid syntax'
    index = int(token)
    if -length <= index < length:
        return index % length
    return f"Unable to access invalid index: {index}: invalid index referenced"


def _position(token: str, length: int, trouble: str) -> int:
    index = _index(token, length)
    if isinstance(index, str):
        raise unprocessable(f"{trouble}: {index}")
    return index


def _get(root: Any, path: str, kind: str, trouble: str) -> Any:
    """The value at a path. A field that is not there reads as null, as in Kubernetes."""
    tokens = _tokens(path, kind)
    if not tokens:
        return root
    holder, last = _container(root, tokens, path, kind), tokens[-1]
    if isinstance(holder, dict):
        return holder.get(last)
    return holder[_position(last, len(holder), trouble)]


def _put(root: Any, path: str, value: Any, kind: str, trouble: str) -> Any:
    tokens = _tokens(path, kind)
    if not tokens:
        return value
    holder, last = _container(root, tokens, path, kind), tokens[-1]
    if isinstance(holder, dict):
        holder[last] = value
    elif last == "-":
        holder.append(value)
    else:
        index = _index(last, len(holder) + 1)
        if isinstance(index, str):
            shape = f"value was not a proper array index: '{last}': " if "Atoi" in index else ""
            raise unprocessable(f"{trouble}: {shape}{index}")
        holder.insert(index, value)
    return root


def _take(root: Any, path: str, kind: str, trouble: str) -> Any:
    tokens = _tokens(path, kind)
    if not tokens:
        raise unprocessable(f"{kind} operation does not apply to the whole object")
    holder, last = _container(root, tokens, path, kind), tokens[-1]
    if isinstance(holder, dict):
        if last not in holder:
            problem = f"Unable to remove nonexistent key: {last}: missing value"
            raise unprocessable(f"{trouble}: {problem}")
        return holder.pop(last)
    return holder.pop(_position(last, len(holder), trouble))


def _move(root: Any, source: str, path: str) -> Any:
    key = source.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    value = _take(root, source, "move from", f"error in move for path: '{key}'")
    return _put(root, path, value, "move", f"error in move for path: '{path}'")


def _replace(root: Any, path: str, value: Any) -> Any:
    """Replace a value. A field that is not there is added, as Kubernetes does."""
    tokens = _tokens(path, "replace")
    if not tokens:
        return value
    holder, last = _container(root, tokens, path, "replace"), tokens[-1]
    if isinstance(holder, dict):
        holder[last] = value
        return root
    index = _index(last, len(holder))
    if isinstance(index, str):
        problem = f"replace operation does not apply: doc is missing key: {path}: missing value"
        raise unprocessable(problem)
    holder[index] = value
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
