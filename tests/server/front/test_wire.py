"""The text of HTTP/1.1."""

import pytest

from volcano.base.http import Response
from volcano.server.front import wire


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        pytest.param(b"/api/v1/pods", "/api/v1/pods", {}, id="path"),
        pytest.param(b"/a%20b/%C3%A9?x=%2B+1", "/a b/\u00e9", {"x": "+ 1"}, id="escapes"),
        pytest.param(b"/a?watch&x=1&x=2", "/a", {"watch": "", "x": "1"}, id="first-value"),
        pytest.param(b"https://host:1/a?x=1", "/a", {"x": "1"}, id="whole-url"),
        pytest.param(b"https://host", "/", {}, id="url-without-path"),
        pytest.param(b"/%ff", "/\ufffd", {}, id="no-utf-8"),
        pytest.param(b"/" + b"a" * 1000, "/" + "a" * 1000, {}, id="too-long-to-remember"),
    ],
)
def test_targets(target: bytes, path: str, query: dict[str, str]) -> None:
    assert wire.parse_target(target) == (path, query)


@pytest.mark.parametrize("target", [b"*", b"host", b"http://", b""])
def test_no_targets(target: bytes) -> None:
    with pytest.raises(ValueError, match="no request target"):
        wire.parse_target(target)


def test_a_head() -> None:
    response = Response(
        409, {"content-type": "text/plain"}, b"", None, ('a "b" \\ c\r\nInjected: \u00e9',)
    )
    date = wire.http_date(784_111_777)
    assert wire.response_head(response, "content-length: 0", date, last=True).decode() == (
        "HTTP/1.1 409 Conflict\r\n"
        "content-type: text/plain\r\n"
        'warning: 299 - "a \\"b\\" \\\\ c Injected: \u00e9"\r\n'
        "content-length: 0\r\n"
        "connection: close\r\n"
        "date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
        "\r\n"
    )


def test_chunks() -> None:
    assert wire.chunk(b"x" * 26) + wire.LAST_CHUNK == b"1a\r\n" + b"x" * 26 + b"\r\n0\r\n\r\n"
