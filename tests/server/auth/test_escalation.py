"""Nobody gives away what they do not hold."""

import pytest

from volcano.api import kinds
from volcano.api.admission import Review
from volcano.api.objects import name_of, namespace_of
from volcano.server.auth.escalation import RbacEscalation
from volcano.server.auth.rbac import Authorizer

from .objects_in_memory import Objects, binding, role, rules, to_user, user

ANN = user("ann")


def review(pair, old=None, who=ANN) -> Review:
    kind, obj = pair
    operation = "UPDATE" if old else "CREATE"
    return Review(operation, kind, namespace_of(obj), name_of(obj), obj, old, who)


def message(held: Objects, pair, old=None, who=ANN) -> str:
    check = RbacEscalation(Authorizer(held))
    refusal = check.admit(review(pair, old, who), held).refusal
    return refusal.message if refusal else ""


HELD = (role("pods", rules("get list", "pods")), binding("b", "pods", to_user("ann")))


@pytest.mark.parametrize(
    ("extra", "pair", "allowed"),
    [
        pytest.param((), role("new", rules("get", "pods")), True, id="held"),
        pytest.param((), role("new", rules("get", "pods", names="p")), True, id="less_than_held"),
        pytest.param((), role("new", rules("get", "secrets")), False, id="other_resource"),
        pytest.param((), role("new", rules("*", "pods")), False, id="wildcard_verb"),
        pytest.param((), role("new", rules("get", "pods/log")), False, id="subresource"),
        pytest.param((), role("new", rules("get", "pods"), namespace="a"), True, id="in_namespace"),
        pytest.param(
            (), role("new", {"verbs": ["get"], "nonResourceURLs": ["/x"]}), False, id="path"
        ),
        pytest.param(
            (
                role("e", rules("escalate", "clusterroles", kinds.RBAC)),
                binding("e", "e", to_user("ann")),
            ),
            role("new", rules("get", "secrets")),
            True,
            id="may_escalate",
        ),
        pytest.param((), binding("new", "pods", to_user("bob")), True, id="bind_held"),
        pytest.param(
            (role("all", rules("*", "*", "*")),),
            binding("new", "all", to_user("ann")),
            False,
            id="bind_more",
        ),
        pytest.param(
            (
                role("all", rules("*", "*", "*")),
                role("bind", rules("bind", "clusterroles", kinds.RBAC, names="all")),
                binding("bind", "bind", to_user("ann")),
            ),
            binding("new", "all", to_user("bob")),
            True,
            id="may_bind",
        ),
    ],
)
def test_writes(extra, pair, allowed: bool) -> None:
    assert (message(Objects(*HELD, *extra), pair) == "") is allowed


def test_the_refusal_lists_what_is_missing() -> None:
    text = message(Objects(*HELD), role("new", rules("get list watch", "pods secrets")))
    assert text == (
        'clusterroles.rbac.authorization.k8s.io "new" is forbidden: user "ann" '
        '(groups=["system:authenticated"]) is attempting to grant RBAC permissions not '
        "currently held:\n"
        '{APIGroups:[""], Resources:["pods"], Verbs:["watch"]}\n'
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list" "watch"]}'
    )


def test_a_binding_to_a_role_that_is_not_there() -> None:
    text = message(Objects(*HELD), binding("new", "gone", to_user("bob")))
    assert text == 'clusterroles.rbac.authorization.k8s.io "gone" not found'


def test_labels_of_a_role_with_more_rights_may_change() -> None:
    kind, old = role("big", rules("*", "*", "*"))
    new = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}
    assert message(Objects(*HELD), (kind, new), old) == ""


def test_aggregation_needs_everything() -> None:
    kind, obj = role("sum")
    obj["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    assert "must have cluster-admin privileges" in message(Objects(*HELD), (kind, obj))
    everything = (
        role("all", rules("*", "*", "*"), {"verbs": ["*"], "nonResourceURLs": ["*"]}),
        binding("all", "all", to_user("ann")),
    )
    assert message(Objects(*everything), (kind, obj)) == ""


def test_masters_may_everything() -> None:
    root = user("root", "system:masters")
    assert message(Objects(), role("new", rules("*", "*", "*")), who=root) == ""
