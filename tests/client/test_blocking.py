"""The blocking client: requests, refusals, retries, streams, TLS, credentials."""

import datetime as dt
import json
import socket
import ssl
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.cli.conftest import FakeApi, api, status  # noqa: F401 - api is a fixture
from volcano.api import kinds
from volcano.base.errors import ApiError, ConfigError
from volcano.client.blocking import BlockingClient
from volcano.client.config import ClusterConfig, ExecPlugin
from volcano.client.credentials import CredentialSource

PODS = "/api/v1/namespaces/default/pods"


def pod(name: str) -> dict:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {}}


@pytest.fixture
def client(api: FakeApi) -> Iterator[BlockingClient]:  # noqa: F811 - the fixture
    config = ClusterConfig(api.url, token="secret", source="test")
    with BlockingClient(config, sleep=lambda _: None) as made:
        yield made


def test_verbs_over_one_connection(api: FakeApi, client: BlockingClient) -> None:  # noqa: F811 - the fixture
    client.create(kinds.POD, pod("a"), "default")
    client.patch(kinds.POD, "a", {"spec": {"x": 1}}, "default")
    assert client.get(kinds.POD, "a", "default")["spec"] == {"x": 1}
    assert [item["metadata"]["name"] for item in client.list(kinds.POD)["items"]] == ["a"]
    client.delete(kinds.POD, "a", "default")
    with pytest.raises(ApiError, match='pods "a" not found') as error:
        client.get(kinds.POD, "a", "default")
    assert (error.value.reason, error.value.code) == ("NotFound", 404)
    assert api.connections == 1
    assert {headers["authorization"] for headers in api.headers} == {"Bearer secret"}


def test_a_connection_closed_meanwhile_is_opened_again(
    api: FakeApi,  # noqa: F811 - the fixture
    client: BlockingClient,
) -> None:
    api.refusals = [(200, {"Connection": "close"}, {}), (200, {}, {})]
    client.get(kinds.POD, "a", "default")
    client.get(kinds.POD, "a", "default")
    assert api.connections == 2


def test_pages_are_put_together(api: FakeApi, client: BlockingClient) -> None:  # noqa: F811 - the fixture
    first = {"metadata": {"continue": "t", "resourceVersion": "5"}, "items": [pod("a")]}
    last = {"metadata": {"resourceVersion": "5"}, "items": [pod("b")]}
    api.refusals = [(200, {}, first), (200, {}, last)]
    found = client.list(kinds.POD, "default")
    assert [item["metadata"]["name"] for item in found["items"]] == ["a", "b"]
    assert found["metadata"] == {"resourceVersion": "5"}
    assert "continue=t" in api.requests[1][1]


def test_busy_servers_are_asked_again_and_not_forever(api: FakeApi) -> None:  # noqa: F811 - the fixture
    busy = (429, {"Retry-After": "2"}, status(429, "TooManyRequests", "later"))
    waits: list[float] = []
    with BlockingClient(ClusterConfig(api.url), sleep=waits.append) as client:
        api.add(PODS, pod("a"))
        api.refusals = [busy] * 2
        assert client.get(kinds.POD, "a", "default")
        assert waits == [2.0, 4.0]
        api.refusals = [busy] * 10
        with pytest.raises(ApiError, match="later"):
            client.get(kinds.POD, "a", "default")
        assert len(waits) == 6
        assert max(waits) <= 10.0


def test_warnings_are_told(api: FakeApi) -> None:  # noqa: F811 - the fixture
    api.warning = "spec.x is deprecated"
    told: list[str] = []
    with BlockingClient(ClusterConfig(api.url), on_warning=told.append) as client:
        client.create(kinds.POD, pod("a"), "default")
    assert told == ["spec.x is deprecated"]


