"""Messages of the Kubernetes API, from protobuf to the JSON that the same client would have sent.

A field with the zero value is left out where Go's JSON would leave it out (`omitempty` on a value,
not on a pointer), and a message that JSON inlines is spread into its parent: both are flags of the
field table.
"""

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from types import MappingProxyType
from typing import Any

import msgspec

from volcano.api.objects import JsonObject
from volcano.api.schemas import INT_OR_STRING, QUANTITY, definitions
from volcano.base.clock import micro_timestamp, timestamp
from volcano.server.protobuf.wire import ProtobufError, double, fields, signed

__all__ = ["MAGIC", "ProtobufError", "decode"]

MAGIC = b"k8s\x00"
"""How an enveloped object begins (runtime.Unknown follows)."""

DEPTH_MAX = 64
"""Messages within messages; only the schemas of CRDs nest deeply."""

META = "io.k8s.apimachinery.pkg.apis.meta.v1."
EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_INLINE, _KEEP_ZERO = 1, 2


@dataclass(frozen=True, slots=True)
class _Field:
    """One field of a message.

    Attributes:
        type: a scalar's name or a message's.
        shape: "" for one value, "[]" for a list, "{}" for a map from strings.
    """

    name: str
    type: str
    shape: str
    inline: bool
    keep_zero: bool


def decode(data: bytes) -> JsonObject:
    """The object in an enveloped body, with `apiVersion` and `kind`.

    Raises:
        ProtobufError: no envelope, an unknown kind, or bytes that do not fit it.
    """
    if not data.startswith(MAGIC):
        raise ProtobufError("it does not begin with the envelope of Kubernetes")
    envelope = dict(fields(data[len(MAGIC) :]))
    if envelope.get(3):
        raise ProtobufError("its content is encoded once more")
    type_meta = dict(fields(_bytes(envelope.get(1, b""))))
    api_version, kind = _text(type_meta.get(1, b"")), _text(type_meta.get(2, b""))
    name = _message_name(api_version, kind)
    if name is None:
        raise ProtobufError(f"kind {kind!r} of {api_version!r} is not known in protobuf")
    obj = _message(name, _bytes(envelope.get(2, b"")), 0)
    return {"apiVersion": api_version, "kind": kind, **obj}


def _message_name(api_version: str, kind: str) -> str | None:
    group, _, version = api_version.rpartition("/")
    found = _names().get((group, version, kind))
    # Options are sent under the group they are for; they are one type.
    return found or (f"{META}{kind}" if f"{META}{kind}" in _table() else None)


@lru_cache(maxsize=1)
def _names() -> Mapping[tuple[str, str, str], str]:
    found = {}
    for name, schema in definitions().items():
        for gvk in schema.get("x-kubernetes-group-version-kind", ()):
            found[gvk["group"], gvk["version"], gvk["kind"]] = name
    return MappingProxyType(found)


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Mapping[int, _Field]]:
    data = resources.files(__package__).joinpath("fields.json").read_bytes()
    rows = msgspec.json.decode(data, type=dict[str, list[tuple[int, str, str, int]]])
    return MappingProxyType({name: _fields(listed) for name, listed in rows.items()})


def _fields(rows: list[tuple[int, str, str, int]]) -> Mapping[int, _Field]:
    found = {}
    for number, name, type_, flags in rows:
        shape = type_[:2] if type_[:2] in ("[]", "{}") else ""
        found[number] = _Field(
            name, type_.removeprefix(shape), shape, bool(flags & _INLINE), bool(flags & _KEEP_ZERO)
        )
    return found


def _message(name: str, data: bytes, depth: int) -> JsonObject:
    if depth > DEPTH_MAX:
        raise ProtobufError(f"it is nested deeper than {DEPTH_MAX} levels")
    known = _table()[name]
    obj: JsonObject = {}
    for number, raw in fields(data):
        field = known.get(number)
        if field is None:
            continue  # of a newer client: dropped, as kube-apiserver does
        if field.shape == "[]":
            obj.setdefault(field.name, []).extend(_elements(field, raw, depth))
        elif field.shape == "{}":
            key, value = _entry(field, _bytes(raw), depth)
            obj.setdefault(field.name, {})[key] = value
        else:
            value = _value(field.type, raw, depth)
            if field.inline:
                obj.update(value)
            elif value is not None and (field.keep_zero or not _is_zero(value)):
                obj[field.name] = value
    return obj


def _is_zero(value: Any) -> bool:
    """Empty text, 0 or False; an empty message is none: JSON shows it as {}."""
    return isinstance(value, str | int | float) and not value


def _entry(field: _Field, data: bytes, depth: int) -> tuple[str, Any]:
    pair = dict(fields(data))
    empty: int | bytes = 0 if field.type in _NUMBERS else b""
    return _text(pair.get(1, b"")), _value(field.type, pair.get(2, empty), depth)


def _elements(field: _Field, raw: int | bytes, depth: int) -> list[Any]:
    if field.type in _NUMBERS and isinstance(raw, bytes):
        raise ProtobufError(f"field {field.name} is a packed list")
    return [_value(field.type, raw, depth)]


