"""kubectl delete: with and without waiting, by force, orphans, finalizers."""

import pytest

from tests.kubectl.manifests import CONFIG, IDLE_POD, JOB, WAITING_JOB, running_pod
from tests.kubectl.shell import Shell
from tests.waiting import wait_until

pytestmark = pytest.mark.process
HELD = CONFIG.replace("labels: {app: shop}", 'finalizers: ["example.com/hold"]')


def handles_signals(kubectl: Shell, name: str) -> None:
    """Wait until a pod's script is past its `trap`; a running pod may not be there yet."""
    wait_until(lambda: "up" in kubectl.quiet(f"logs {name} --ignore-errors"), within=30)


def test_waits_until_the_pod_has_ended(kubectl: Shell) -> None:
    # It needs a moment for its end, after which only it is gone.
    script = "trap 'sleep 0.5; exit 0' TERM; echo up; while true; do sleep 0.05; done"
    kubectl.quiet("create -f -", running_pod("slow", script))
    handles_signals(kubectl, "slow")
    kubectl("delete pod slow")
    assert kubectl.stored("pod", "slow") is None


def test_without_waiting_the_pod_is_terminating(kubectl: Shell) -> None:
    script = "trap : TERM; echo up; while true; do sleep 0.05; done"
    kubectl.quiet("create -f -", running_pod("stubborn", script))
    handles_signals(kubectl, "stubborn")
    kubectl("delete pod stubborn --wait=false")
    metadata = kubectl.stored("pod", "stubborn")["metadata"]
    assert metadata["deletionTimestamp"]
    assert metadata["deletionGracePeriodSeconds"] == 5
    kubectl("get pod stubborn")
    kubectl("delete pod stubborn --grace-period=0 --force")
    assert kubectl.stored("pod", "stubborn") is None


def test_many_at_once(kubectl: Shell) -> None:
    kubectl.quiet("create -f -", IDLE_POD)
    kubectl.quiet("create -f -", IDLE_POD.replace("name: idle", "name: second"))
    kubectl.quiet("create -f -", CONFIG)
    kubectl("delete pods -l tier=front")
    kubectl("delete pods -l tier=back")
    kubectl("delete -f -", CONFIG)
    kubectl.fails("delete -f -", CONFIG)
    kubectl("delete -f - --ignore-not-found", CONFIG)
    kubectl("delete configmap settings --dry-run=client --ignore-not-found")


def test_dry_run_deletes_nothing(kubectl: Shell) -> None:
    kubectl.quiet("create -f -", CONFIG)
    kubectl("delete configmap settings --dry-run=server")
    assert kubectl.stored("configmap", "settings")


def test_orphans_stay(kubectl: Shell) -> None:
    kubectl.quiet("create -f -", JOB)
    kubectl.quiet("wait --for=jsonpath={.status.state.phase}=Running vcjob/train --timeout=30s")
    kubectl("delete vcjob train --cascade=orphan")
    assert kubectl.stored("vcjob", "train") is None
    kubectl("get pods")
    owners = kubectl.stored("pod", "train-worker-0")["metadata"].get("ownerReferences", [])
    assert owners == []
    kubectl.quiet("delete pods --all")


@pytest.mark.parametrize("cascade", ["background", "foreground"])
def test_dependents_go_too(kubectl: Shell, cascade: str) -> None:
    kubectl.quiet("create -f -", JOB)
    kubectl.quiet("wait --for=jsonpath={.status.state.phase}=Running vcjob/train --timeout=30s")
    kubectl(f"delete vcjob train --cascade={cascade}")
    kubectl.until("get pods,podgroups -o name", "")
    kubectl("get pods,podgroups,vcjob")


def test_finalizer_holds(kubectl: Shell) -> None:
    kubectl.quiet("create -f -", HELD)
    kubectl("delete configmap settings --wait=false")
    kubectl.fails("delete configmap settings --timeout=2s")
    metadata = kubectl.stored("configmap", "settings")["metadata"]
    assert metadata["deletionTimestamp"]
    assert metadata["finalizers"] == ["example.com/hold"]
    kubectl("""patch configmap settings --type=merge -p '{"metadata":{"finalizers":null}}'""")
    assert kubectl.stored("configmap", "settings") is None


def test_namespace_with_all_in_it(kubectl: Shell) -> None:
    name = f"{kubectl.namespace}-more"
    kubectl.quiet(f"create namespace {name}")
    for manifest in (IDLE_POD, WAITING_JOB, CONFIG):
        kubectl.quiet(f"create -n {name} -f -", manifest)
    kubectl(f"delete namespace {name}")
    kubectl(f"get pods,vcjob,podgroups,configmaps -n {name}")
    kubectl.fails(f"get namespace {name}")
