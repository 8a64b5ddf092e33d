"""RBAC: tables of single rules, changes, wording, and agreement with the plain evaluator."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from volcano.api import kinds
from volcano.base.identity import UserInfo
from volcano.server.auth.rbac import Authorizer, forbidden
from volcano.server.auth.rules import Attributes

from . import plain_rbac
from .objects_in_memory import (
    Objects,
    binding,
    pod_user,
    role,
    rules,
    to_account,
    to_group,
    to_user,
    user,
)

ANN = user("ann", "dev")


def wanted(verb: str, resource: str, namespace: str = "", name: str = "", group: str = ""):
    plural, _, subresource = resource.partition("/")
    return Attributes(verb, group, plural, subresource, namespace, name)


def check(allowed: bool, rule, attributes: Attributes) -> None:
    held = Objects(role("r", rule), binding("b", "r", to_user("ann")))
    assert Authorizer(held).authorize(ANN, attributes).allowed is allowed
    assert plain_rbac.allowed(held, ANN, attributes) is allowed


@pytest.mark.parametrize(
    ("allowed", "rule", "attributes"),
    [
        pytest.param(True, rules("get", "pods"), wanted("get", "pods", "a", "p"), id="exact"),
        pytest.param(False, rules("get", "pods"), wanted("list", "pods", "a"), id="other_verb"),
        pytest.param(False, rules("get", "pods"), wanted("get", "secrets"), id="other_resource"),
        pytest.param(False, rules("get", "jobs", "batch"), wanted("get", "jobs"), id="other_group"),
        pytest.param(
            True, rules("*", "*", "*"), wanted("x", "y/z", "a", "n", "g"), id="everything"
        ),
        pytest.param(False, rules("get", "pods"), wanted("get", "pods/log"), id="no_subresource"),
        pytest.param(True, rules("get", "pods/log"), wanted("get", "pods/log"), id="subresource"),
        pytest.param(True, rules("get", "*/log"), wanted("get", "pods/log"), id="any_subresource"),
        pytest.param(False, rules("get", "*/log"), wanted("get", "pods"), id="only_subresource"),
        pytest.param(
            True, rules("get", "pods", names="p"), wanted("get", "pods", name="p"), id="name"
        ),
        pytest.param(
            False, rules("get", "pods", names="p"), wanted("get", "pods", name="q"), id="other_name"
        ),
        pytest.param(False, rules("list", "pods", names="p"), wanted("list", "pods"), id="no_name"),
        pytest.param(
            True,
            {"verbs": ["get"], "nonResourceURLs": ["/healthz"]},
            Attributes("get", path="/healthz"),
            id="path",
        ),
        pytest.param(
            True,
            {"verbs": ["get"], "nonResourceURLs": ["/api/*"]},
            Attributes("get", path="/api/v1"),
            id="path_prefix",
        ),
        pytest.param(
            False,
            {"verbs": ["get"], "nonResourceURLs": ["/api/*"]},
            Attributes("get", path="/api"),
            id="not_the_parent_path",
        ),
        pytest.param(
            False, rules("*", "*", "*"), Attributes("get", path="/metrics"), id="paths_are_apart"
        ),
    ],
)
def test_one_rule(allowed: bool, rule, attributes: Attributes) -> None:
    check(allowed, rule, attributes)


@pytest.mark.parametrize(
    ("subject", "who", "allowed"),
    [
        pytest.param(to_user("ann"), ANN, True, id="user"),
        pytest.param(to_user("bob"), ANN, False, id="other_user"),
        pytest.param(to_group("dev"), ANN, True, id="group"),
        pytest.param(to_user("dev"), ANN, False, id="user_named_as_group"),
        pytest.param(to_account("team-a", "r"), pod_user("team-a", "r"), True, id="account"),
        pytest.param(
            to_account("team-a", "r"), pod_user("team-b", "r"), False, id="same_name_elsewhere"
        ),
        pytest.param(
            to_group("system:serviceaccounts:team-a"), pod_user("team-a", "r"), True, id="accounts"
        ),
    ],
)
def test_subjects(subject, who: UserInfo, allowed: bool) -> None:
    held = Objects(role("r", rules("get", "pods")), binding("b", "r", subject))
    assert Authorizer(held).authorize(who, wanted("get", "pods", "x")).allowed is allowed


@pytest.mark.parametrize(
    ("namespace", "allowed"), [("team-a", True), ("team-b", False), ("", False)]
)
@pytest.mark.parametrize("kind", ["Role", "ClusterRole"])
def test_a_role_binding_counts_in_its_namespace(namespace: str, allowed: bool, kind: str) -> None:
    held = Objects(
        role("r", rules("list", "pods"), namespace="team-a" if kind == "Role" else ""),
        binding("b", "r", to_user("ann"), namespace="team-a", kind=kind),
    )
    assert Authorizer(held).authorize(ANN, wanted("list", "pods", namespace)).allowed is allowed


def test_a_pods_token_cannot_read_another_namespaces_secrets() -> None:
    held = Objects(
        role("secrets", rules("get list", "secrets"), namespace="team-a"),
        binding("b", "secrets", to_account("team-a", "r"), namespace="team-a", kind="Role"),
    )
    authorizer, who = Authorizer(held), pod_user("team-a", "r")
    assert authorizer.authorize(who, wanted("get", "secrets", "team-a", "s")).allowed
    attributes = wanted("get", "secrets", "team-b", "s")
    error = forbidden(who, attributes, authorizer.authorize(who, attributes))
    assert error.code == 403
    assert error.message == (
        'secrets "s" is forbidden: User "system:serviceaccount:team-a:r" cannot get resource '
        '"secrets" in API group "" in the namespace "team-b"'
    )


def test_masters_need_no_rule() -> None:
    everything = wanted("delete", "nodes", name="n")
    assert Authorizer(Objects()).authorize(user("root", "system:masters"), everything).allowed


@pytest.mark.parametrize(
    ("attributes", "message", "details"),
    [
        pytest.param(
            wanted("list", "pods", "default"),
            'pods is forbidden: User "x" cannot list resource "pods" in API group "" '
            'in the namespace "default"',
            {"kind": "pods"},
            id="list",
        ),
        pytest.param(
            wanted("get", "jobs/status", "default", "j", "batch.volcano.sh"),
            'jobs.batch.volcano.sh "j" is forbidden: User "x" cannot get resource "jobs/status" '
            'in API group "batch.volcano.sh" in the namespace "default"',
            {"name": "j", "group": "batch.volcano.sh", "kind": "jobs"},
            id="subresource",
        ),
        pytest.param(
            wanted("create", "nodes"),
            'nodes is forbidden: User "x" cannot create resource "nodes" in API group "" '
            "at the cluster scope",
            {"kind": "nodes"},
            id="cluster_scope",
        ),
        pytest.param(
            Attributes("get", path="/metrics"),
            'forbidden: User "x" cannot get path "/metrics"',
            {},
            id="path",
        ),
    ],
)
def test_wording(attributes: Attributes, message: str, details) -> None:
    who = user("x")
    error = forbidden(who, attributes, Authorizer(Objects()).authorize(who, attributes))
    assert error.message == message
    assert error.to_status().get("details") == details


def test_a_binding_to_a_missing_role_says_so() -> None:
    held = Objects(binding("b", "gone", to_user("ann")))
    decision = Authorizer(held).authorize(ANN, wanted("get", "pods"))
    assert decision.reason == 'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found'


def test_the_reason_names_binding_and_role() -> None:
    held = Objects(
        role("r", rules("get", "pods")), binding("b", "r", to_user("ann"), namespace="team-a")
    )
    decision = Authorizer(held).authorize(ANN, wanted("get", "pods", "team-a"))
    assert decision.reason == 'RBAC: allowed by RoleBinding "b/team-a" of ClusterRole "r"'


def test_changes_are_followed() -> None:
    held = Objects(role("r", rules("get", "pods")))
    authorizer, question = Authorizer(held), wanted("get", "pods", "a")

    def told(kind, obj) -> None:
        authorizer.changed(kind, held.put(kind, obj))

    assert not authorizer.authorize(ANN, question).allowed
    told(*binding("b", "r", to_group("dev")))
    assert authorizer.authorize(ANN, question).allowed
    told(*role("r", rules("list", "pods")))
    assert not authorizer.authorize(ANN, question).allowed
    told(*role("r", rules("get", "pods")))
    told(*binding("b", "r", to_group("ops")))
    assert not authorizer.authorize(ANN, question).allowed
    told(*binding("b", "r", to_user("ann")))
    assert authorizer.authorize(ANN, question).allowed
    held.remove(kinds.CLUSTER_ROLE_BINDING, "b")
    authorizer.changed(kinds.CLUSTER_ROLE_BINDING, "b")
    assert not authorizer.authorize(ANN, question).allowed


def aggregate(name: str, label: str, labels=None):
    kind, obj = role(name, labels=labels)
    obj["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]}
    return kind, obj


def test_aggregation_goes_through_several_levels_and_circles() -> None:
    held = Objects(
        aggregate("admin", "to-admin", {"to-edit": "true"}),
        aggregate("edit", "to-edit", {"to-admin": "true"}),
        role("pods", rules("get", "pods"), labels={"to-edit": "true"}),
        binding("b", "admin", to_user("ann")),
    )
    authorizer = Authorizer(held)
    assert authorizer.authorize(ANN, wanted("get", "pods")).allowed
    jobs = role("jobs", rules("get", "jobs", "batch"), labels={"to-admin": "true"})
    authorizer.changed(jobs[0], held.put(*jobs))
    assert authorizer.authorize(ANN, wanted("get", "jobs", group="batch")).allowed


def test_repeated_questions_read_nothing() -> None:
    held = Objects(role("r", rules("get", "pods", names="p")), binding("b", "r", to_user("ann")))
    authorizer = Authorizer(held)
    authorizer.authorize(ANN, wanted("get", "pods", "a", "p"))
    held.held.clear()
    assert authorizer.authorize(ANN, wanted("get", "pods", "a", "p")).allowed
    assert not authorizer.authorize(ANN, wanted("get", "pods", "a", "q")).allowed


WORDS = st.lists(st.sampled_from(["get", "list", "*"]), min_size=1, max_size=2)
RULES = st.one_of(
    st.fixed_dictionaries(
        {
            "verbs": WORDS,
            "apiGroups": st.lists(st.sampled_from(["", "batch", "*"]), min_size=1, max_size=2),
            "resources": st.lists(
                st.sampled_from(["pods", "pods/log", "*/log", "jobs", "*"]), min_size=1, max_size=2
            ),
        },
        optional={"resourceNames": st.lists(st.sampled_from(["n1", "n2"]), max_size=2)},
    ),
    st.fixed_dictionaries(
        {
            "verbs": WORDS,
            "nonResourceURLs": st.lists(
                st.sampled_from(["/api", "/api/*", "*"]), min_size=1, max_size=2
            ),
        }
    ),
)
NAMESPACES = st.sampled_from(["", "a", "b"])
SUBJECTS = st.lists(
    st.sampled_from([to_user("ann"), to_user("bob"), to_group("dev"), to_account("a", "s")]),
    max_size=2,
)
USERS = st.sampled_from([ANN, user("bob"), pod_user("a", "s")])
ATTRIBUTES = st.one_of(
    st.builds(
        Attributes,
        verb=st.sampled_from(["get", "list", "delete"]),
        group=st.sampled_from(["", "batch"]),
        resource=st.sampled_from(["pods", "jobs"]),
        subresource=st.sampled_from(["", "log"]),
        namespace=NAMESPACES,
        name=st.sampled_from(["", "n1", "n2"]),
    ),
    st.builds(
        Attributes,
        verb=st.sampled_from(["get", "list"]),
        path=st.sampled_from(["/api", "/api/v1", "/metrics"]),
    ),
)


@st.composite
def worlds(draw):
    pairs = []
    for index in range(draw(st.integers(0, 3))):
        namespace = draw(NAMESPACES)
        labels = draw(st.sampled_from([{}, {"to": "true"}]))
        pairs.append(
            role(
                f"r{index}", *draw(st.lists(RULES, max_size=2)), namespace=namespace, labels=labels
            )
        )
    pairs.append(aggregate("r9", "to"))
    for index in range(draw(st.integers(0, 3))):
        namespace = draw(NAMESPACES)
        kind = draw(st.sampled_from(["Role", "ClusterRole"])) if namespace else "ClusterRole"
        name = draw(st.sampled_from(["r0", "r1", "r2", "r9"]))
        pairs.append(binding(f"b{index}", name, *draw(SUBJECTS), namespace=namespace, kind=kind))
    return pairs


@settings(max_examples=300, deadline=None)
@given(worlds(), st.lists(st.tuples(USERS, ATTRIBUTES), min_size=1, max_size=6), st.data())
def test_agrees_with_the_plain_evaluator_also_after_changes(pairs, questions, data) -> None:
    held = Objects()
    authorizer = Authorizer(held)
    order = data.draw(st.permutations(pairs))
    for kind, obj in order:
        authorizer.changed(kind, held.put(kind, obj))
        for who, attributes in questions:
            decided = authorizer.authorize(who, attributes).allowed
            assert decided is plain_rbac.allowed(held, who, attributes)
    for (kind, key), _ in list(held.held.items()):
        held.remove(kind, key)
        authorizer.changed(kind, key)
        for who, attributes in questions:
            decided = authorizer.authorize(who, attributes).allowed
            assert decided is plain_rbac.allowed(held, who, attributes)
