"""ServiceAccount tokens: signed JSON web tokens (ES256) with the claims that Kubernetes writes.

A token names its ServiceAccount by uid and may be bound to a pod, secret or node; it holds while
these exist and it has not expired. Verification costs a signature check once: afterwards the token
is remembered, its objects are looked up again every few seconds and at once when the server tells
of a change. Nothing is stored: the key (`pki.py`) is the only state.
"""

import base64
import hashlib
import json
import secrets
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from volcano.api import kinds, objects
from volcano.api.admission import Lookup
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.base import limits
from volcano.base.clock import Clock, timestamp
from volcano.base.errors import ApiError, Cause, ConfigError, ErrorDetails
from volcano.base.identity import UserInfo, service_account

ISSUER = "https://kubernetes.default.svc.cluster.local"
EXPIRATION_SECONDS_DEFAULT = 3600
EXTRA = "authentication.kubernetes.io/"
"""Prefix of the keys in `UserInfo.extra`."""

BOUND_KINDS: Mapping[str, Kind] = {
    "Pod": kinds.POD,
    "Secret": kinds.SECRET,
    "Node": kinds.NODE,
}


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """The user of a token and the audiences that both the token and the asker name."""

    user: UserInfo
    audiences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Reference:
    """An object that must exist with this uid."""

    kind: Kind
    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(slots=True)
class _Entry:
    """A token whose signature was good."""

    user: UserInfo
    audiences: tuple[str, ...]
    not_before: float
    expires: float
    references: tuple[_Reference, ...]
    checked: float


