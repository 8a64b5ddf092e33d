"""Signatures; the body follows."""

from volcano.base.http import Request, Response
from volcano.server.registry import Registry


class Discovery:
    """Answers /api, /apis, /api/v1, /apis/G, /apis/G/V and /version from the registry."""

    def __init__(self, registry: Registry) -> None: ...

    def answer(self, request: Request) -> Response | None:
        """The answer to a GET; None when the path is no discovery path (or names no group)."""
        raise NotImplementedError
