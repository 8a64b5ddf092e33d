"""Reads request bodies: JSON and YAML, duplicate fields found, errors worded as Go words them."""

import json
from typing import Any

import msgspec
import yaml

from volcano.api.objects import JsonObject
from volcano.base.errors import ApiError
from volcano.server.schema.conform import DecodeError, json_type

_SUMMARY_BYTES = 30
_FIELD = b'":'
_DECODER = msgspec.json.Decoder()
_ENCODER = msgspec.json.Encoder()


def decode_json(body: bytes) -> tuple[Any, list[str]]:
    """A JSON value and `duplicate field "PATH"` for each field given more than once.

    Raises:
        DecodeError: no JSON; the text is Go's.
    """
    try:
        value = _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DecodeError(_go_json_error(body)) from error
    # A repeated field is lost in decoding, so fewer colons are left when the value is written
    # again; only then, or with unusual spacing, is the text read a second time.
    if _ENCODER.encode(value).count(_FIELD) == body.count(_FIELD):
        return value, []
    return value, _duplicates(body)


def decode_yaml(body: bytes) -> tuple[Any, list[str]]:
    """A YAML document (also JSON) and its duplicate fields.

    Raises:
        DecodeError: no YAML, or a value that JSON cannot hold.
    """
    try:
        return decode_json(body)
    except DecodeError:
        pass
    loader = _Loader(body)
    try:
        value = loader.get_single_data()
    except yaml.YAMLError as error:
        raise DecodeError(f"error converting YAML to JSON: {_yaml_error(error)}") from error
    finally:
        loader.dispose()
    try:
        return _DECODER.decode(_ENCODER.encode(value)), loader.duplicates
    except (TypeError, msgspec.EncodeError) as error:
        raise DecodeError(f"error converting YAML to JSON: yaml: {error}") from error


def decode_object(
    body: bytes, kind: str, *, yaml_body: bool = False
) -> tuple[JsonObject, list[str]]:
    """The object in the body of a create or update, and its duplicate fields.

    Args:
        kind: the kind that the URL names, for the error.
        yaml_body: the content type is YAML.

    Raises:
        ApiError: BadRequest, worded as kube-apiserver words a body that it cannot read.
    """
    try:
        value, duplicates = decode_yaml(body) if yaml_body else decode_json(body)
    except DecodeError as error:
        raise unrecognized(
            kind, f"couldn't get version/kind; json parse error: {error}", body
        ) from error
    if not isinstance(value, dict):
        detail = (
            f"couldn't get version/kind; json parse error: json: cannot unmarshal "
            f"{json_type(value)} into Go value of type struct {{ APIVersion string "
            f'"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }}'
        )
        raise unrecognized(kind, detail, body)
    for field in ("apiVersion", "kind"):
        named = value.get(field)
        if named is not None and not isinstance(named, str):
            detail = (
                f"couldn't get version/kind; json parse error: json: cannot unmarshal "
                f"{json_type(named)} into Go struct field .{field} of type string"
            )
            raise unrecognized(kind, detail, body)
    return value, duplicates


def unrecognized(kind: str, problem: str, body: bytes) -> ApiError:
    """The answer to a body that names no kind or is no object at all (400)."""
    head = body[:_SUMMARY_BYTES]
    summary = head.decode("utf-8", "replace") if body[:1] == b"{" else head.hex()
    if len(body) > _SUMMARY_BYTES:
        summary += " ..."
    message = f"the object provided is unrecognized (must be of type {kind}): {problem}"
    return ApiError("BadRequest", f"{message} ({summary or '<empty>'})")


def cannot_handle(kind: str, version: str, problem: str) -> ApiError:
    """The answer to an object of the right kind that does not decode (400)."""
    message = f'{kind} in version "{version}" cannot be handled as a {kind}: {problem}'
    return ApiError("BadRequest", message)


def strict_error(problems: list[str]) -> str:
    """The text of strict validation: unknown and duplicate fields in one line."""
    return f"strict decoding error: {', '.join(problems)}"


class _Pairs(dict[str, Any]):
    """An object that remembers which of its keys were given more than once."""

    repeated: tuple[str, ...] = ()


