"""Signatures; the body follows."""

from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.base.identity import UserInfo
from volcano.server.auth.rbac import Authorizer
from volcano.server.auth.tokens import ServiceAccountTokens


class Reviews:
    """Answers the review kinds (TokenReview, SelfSubjectReview, …AccessReview, …RulesReview)."""

    def __init__(self, authorizer: Authorizer, tokens: ServiceAccountTokens) -> None: ...

    def answer(
        self, kind: Kind, body: JsonObject, user: UserInfo, namespace: str = ""
    ) -> JsonObject:
        """The review with its status filled in; answered with 201, nothing is stored."""
        raise NotImplementedError
