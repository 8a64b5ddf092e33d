"""Field errors worded as k8s.io/apimachinery words them: constructors of `Cause`.

Used by the validation of custom resources here and by the semantic validation of core kinds.
Values are shown as Go shows them: texts quoted, numbers and booleans bare, the rest as JSON.
"""

import json
from collections.abc import Iterable
from typing import Any

from volcano.base.errors import Cause


def quote(text: str) -> str:
    """A text in double quotes with Go's escapes."""
    return json.dumps(text, ensure_ascii=False)


def show(value: Any) -> str:
    """A value as Go's field errors print it."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    if isinstance(value, int | float):
        return str(value)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)


def required(field: str, detail: str = "") -> Cause:
    """A value is missing or empty."""
    return _cause("FieldValueRequired", "Required value", field, detail)


def invalid(field: str, value: Any, detail: str) -> Cause:
    """A value is malformed, out of bounds or may not change."""
    return _cause("FieldValueInvalid", f"Invalid value: {show(value)}", field, detail)


def type_invalid(field: str, value: Any, detail: str) -> Cause:
    """A value is not of the declared type."""
    return _cause("FieldValueTypeInvalid", f"Invalid value: {show(value)}", field, detail)


def not_supported(field: str, value: Any, supported: Iterable[str]) -> Cause:
    """A value is none of an enumeration."""
    values = ", ".join(quote(item) for item in supported)
    detail = f"supported values: {values}" if values else ""
    return _cause("FieldValueNotSupported", f"Unsupported value: {show(value)}", field, detail)


def duplicate(field: str, value: Any) -> Cause:
    """A value must be unique and is not."""
    return _cause("FieldValueDuplicate", f"Duplicate value: {show(value)}", field, "")


def not_found(field: str, value: Any) -> Cause:
    """A value refers to something that is not there."""
    return _cause("FieldValueNotFound", f"Not found: {show(value)}", field, "")


def forbidden(field: str, detail: str) -> Cause:
    """A value is well formed but not permitted here or now."""
    return _cause("FieldValueForbidden", "Forbidden", field, detail)


def too_long(field: str, limit: int) -> Cause:
    """A text is longer than `limit` bytes."""
    unit = "byte" if limit == 1 else "bytes"
    return _cause("FieldValueTooLong", "Too long", field, f"may not be more than {limit} {unit}")


def too_many(field: str, actual: int, limit: int) -> Cause:
    """A list or map has more than `limit` items."""
    unit = "item" if limit == 1 else "items"
    detail = f"must have at most {limit} {unit}"
    return _cause("FieldValueTooMany", f"Too many: {actual}", field, detail)


def _cause(reason: str, body: str, field: str, detail: str) -> Cause:
    return Cause(reason, f"{body}: {detail}" if detail else body, field)


def sentence(cause: Cause) -> str:
    """`field: message`, as a cause stands in the message of a Status."""
    return f"{cause.field}: {cause.message}"
