"""label, annotate, patch, replace, scale, set, wait."""

import pytest

from tests.kubectl.manifests import CONFIG, DEPLOYMENT, IDLE_POD, WAITING_JOB, running_pod
from tests.kubectl.shell import Shell

pytestmark = pytest.mark.process


def test_label_and_annotate(kubectl: Shell) -> None:
    kubectl.quiet("create -f -", CONFIG)
    kubectl("label configmap settings tier=back")
    kubectl("label configmap settings tier=back")
    kubectl.fails("label configmap settings tier=front")
    kubectl("label configmap settings tier=front --overwrite")
    kubectl("label configmap settings app-")
    kubectl("label configmaps --all seen=yes")
    listed = kubectl.quiet("label configmap settings --list")
    assert sorted(listed.split()) == ["seen=yes", "tier=front"], "kubectl lists them in any order"
    kubectl.fails("label configmap settings bad/key/x=1")
    kubectl.fails("label configmap settings tier='not a value' --overwrite")
    kubectl("annotate configmap settings example.com/note='two words'")
    kubectl.fails("annotate configmap settings example.com/note=other")
    kubectl("annotate configmap settings example.com/note-")
    metadata = kubectl.stored("configmap", "settings")["metadata"]
    assert metadata["labels"] == {"tier": "front", "seen": "yes"}
    assert "annotations" not in metadata


def test_patch_types(kubectl: Shell) -> None:
    kubectl.quiet("create -f -", DEPLOYMENT)
    kubectl.quiet("create -f -", CONFIG)
    add = '[{"op":"add","path":"/data/shape","value":"round"},{"op":"remove","path":"/data/size"}]'
    kubectl(f"patch configmap settings --type=json -p '{add}'")
    kubectl("""patch configmap settings --type=merge -p '{"data":{"colour":null,"x":"1"}}'""")
    kubectl("""patch configmap settings --type=merge -p '{"data":{"x":"1"}}'""")
    assert kubectl.stored("configmap", "settings")["data"] == {"shape": "round", "x": "1"}
    one = '{"spec":{"template":{"spec":{"containers":[{"name":"log","image":"log:2"}]}}}}'
    kubectl(f"patch deployment shop --type=strategic -p '{one}'")
    web, log = kubectl.stored("deployment", "shop")["spec"]["template"]["spec"]["containers"]
    assert (web["image"], log["image"]) == ("registry.example.com/web:1", "log:2")
    gone = '{"spec":{"template":{"spec":{"containers":[{"$patch":"delete","name":"log"}]}}}}'
    kubectl(f"patch deployment shop -p '{gone}'")
    assert len(kubectl.stored("deployment", "shop")["spec"]["template"]["spec"]["containers"]) == 1
    kubectl.fails(
        """patch configmap settings --type=json -p '[{"op":"remove","path":"/data/y"}]'"""
    )
    test = '[{"op":"test","path":"/data/x","value":"2"}]'
    kubectl.fails(f"patch configmap settings --type=json -p '{test}'")


def test_patch_of_a_volcano_job(kubectl: Shell) -> None:
    kubectl.quiet("create -f -", WAITING_JOB)
    kubectl.fails("""patch vcjob waiting -p '{"spec":{"minAvailable":1}}'""")
    kubectl("""patch vcjob waiting --type=merge -p '{"spec":{"minAvailable":1}}'""")
    kubectl("""patch vcjob waiting --type=json \
-p '[{"op":"replace","path":"/spec/tasks/0/replicas","value":3}]'""")
    kubectl.fails("""patch vcjob waiting --type=merge -p '{"spec":{"queue":"other"}}'""")
    spec = kubectl.stored("vcjob", "waiting")["spec"]
    assert (spec["minAvailable"], spec["tasks"][0]["replicas"]) == (1, 3)
    done = '{"status":{"state":{"phase":"Aborted"}}}'
    kubectl(f"patch vcjob waiting --type=merge -p '{done}'")
    assert kubectl.stored("vcjob", "waiting")["status"]["state"]["phase"] == "Pending"


def test_replace(kubectl: Shell) -> None:
    kubectl.quiet("create -f -", CONFIG)
    kubectl("replace -f -", CONFIG.replace("red", "blue"))
    assert kubectl.stored("configmap", "settings")["data"]["colour"] == "blue"
    kubectl("replace --force -f -", CONFIG)
    kubectl.fails("replace -f -", CONFIG.replace("name: settings", "name: nothing"))


def test_scale_a_deployment(kubectl: Shell) -> None:
    kubectl.quiet("create -f -", DEPLOYMENT)
    kubectl("scale deployment shop --replicas=5")
    assert kubectl.stored("deployment", "shop")["spec"]["replicas"] == 5
    kubectl("scale deployment shop --replicas=3 --current-replicas=5")
    kubectl.fails("scale deployment shop --replicas=1 --current-replicas=5")
    kubectl("get deployment shop --subresource=scale -o jsonpath={.spec.replicas}")
    kubectl.quiet("create -f -", CONFIG)
    kubectl.fails("scale configmap settings --replicas=1")
    stored = kubectl.stored("deployment", "shop")
    assert (stored["spec"]["replicas"], stored["metadata"]["generation"]) == (3, 3)
    kubectl("set image deployment shop web=web:9")
    kubectl("get deployment shop -o wide")


def test_wait(kubectl: Shell) -> None:
    kubectl.quiet("create -f -", running_pod("quick", "sleep 0.3"))
    kubectl("wait --for=condition=PodScheduled pod/quick --timeout=30s")
    kubectl("wait --for=jsonpath='{.status.phase}'=Succeeded pod/quick --timeout=30s")
    kubectl("wait --for=condition=Ready=false pod -l app=quick --timeout=30s")
    kubectl("wait --for=jsonpath='{.status.podIP}' pod/quick --timeout=30s")
    kubectl.quiet("create -f -", IDLE_POD)
    kubectl.fails("wait --for=condition=Ready pod/idle --timeout=1s")
    kubectl.fails("wait --for=condition=Ready pod/none --timeout=1s")
    kubectl("delete pod idle --wait=false")
    kubectl("wait --for=delete pod/idle --timeout=30s")


def test_wait_for_a_volcano_job(kubectl: Shell) -> None:
    job = WAITING_JOB.replace("cpu: 1k", "cpu: 100m").replace('[sleep, "1000"]', '["true"]')
    kubectl.quiet("create -f -", job)
    kubectl("wait --for=jsonpath='{.status.state.phase}'=Completed vcjob/waiting --timeout=30s")
    kubectl("get vcjob waiting")
