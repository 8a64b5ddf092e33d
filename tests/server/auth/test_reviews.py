"""The review kinds: what `kubectl auth` and components that ask get for an answer."""

import pytest

from volcano.api import kinds
from volcano.base.clock import ManualClock
from volcano.base.errors import ApiError
from volcano.server.auth import default_roles, pki
from volcano.server.auth.rbac import Authorizer
from volcano.server.auth.reviews import REVIEW_KINDS, Reviews
from volcano.server.auth.tokens import ServiceAccountTokens

from .objects_in_memory import Objects, account, binding, role, rules, to_group, to_user, user

ANN = user("ann", "dev")
NOW = 1_800_000_000.0


class Front:
    def __init__(self, key: bytes) -> None:
        held = Objects(
            *default_roles.objects(),
            account("team", "runner"),
            binding("ann", "view", to_user("ann"), namespace="team"),
            role("named", rules("get", "secrets", names="s")),
            binding("dev", "named", to_group("dev")),
        )
        self.tokens = ServiceAccountTokens(key, held, ManualClock(NOW))
        self.reviews = Reviews(Authorizer(held), self.tokens)

    def ask(self, kind, spec=None, who=ANN, namespace: str = ""):
        body = {"kind": kind.kind, "spec": spec or {}}
        return self.reviews.answer(kind, body, who, namespace)["status"]


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Front:
    made = pki.ensure(tmp_path_factory.mktemp("keys"), now=NOW)
    return Front(made.service_account_key.read_bytes())


def resource(verb: str, plural: str, namespace: str = "", **more):
    return {
        "resourceAttributes": {"verb": verb, "resource": plural, "namespace": namespace, **more}
    }


def test_every_create_only_kind_is_answered() -> None:
    assert {kind for kind in kinds.CORE_KINDS if kind.verbs == kinds.CREATE_ONLY} == REVIEW_KINDS


@pytest.mark.parametrize(
    ("spec", "allowed"),
    [
        (resource("list", "pods", "team"), True),
        (resource("list", "pods", "other"), False),
        (resource("get", "pods", "team", subresource="log"), True),
        (resource("list", "jobs", "team", group="batch.volcano.sh"), True),
        (resource("create", "jobs", "team", group="batch.volcano.sh"), False),
        (resource("get", "secrets", "team", name="s"), True),
        (resource("get", "secrets", "team", name="t"), False),
        (resource("*", "*"), False),
        ({"nonResourceAttributes": {"verb": "get", "path": "/version"}}, True),
        ({"nonResourceAttributes": {"verb": "get", "path": "/metrics"}}, False),
    ],
)
def test_can_i_and_can_they(front: Front, spec, allowed: bool) -> None:
    own = front.ask(kinds.SELF_SUBJECT_ACCESS_REVIEW, spec)
    assert own["allowed"] is allowed
    asked = {**spec, "user": "ann", "groups": ["dev", "system:authenticated"]}
    root = user("root", "system:masters")
    assert front.ask(kinds.SUBJECT_ACCESS_REVIEW, asked, root) == own
    if "resourceAttributes" in spec:
        place = spec["resourceAttributes"]["namespace"]
        assert front.ask(kinds.LOCAL_SUBJECT_ACCESS_REVIEW, asked, root, place) == own


def test_a_refusal_has_no_reason_to_print(front: Front) -> None:
    spec = resource("list", "pods", "other")
    assert front.ask(kinds.SELF_SUBJECT_ACCESS_REVIEW, spec) == {"allowed": False}


@pytest.mark.parametrize(
    ("kind", "spec", "code", "match"),
    [
        pytest.param(kinds.SELF_SUBJECT_ACCESS_REVIEW, {}, 422, "exactly one of", id="neither"),
        pytest.param(
            kinds.SELF_SUBJECT_ACCESS_REVIEW,
            {**resource("get", "pods"), "nonResourceAttributes": {}},
            422,
            "exactly one of",
            id="both",
        ),
        pytest.param(
            kinds.SUBJECT_ACCESS_REVIEW,
            resource("get", "pods"),
            422,
            "at least one of user or group",
            id="nobody",
        ),
        pytest.param(
            kinds.LOCAL_SUBJECT_ACCESS_REVIEW,
            {**resource("get", "pods", "other"), "user": "ann"},
            400,
            "must match namespace: team",
            id="other_namespace",
        ),
        pytest.param(
            kinds.LOCAL_SUBJECT_ACCESS_REVIEW,
            {"nonResourceAttributes": {"path": "/"}, "user": "ann"},
            422,
            "disallowed",
            id="local_path",
        ),
        pytest.param(kinds.SELF_SUBJECT_RULES_REVIEW, {}, 400, "no namespace", id="no_namespace"),
        pytest.param(kinds.TOKEN_REVIEW, {}, 400, "token is required", id="no_token"),
    ],
)
def test_questions_without_an_answer(front: Front, kind, spec, code: int, match: str) -> None:
    with pytest.raises(ApiError) as caught:
        front.ask(kind, spec, namespace="team")
    assert caught.value.code == code
    assert match in caught.value.message


def test_who_am_i(front: Front) -> None:
    answer = front.reviews.answer(kinds.SELF_SUBJECT_REVIEW, {}, ANN)
    assert answer == {
        "kind": "SelfSubjectReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"creationTimestamp": None},
        "status": {"userInfo": {"username": "ann", "groups": ["dev", "system:authenticated"]}},
    }


def test_rules_of_mine(front: Front) -> None:
    status = front.ask(kinds.SELF_SUBJECT_RULES_REVIEW, {"namespace": "team"})
    assert status["incomplete"] is False
    found = status["resourceRules"]
    assert {
        "verbs": ["get"],
        "apiGroups": [""],
        "resources": ["secrets"],
        "resourceNames": ["s"],
    } in found
    assert any("pods" in rule["resources"] and "list" in rule["verbs"] for rule in found)
    assert any("/version" in rule["nonResourceURLs"] for rule in status["nonResourceRules"])
    elsewhere = front.ask(kinds.SELF_SUBJECT_RULES_REVIEW, {"namespace": "other"})
    assert not any("pods" in rule["resources"] for rule in elsewhere["resourceRules"])


def test_rules_of_an_administrator(front: Front) -> None:
    root = user("root", "system:masters")
    status = front.ask(kinds.SELF_SUBJECT_RULES_REVIEW, {"namespace": "team"}, root)
    assert status["resourceRules"] == [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    assert status["nonResourceRules"] == [{"verbs": ["*"], "nonResourceURLs": ["*"]}]


def test_token_review(front: Front) -> None:
    token = front.tokens.request("team", "runner", {})["status"]["token"]
    status = front.ask(kinds.TOKEN_REVIEW, {"token": token})
    assert status["authenticated"] is True
    assert status["user"]["username"] == "system:serviceaccount:team:runner"
    assert status["audiences"] == ["https://kubernetes.default.svc.cluster.local"]


@pytest.mark.parametrize(
    ("spec", "match"),
    [({"token": "x"}, "not signed"), ({"token": None, "audiences": ["vault"]}, "audiences")],
    ids=["rubbish", "other_audience"],
)
def test_token_review_of_a_bad_token(front: Front, spec, match: str) -> None:
    token = spec["token"] or front.tokens.request("team", "runner", {})["status"]["token"]
    status = front.ask(kinds.TOKEN_REVIEW, {**spec, "token": token})
    assert "authenticated" not in status
    assert match in status["error"]
