"""The text of HTTP/1.1: what a request's target says, and the head of an answer. Pure."""

from collections.abc import Mapping
from functools import lru_cache
from http import HTTPStatus
from time import gmtime
from urllib.parse import parse_qsl, unquote

import httptools

from volcano.base.http import Response

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
_WARNING_AGENT = "299 -"
_CACHED_TARGET_BYTES_MAX = 512
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

Target = tuple[str, Mapping[str, str]]
"""The decoded path, and the query: of a repeated key the first value."""


def parse_target(target: bytes) -> Target:
    """Take a request's target apart.

    Raises:
        ValueError: it is neither a path nor a URL.
    """
    if len(target) <= _CACHED_TARGET_BYTES_MAX:
        return _parse_cached(target)
    return _parse(target)


def _parse(target: bytes) -> Target:
    if target.startswith(b"/"):
        raw, _, query = target.partition(b"?")
    else:
        try:
            url = httptools.parse_url(target)
        except httptools.HttpParserInvalidURLError as error:
            raise ValueError(f"no request target: {target!r}") from error
        if not url.host:
            raise ValueError(f"no request target: {target!r}")
        raw, query = url.path or b"/", url.query or b""
    path = unquote(raw.decode(errors="replace"))
    values: dict[str, str] = {}
    for name, value in parse_qsl(query.decode(errors="replace"), keep_blank_values=True):
        values.setdefault(name, value)
    return path, values


_parse_cached = lru_cache(maxsize=512)(_parse)


def response_head(response: Response, framing: str, date: str, *, last: bool) -> bytes:
    """The head of an answer, its empty line included.

    Args:
        response: whose status, headers and warnings are written.
        framing: the header line that says where the body ends; empty where the connection's end
            does.
        date: the `Date` value (`http_date`).
        last: the connection is closed behind this answer.
    """
    lines = [_status_line(response.status)]
    lines += [f"{name}: {value}" for name, value in response.headers.items()]
    for text in response.warnings:
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'warning: {_WARNING_AGENT} "{" ".join(quoted.splitlines())}"')
    if framing:
        lines.append(framing)
    if last:
        lines.append("connection: close")
    lines.append(f"date: {date}\r\n\r\n")
    return "\r\n".join(lines).encode()


def chunk(content: bytes) -> bytes:
    """One chunk of a body sent in chunks; `content` is not empty."""
    return b"%x\r\n%b\r\n" % (len(content), content)


@lru_cache(maxsize=64)
def _status_line(status: int) -> str:
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"


@lru_cache(maxsize=2)
def http_date(second: int) -> str:
    """A time as HTTP writes it (RFC 9110, 5.6.7); the same whatever the locale.

    Args:
        second: seconds since 1970, UTC.
    """
    at = gmtime(second)
    return (
        f"{_DAYS[at.tm_wday]}, {at.tm_mday:02} {_MONTHS[at.tm_mon - 1]} {at.tm_year}"
        f" {at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02} GMT"
    )