def _remember(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    marked = _Pairs(plain)
    seen: set[str] = set()
    marked.repeated = tuple(
        dict.fromkeys(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]  # set.add is used for its effect
    )
    return marked


def _duplicates(body: bytes) -> list[str]:
    found: list[str] = []
    _collect(json.loads(body, object_pairs_hook=_remember), "", found)
    return found


def _collect(value: Any, path: str, found: list[str]) -> None:
    if isinstance(value, dict):
        repeated = value.repeated if isinstance(value, _Pairs) else ()
        for key, item in value.items():
            where = f"{path}.{key}" if path else key
            if key in repeated:
                found.append(f'duplicate field "{where}"')
            _collect(item, where, found)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _collect(item, f"{path}[{index}]", found)


class _Loader(yaml.CSafeLoader):
    """YAML as Kubernetes reads it: texts that look like dates stay texts."""

    def __init__(self, stream: bytes) -> None:
        super().__init__(stream)
        self.duplicates: list[str] = []

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001 - the signature is PyYAML's
        seen = set()
        for key_node, _ in node.value:
            key = getattr(key_node, "value", None)
            if isinstance(key, str) and key in seen:
                line = key_node.start_mark.line + 1
                self.duplicates.append(f'line {line}: key "{key}" already set in map')
            elif isinstance(key, str):
                seen.add(key)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def _yaml_error(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"yaml: line {error.problem_mark.line + 1}: {error.problem}"
    return f"yaml: {error}"


def _go_json_error(body: bytes) -> str:
    """What Go's encoding/json says about a text that is no JSON."""
    try:
        text = body.decode()
        json.loads(text)
    except UnicodeDecodeError:
        return "invalid UTF-8 in string"
    except json.JSONDecodeError as error:
        return _go_wording(error, text)
    except RecursionError:
        return "exceeded max depth"
    return "invalid character in number"


def _go_wording(error: json.JSONDecodeError, text: str) -> str:
    rest = text[error.pos :].lstrip(" \t\r\n")
    if not rest or error.msg.startswith("Unterminated string"):
        return "unexpected end of JSON input"
    char = _go_char(rest[0])
    message = error.msg
    if message.startswith("Expecting property name"):
        return f"invalid character {char} looking for beginning of object key string"
    if message.startswith("Expecting ':'"):
        return f"invalid character {char} after object key"
    if message.startswith("Expecting ','"):
        where = "object key:value pair" if _in_object(text[: error.pos]) else "array element"
        return f"invalid character {char} after {where}"
    if message.startswith("Extra data"):
        return f"invalid character {char} after top-level value"
    if message.startswith("Invalid control character"):
        return f"invalid character {char} in string literal"
    if message.startswith("Invalid \\escape"):
        return f"invalid character '{rest[1:2]}' in string escape code"
    for literal in ("true", "false", "null"):
        if rest[0] == literal[0]:
            return _go_literal(rest, literal)
    return f"invalid character {char} looking for beginning of value"


def _go_char(char: str) -> str:
    """A character in single quotes with Go's escapes."""
    if char == "'":
        return "'\\''"
    return "'\"'" if char == '"' else f"'{json.dumps(char, ensure_ascii=False)[1:-1]}'"


def _go_literal(rest: str, literal: str) -> str:
    for index, expected in enumerate(literal):
        if index >= len(rest):
            return "unexpected end of JSON input"
        if rest[index] != expected:
            return (
                f"invalid character '{rest[index]}' in literal {literal} (expecting '{expected}')"
            )
    return f"invalid character in literal {literal}"


def _in_object(before: str) -> bool:
    """Whether the innermost open bracket of a JSON prefix is that of an object."""
    stack: list[str] = []
    quoted = escaped = False
    for char in before:
        if escaped:
            escaped = False
        elif quoted:
            escaped, quoted = char == "\\", char != '"'
        elif char == '"':
            quoted = True
        elif char in "{[":
            stack.append(char)
        elif char in "}]" and stack:
            stack.pop()
    return bool(stack) and stack[-1] == "{"