def test_logs_and_watches_stream(api: FakeApi, client: BlockingClient) -> None:  # noqa: F811 - the fixture
    api.logs["a"] = [b"one\n", b"two"]
    assert b"".join(client.pod_log("a", "default", follow=True)) == b"one\ntwo"
    api.refusals = [(410, {}, status(410, "Expired", "gone"))]
    with pytest.raises(ApiError, match="gone") as error:
        list(client.watch(kinds.POD, resource_version="1"))
    assert error.value.reason == "Expired"


def test_watch_events() -> None:
    lines = [
        {"type": "ADDED", "object": pod("a")},
        {"type": "ERROR", "object": status(410, "Expired", "compacted")},
    ]
    body = "".join(json.dumps(line) + "\n" for line in lines).encode()
    cut = [body[:10], body[10:]]

    class Streaming(BlockingClient):
        def stream(self, request):
            assert request.query["watch"] == "true"
            yield from cut

    events = Streaming(ClusterConfig("http://x")).watch(kinds.POD)
    assert next(events).object["metadata"]["name"] == "a"
    with pytest.raises(ApiError, match="compacted"):
        next(events)


def test_unreachable_says_where_from_and_what_to_do() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    config = ClusterConfig(url, source="/data/kubeconfig, context 'x'", local=True)
    with BlockingClient(config) as client, pytest.raises(ApiError) as error:
        client.get(kinds.POD, "a", "default")
    assert error.value.public == (
        f"cannot reach the server {url} (from /data/kubeconfig, context 'x'): "
        "Connection refused; start it with 'volcano up'"
    )


@pytest.mark.parametrize("token", ["a\r\nx: y", "tök"])
def test_tokens_that_no_header_can_hold(api: FakeApi, token: str) -> None:  # noqa: F811 - the fixture
    config = ClusterConfig(api.url, token=token, source="here")
    with (
        BlockingClient(config) as client,
        pytest.raises(ConfigError, match="here: the token holds characters"),
    ):
        client.get(kinds.POD, "a", "default")
    assert api.requests == []


def test_silent_servers_are_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        config = ClusterConfig(f"http://127.0.0.1:{silent.getsockname()[1]}")
        with (
            BlockingClient(config, timeout_seconds=0.05) as client,
            pytest.raises(ApiError, match="no answer in time"),
        ):
            client.get(kinds.POD, "a", "default")


def certificate(name: str, issuer: tuple | None = None) -> tuple[x509.Certificate, object]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer[0].subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("served")]), critical=False)
    )
    return builder.sign(issuer[1] if issuer else key, hashes.SHA256()), key


def pem(made: tuple) -> tuple[bytes, bytes]:
    return made[0].public_bytes(serialization.Encoding.PEM), made[1].private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


@pytest.fixture
def tls_config(tmp_path: Path) -> Iterator[ClusterConfig]:
    """A server that wants a client certificate and answers with the subject it saw."""
    authority = certificate("ca")
    ca_pem = pem(authority)[0]
    for name, made in (("server", certificate("server", authority)),):
        (tmp_path / f"{name}.pem").write_bytes(b"".join(pem(made)))
    (tmp_path / "ca.pem").write_bytes(ca_pem)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            subject = self.connection.getpeercert()["subject"][0][0][1]
            body = json.dumps({"subject": subject}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None: ...

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=tmp_path / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(tmp_path / "server.pem")
    server = Quiet(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    client_pem = pem(certificate("somebody", authority))
    yield ClusterConfig(
        f"https://127.0.0.1:{server.server_port}",
        ca_data=ca_pem,
        client_certificate_data=client_pem[0],
        client_key_data=client_pem[1],
        tls_server_name="served",
        source="test",
    )
    server.shutdown()
    server.server_close()
    thread.join()


def test_client_certificate_and_server_name(tls_config: ClusterConfig) -> None:
    with BlockingClient(tls_config) as client:
        assert client.get(kinds.POD, "a", "default") == {"subject": "somebody"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"tls_server_name": ""}, "certificate is not trusted: IP address", id="name"),
        pytest.param({"ca_data": b""}, "certificate is not trusted", id="unknown authority"),
    ],
)
def test_untrusted_servers_are_refused(
    tls_config: ClusterConfig, change: dict, message: str
) -> None:
    with (
        BlockingClient(tls_config._replace(**change)) as client,
        pytest.raises(ApiError, match=message),
    ):
        client.get(kinds.POD, "a", "default")