class ServiceAccountTokens:
    """Issues and verifies the tokens of one cluster.

    Args:
        key_pem: private key (P-256) that signs.
        lookup: where ServiceAccounts, pods, secrets and nodes are found.
        issuer: the `iss` claim, and the audience of tokens meant for the API server.
    """

    def __init__(
        self, key_pem: bytes, lookup: Lookup, clock: Clock, *, issuer: str = ISSUER
    ) -> None:
        self._key_pem = key_pem
        self._lookup = lookup
        self._clock = clock
        self._issuer = issuer
        self._signer: _Signer | None = None
        self._remembered: OrderedDict[bytes, _Entry] = OrderedDict()
        self._by_reference: dict[tuple[Kind, str], set[bytes]] = {}

    def issue(
        self,
        account: JsonObject,
        *,
        audiences: Sequence[str] = (),
        seconds: int = EXPIRATION_SECONDS_DEFAULT,
        bound: tuple[Kind, JsonObject] | None = None,
    ) -> str:
        """A token for a stored ServiceAccount, optionally bound to a stored object."""
        now = int(self._clock.now())
        namespace, name = objects.namespace_of(account), objects.name_of(account)
        private: JsonObject = {"namespace": namespace}
        if bound is not None:
            kind, obj = bound
            private[kind.singular] = {"name": objects.name_of(obj), "uid": objects.uid_of(obj)}
            if kind is kinds.POD:
                private.update(self._node_claim(obj))
        private["serviceaccount"] = {"name": name, "uid": objects.uid_of(account)}
        claims = {
            "aud": list(audiences) or [self._issuer],
            "exp": now + seconds,
            "iat": now,
            "iss": self._issuer,
            "jti": str(uuid.UUID(bytes=secrets.token_bytes(16), version=4)),
            "kubernetes.io": private,
            "nbf": now,
            "sub": f"system:serviceaccount:{namespace}:{name}",
        }
        return self._load_signer().sign(claims)

    def request(self, namespace: str, name: str, body: JsonObject) -> JsonObject:
        """Answer a POST to `serviceaccounts/NAME/token`: the TokenRequest with its status.

        Raises:
            ApiError: NotFound without the account or the bound object, Conflict when that has
                another uid, Invalid or BadRequest for a wrong request.
        """
        account = self._lookup.get(kinds.SERVICE_ACCOUNT, namespace, name)
        if account is None:
            raise _not_found(kinds.SERVICE_ACCOUNT, name)
        spec = body.get("spec") or {}
        seconds = _expiration(name, spec)
        audiences = [str(audience) for audience in spec.get("audiences") or (self._issuer,)]
        bound = self._bound_object(namespace, name, spec.get("boundObjectRef"))
        token = self.issue(account, audiences=audiences, seconds=seconds, bound=bound)
        expires = int(self._clock.now()) + seconds
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "creationTimestamp": timestamp(self._clock.now()),
            },
            "spec": {
                "audiences": audiences,
                "expirationSeconds": seconds,
                "boundObjectRef": spec.get("boundObjectRef"),
            },
            "status": {"token": token, "expirationTimestamp": timestamp(expires)},
        }

    def verify(self, token: str, audiences: Sequence[str] = ()) -> VerifiedToken:
        """The user of a token.

        Args:
            token: the compact form, without `Bearer`.
            audiences: whom it is shown to; empty means this API server.

        Raises:
            ApiError: Unauthorized; `detail` says why, for the log.
        """
        if len(token) > limits.TOKEN_BYTES_MAX or not token.isascii():
            raise _unauthorized("token is too long or not ASCII")
        digest = hashlib.sha256(token.encode()).digest()
        now = self._clock.now()
        entry = self._remembered.get(digest)
        if entry is None:
            entry = self._read(token, now)
            self._remember(digest, entry)
        else:
            self._remembered.move_to_end(digest)
            if now - entry.checked >= limits.TOKEN_RECHECK_SECONDS:
                self._check_references(entry.references)
                entry.checked = now
        if not entry.not_before <= now < entry.expires:
            raise _unauthorized("token has expired or does not hold yet")
        wanted = audiences or (self._issuer,)
        shared = tuple(audience for audience in entry.audiences if audience in wanted)
        if not shared:
            raise _unauthorized(f"token audiences {entry.audiences} are not among {wanted}")
        return VerifiedToken(entry.user, shared)

    def changed(self, kind: Kind, key: str) -> None:
        """Hear of a change (`objects.key_of`): tokens that name the object are looked at anew."""
        for digest in self._by_reference.pop((kind, key), ()):
            self._forget(digest)

    def _read(self, token: str, now: float) -> _Entry:
        claims = self._load_signer().verify(token)
        if claims.get("iss") != self._issuer:
            raise _unauthorized(f"token was issued by {claims.get('iss')!r}")
        try:
            entry = _entry(claims, now)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _unauthorized(f"token claims are malformed: {error!r}") from error
        if not entry.not_before <= now < entry.expires:
            raise _unauthorized("token has expired or does not hold yet")
        self._check_references(entry.references)
        return entry

    def _check_references(self, references: Sequence[_Reference]) -> None:
        for reference in references:
            obj = self._lookup.get(reference.kind, reference.namespace, reference.name)
            if obj is None or objects.uid_of(obj) != reference.uid:
                raise _unauthorized(
                    f"{reference.kind.singular} {reference.key} of the token is gone"
                )

    def _remember(self, digest: bytes, entry: _Entry) -> None:
        self._remembered[digest] = entry
        for reference in entry.references:
            self._by_reference.setdefault((reference.kind, reference.key), set()).add(digest)
        while len(self._remembered) > limits.TOKEN_CACHE_ENTRIES_MAX:
            self._forget(next(iter(self._remembered)))

    def _forget(self, digest: bytes) -> None:
        entry = self._remembered.pop(digest, None)
        for reference in entry.references if entry else ():
            digests = self._by_reference.get((reference.kind, reference.key))
            if digests is not None:
                digests.discard(digest)
                if not digests:
                    del self._by_reference[(reference.kind, reference.key)]

    def _load_signer(self) -> "_Signer":
        if self._signer is None:
            self._signer = _Signer(self._key_pem)
        return self._signer

    def _node_claim(self, pod: JsonObject) -> JsonObject:
        name = (pod.get("spec") or {}).get("nodeName")
        if not name:
            return {}
        node = self._lookup.get(kinds.NODE, "", name)
        return {"node": {"name": name, **({"uid": objects.uid_of(node)} if node else {})}}

    def _bound_object(
        self, namespace: str, account: str, reference: JsonObject | None
    ) -> tuple[Kind, JsonObject] | None:
        if not reference:
            return None
        kind = BOUND_KINDS.get(str(reference.get("kind", "")))
        if kind is None or reference.get("apiVersion", "v1") not in ("", "v1"):
            raise ApiError(
                "BadRequest",
                f"cannot bind token for serviceaccount {json.dumps(account)} to object type "
                f"{reference.get('apiVersion', '')} {reference.get('kind', '')}; "
                "a token can be bound to a v1 Pod, Secret or Node",
            )
        name = str(reference.get("name", ""))
        obj = self._lookup.get(kind, namespace if kind.namespaced else "", name)
        if obj is None:
            raise _not_found(kind, name)
        if kind is kinds.POD:
            used_by = (obj.get("spec") or {}).get("serviceAccountName") or "default"
            if used_by != account:
                raise ApiError(
                    "BadRequest",
                    f"cannot bind token for serviceaccount {json.dumps(account)} "
                    "to pod running with different serviceaccount name.",
                )
        wanted = reference.get("uid")
        if wanted and wanted != objects.uid_of(obj):
            raise ApiError(
                "Conflict",
                f"the UID in the bound object reference ({wanted}) does not match the UID in "
                f"record ({objects.uid_of(obj)}). The object might have been deleted and then "
                "recreated",
                details=ErrorDetails(name=name, group=kind.group, kind=kind.plural),
            )
        return kind, obj


