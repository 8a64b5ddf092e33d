"""`volcano up` in the foreground: who gets in, what lies open, and that Ctrl-C ends it well."""

import base64
import json
import re
import signal
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.running import Finished, RunningCluster, running_cluster
from tests.waiting import wait_until
from volcano.api import kinds
from volcano.api.objects import JsonObject
from volcano.cli import local
from volcano.server.auth import pki
from volcano.server.store.log import Key
from volcano.server.store.sqlite import SqliteLog

pytestmark = pytest.mark.process

PODS = "/api/v1/namespaces/default/pods"
POD = """
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  schedulerName: volcano
  restartPolicy: Never
  terminationGracePeriodSeconds: 20
  containers:
  - name: main
    image: none
    command: {command}
"""
SPY = """
import json, os, ssl, urllib.error, urllib.request
folder = "/var/run/secrets/kubernetes.io/serviceaccount"
token = open(folder + "/token").read()
where = "https://%s:%s" % tuple(os.environ["KUBERNETES_SERVICE_" + n] for n in ("HOST", "PORT"))
trust = ssl.create_default_context(cafile=folder + "/ca.crt")
for path in ("/api/v1/namespaces/other/secrets/s", "/api/v1/namespaces/other/secrets", "/version"):
    request = urllib.request.Request(where + path, headers={"Authorization": "Bearer " + token})
    try:
        with urllib.request.urlopen(request, context=trust) as answer:
            print(answer.status, path, flush=True)
    except urllib.error.HTTPError as error:
        print(error.code, json.load(error)["message"], flush=True)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    with running_cluster(tmp_path_factory.mktemp("up")) as cluster:
        yield cluster


def url_of(cluster: RunningCluster) -> str:
    run = local.read_run(cluster.data)
    assert run is not None
    return run.url


def ask(cluster: RunningCluster, path: str, headers: dict[str, str] | None = None) -> int:
    """Status of a GET with no client certificate."""
    trust = ssl.create_default_context(cafile=str(cluster.data / "pki" / "ca.crt"))
    request = urllib.request.Request(url_of(cluster) + path, headers=headers or {})
    try:
        with urllib.request.urlopen(request, context=trust) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.mark.parametrize("path", ["/version", "/livez", "/readyz", "/healthz"])
def test_open_to_everybody(cluster: RunningCluster, path: str) -> None:
    assert ask(cluster, path) == 200


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"Authorization": "Bearer a.b.c"}, id="no token of ours"),
        pytest.param({"Authorization": "Basic YWRtaW46YWRtaW4="}, id="a password"),
        pytest.param({"Impersonate-User": "admin"}, id="somebody else's name"),
    ],
)
@pytest.mark.parametrize("path", [PODS, "/api", "/apis", "/openapi/v3", "/metrics", "/nowhere"])
def test_nobody_else_without_credentials(
    cluster: RunningCluster, path: str, headers: dict[str, str]
) -> None:
    assert ask(cluster, path, headers) == 401


def kubeconfig_with(cluster: RunningCluster, name: str, **changes: str) -> Path:
    """The administrator's kubeconfig with another `ca`, or another `cert` and `key` (base64)."""
    text = cluster.kubeconfig.read_text()
    keys = {
        "ca": "certificate-authority-data",
        "cert": "client-certificate-data",
        "key": "client-key-data",
    }
    for field, value in changes.items():
        text, count = re.subn(rf'({keys[field]}"?: "?)[^"\s]+', rf"\g<1>{value}", text)
        assert count == 1
    file = cluster.home / name
    file.write_text(text)
    return file


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def test_client_with_another_authority_does_not_trust_the_server(
    cluster: RunningCluster, tmp_path: Path
) -> None:
    other = pki.ensure(tmp_path / "pki", now=time.time())
    file = kubeconfig_with(cluster, "ca.yaml", ca=encoded(other.ca_certificate.read_bytes()))
    done = cluster.kubectl("--kubeconfig", str(file), "get", "pods")
    assert done.returncode == 1
    assert "certificate signed by unknown authority" in done.stderr


def as_root(cluster: RunningCluster, keys: pki.Pki, begun: float) -> Finished:
    """kubectl with a certificate that says system:masters."""
    issued = pki.client_certificate(keys, "root", ("system:masters",), now=begun)
    file = kubeconfig_with(
        cluster, "client.yaml", cert=encoded(issued.certificate), key=encoded(issued.key)
    )
    return cluster.kubectl("--kubeconfig", str(file), "get", "--raw", PODS)


def test_expired_client_certificate_is_refused_in_words(cluster: RunningCluster) -> None:
    keys = pki.Pki(cluster.data / "pki")
    assert as_root(cluster, keys, time.time()).returncode == 0
    done = as_root(cluster, keys, time.time() - 2 * pki.LEAF_SECONDS)
    assert (done.returncode, done.stdout) == (1, "")
    assert "must be logged in to the server" in done.stderr


