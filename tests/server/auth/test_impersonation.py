"""Acting as somebody else, and not being allowed to."""

import pytest

from volcano.base.errors import ApiError
from volcano.base.http import Request
from volcano.server.auth.impersonation import acting_user
from volcano.server.auth.rbac import Authorizer

from .objects_in_memory import Objects, binding, role, rules, to_user, user

ANN, ROOT = user("ann"), user("root", "system:masters")
MAY = (
    role(
        "act",
        rules("impersonate", "users groups", names="bob dev"),
        rules("impersonate", "userextras/scope", "authentication.k8s.io", names="view"),
    ),
    binding("act", "act", to_user("ann")),
    role("accounts", rules("impersonate", "serviceaccounts"), namespace="team"),
    binding("accounts", "accounts", to_user("ann"), namespace="team", kind="Role"),
)


def act(who=ANN, **headers: str):
    named = {f"impersonate-{name.replace('_', '-')}": value for name, value in headers.items()}
    return acting_user(Request("GET", "/", headers=named), who, Authorizer(Objects(*MAY)))


def test_nobody_else_without_headers() -> None:
    assert act() is ANN


def test_user_groups_and_extra() -> None:
    taken = act(user="bob", group="dev", extra_scope="view")
    assert (taken.name, taken.groups) == ("bob", ("dev", "system:authenticated"))
    assert taken.extra == {"scope": ("view",)}


def test_an_account_comes_with_its_groups() -> None:
    taken = act(user="system:serviceaccount:team:runner")
    assert taken.groups == (
        "system:serviceaccounts",
        "system:serviceaccounts:team",
        "system:authenticated",
    )


def test_an_administrator_may_be_anybody() -> None:
    assert act(ROOT, user="eve", group="a, b", uid="7").groups == ("a", "b", "system:authenticated")


@pytest.mark.parametrize(
    ("headers", "match"),
    [
        ({"user": "eve"}, 'users "eve" is forbidden: User "ann" cannot impersonate'),
        ({"user": "bob", "group": "dev,system:masters"}, 'groups "system:masters" is forbidden'),
        ({"user": "bob", "uid": "7"}, 'uids.authentication.k8s.io "7" is forbidden'),
        ({"user": "bob", "extra_scope": "edit"}, 'resource "userextras/scope"'),
        ({"user": "system:serviceaccount:other:x"}, 'serviceaccounts "x" is forbidden'),
    ],
    ids=["user", "one_of_the_groups", "uid", "extra", "account_elsewhere"],
)
def test_refused(headers, match: str) -> None:
    with pytest.raises(ApiError) as caught:
        act(**headers)
    assert caught.value.code == 403
    assert match in caught.value.message


def test_groups_without_a_user() -> None:
    with pytest.raises(ApiError, match="need Impersonate-User"):
        act(ROOT, group="dev")