class _Signer:
    """ES256 over compact JSON web tokens."""

    def __init__(self, key_pem: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            PublicFormat,
            load_pem_private_key,
        )

        key = load_pem_private_key(key_pem, password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.curve.name != "secp256r1":
            raise ConfigError("the ServiceAccount signing key must be an elliptic-curve P-256 key")
        self._key = key
        self._public = key.public_key()
        public = self._public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        self._header = _json_segment(
            {"alg": "ES256", "kid": _segment(hashlib.sha256(public).digest())}
        )

    def sign(self, claims: JsonObject) -> str:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        signed = f"{self._header}.{_json_segment(claims)}"
        signature = self._key.sign(signed.encode(), ec.ECDSA(hashes.SHA256()))
        r, s = decode_dss_signature(signature)
        return f"{signed}.{_segment(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"

    def verify(self, token: str) -> JsonObject:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

        header, dot, rest = token.partition(".")
        payload, other_dot, signature_text = rest.partition(".")
        # Our own header, byte for byte: no other algorithm or key is ever tried.
        if not (dot and other_dot) or header != self._header:
            raise _unauthorized("token was not signed with this cluster's key")
        try:
            signature = _bytes(signature_text)
            claims = json.loads(_bytes(payload))
        except ValueError as error:
            raise _unauthorized("token is malformed") from error
        if len(signature) != 64 or not isinstance(claims, dict):
            raise _unauthorized("token is malformed")
        encoded = encode_dss_signature(
            int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
        )
        try:
            self._public.verify(encoded, f"{header}.{payload}".encode(), ec.ECDSA(hashes.SHA256()))
        except InvalidSignature as error:
            raise _unauthorized("token signature is wrong") from error
        return claims


def _entry(claims: JsonObject, now: float) -> _Entry:
    private = claims["kubernetes.io"]
    namespace, account = str(private["namespace"]), private["serviceaccount"]
    references = [
        _Reference(kinds.SERVICE_ACCOUNT, namespace, str(account["name"]), str(account["uid"]))
    ]
    extra: dict[str, tuple[str, ...]] = {f"{EXTRA}credential-id": (f"JTI={claims['jti']}",)}
    pod, node = private.get("pod"), private.get("node")
    for kind in BOUND_KINDS.values():
        bound = private.get(kind.singular)
        # The node of a pod is told, not demanded: the pod itself goes when its node does.
        if bound is not None and not (kind is kinds.NODE and pod is not None):
            scope = namespace if kind.namespaced else ""
            references.append(_Reference(kind, scope, str(bound["name"]), str(bound["uid"])))
    for prefix, bound in (("node", node), ("pod", pod)):
        if bound is not None:
            extra[f"{EXTRA}{prefix}-name"] = (str(bound["name"]),)
            if bound.get("uid"):
                extra[f"{EXTRA}{prefix}-uid"] = (str(bound["uid"]),)
    user = service_account(namespace, str(account["name"]), str(account["uid"]))
    return _Entry(
        user=UserInfo(user.name, user.uid, user.groups, extra),
        audiences=tuple(str(audience) for audience in claims["aud"]),
        not_before=float(claims["nbf"]),
        expires=float(claims["exp"]),
        references=tuple(references),
        checked=now,
    )


def _expiration(name: str, spec: JsonObject) -> int:
    value: Any = spec.get("expirationSeconds")
    if value is None:
        return EXPIRATION_SECONDS_DEFAULT
    problem = ""
    if not isinstance(value, int) or isinstance(value, bool):
        problem = "must be an integer"
    elif value < limits.TOKEN_SECONDS_MIN:
        problem = "may not specify a duration less than 10 minutes"
    elif value > limits.TOKEN_SECONDS_MAX:
        problem = "may not specify a duration larger than 2^32 seconds"
    if problem:
        field = "spec.expirationSeconds"
        message = f"Invalid value: {json.dumps(value)}: {problem}"
        raise ApiError(
            "Invalid",
            f'TokenRequest.authentication.k8s.io "{name}" is invalid: {field}: {message}',
            details=ErrorDetails(
                name=name,
                group="authentication.k8s.io",
                kind="TokenRequest",
                causes=(Cause("FieldValueInvalid", message, field),),
            ),
        )
    return int(value)


def _not_found(kind: Kind, name: str) -> ApiError:
    return ApiError(
        "NotFound",
        f'{kind.resource} "{name}" not found',
        details=ErrorDetails(name=name, group=kind.group, kind=kind.plural),
    )


def _unauthorized(detail: str) -> ApiError:
    error = ApiError("Unauthorized", "Unauthorized")
    error.detail = detail
    return error


def _segment(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _json_segment(value: JsonObject) -> str:
    return _segment(json.dumps(value, separators=(",", ":")).encode())


def _bytes(segment: str) -> bytes:
    """Strictly decoded, so that one token has one spelling."""
    raw = base64.b64decode(segment + "=" * (-len(segment) % 4), altchars=b"-_", validate=True)
    if _segment(raw) != segment:
        raise ValueError("not canonical base64url")
    return raw
