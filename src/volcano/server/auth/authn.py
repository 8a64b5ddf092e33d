"""Signatures; the body follows."""

from volcano.base.clock import Clock
from volcano.base.http import Request
from volcano.base.identity import UserInfo
from volcano.server.auth.tokens import ServiceAccountTokens


class Authenticator:
    """Turns a client certificate or bearer token into a user."""

    def __init__(self, ca_pem: bytes, tokens: ServiceAccountTokens, clock: Clock) -> None: ...

    def authenticate(self, request: Request) -> UserInfo | None:
        """The caller; None without credentials; ApiError Unauthorized for bad ones."""
        raise NotImplementedError
