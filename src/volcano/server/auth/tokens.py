"""Signatures; the body follows."""

from collections.abc import Sequence
from dataclasses import dataclass

from volcano.api.admission import Lookup
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.base.clock import Clock
from volcano.base.identity import UserInfo


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """The user of a token and the audiences that both the token and the asker name."""

    user: UserInfo
    audiences: tuple[str, ...]


class ServiceAccountTokens:
    """Issues and verifies ServiceAccount tokens."""

    def __init__(self, key_pem: bytes, lookup: Lookup, clock: Clock) -> None: ...

    def request(self, namespace: str, name: str, body: JsonObject) -> JsonObject:
        """Answer a POST to `serviceaccounts/NAME/token`: the TokenRequest with its status."""
        raise NotImplementedError

    def verify(self, token: str, audiences: Sequence[str] = ()) -> VerifiedToken:
        """The user of a token; ApiError Unauthorized when it does not hold."""
        raise NotImplementedError

    def changed(self, kind: Kind, key: str) -> None:
        """Hear of a change (`objects.key_of`) of any kind: tokens bound to it are looked at anew."""
        raise NotImplementedError
