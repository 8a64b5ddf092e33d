"""Credentials: who gets in, and every way not to."""

import ssl

import pytest

from volcano.api import kinds
from volcano.base.clock import ManualClock
from volcano.base.errors import ApiError
from volcano.base.http import Request
from volcano.base.identity import UserInfo
from volcano.server.auth import pki
from volcano.server.auth.authn import Authenticator
from volcano.server.auth.rbac import Authorizer
from volcano.server.auth.tokens import ServiceAccountTokens

from .objects_in_memory import Objects, account, pod

NOW = 1_800_000_000.0
HOUR = 3600.0


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> pki.Pki:
    return pki.ensure(tmp_path_factory.mktemp("authority"), now=NOW)


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> pki.Pki:
    return pki.ensure(tmp_path_factory.mktemp("stranger"), now=NOW)


class Front:
    """An Authenticator and all it stands on."""

    def __init__(self, authority: pki.Pki, *pairs) -> None:
        self.clock = ManualClock(NOW)
        self.held = Objects(account("team-a", "runner"), *pairs)
        key = authority.service_account_key.read_bytes()
        self.tokens = ServiceAccountTokens(key, self.held, self.clock)
        ca = authority.ca_certificate.read_bytes()
        self.authenticator = Authenticator(ca, self.tokens, self.clock)

    def token(self, **spec) -> str:
        answer = self.tokens.request("team-a", "runner", {"spec": spec})
        return answer["status"]["token"]

    def bearer(self, token: str) -> UserInfo | None:
        request = Request("GET", "/api", headers={"authorization": f"Bearer {token}"})
        return self.authenticator.authenticate(request)

    def certificate(self, pem: bytes) -> UserInfo | None:
        der = ssl.PEM_cert_to_DER_cert(pem.decode())
        return self.authenticator.authenticate(Request("GET", "/api", peer_certificate=der))


def check_refused(call, match: str) -> None:
    with pytest.raises(ApiError) as caught:
        call()
    assert (caught.value.code, caught.value.message) == (401, "Unauthorized")
    assert match in caught.value.detail


def test_without_credentials_there_is_no_user(authority: pki.Pki) -> None:
    assert Front(authority).authenticator.authenticate(Request("GET", "/api")) is None


def test_the_transports_user_is_believed(authority: pki.Pki) -> None:
    request = Request("GET", "/api", user=UserInfo("local"))
    assert Front(authority).authenticator.authenticate(request) == UserInfo("local")


def test_without_an_authorizer_nobody_acts_as_another(authority: pki.Pki) -> None:
    request = Request("GET", "/", headers={"impersonate-user": "bob"}, user=UserInfo("local"))
    with pytest.raises(ApiError, match="acting as another user"):
        Front(authority).authenticator.authenticate(request)


def test_acting_as_another(authority: pki.Pki) -> None:
    front = Front(authority)
    ca, held = authority.ca_certificate.read_bytes(), front.held
    authenticator = Authenticator(ca, front.tokens, front.clock, Authorizer(held))
    root = UserInfo("root", groups=("system:masters",))
    headers = {"impersonate-user": "bob"}
    taken = authenticator.authenticate(Request("GET", "/", headers=headers, user=root))
    assert taken is not None
    assert taken.name == "bob"
    with pytest.raises(ApiError, match="cannot impersonate"):
        authenticator.authenticate(Request("GET", "/", headers=headers, user=UserInfo("eve")))
    assert authenticator.authenticate(Request("GET", "/", headers=headers)) is None


def test_admin_certificate(authority: pki.Pki) -> None:
    user = Front(authority).certificate(authority.admin_certificate.read_bytes())
    assert user is not None
    assert user.name == "kubernetes-admin"
    assert user.groups == ("system:masters", "system:authenticated")
    assert user.extra["authentication.kubernetes.io/credential-id"][0].startswith("X509SHA256=")


