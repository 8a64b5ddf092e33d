"""Wrong manifests: Kubernetes' own words, and nothing is stored."""

import json

import pytest

from tests.kubectl.manifests import CONFIG, DEPLOYMENT, IDLE_POD, SERVICE, WAITING_JOB
from tests.kubectl.shell import Shell

pytestmark = pytest.mark.process

WRONG = {
    "unknown field": IDLE_POD.replace("schedulerName", "schedulrName"),
    "unknown field of a job": WAITING_JOB.replace("minAvailable", "minAvailabel"),
    "wrong type": DEPLOYMENT.replace("replicas: 2", "replicas: two"),
    "wrong type in a job": WAITING_JOB.replace("replicas: 2", "replicas: two"),
    "malformed quantity": IDLE_POD + "    resources: {limits: {memory: 1 GB}}\n",
    "malformed quantity in a job": WAITING_JOB.replace("cpu: 1k", "cpu: lots"),
    "missing required": IDLE_POD.partition("  - name: main")[0].replace("containers:", ""),
    "missing required in a list": IDLE_POD.replace("- name: main\n    image", "- image"),
    "missing selector": DEPLOYMENT.replace("  selector: {matchLabels: {app: shop}}\n", ""),
    "bad name": CONFIG.replace("name: settings", "name: Bad_Name"),
    "no name": CONFIG.replace("name: settings, ", ""),
    "bad label": CONFIG.replace("app: shop", "app: not a value"),
    "bad key": CONFIG.replace("colour:", "'co lour':"),
    "duplicate container name": DEPLOYMENT.replace("name: log\n", "name: web\n"),
    "duplicate port": SERVICE.replace("name: metrics", "name: http"),
    "value that is not allowed": IDLE_POD.replace(
        "schedulerName: nobody", "restartPolicy: Sometimes"
    ),
    "request above limit": IDLE_POD + "    resources: {limits: {cpu: 1}, requests: {cpu: 2}}\n",
    "selector that does not match": DEPLOYMENT.replace(
        "labels: {app: shop}}\n    spec", "labels: {app: x}}\n    spec"
    ),
    "unknown kind": CONFIG.replace("kind: ConfigMap", "kind: ConfigMop"),
    "unknown version": CONFIG.replace("apiVersion: v1", "apiVersion: v9"),
    "no kind": CONFIG.replace("kind: ConfigMap\n", ""),
    "broken YAML": CONFIG.replace("data: {", "data: {{"),
    "unknown queue": WAITING_JOB.replace("minAvailable: 2", "minAvailable: 2\n  queue: nowhere"),
    "job without tasks": WAITING_JOB.partition("  tasks:")[0],
    "job that can never start": WAITING_JOB.replace("minAvailable: 2", "minAvailable: 9"),
    "enum of a job": WAITING_JOB.replace(
        "minAvailable: 2", "policies: [{event: PodExploded, action: RestartJob}]"
    ),
    "negative weight": """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: q-wrong}
spec: {weight: -1}
""",
}


@pytest.mark.parametrize("what", WRONG)
def test_create(kubectl: Shell, what: str) -> None:
    kubectl.fails("create -f -", WRONG[what])
    assert kubectl.quiet("get pods,vcjob,deployments,services -o name") == ""
    assert kubectl.quiet("get configmaps -o name").split() in ([], ["configmap/kube-root-ca.crt"])


def test_unknown_field_with_each_validation(kubectl: Shell) -> None:
    wrong = CONFIG.replace("\ndata:", "\ndate:")
    kubectl.fails("create -f - --validate=strict", wrong)
    kubectl("create -f - --validate=warn", wrong)
    kubectl.quiet("delete configmap settings")
    kubectl("create -f - --validate=ignore", wrong)
    assert "date" not in kubectl.stored("configmap", "settings")


def test_immutable_fields(kubectl: Shell) -> None:
    kubectl.quiet("create -f -", IDLE_POD)
    kubectl.quiet("create -f -", DEPLOYMENT)
    kubectl.quiet("create -f -", CONFIG + "immutable: true\n")
    kubectl.fails("""patch pod idle -p '{"spec":{"restartPolicy":"Never"}}'""")
    selector = '[{"op":"replace","path":"/spec/selector/matchLabels/app","value":"x"}]'
    kubectl.fails(f"patch deployment shop --type=json -p '{selector}'")
    kubectl.fails("replace -f -", CONFIG.replace("red", "blue"))
    kubectl.fails("""patch pod idle --type=merge -p '{"metadata":{"name":"other"}}'""")
    kubectl.fails("""patch pod idle --type=merge -p '{"metadata":{"uid":"other"}}'""")


def test_stale_replace(kubectl: Shell) -> None:
    kubectl.quiet("create -f -", CONFIG)
    read = kubectl.quiet("get configmap settings -o json")
    kubectl.quiet("label configmap settings seen=yes")
    stale = json.loads(read)
    stale["data"]["colour"] = "blue"
    kubectl.fails("replace -f -", json.dumps(stale))
    assert kubectl.stored("configmap", "settings")["data"]["colour"] == "red"


def test_what_is_there_or_is_not(kubectl: Shell) -> None:
    kubectl.quiet("create -f -", CONFIG)
    kubectl.fails("create -f -", CONFIG)
    kubectl.fails("get configmap nothing")
    kubectl.fails("get colours")
    kubectl.fails("get vcjob nothing")
    kubectl.fails("delete configmap nothing")
    kubectl.fails("delete namespace kube-system")
    kubectl("get pods -n nowhere")
    kubectl.fails("create -n nowhere -f -", CONFIG)
    kubectl.fails("create -f -", CONFIG.replace("name: settings", "name: settings, namespace: x"))


def test_oversized(kubectl: Shell) -> None:
    home = kubectl.cluster.home
    (home / "large.txt").write_text("x" * (3 << 20))
    (home / "larger.txt").write_text("x" * (1 << 20))
    kubectl.fails("create configmap large --from-file=large.txt")
    kubectl.fails("create configmap large --from-file=larger.txt --from-literal=y=z")
    assert kubectl.stored("configmap", "large") is None
