"""kubectl apply, client side and server side."""

import pytest

from tests.kubectl.manifests import CONFIG, DEPLOYMENT, SERVICE, WAITING_JOB
from tests.kubectl.shell import Shell

pytestmark = pytest.mark.process


def test_create_again_change_and_remove_a_field(kubectl: Shell) -> None:
    kubectl("apply -f -", CONFIG)
    kubectl("apply -f -", CONFIG)
    before = kubectl.stored("configmap", "settings")
    kubectl("diff -f -", CONFIG)
    kubectl("apply -f -", CONFIG.replace("red", "blue"))
    changed = kubectl.stored("configmap", "settings")
    assert changed["data"] == {"colour": "blue", "size": "small"}
    assert int(changed["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])
    kubectl("apply -f -", CONFIG.replace(", size: small", ""))
    assert kubectl.stored("configmap", "settings")["data"] == {"colour": "red"}
    kubectl("apply -f - --dry-run=server", CONFIG)
    assert kubectl.stored("configmap", "settings")["data"] == {"colour": "red"}


def test_lists_merge_by_their_keys(kubectl: Shell) -> None:
    kubectl("apply -f -", DEPLOYMENT + "---" + SERVICE)
    kubectl("apply -f -", DEPLOYMENT + "---" + SERVICE)
    # Somebody else adds an entry, which apply leaves alone, as it never had it.
    patch = '{"spec":{"template":{"spec":{"containers":[{"name":"log","env":[{"name":"X"}]}]}}}}'
    kubectl(f"patch deployment shop -p '{patch}'")
    kubectl(
        "apply -f -",
        DEPLOYMENT.replace("web:1", "web:2").replace(", {name: LEVEL, value: low}", ""),
    )
    web, log = kubectl.stored("deployment", "shop")["spec"]["template"]["spec"]["containers"]
    assert (web["image"], web["env"]) == (
        "registry.example.com/web:2",
        [{"name": "MODE", "value": "fast"}],
    )
    assert log["env"] == [{"name": "X"}]
    kubectl("apply -f -", SERVICE.replace("  - {name: http, port: 80}\n", ""))
    ports = kubectl.stored("service", "shop")["spec"]["ports"]
    assert [port["name"] for port in ports] == ["metrics"]


def test_server_side_conflict_and_force(kubectl: Shell) -> None:
    apply = "apply --server-side --field-manager"
    kubectl(f"{apply}=alice -f -", CONFIG)
    kubectl(f"{apply}=alice -f -", CONFIG)
    other = CONFIG.replace("red", "green").replace(", size: small", "")
    refused = kubectl.fails(f"{apply}=bob -f -", other)
    assert 'conflict with "alice": .data.colour' in refused
    assert kubectl.stored("configmap", "settings")["data"]["colour"] == "red"
    kubectl(f"{apply}=bob --force-conflicts -f -", other)
    stored = kubectl.stored("configmap", "settings")
    assert stored["data"] == {"colour": "green", "size": "small"}
    owners = {
        entry["manager"]: set(entry["fieldsV1"]["f:data"])
        for entry in stored["metadata"]["managedFields"]
    }
    assert owners == {"alice": {"f:size"}, "bob": {"f:colour"}}
    # What its only owner no longer applies is removed.
    kubectl(f"{apply}=alice -f -", CONFIG.replace("colour: red, size: small", "shape: round"))
    assert kubectl.stored("configmap", "settings")["data"] == {"colour": "green", "shape": "round"}


def test_server_side_lists_belong_to_each_by_key(kubectl: Shell) -> None:
    apply = "apply --server-side --field-manager"
    kubectl(f"{apply}=alice -f -", SERVICE)
    other = SERVICE.replace("name: http, port: 80", "name: debug, port: 6060")
    kubectl(f"{apply}=bob -f -", other)
    kubectl(f"{apply}=alice -f -", SERVICE.replace("  - {name: http, port: 80}\n", ""))
    ports = kubectl.stored("service", "shop")["spec"]["ports"]
    assert sorted(port["name"] for port in ports) == ["debug", "metrics"]


def test_a_volcano_job(kubectl: Shell) -> None:
    kubectl("apply -f -", WAITING_JOB)
    before = kubectl.stored("vcjob", "waiting")
    kubectl("apply -f -", WAITING_JOB)
    kubectl("diff -f -", WAITING_JOB)
    after = kubectl.stored("vcjob", "waiting")
    assert after["spec"] == before["spec"]
    assert after["metadata"]["generation"] == before["metadata"]["generation"]
    kubectl("apply -f -", WAITING_JOB.replace("minAvailable: 2", "minAvailable: 1"))
    assert kubectl.stored("vcjob", "waiting")["spec"]["minAvailable"] == 1
    kubectl.fails("apply -f -", WAITING_JOB.replace("train:1", "train:2"))
    stored = kubectl.stored("vcjob", "waiting")
    (task,) = stored["spec"]["tasks"]
    assert task["template"]["spec"]["containers"][0]["image"] == "registry.example.com/train:1"
    kubectl("apply --server-side --force-conflicts -f -", WAITING_JOB)
    assert kubectl.stored("vcjob", "waiting")["spec"]["minAvailable"] == 2


def test_a_volcano_job_that_names_the_defaults_of_its_tasks_is_unchanged(kubectl: Shell) -> None:
    # In custom resources kubectl compares lists whole, so that one whose items were given defaults
    # differs from the manifest ("configured" in the test above): so does every API server.
    manifest = WAITING_JOB.replace(
        "- name: worker\n", "- name: worker\n    maxRetry: 3\n    minAvailable: 2\n"
    )
    kubectl("apply -f -", manifest)
    assert "unchanged" in kubectl("apply -f -", manifest)
