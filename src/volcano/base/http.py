"""An HTTP exchange as plain values, so that the API pipeline knows no web framework.

The HTTPS front of the server and the in-process transport of the client both speak these.
"""

from collections.abc import AsyncIterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from volcano.base.identity import UserInfo

TEXT_HEADERS: Mapping[str, str] = MappingProxyType({"content-type": "text/plain; charset=utf-8"})
"""Headers of an answer in plain words."""

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Request(NamedTuple):
    """One request.

    Attributes:
        path: decoded path without the query, e.g. `/api/v1/namespaces/default/pods/a`.
        query: query parameters; of a repeated key the first value.
        headers: header names in lower case.
        user: the caller, when the transport already knows it (in process); otherwise None and
            the server authenticates by `peer_certificate` or the `authorization` header.
        peer_certificate: the client's certificate in DER, verified by TLS against the cluster's CA.
    """

    method: str
    path: str
    query: Mapping[str, str] = _NOTHING
    headers: Mapping[str, str] = _NOTHING
    body: bytes = b""
    user: "UserInfo | None" = None
    peer_certificate: bytes | None = None


class Response(NamedTuple):
    """One answer: `body`, or for watches and followed logs a `stream` of chunks.

    Whoever takes a stream closes it (`aclose`) when done.
    """

    status: int
    headers: Mapping[str, str] = _NOTHING
    body: bytes = b""
    stream: AsyncIterator[bytes] | None = None
    warnings: tuple[str, ...] = ()


class Handler(Protocol):
    """Answers requests; the server's API is one."""

    async def __call__(self, request: Request) -> Response:
        """Answer one request; refusals are answers (a `Status` body), not exceptions."""
        ...
