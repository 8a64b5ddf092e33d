"""The review kinds: questions about who somebody is and what they may, answered and not stored.

`kubectl auth can-i`, `auth can-i --list` and `auth whoami` ask these, and so do components that
leave authentication and authorisation to the API server.
"""

import json
from collections.abc import Mapping

from volcano.api import kinds
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.base.errors import ApiError, Cause, ErrorDetails
from volcano.base.identity import UserInfo
from volcano.server.auth.rbac import Authorizer
from volcano.server.auth.rules import Attributes, Rule
from volcano.server.auth.tokens import ServiceAccountTokens

REVIEW_KINDS = frozenset(
    {
        kinds.TOKEN_REVIEW,
        kinds.SELF_SUBJECT_REVIEW,
        kinds.SUBJECT_ACCESS_REVIEW,
        kinds.SELF_SUBJECT_ACCESS_REVIEW,
        kinds.LOCAL_SUBJECT_ACCESS_REVIEW,
        kinds.SELF_SUBJECT_RULES_REVIEW,
    }
)

ONE_OF = "exactly one of nonResourceAttributes or resourceAttributes must be specified"


class Reviews:
    """Answers the review kinds."""

    def __init__(self, authorizer: Authorizer, tokens: ServiceAccountTokens) -> None:
        self._authorizer = authorizer
        self._tokens = tokens

    def answer(
        self, kind: Kind, body: JsonObject, user: UserInfo, namespace: str = ""
    ) -> JsonObject:
        """The review with its status filled in, for an answer with code 201.

        Args:
            kind: one of `REVIEW_KINDS`.
            body: the review that was sent.
            user: who asks.
            namespace: of the request's path, for the local review.

        Raises:
            ApiError: BadRequest or Invalid, for a question that cannot be answered.
        """
        spec = body.get("spec") or {}
        match kind:
            case kinds.TOKEN_REVIEW:
                status = self._token(spec)
            case kinds.SELF_SUBJECT_REVIEW:
                status = {"userInfo": user_json(user)}
            case kinds.SELF_SUBJECT_RULES_REVIEW:
                status = self._rules(spec, user)
            case kinds.SELF_SUBJECT_ACCESS_REVIEW:
                status = self._access(kind, spec, user)
            case kinds.LOCAL_SUBJECT_ACCESS_REVIEW | kinds.SUBJECT_ACCESS_REVIEW:
                _check_namespace(kind, spec, namespace)
                status = self._access(kind, spec, _subject(kind, spec))
            case _:
                raise AssertionError(f"{kind.resource} is no review kind")
        head = {"kind": kind.kind, "apiVersion": kind.api_version}
        metadata = {**(body.get("metadata") or {}), "creationTimestamp": None}
        asked = {"spec": spec} if kind != kinds.SELF_SUBJECT_REVIEW else {}
        return {**head, "metadata": metadata, **asked, "status": status}

    def _token(self, spec: JsonObject) -> JsonObject:
        token = spec.get("token")
        if not token:
            raise ApiError("BadRequest", "token is required for TokenReview in authentication")
        try:
            verified = self._tokens.verify(str(token), spec.get("audiences") or ())
        except ApiError as error:
            return {"user": {}, "error": f"invalid bearer token: {error.detail}"}
        return {
            "authenticated": True,
            "user": user_json(verified.user),
            "audiences": list(verified.audiences),
        }

    def _access(self, kind: Kind, spec: JsonObject, user: UserInfo) -> JsonObject:
        decision = self._authorizer.authorize(user, _attributes(kind, spec))
        reason = {"reason": decision.reason} if decision.reason else {}
        return {"allowed": decision.allowed, **reason}

    def _rules(self, spec: JsonObject, user: UserInfo) -> JsonObject:
        namespace = spec.get("namespace")
        if not namespace:
            raise ApiError("BadRequest", "no namespace on request")
        rules = self._authorizer.rules_of(user, str(namespace))
        return {
            "resourceRules": [_resource_rule(rule) for rule in rules if rule.resources],
            "nonResourceRules": [
                {"verbs": list(rule.verbs), "nonResourceURLs": list(rule.paths)}
                for rule in rules
                if rule.paths
            ],
            "incomplete": False,
        }


def user_json(user: UserInfo) -> JsonObject:
    """A user as `authentication.k8s.io` UserInfo, empty fields left out."""
    pairs = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra.items()},
    }
    return {key: value for key, value in pairs.items() if value}


def _resource_rule(rule: Rule) -> JsonObject:
    return {key: value for key, value in rule.to_json().items() if key != "nonResourceURLs"}


def _attributes(kind: Kind, spec: JsonObject) -> Attributes:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if path is not None and resource is None:
        return Attributes(verb=_word(path, "verb"), path=_word(path, "path"))
    if resource is None or path is not None:
        raise _invalid(kind, "spec.resourceAttributes", None, ONE_OF)
    return Attributes(
        verb=_word(resource, "verb"),
        group=_word(resource, "group"),
        resource=_word(resource, "resource"),
        subresource=_word(resource, "subresource"),
        namespace=_word(resource, "namespace"),
        name=_word(resource, "name"),
    )


def _subject(kind: Kind, spec: JsonObject) -> UserInfo:
    name, groups = str(spec.get("user") or ""), spec.get("groups") or ()
    if not name and not groups:
        raise _invalid(kind, "spec.user", "", "at least one of user or group must be specified")
    return UserInfo(name=name, uid=str(spec.get("uid") or ""), groups=tuple(map(str, groups)))


def _check_namespace(kind: Kind, spec: JsonObject, namespace: str) -> None:
    if kind != kinds.LOCAL_SUBJECT_ACCESS_REVIEW:
        return
    if "nonResourceAttributes" in spec:
        text = "disallowed on this kind of request"
        raise _invalid(kind, "spec.nonResourceAttributes", spec["nonResourceAttributes"], text)
    asked = _word(spec.get("resourceAttributes") or {}, "namespace")
    if asked != namespace:
        raise ApiError(
            "BadRequest", f"spec.resourceAttributes.namespace must match namespace: {namespace}"
        )


def _word(mapping: Mapping[str, object], key: str) -> str:
    return str(mapping.get(key) or "")


def _invalid(kind: Kind, field: str, value: object, text: str) -> ApiError:
    message = f"Invalid value: {json.dumps(value)}: {text}"
    return ApiError(
        "Invalid",
        f'{kind.kind}.{kind.group} "" is invalid: {field}: {message}',
        details=ErrorDetails(
            group=kind.group,
            kind=kind.kind,
            causes=(Cause("FieldValueInvalid", message, field),),
        ),
    )
