"""Who is asking: a client certificate or a ServiceAccount token becomes a user.

TLS has verified that a client certificate comes from the cluster's authority before the server
sees it; here its signature, purpose and dates are looked at again: a kept-alive connection can
outlive its certificate, and a second look costs nothing once it is remembered by the bytes.
A certificate goes before a token, as in kube-apiserver.
"""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from volcano.base import limits
from volcano.base.clock import Clock
from volcano.base.errors import ApiError
from volcano.base.http import Request
from volcano.base.identity import AUTHENTICATED, UserInfo
from volcano.server.auth.impersonation import acting_user, impersonates
from volcano.server.auth.rbac import Authorizer
from volcano.server.auth.tokens import EXTRA, ServiceAccountTokens

if TYPE_CHECKING:
    from cryptography import x509


@dataclass(frozen=True, slots=True)
class _Certificate:
    """What is remembered of a client certificate that our authority signed."""

    user: UserInfo
    not_before: float
    expires: float


class Authenticator:
    """Turns a request's credentials into a user.

    Args:
        ca_pem: certificate of the authority that signs client certificates.
        tokens: verifies bearer tokens.
        authorizer: decides who may act as somebody else; without one nobody may, and a request
            that asks to is refused.
    """

    def __init__(
        self,
        ca_pem: bytes,
        tokens: ServiceAccountTokens,
        clock: Clock,
        authorizer: Authorizer | None = None,
    ) -> None:
        self._ca_pem = ca_pem
        self._authorizer = authorizer
        self._tokens = tokens
        self._clock = clock
        self._remembered: OrderedDict[bytes, _Certificate] = OrderedDict()

    def authenticate(self, request: Request) -> UserInfo | None:
        """Whose rights count, or None for a request without credentials.

        That is the sender, or whom the sender asks to act as and may. A `request.user` that the
        transport already knows is believed.

        Raises:
            ApiError: Unauthorized, for credentials that do not hold (`detail` says why); Forbidden
                or BadRequest for an identity that may not be taken.
        """
        user = self._sender(request)
        if user is None or not impersonates(request):
            return user
        if self._authorizer is None:
            raise ApiError("Forbidden", "acting as another user is not possible on this server")
        return acting_user(request, user, self._authorizer)

    def _sender(self, request: Request) -> UserInfo | None:
        if request.user is not None:
            return request.user
        if request.peer_certificate is not None:
            return self._by_certificate(request.peer_certificate)
        header = request.headers.get("authorization", "")
        if not header:
            return None
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise _unauthorized("the authorization header is no bearer token")
        return self._tokens.verify(token.strip()).user

    def _by_certificate(self, der: bytes) -> UserInfo:
        now = self._clock.now()
        known = self._remembered.get(der)
        if known is None:
            known = self._read(der)
            self._remembered[der] = known
            if len(self._remembered) > limits.CERTIFICATE_CACHE_ENTRIES_MAX:
                self._remembered.popitem(last=False)
        else:
            self._remembered.move_to_end(der)
        if not known.not_before <= now < known.expires:
            raise _unauthorized("client certificate has expired or does not hold yet")
        return known.user

    def _read(self, der: bytes) -> _Certificate:
        from cryptography import x509
        from cryptography.x509.oid import NameOID

        try:
            certificate = x509.load_der_x509_certificate(der)
        except ValueError as error:
            raise _unauthorized(f"client certificate cannot be read: {error}") from error
        self._check_signature(certificate)
        names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        if not names or not names[0].value:
            raise _unauthorized("client certificate has no common name")
        organisations = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
        groups = dict.fromkeys([*(_text(item.value) for item in organisations), AUTHENTICATED])
        credential = f"X509SHA256={hashlib.sha256(der).hexdigest()}"
        return _Certificate(
            user=UserInfo(
                name=_text(names[0].value),
                groups=tuple(groups),
                extra={f"{EXTRA}credential-id": (credential,)},
            ),
            not_before=certificate.not_valid_before_utc.timestamp(),
            expires=certificate.not_valid_after_utc.timestamp(),
        )

    def _check_signature(self, certificate: "x509.Certificate") -> None:
        from cryptography import x509
        from cryptography.exceptions import InvalidSignature
        from cryptography.x509.oid import ExtendedKeyUsageOID

        authority = x509.load_pem_x509_certificate(self._ca_pem)
        try:
            certificate.verify_directly_issued_by(authority)
        except (ValueError, TypeError, InvalidSignature) as error:
            raise _unauthorized("client certificate is not from this cluster's CA") from error
        try:
            usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        except x509.ExtensionNotFound as error:
            raise _unauthorized("client certificate does not say what it is for") from error
        if ExtendedKeyUsageOID.CLIENT_AUTH not in usage:
            raise _unauthorized("certificate is not for client authentication")


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


def _unauthorized(detail: str) -> ApiError:
    error = ApiError("Unauthorized", "Unauthorized")
    error.detail = detail
    return error
