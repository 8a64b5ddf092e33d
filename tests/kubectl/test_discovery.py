"""What the server says of itself: explain, api-resources, version, access."""

import pytest

from tests.kubectl.shell import Shell

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    "what",
    [
        "vcjob",
        "vcjob.spec",
        "vcjob.spec.tasks",
        "vcjob.spec.tasks.template.spec.containers",
        "vcjob.spec.policies",
        "vcjob.status",
        "podgroup.spec",
        "podgroup.status",
        "queue.spec",
        "queue.status",
        "pod.spec.containers.resources",
        "deployment.spec.strategy",
    ],
)
def test_explain(kubectl: Shell, what: str) -> None:
    kubectl(f"explain {what}")


def test_explain_more(kubectl: Shell) -> None:
    kubectl("explain queue.spec --recursive")
    kubectl.fails("explain vcjob.spec.colour")
    kubectl.fails("explain nothing")
    kubectl("explain cronjob --api-version=batch.volcano.sh/v1alpha1")


def test_api_resources(kubectl: Shell) -> None:
    kubectl("api-resources")
    kubectl("api-resources --api-group=batch.volcano.sh -o wide")
    kubectl("api-resources --namespaced=false -o name")
    kubectl("api-versions")


def test_access(kubectl: Shell) -> None:
    kubectl("auth can-i create jobs.batch.volcano.sh")
    kubectl("auth can-i '*' '*' --all-namespaces")
    kubectl("auth whoami -o jsonpath={.status.userInfo.groups}")
    kubectl.quiet("create serviceaccount robot")
    robot = f"system:serviceaccount:{kubectl.namespace}:robot"
    kubectl.fails(f"auth can-i get pods --as={robot}")
    kubectl.quiet("create role reader --verb=get,list --resource=pods,pods/log")
    kubectl.quiet(
        f"create rolebinding reads --role=reader --serviceaccount={kubectl.namespace}:robot"
    )
    kubectl(f"auth can-i get pods --as={robot}")
    kubectl(f"auth can-i get pods --subresource=log --as={robot}")
    kubectl.fails(f"auth can-i delete pods --as={robot}")
    kubectl.fails(f"auth can-i get pods -n default --as={robot}")
    kubectl(f"auth can-i --list --as={robot}")
    kubectl(f"get pods --as={robot}")
    kubectl.fails(f"get secrets --as={robot}")
    kubectl.fails(f"delete pod any --as={robot}")
    kubectl.fails(f"get nodes --as={robot}")
