"""kubectl get: every output format, selectors, order."""

import pytest

from tests.kubectl.manifests import CONFIG, DEPLOYMENT, IDLE_POD, SERVICE, WAITING_JOB
from tests.kubectl.shell import Shell

pytestmark = pytest.mark.process
POD = (
    IDLE_POD,
    IDLE_POD.replace("name: idle", "name: other").replace("tier: back", "tier: front"),
    IDLE_POD.replace("name: idle", "name: a-third").replace("app: shop, tier: back", "app: till"),
)


@pytest.fixture
def pods(kubectl: Shell) -> Shell:
    for manifest in POD:
        kubectl.quiet("create -f -", manifest)
    return kubectl


@pytest.mark.parametrize(
    "output",
    [
        "json",
        "yaml",
        "wide",
        "name",
        "kyaml",
        "jsonpath='{.spec.containers[0].image}'",
        "jsonpath-as-json='{.metadata.labels}'",
        "go-template='{{range .spec.containers}}{{.name}}={{.image}}{{end}}'",
        "custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image,NODE:.spec.nodeName",
    ],
    ids=lambda text: text.partition("=")[0],
)
def test_one_pod_as(kubectl: Shell, output: str) -> None:
    kubectl.quiet("create -f -", IDLE_POD)
    kubectl(f"get pod idle -o {output}")


def test_templates_from_files(pods: Shell) -> None:
    home = pods.cluster.home
    (home / "names.tpl").write_text('{{range .items}}{{.metadata.name}}{{"\\n"}}{{end}}')
    (home / "names.path").write_text('{range .items[*]}{.metadata.name}{"\\n"}{end}')
    (home / "columns.txt").write_text("POD           TIER\nmetadata.name metadata.labels.tier\n")
    pods("get pods -o go-template-file=names.tpl")
    pods("get pods -o jsonpath-file=names.path")
    pods("get pods -o custom-columns-file=columns.txt")


def test_lists_and_selectors(pods: Shell) -> None:
    pods("get pods")
    pods("get po -o wide")
    pods("get pods --show-labels")
    pods("get pods -L tier --no-headers")
    pods("get pods -o name")
    pods("get pods -l app=shop")
    pods("get pods -l 'app in (till),!tier'")
    pods("get pods -l tier!=back -o name")
    pods("get pods --field-selector metadata.name=other")
    pods("get pods --field-selector status.phase=Running")
    pods("get pods --field-selector spec.schedulerName=nobody,status.phase!=Running -o name")
    pods("get pods -A -l app=till")
    pods("get pods --chunk-size=1 -o name")
    pods("get pods idle other")
    pods("get pods,configmaps -o name")
    pods.fails("get pods --field-selector spec.colour=red")
    pods.fails("get pods -l 'app in shop'")
    pods.fails("get pod nothing")


def test_order(pods: Shell) -> None:
    pods("get pods --sort-by .metadata.name -o name")
    pods("get pods --sort-by .metadata.labels.tier --show-labels")
    pods("get pods --sort-by '{.metadata.labels.app}' -l tier!=front -o name")


def test_tables_of_kinds(kubectl: Shell) -> None:
    for manifest in (CONFIG, DEPLOYMENT, SERVICE, WAITING_JOB):
        kubectl.quiet("create -f -", manifest)
    kubectl.quiet("create secret generic key --from-literal=a=b")
    kubectl.quiet("create serviceaccount robot")
    kubectl.quiet("create role reader --verb=get --resource=pods")
    kubectl.quiet("create rolebinding reads --role=reader --serviceaccount=a:robot")
    kubectl.quiet("create quota limits --hard=pods=10")
    kubectl.until("get pg -o jsonpath={.items[*].status.phase}", "Pending")
    kubectl("get configmaps,deployments,services,secrets,serviceaccounts -o wide")
    kubectl("get roles,rolebindings,resourcequotas")
    kubectl("get vcjob")
    kubectl("get vcjob -o wide")
    kubectl("get podgroups")
    kubectl("get queues")
    kubectl("get queue root -o jsonpath='{.spec} {.status.state}'")
    kubectl("get ns default kube-system -o wide")
    kubectl("get nodes")
    kubectl("get nodes -L example.com/rack -l example.com/rack")
    kubectl("get priorityclasses")
    kubectl("get crd")
    kubectl("get all")
    kubectl("get hypernodes,nodeshards,jobflows,jobtemplates")