def test_client_certificate_of_another_authority_is_refused(
    cluster: RunningCluster, tmp_path: Path
) -> None:
    other = pki.ensure(tmp_path / "pki", now=time.time())
    done = as_root(cluster, other, time.time())
    assert (done.returncode, done.stdout) == (1, "")


def test_data_is_for_this_user_only(cluster: RunningCluster) -> None:
    assert cluster.data.stat().st_mode & 0o777 == 0o700
    secret = [cluster.kubeconfig, cluster.data / "run.json", cluster.data / "scheduler.token"]
    secret += [cluster.data / "scheduler.kubeconfig", *(cluster.data / "pki").iterdir()]
    modes = {str(path): oct(path.stat().st_mode & 0o777) for path in secret}
    assert set(modes.values()) == {"0o600"}, modes
    assert (cluster.data / "pki").stat().st_mode & 0o777 == 0o700


def test_listens_on_the_loopback_address_alone(cluster: RunningCluster) -> None:
    run = local.read_run(cluster.data)
    assert run is not None
    inodes = set()
    for pid in local.our_processes(run):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            target = str(link.readlink()) if link.is_symlink() else ""
            inodes.update(re.findall(r"socket:\[(\d+)\]", target))
    listening = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                listening.append(fields[1])
    assert listening == [f"0100007F:{run.port:04X}"]


def test_token_of_a_pod_opens_no_secret_of_another_namespace(cluster: RunningCluster) -> None:
    assert cluster.kubectl("create", "namespace", "other").returncode == 0
    made = cluster.kubectl("create", "secret", "generic", "s", "-n", "other", "--from-literal=a=b")
    assert made.returncode == 0, made.stderr
    command = json.dumps([sys.executable, "-c", SPY])
    manifest = POD.format(name="spy", namespace="default", command=command)
    assert cluster.kubectl("apply", "-f", "-", stdin=manifest).returncode == 0
    ended = cluster.kubectl(
        "wait", "pod/spy", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s"
    )
    assert ended.returncode == 0, ended.stderr + cluster.kubectl("logs", "spy").stdout
    one, many, version = cluster.kubectl("logs", "spy").stdout.splitlines()
    user = 'User "system:serviceaccount:default:default" cannot'
    rest = 'resource "secrets" in API group "" in the namespace "other"'
    assert one == f'403 secrets "s" is forbidden: {user} get {rest}'
    assert many == f"403 secrets is forbidden: {user} list {rest}"
    assert version == "200 /version"


def test_ctrl_c_gives_pods_their_grace_and_keeps_the_data(tmp_path: Path) -> None:
    farewell = tmp_path / "farewell"
    trap = f"trap 'sleep 1; echo bye > {farewell}; exit 7' TERM"
    script = f"{trap}; echo on; while :; do sleep 0.1; done"
    with running_cluster(tmp_path) as cluster:
        command = json.dumps(["sh", "-c", script])
        manifest = POD.format(name="p", namespace="default", command=command)
        assert cluster.kubectl("apply", "-f", "-", stdin=manifest).returncode == 0
        wait_until(lambda: cluster.kubectl("logs", "p").stdout == "on\n", within=30)
        cluster.process.send_signal(signal.SIGINT)
        assert cluster.process.wait(60) == 0, cluster.output()
        assert farewell.read_text() == "bye\n"
        assert local.read_run(cluster.data) is None
        assert local.processes_in(cluster.data) == []
        assert cluster.kubeconfig.exists()
        pod = stored_pod(cluster, "p")
        (container,) = pod["status"]["containerStatuses"]
        assert container["state"]["terminated"]["exitCode"] == 7
        assert (pod["status"]["phase"], pod["status"]["reason"]) == ("Failed", "Terminated")


def stored_pod(cluster: RunningCluster, name: str) -> JsonObject:
    """A pod of the default namespace, read from the store of a cluster that has been stopped."""
    log = SqliteLog(cluster.data / "store")
    try:
        key = Key(kinds.POD.resource, "default", name)
        (row,) = [row for row in log.load().rows if row.key == key]
    finally:
        log.close()
    found: JsonObject = json.loads(row.value)
    return found


def test_second_up_over_the_same_data_is_refused_by_the_store_itself(
    cluster: RunningCluster,
) -> None:
    words = [sys.executable, "-m", "volcano.apps.up", "--data", str(cluster.data), "--port", "0"]
    done = cluster.call(words)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert str(cluster.data) in done.stderr
    assert "in use" in done.stderr
    assert cluster.kubectl("get", "nodes").returncode == 0