def test_insecure_skips_the_check(tls_config: ClusterConfig) -> None:
    config = tls_config._replace(ca_data=b"", tls_server_name="", insecure=True)
    with BlockingClient(config) as client:
        assert client.get(kinds.POD, "a", "default")


class TestCredentials:
    def plugin(self, folder: Path, text: str, **settings) -> ClusterConfig:
        program = folder / "plugin.py"
        program.write_text(text)
        plugin = ExecPlugin(sys.executable, (str(program),), **settings)
        return ClusterConfig("https://x", exec_plugin=plugin, source="here")

    def ask(self, config: ClusterConfig, now: float = 0.0) -> str:
        source = CredentialSource(config, environ={}, now=lambda: now)
        return source.current().authorization

    def test_token_files_are_read_again(self, tmp_path: Path) -> None:
        file = tmp_path / "token"
        file.write_text("one\n")
        now = [0.0]
        config = ClusterConfig("https://x", token_file=str(file))
        source = CredentialSource(config, environ={}, now=lambda: now[0])
        assert source.current().authorization == "Bearer one"
        file.write_text("two")
        assert source.current().authorization == "Bearer one"
        now[0] = 61.0
        assert source.current().authorization == "Bearer two"
        file.unlink()
        source.forget()
        with pytest.raises(ConfigError, match="cannot read token file"):
            source.current()

    def test_basic(self) -> None:
        config = ClusterConfig("https://x", username="u", password="p")
        assert self.ask(config) == "Basic dTpw"

    @pytest.mark.process
    def test_plugin_gives_a_token_until_it_expires(self, tmp_path: Path) -> None:
        config = self.plugin(
            tmp_path,
            "import json, os\n"
            "asked = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
            "assert asked['spec']['cluster']['server'] == 'https://x'\n"
            "status = {'token': os.environ['T'], 'expirationTimestamp': '1970-01-01T01:00:00Z'}\n"
            "print(json.dumps({'status': status}))\n",
            env=(("T", "tok"),),
        )
        source = CredentialSource(config, environ={}, now=lambda: 0.0)
        assert source.current().authorization == "Bearer tok"
        assert source.current().expires_at == 3570.0

    @pytest.mark.process
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("raise SystemExit('log in first')", "failed with exit code 1: log in first"),
            ("print('hello')", "printed no ExecCredential"),
            ("print('{\"status\": {}}')", "neither a token nor a certificate"),
        ],
        ids=["fails", "prints text", "prints nothing useful"],
    )
    def test_plugin_trouble_is_named(self, tmp_path: Path, text: str, message: str) -> None:
        with pytest.raises(ConfigError, match=message) as error:
            self.ask(self.plugin(tmp_path, text))
        assert error.value.public.startswith("here: exec plugin")

    def test_missing_plugin_shows_its_hint(self) -> None:
        plugin = ExecPlugin("/nowhere/plugin", install_hint="get it at example.com")
        with pytest.raises(ConfigError, match=r"executable not found\nget it at example.com"):
            self.ask(ClusterConfig("https://x", exec_plugin=plugin, source="here"))

    @pytest.mark.process
    def test_refused_credentials_are_renewed_once(self, api: FakeApi, tmp_path: Path) -> None:  # noqa: F811 - the fixture
        file = tmp_path / "token"
        file.write_text("old")
        api.add(PODS, pod("a"))
        config = ClusterConfig(api.url, token_file=str(file))
        refused = (401, {}, status(401, "Unauthorized", "who are you"))
        with BlockingClient(config) as client:
            api.refusals = [refused]
            assert client.get(kinds.POD, "a", "default")
            api.refusals = [refused] * 2
            with pytest.raises(ApiError, match="who are you"):
                client.get(kinds.POD, "a", "default")