def _value(type_: str, raw: int | bytes, depth: int) -> Any:
    scalar = _SCALARS.get(type_)
    if scalar is not None:
        return scalar(raw)
    special = _SPECIAL.get(type_)
    if special is not None:
        return special(_bytes(raw), depth)
    return _message(type_, _bytes(raw), depth + 1)


def _bytes(raw: int | bytes) -> bytes:
    if not isinstance(raw, bytes):
        raise ProtobufError("a number stands where a message or text is expected")
    return raw


def _number(raw: int | bytes) -> int:
    if not isinstance(raw, int):
        raise ProtobufError("a message or text stands where a number is expected")
    return raw


def _text(raw: int | bytes) -> str:
    try:
        return _bytes(raw).decode()
    except UnicodeDecodeError as error:
        raise ProtobufError("a text is not UTF-8") from error


_SCALARS: Mapping[str, Callable[[int | bytes], Any]] = {
    "string": _text,
    "bytes": lambda raw: base64.b64encode(_bytes(raw)).decode(),
    "bool": lambda raw: bool(_number(raw)),
    "int32": lambda raw: signed(_number(raw), 32),
    "int64": lambda raw: signed(_number(raw), 64),
    "double": lambda raw: double(_bytes(raw)),
}
_NUMBERS = frozenset({"bool", "int32", "int64"})


# Types whose JSON is not the object of their fields.


def _moment(data: bytes) -> tuple[int, int] | None:
    """Seconds and nanoseconds; None for the zero time, which is an empty message."""
    pair = dict(fields(data))
    if not pair:
        return None
    return signed(_number(pair.get(1, 0)), 64), signed(_number(pair.get(2, 0)), 32)


def _time(data: bytes, _depth: int) -> str | None:
    moment = _moment(data)
    return None if moment is None else _written(timestamp, moment[0])


def _micro_time(data: bytes, _depth: int) -> str | None:
    moment = _moment(data)
    if moment is None:
        return None
    micro = moment[1] // 1000
    return _written(micro_timestamp, moment[0]).replace(".000000Z", f".{micro:06d}Z")


def _written(write: Callable[[float], str], seconds: int) -> str:
    try:
        return write(seconds)
    except (ValueError, OverflowError, OSError) as error:
        raise ProtobufError(f"{seconds} s is no time of the calendar") from error


def _quantity(data: bytes, _depth: int) -> str:
    return _text(dict(fields(data)).get(1, b"")) or "0"


def _int_or_string(data: bytes, _depth: int) -> int | str:
    pair = dict(fields(data))
    if _number(pair.get(1, 0)) == 1:
        return _text(pair.get(3, b""))
    return signed(_number(pair.get(2, 0)), 32)


def _raw_json(data: bytes, _depth: int) -> Any:
    raw = _bytes(dict(fields(data)).get(1, b""))
    try:
        return json.loads(raw) if raw else None
    except ValueError as error:
        raise ProtobufError("an embedded value is not JSON") from error


def _texts(data: bytes, _depth: int) -> list[str]:
    return [_text(value) for number, value in fields(data) if number == 1]


def _schema_or_list(data: bytes, depth: int) -> Any:
    schemas = [_bytes(value) for number, value in fields(data) if number == 2]
    if schemas:
        return [_message(f"{EXTENSIONS}JSONSchemaProps", one, depth + 1) for one in schemas]
    return _schema_of(dict(fields(data)).get(1), depth)


def _schema_or_bool(data: bytes, depth: int) -> Any:
    pair = dict(fields(data))
    schema = _schema_of(pair.get(2), depth)
    return bool(_number(pair.get(1, 0))) if schema is None else schema


def _schema_or_texts(data: bytes, depth: int) -> Any:
    texts = [_text(value) for number, value in fields(data) if number == 2]
    return texts or _schema_of(dict(fields(data)).get(1), depth)


def _schema_of(raw: int | bytes | None, depth: int) -> JsonObject | None:
    return None if raw is None else _message(f"{EXTENSIONS}JSONSchemaProps", _bytes(raw), depth + 1)


_SPECIAL: Mapping[str, Callable[[bytes, int], Any]] = {
    f"{META}Time": _time,
    f"{META}MicroTime": _micro_time,
    f"{META}FieldsV1": _raw_json,
    f"{META}Verbs": _texts,
    QUANTITY: _quantity,
    INT_OR_STRING: _int_or_string,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": _raw_json,
    "io.k8s.api.authentication.v1.ExtraValue": _texts,
    "io.k8s.api.authorization.v1.ExtraValue": _texts,
    f"{EXTENSIONS}JSON": _raw_json,
    f"{EXTENSIONS}JSONSchemaPropsOrArray": _schema_or_list,
    f"{EXTENSIONS}JSONSchemaPropsOrBool": _schema_or_bool,
    f"{EXTENSIONS}JSONSchemaPropsOrStringArray": _schema_or_texts,
}
