"""kubectl describe of pods, nodes and the Volcano kinds, with their events."""

import pytest

from tests.kubectl.manifests import JOB, WAITING_JOB, running_pod
from tests.kubectl.shell import Shell

pytestmark = pytest.mark.process


# One pod: a scheduler that sees the first of two before the second would tell of it.
ALONE = JOB.replace("minAvailable: 2", "minAvailable: 1").replace("replicas: 2", "replicas: 1")


def event(kubectl: Shell, kind: str, reason: str) -> None:
    """Wait for an event: they are written a moment after what they tell of."""
    selector = f"involvedObject.kind={kind},reason={reason}"
    kubectl.until(
        f"get events --field-selector {selector} -o jsonpath={{.items[*].reason}}", reason
    )


def test_pod(kubectl: Shell) -> None:
    kubectl.quiet("create -f -", running_pod("web", "exec sleep 1000", node="worker-1"))
    kubectl.quiet("wait --for=condition=Ready pod/web --timeout=30s")
    event(kubectl, "Pod", "Started")
    kubectl("describe pod web")


def test_pod_that_fails(kubectl: Shell) -> None:
    kubectl.quiet("create -f -", running_pod("broken", "echo no >&2; exit 3", node="worker-1"))
    kubectl.quiet("wait --for=jsonpath={.status.phase}=Failed pod/broken --timeout=30s")
    event(kubectl, "Pod", "Started")
    kubectl("get pod broken")
    kubectl("describe pod broken")


def test_pod_placed_by_the_scheduler(kubectl: Shell) -> None:
    pod = running_pod("placed", "exec sleep 1000").replace("cpu: 100m", "nvidia.com/gpu: 1")
    kubectl.quiet("create -f -", pod.replace('cpu: "1"', "nvidia.com/gpu: 1"))
    kubectl.quiet("wait --for=condition=Ready pod/placed --timeout=30s")
    event(kubectl, "Pod", "Scheduled")
    event(kubectl, "Pod", "Started")
    kubectl("get events --sort-by .reason --field-selector involvedObject.name=placed")
    kubectl("get pod placed -o wide")


def test_pod_too_large_for_any_node(kubectl: Shell) -> None:
    kubectl.quiet(
        "create -f -",
        running_pod("huge", "true").replace("cpu: 100m", "cpu: 64").replace('cpu: "1"', "cpu: 64"),
    )
    kubectl.quiet("wait --for=condition=PodScheduled=false pod/huge --timeout=30s")
    event(kubectl, "Pod", "FailedScheduling")
    kubectl("get pod huge")
    kubectl("describe pod huge")


def test_node(kubectl: Shell) -> None:
    kubectl.quiet("create -f -", running_pod("lodger", "exec sleep 1000", node="apart"))
    kubectl.quiet("wait --for=condition=Ready pod/lodger --timeout=30s")
    kubectl("describe node apart")
    kubectl.quiet("delete pod lodger")


def test_running_job_its_group_and_its_events(kubectl: Shell) -> None:
    kubectl.quiet("create -f -", ALONE)
    kubectl.quiet("wait --for=jsonpath={.status.state.phase}=Running vcjob/train --timeout=30s")
    kubectl.quiet("wait --for=jsonpath={.status.phase}=Running podgroup --all --timeout=30s")
    event(kubectl, "PodGroup", "Scheduled")
    kubectl("get vcjob,podgroup")
    kubectl("describe vcjob train")
    kubectl("describe podgroup")


def test_waiting_job_and_its_group(kubectl: Shell) -> None:
    kubectl.quiet("create -f -", WAITING_JOB)
    group = kubectl.quiet("wait --for=condition=Unschedulable podgroup --all --timeout=30s -o name")
    assert group.startswith("podgroup.scheduling.volcano.sh/waiting-")
    event(kubectl, "Job", "PodGroupPending")
    kubectl("describe vcjob waiting")
    kubectl("describe podgroup")


def test_queue(kubectl: Shell) -> None:
    name = f"q-{kubectl.namespace}"
    queue = f"""
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {{name: {name}}}
spec: {{weight: 3, capability: {{cpu: 4, memory: 8Gi}}}}
"""
    kubectl("create -f -", queue)
    kubectl.quiet(f"wait --for=jsonpath={{.status.state}}=Open queue/{name} --timeout=30s")
    kubectl.quiet("create -f -", ALONE.replace("minAvailable:", f"queue: {name}\n  minAvailable:"))
    kubectl.quiet("wait --for=jsonpath={.status.state.phase}=Running vcjob/train --timeout=30s")
    kubectl.quiet(f"wait --for=jsonpath={{.status.allocated.pods}}=1 queue/{name} --timeout=30s")
    kubectl(f"describe queue {name}")
    kubectl.quiet("delete vcjob train")
    kubectl.until("get podgroups -o name", "")
    kubectl(f"delete queue {name}")
    assert kubectl.stored("queue", name) is None
