"""Documents that change rarely and are asked for often: bytes with an ETag and a gzipped twin."""

import gzip
import hashlib
from collections.abc import Mapping

from volcano.base.http import Request, Response

GZIP_BYTES_MIN = 1024
"""Smaller bodies are not worth compressing."""


class Document:
    """One immutable answer body.

    Attributes:
        digest: of the content, in upper-case hex as Kubernetes writes it in URLs.
    """

    def __init__(
        self, body: bytes, content_type: str = "application/json", *, vary: str = "Accept"
    ) -> None:
        self.body = body
        self.digest = hashlib.sha512(body).hexdigest().upper()
        self._content_type = content_type
        self._vary = vary
        self._gzipped: bytes | None = None

    def answer(self, request: Request, headers: Mapping[str, str] | None = None) -> Response:
        """200 with the body as the client can read it, or 304 when it has this content already."""
        etag = f'"{self.digest}"'
        sent = {"etag": etag, "vary": f"{self._vary}, Accept-Encoding", **(headers or {})}
        if _names(request.headers.get("if-none-match", ""), etag):
            return Response(304, sent)
        sent["content-type"] = self._content_type
        if len(self.body) >= GZIP_BYTES_MIN and _reads_gzip(request):
            if self._gzipped is None:
                self._gzipped = gzip.compress(self.body, compresslevel=6, mtime=0)
            return Response(200, {**sent, "content-encoding": "gzip"}, self._gzipped)
        return Response(200, sent, self.body)


def _names(if_none_match: str, etag: str) -> bool:
    tags = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return etag in tags or "*" in tags


def _reads_gzip(request: Request) -> bool:
    codings = request.headers.get("accept-encoding", "").lower().split(",")
    names = [coding.partition(";") for coding in codings]
    return any(
        name.strip() == "gzip" and parameters.replace(" ", "") not in ("q=0", "q=0.0")
        for name, _, parameters in names
    )