def test_certificate_of_another_authority(authority: pki.Pki, stranger: pki.Pki) -> None:
    pem = stranger.admin_certificate.read_bytes()
    check_refused(lambda: Front(authority).certificate(pem), "not from this cluster's CA")


def test_server_certificate_is_no_login(authority: pki.Pki) -> None:
    pem = authority.server_certificate.read_bytes()
    check_refused(lambda: Front(authority).certificate(pem), "not for client authentication")


def test_rubbish_certificate(authority: pki.Pki) -> None:
    request = Request("GET", "/api", peer_certificate=b"\x30\x03abc")
    check_refused(lambda: Front(authority).authenticator.authenticate(request), "cannot be read")


@pytest.mark.anyio
async def test_certificate_expires_also_when_remembered(authority: pki.Pki) -> None:
    front = Front(authority)
    pem = pki.client_certificate(authority, "bob", ("dev",), now=NOW, seconds=HOUR).certificate
    user = front.certificate(pem)
    assert user is not None
    assert user.groups == ("dev", "system:authenticated")
    await front.clock.advance(HOUR + 1)
    check_refused(lambda: front.certificate(pem), "expired")


def test_certificate_not_yet_valid(authority: pki.Pki) -> None:
    later = NOW + 10 * HOUR
    pem = pki.client_certificate(authority, "bob", (), now=later).certificate
    check_refused(lambda: Front(authority).certificate(pem), "does not hold yet")


def test_token_of_a_service_account(authority: pki.Pki) -> None:
    front = Front(authority)
    user = front.bearer(front.token())
    assert user is not None
    assert user.name == "system:serviceaccount:team-a:runner"
    assert user.uid == "account-1"
    assert "system:serviceaccounts:team-a" in user.groups


def test_token_bound_to_a_pod_tells_pod_and_node(authority: pki.Pki) -> None:
    front = Front(authority, pod("team-a", "p", "runner"), (kinds.NODE, _node("n1")))
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "pod-1"}
    user = front.bearer(front.token(boundObjectRef=reference))
    assert user is not None
    told = {key.rpartition("/")[2]: value[0] for key, value in user.extra.items()}
    assert told["pod-name"] == "p"
    assert told["pod-uid"] == "pod-1"
    assert (told["node-name"], told["node-uid"]) == ("n1", "node-1")


@pytest.mark.parametrize(
    ("header", "match"),
    [
        pytest.param("Basic YTpi", "no bearer token", id="basic"),
        pytest.param("Bearer ", "no bearer token", id="empty"),
        pytest.param("Bearer abc", "not signed with", id="no_jwt"),
        pytest.param("Bearer a.b.c", "not signed with", id="foreign_header"),
        pytest.param("Bearer t\u00f6ken", "not ASCII", id="not_ascii"),
        pytest.param("Bearer " + "x" * 20_000, "too long", id="too_long"),
    ],
)
def test_bad_authorization_headers(authority: pki.Pki, header: str, match: str) -> None:
    request = Request("GET", "/api", headers={"authorization": header})
    check_refused(lambda: Front(authority).authenticator.authenticate(request), match)


def test_altered_claims(authority: pki.Pki) -> None:
    front = Front(authority)
    header, payload, signature = front.token().split(".")
    other = front.token(expirationSeconds=7200).split(".")[1]
    assert payload != other
    check_refused(lambda: front.bearer(f"{header}.{other}.{signature}"), "signature is wrong")


def test_unsigned_token(authority: pki.Pki) -> None:
    front = Front(authority)
    _, payload, _ = front.token().split(".")
    none = "eyJhbGciOiJub25lIn0"
    check_refused(lambda: front.bearer(f"{none}.{payload}."), "not signed with")


def test_token_of_another_cluster(authority: pki.Pki, stranger: pki.Pki) -> None:
    token = Front(stranger).token()
    check_refused(lambda: Front(authority).bearer(token), "not signed with")


