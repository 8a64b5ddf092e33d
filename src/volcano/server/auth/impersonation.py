"""Acting as somebody else: `kubectl --as`, by headers, for who holds the verb `impersonate`.

Every part of the other identity is asked for by itself: the user or ServiceAccount, each group,
the uid and each extra value. A request whose headers cannot be granted is refused, never answered
with the rights of the sender.
"""

from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from volcano.base.errors import ApiError
from volcano.base.http import Request
from volcano.base.identity import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, UserInfo
from volcano.server.auth.rbac import Authorizer, forbidden
from volcano.server.auth.rules import Attributes

PREFIX = "impersonate-"
EXTRA_PREFIX = "impersonate-extra-"
ACCOUNT_PREFIX = "system:serviceaccount:"
AUTHENTICATION = "authentication.k8s.io"


def impersonates(request: Request) -> bool:
    """Whether a request asks to be answered as somebody else."""
    return any(name.startswith(PREFIX) for name in request.headers)


def acting_user(request: Request, user: UserInfo, authorizer: Authorizer) -> UserInfo:
    """The user whose rights count: the sender, or whom the sender asks to be and may be.

    A repeated header (groups, extra values) is one header with its values joined by commas.

    Raises:
        ApiError: Forbidden for an identity that may not be taken, BadRequest for headers that
            name no user.
    """
    headers = request.headers
    if not impersonates(request):
        return user
    name = headers.get("impersonate-user", "")
    if not name:
        raise ApiError(
            "BadRequest", "impersonation headers need Impersonate-User to say who to act as"
        )
    groups, uid = _values(headers, "impersonate-group"), headers.get("impersonate-uid", "")
    extra = {
        unquote(key.removeprefix(EXTRA_PREFIX)): _values(headers, key)
        for key in headers
        if key.startswith(EXTRA_PREFIX)
    }
    for attributes in _asked(name, groups, uid, extra):
        decision = authorizer.authorize(user, attributes)
        if not decision.allowed:
            raise forbidden(user, attributes, decision)
    return UserInfo(name, uid, _groups(name, groups), extra)


def _asked(
    name: str, groups: tuple[str, ...], uid: str, extra: Mapping[str, tuple[str, ...]]
) -> Iterator[Attributes]:
    account = _account(name)
    if account is not None:
        yield Attributes("impersonate", "", "serviceaccounts", "", *account)
    else:
        yield Attributes("impersonate", "", "users", name=name)
    for group in groups:
        yield Attributes("impersonate", "", "groups", name=group)
    if uid:
        yield Attributes("impersonate", AUTHENTICATION, "uids", name=uid)
    for key, values in extra.items():
        for value in values:
            yield Attributes("impersonate", AUTHENTICATION, "userextras", key, name=value)


def _groups(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    account = _account(name)
    if account is not None and not groups:
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{account[0]}")
    known = UNAUTHENTICATED if name == ANONYMOUS else AUTHENTICATED
    return tuple(dict.fromkeys((*groups, known)))


def _account(name: str) -> tuple[str, str] | None:
    """Namespace and name of a ServiceAccount's user name, None for other names."""
    namespace, _, account = name.removeprefix(ACCOUNT_PREFIX).partition(":")
    if not name.startswith(ACCOUNT_PREFIX) or not namespace or not account:
        return None
    return namespace, account


def _values(headers: Mapping[str, str], name: str) -> tuple[str, ...]:
    texts = (text.strip() for text in headers.get(name, "").split(","))
    return tuple(text for text in texts if text)
