"""Texts with a format: quantity, time, base64 and the string formats that CRDs may ask for."""

import base64
import binascii
import ipaddress
import re
import uuid
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from volcano.base.clock import parse_timestamp
from volcano.resources.quantity import parse_quantity

QUANTITY_MESSAGE = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_HOSTNAME = re.compile(
    r"(?=.{1,253}$)([A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?\.)*[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?"
)
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_DURATION = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)([\d.]+(ns|us|µs|ms|s|m|h))*|0")


@lru_cache(maxsize=16_384)
def _quantity_text(text: str) -> bool:
    try:
        parse_quantity(text)
    except ValueError:
        return False
    return True


def is_quantity(value: Any) -> bool:
    """Whether a JSON value reads as a quantity: a text or a number."""
    kind = type(value)
    if kind is str:
        return _quantity_text(value)
    return kind is int or kind is float


@lru_cache(maxsize=1024)
def _time_text(text: str) -> bool:
    if _RFC3339.fullmatch(text) is None:
        return False
    try:
        parse_timestamp(text)
    except ValueError:
        return False
    return True


def is_time(value: Any) -> bool:
    """Whether a JSON value is an RFC 3339 time."""
    return type(value) is str and _time_text(value)


def base64_error_at(text: str) -> int | None:
    """Where base64 (standard alphabet, padded) goes wrong, as Go counts; None if it is right."""
    plain = text.replace("\n", "").replace("\r", "")
    try:
        base64.b64decode(plain, validate=True)
    except binascii.Error:
        for index, char in enumerate(plain):
            if not (char.isascii() and (char.isalnum() or char in "+/")):
                return index
        return len(plain) // 4 * 4
    return None if len(plain) % 4 == 0 else len(plain) // 4 * 4


def is_base64(value: Any) -> bool:
    """Whether a JSON value is base64 as Go's encoding/json accepts it."""
    return type(value) is str and base64_error_at(value) is None


def _is(convert: Callable[[str], object]) -> Callable[[str], bool]:
    def accepts(text: str) -> bool:
        try:
            convert(text)
        except ValueError:
            return False
        return True

    return accepts


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


_is_network = _is(lambda text: ipaddress.ip_network(text, strict=False))

STRING_FORMATS: Mapping[str, Callable[[str], bool]] = {
    "byte": lambda text: bool(text) and is_base64(text),
    "cidr": lambda text: "/" in text and _is_network(text),
    "date": _is(lambda text: parse_timestamp(f"{text}T00:00:00Z")),
    "date-time": is_time,
    "datetime": is_time,
    "duration": _matches(_DURATION),
    "email": _matches(_EMAIL),
    "hostname": _matches(_HOSTNAME),
    "ipv4": _is(ipaddress.IPv4Address),
    "ipv6": _is(ipaddress.IPv6Address),
    "uri": lambda text: bool(urlsplit(text).scheme),
    "uuid": _is(uuid.UUID),
}
"""String formats that validation of custom resources enforces; others are ignored, as upstream."""
