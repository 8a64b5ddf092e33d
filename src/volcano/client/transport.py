"""Carries requests to an API: over HTTPS (`http_transport`) or straight to a handler in process."""

from typing import Protocol

from volcano.base.http import Handler, Request, Response
from volcano.base.identity import UserInfo


class Transport(Protocol):
    """Sends one request; raises `ApiError` only for trouble on the way, never for a refusal."""

    async def send(self, request: Request) -> Response:
        """The answer; its stream, if any, is closed by the caller."""
        ...

    async def close(self) -> None:
        """Give up connections."""
        ...


class LocalTransport:
    """Calls the handler in this process as a fixed user: no socket, no TLS, the same pipeline."""

    def __init__(self, handler: Handler, user: UserInfo) -> None:
        self._handler = handler
        self._user = user

    async def send(self, request: Request) -> Response:
        """Answer through the handler, as the fixed user."""
        return await self._handler(request._replace(user=self._user))

    async def close(self) -> None:
        """Nothing is held open."""
