"""OpenAPI documents from the registry: v3 per group and version with an index, and v2 as JSON."""

from volcano.base.http import Request, Response
from volcano.server.registry import Registry


class OpenApi:
    """Answers /openapi/v3, /openapi/v3/… and /openapi/v2 from the registry."""

    def __init__(self, registry: Registry) -> None: ...

    def answer(self, request: Request) -> Response | None:
        """The answer to a GET; None when the path is not below /openapi; ApiError to refuse."""
        raise NotImplementedError