def test_token_for_another_audience(authority: pki.Pki) -> None:
    front = Front(authority)
    token = front.token(audiences=["vault"])
    check_refused(lambda: front.bearer(token), "audiences")
    assert front.tokens.verify(token, ["vault", "other"]).audiences == ("vault",)


@pytest.mark.anyio
async def test_token_expires_also_when_remembered(authority: pki.Pki) -> None:
    front = Front(authority)
    token = front.token(expirationSeconds=600)
    assert front.bearer(token)
    await front.clock.advance(600)
    check_refused(lambda: front.bearer(token), "expired")


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        pytest.param(kinds.SERVICE_ACCOUNT, "team-a/runner", id="account_deleted"),
        pytest.param(kinds.POD, "team-a/p", id="pod_deleted"),
    ],
)
@pytest.mark.parametrize("told", [True, False], ids=["told", "found_by_itself"])
@pytest.mark.anyio
async def test_token_ends_with_what_it_names(authority: pki.Pki, kind, key, told) -> None:
    front = Front(authority, pod("team-a", "p", "runner"))
    token = front.token(boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "p"})
    assert front.bearer(token)
    front.held.remove(kind, key)
    if told:
        front.tokens.changed(kind, key)
    else:
        await front.clock.advance(10)
    check_refused(lambda: front.bearer(token), "is gone")


def test_account_made_again_has_other_tokens(authority: pki.Pki) -> None:
    front = Front(authority)
    token = front.token()
    front.tokens.changed(*_replace(front.held, account("team-a", "runner", "account-2")))
    check_refused(lambda: front.bearer(token), "is gone")


def test_a_remembered_token_reads_nothing(authority: pki.Pki) -> None:
    front = Front(authority)
    token = front.token()
    front.bearer(token)
    reads = front.held.reads
    for _ in range(100):
        front.bearer(token)
    assert front.held.reads == reads


@pytest.mark.parametrize(
    ("name", "spec", "code", "match"),
    [
        pytest.param("none", {}, 404, 'serviceaccounts "none" not found', id="no_account"),
        pytest.param("runner", {"expirationSeconds": 60}, 422, "10 minutes", id="too_short"),
        pytest.param("runner", {"expirationSeconds": 2**33}, 422, "2^32", id="too_long"),
        pytest.param("runner", {"expirationSeconds": "9"}, 422, "integer", id="no_number"),
        pytest.param(
            "runner", {"boundObjectRef": {"kind": "Pod", "name": "x"}}, 404, "pods", id="no_pod"
        ),
        pytest.param(
            "runner",
            {"boundObjectRef": {"kind": "Pod", "name": "q"}},
            400,
            "different serviceaccount",
            id="pod_of_another_account",
        ),
        pytest.param(
            "runner",
            {"boundObjectRef": {"kind": "Pod", "name": "p", "uid": "old"}},
            409,
            "does not match the UID",
            id="pod_made_again",
        ),
        pytest.param(
            "runner",
            {"boundObjectRef": {"kind": "Job", "apiVersion": "batch/v1", "name": "p"}},
            400,
            "batch/v1 Job",
            id="cannot_be_bound_to",
        ),
    ],
)
def test_wrong_token_requests(authority: pki.Pki, name, spec, code, match) -> None:
    front = Front(authority, pod("team-a", "p", "runner"), pod("team-a", "q", "other"))
    with pytest.raises(ApiError) as caught:
        front.tokens.request("team-a", name, {"spec": spec})
    assert caught.value.code == code
    assert match in caught.value.message


def test_token_request_answers_its_expiry(authority: pki.Pki) -> None:
    answer = Front(authority).tokens.request("team-a", "runner", {})
    assert answer["status"]["expirationTimestamp"] == "2027-01-15T09:00:00Z"
    assert answer["spec"]["expirationSeconds"] == 3600


def _node(name: str) -> dict:
    return {"metadata": {"name": name, "uid": "node-1"}}


def _replace(held: Objects, pair):
    kind, obj = pair
    return kind, held.put(kind, obj)
