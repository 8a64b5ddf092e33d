"""Pods as real processes: a real API server in memory, a real runner, real commands."""

import contextlib
import json
from pathlib import Path

import pytest

from tests.node.cluster import state_of, world
from tests.waiting import eventually
from volcano.api.kinds import CONFIG_MAP, LEASE, NODE, POD, SECRET
from volcano.api.pod_logs import LogOptions
from volcano.base.errors import ApiError
from volcano.client.client import PatchType
from volcano.node.fleet import demo_fleet

pytestmark = [pytest.mark.process, pytest.mark.anyio]


@pytest.fixture
async def cluster(tmp_path):
    async with world(tmp_path, demo_fleet()) as made:
        yield made


# -- nodes -----------------------------------------------------------------------------------------


async def test_nodes_are_registered(cluster):
    nodes = {n["metadata"]["name"]: n for n in (await cluster.client.list(NODE))["items"]}
    assert sorted(nodes) == ["node-1", "node-2", "node-t4", "node-v100"]
    node = nodes["node-t4"]
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "1"
    assert node["metadata"]["labels"]["nvidia.com/gpu.product"] == "Tesla-T4"
    conditions = {c["type"]: c["status"] for c in node["status"]["conditions"]}
    assert conditions["Ready"] == "True"
    assert "ResourceLimitsEnforced" in conditions
    lease = await cluster.client.get(LEASE, "node-t4", "kube-node-lease")
    assert lease["spec"]["holderIdentity"] == "node-t4"


async def test_what_users_changed_on_a_node_stays(cluster):
    change = {"spec": {"unschedulable": True}, "metadata": {"labels": {"mine": "yes"}}}
    await cluster.client.patch(NODE, "node-1", change)
    await cluster.restart_nodes()
    node = await cluster.client.get(NODE, "node-1")
    assert node["spec"]["unschedulable"] is True
    assert node["metadata"]["labels"]["mine"] == "yes"


# -- lives -----------------------------------------------------------------------------------------


async def test_a_bound_pod_runs_and_its_log_can_be_read(cluster):
    await cluster.run(["sh", "-c", "echo hello; echo oops >&2"])
    pod = await cluster.until("Succeeded")
    assert state_of(pod)["terminated"]["exitCode"] == 0
    assert await cluster.log() == "hello\noops\n"
    assert pod["status"]["podIP"]
    assert not pod["status"]["podIP"].startswith("127.")
    conditions = {c["type"]: c["status"] for c in pod["status"]["conditions"]}
    assert conditions["Ready"] == "False"


async def test_binding_and_running_are_both_in_the_conditions(cluster):
    container = {"name": "main", "image": "i", "command": ["true"]}
    pod = await cluster.create(nodeName="", containers=[container])
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "a", "uid": pod["metadata"]["uid"]},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "node-2"},
    }
    await cluster.client.create_subresource(POD, "a", "binding", binding, "default")
    pod = await cluster.until("Succeeded")
    conditions = {c["type"]: c["status"] for c in pod["status"]["conditions"]}
    assert conditions["PodScheduled"] == "True"
    assert conditions["Initialized"] == "True"


async def test_an_exit_code_fails_the_pod(cluster):
    await cluster.run(["sh", "-c", "exit 42"])
    pod = await cluster.until("Failed")
    assert state_of(pod)["terminated"]["exitCode"] == 42


async def test_init_containers_come_first_and_share_volumes(cluster):
    mount = [{"name": "shared", "mountPath": "/shared-of-a-test"}]
    await cluster.create(
        volumes=[{"name": "shared", "emptyDir": {}}],
        initContainers=[
            {
                "name": "first",
                "image": "i",
                "command": ["sh", "-c", "echo made > /shared-of-a-test/file"],
                "volumeMounts": mount,
            }
        ],
        containers=[
            {
                "name": "main",
                "image": "i",
                "command": ["cat", "/shared-of-a-test/file"],
                "volumeMounts": mount,
            }
        ],
    )
    await cluster.until("Succeeded")
    assert await cluster.log() == "made\n"


async def test_on_failure_starts_again_and_keeps_the_log_before(cluster, tmp_path):
    runs = tmp_path / "runs"
    script = f"echo run >> {runs}; test $(wc -l < {runs}) -ge 2; r=$?; echo $r; exit $r"
    await cluster.run(["sh", "-c", script], restartPolicy="OnFailure")
    pod = await cluster.until("Succeeded")
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 1
    assert await cluster.log() == "0\n"
    assert await cluster.log(previous=True) == "1\n"


async def test_one_that_keeps_failing_backs_off(cluster):
    await cluster.run(["false"], restartPolicy="Always")

    async def backing_off():
        pod = await cluster.get()
        entry = (pod["status"].get("containerStatuses") or [{}])[0]
        waiting = entry.get("state", {}).get("waiting", {})
        return entry if waiting.get("reason") == "CrashLoopBackOff" else None

    entry = await eventually(backing_off)
    assert entry["restartCount"] == 1
    assert entry["lastState"]["terminated"]["exitCode"] == 1
    assert entry["state"]["waiting"]["message"].startswith("back-off 10s")


async def test_deadline(cluster):
    await cluster.run(["sleep", "600"], activeDeadlineSeconds=1)
    pod = await cluster.until("Failed")
    assert pod["status"]["reason"] == "DeadlineExceeded"


async def test_deletion_gives_the_container_its_grace(cluster, tmp_path):
    script = f"trap 'echo bye > {tmp_path}/bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    await cluster.run(["sh", "-c", script])
    await cluster.until("Running")
    await eventually(cluster_log(cluster, "up"))
    await cluster.client.delete(POD, "a", "default")
    await cluster.gone()
    assert (tmp_path / "bye").read_text() == "bye\n"


async def test_deletion_kills_what_does_not_end(cluster):
    await cluster.run(["sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.05; done"])
    await cluster.until("Running")
    await eventually(cluster_log(cluster, "up"))
    await cluster.client.delete(POD, "a", "default", grace_seconds=1)
    await cluster.gone()


async def test_a_forced_deletion_leaves_no_process_and_no_folder(cluster, tmp_path):
    await cluster.run(["sh", "-c", f"echo $$ > {tmp_path}/pid; exec sleep 600"])
    await cluster.until("Running")
    pid = await eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    await cluster.client.delete(POD, "a", "default", grace_seconds=0)
    await eventually(lambda: not Path("/proc", pid.strip()).exists())
    await eventually(lambda: not list((tmp_path / "nodes" / "pods").iterdir()))


def cluster_log(cluster, text):
    async def contains():
        return text in await cluster.log()

    return contains


# -- surroundings ----------------------------------------------------------------------------------


async def test_configuration_reaches_the_container(cluster):
    meta = {"name": "settings", "namespace": "default"}
    await cluster.client.create(
        CONFIG_MAP,
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"colour": "red"}},
    )
    await cluster.client.create(
        SECRET,
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "door", "namespace": "default"},
            "stringData": {"key": "s3cret"},
        },
    )
    await cluster.run(
        ["sh", "-c", "cat /etc/map-of-a-test/c /etc/all-of-a-test/*; echo; echo $NAME $COLOUR"],
        meta={"labels": {"app": "web"}},
        env=[
            {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {
                "name": "COLOUR",
                "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "colour"}},
            },
        ],
        volumeMounts=[
            {"name": "map", "mountPath": "/etc/map-of-a-test"},
            {"name": "all", "mountPath": "/etc/all-of-a-test"},
        ],
        volumes=[
            {
                "name": "map",
                "configMap": {"name": "settings", "items": [{"key": "colour", "path": "c"}]},
            },
            {
                "name": "all",
                "projected": {
                    "sources": [
                        {"secret": {"name": "door"}},
                        {
                            "downwardAPI": {
                                "items": [
                                    {
                                        "path": "labels",
                                        "fieldRef": {"fieldPath": "metadata.labels"},
                                    }
                                ]
                            }
                        },
                    ]
                },
            },
        ],
    )
    await cluster.until("Succeeded")
    assert await cluster.log() == 'reds3cretapp="web"\na red\n'


async def test_the_service_account_is_where_clients_look(cluster):
    folder = "/var/run/secrets/kubernetes.io/serviceaccount"
    script = f"""
        cat {folder}/namespace; echo; head -c 5 {folder}/token; echo; head -1 {folder}/ca.crt
        echo $KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT"""
    await cluster.run(["sh", "-c", script])
    await cluster.until("Succeeded")
    namespace, token, certificate, address = (await cluster.log()).splitlines()
    assert namespace == "default"
    assert token.startswith("ey")
    assert certificate == "-----BEGIN CERTIFICATE-----"
    assert address == "127.0.0.1:7443"


async def test_a_missing_map_holds_the_container_until_it_is_there(cluster):
    await cluster.run(["true"], envFrom=[{"configMapRef": {"name": "late"}}])

    async def waits():
        entries = (await cluster.get())["status"].get("containerStatuses") or [{}]
        return entries[0].get("state", {}).get("waiting", {}).get("message")

    assert await eventually(waits) == 'configmap "late" not found'
    await cluster.client.create(
        CONFIG_MAP,
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}},
        "default",
    )
    await cluster.until("Succeeded")


@pytest.mark.parametrize(
    ("fields", "reason", "text"),
    [
        pytest.param(
            {"volumes": [{"name": "v", "nfs": {"server": "s", "path": "/"}}]},
            "FailedMount",
            "volume v is of type nfs, which process nodes cannot mount",
            id="a volume of another type",
        ),
        pytest.param(
            {"command": None}, "Failed", "has no command, and images are not", id="no command"
        ),
    ],
)
async def test_what_cannot_be_done_is_said(cluster, fields, reason, text):
    container = {"name": "main", "image": "nginx", "command": ["true"]}
    if "command" in fields:
        del container["command"], fields["command"]
    await cluster.create(containers=[container], **fields)

    async def told():
        return [message for message in await cluster.events(reason) if text in message]

    assert await eventually(told)
    assert (await cluster.get())["status"]["phase"] == "Pending"


async def test_ignored_fields_are_named_in_an_event(cluster):
    lifecycle = {"preStop": {"exec": {"command": ["true"]}}}
    container = {"name": "main", "image": "i", "command": ["true"], "lifecycle": lifecycle}
    await cluster.create(containers=[container])
    await cluster.until("Succeeded")
    told = await eventually(lambda: cluster.events("NotSupported"))
    assert told == ["container main: the preStop hook is not run by process nodes"]


async def test_two_pods_never_share_a_gpu(cluster):
    gpu = {"limits": {"nvidia.com/gpu": 1}}
    script = "echo $NVIDIA_VISIBLE_DEVICES; exec sleep 600"
    await cluster.run(["sh", "-c", script], "one", node="node-t4", resources=gpu)
    await cluster.until("Running", "one")
    await cluster.restart_nodes()
    await cluster.run(["sh", "-c", script], "two", node="node-t4", resources=gpu)
    pod = await cluster.until("Failed", "two")
    assert pod["status"]["reason"] == "UnexpectedAdmissionError"
    assert await cluster.log("one") == "0\n"
    await cluster.client.delete(POD, "one", "default", grace_seconds=0)
    await cluster.run(["sh", "-c", script], "three", node="node-t4", resources=gpu)
    await eventually(lambda: cluster_log_of(cluster, "three"))
    await cluster.run(["sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES"], "plain")
    await cluster.until("Succeeded", "plain")
    assert await cluster.log("plain") == "void\n"


async def cluster_log_of(cluster, name):
    with contextlib.suppress(ApiError):
        return await cluster.log(name) == "0\n"
    return False


async def test_out_of_memory(cluster):
    script = "head -c 300m /dev/zero | tail -c 300m > /dev/null; exit $?"
    await cluster.run(["sh", "-c", script], resources={"limits": {"memory": "64Mi"}})
    node = await cluster.client.get(NODE, "node-1")
    conditions = {c["type"]: c["status"] for c in node["status"]["conditions"]}
    if conditions["ResourceLimitsEnforced"] != "True":
        pytest.skip("limits are not permitted here, and the node says so")
    pod = await cluster.until("Failed", within=20)
    ended = state_of(pod)["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (137, "OOMKilled")


# -- logs ------------------------------------------------------------------------------------------


async def test_logs_in_parts(cluster):
    await cluster.run(["sh", "-c", "for i in 1 2 3 4; do echo line $i; done; printf end"])
    await cluster.until("Succeeded")
    assert await cluster.log(tail_lines=2) == "line 4\nend"
    assert await cluster.log(tail_lines=0) == ""
    assert await cluster.log(limit_bytes=6) == "line 1"
    stamped = (await cluster.log(timestamps=True)).splitlines()
    assert [line.split(" ", 1)[1] for line in stamped][-1] == "end"
    assert all(line.split(" ")[0].endswith("Z") for line in stamped)
    assert await cluster.log(since_seconds=3600) == "line 1\nline 2\nline 3\nline 4\nend"


async def test_a_followed_log_ends_with_the_container(cluster, tmp_path):
    script = f"echo one; while ! test -e {tmp_path}/go; do sleep 0.02; done; echo two"
    await cluster.run(["sh", "-c", script])
    await cluster.until("Running")
    stream = await cluster.runner.open(await cluster.get(), LogOptions("main", follow=True))
    assert await anext(stream) == b"one\n"
    (tmp_path / "go").touch()
    assert [chunk async for chunk in stream] == [b"two\n"]


async def test_a_log_that_is_not_there(cluster):
    await cluster.create(nodeName="node-1", initContainers=[
        {"name": "first", "image": "i", "command": ["sleep", "600"]}
    ])  # fmt: skip

    async def starting():
        return (await cluster.get())["status"].get("initContainerStatuses")

    await eventually(starting)
    with pytest.raises(ApiError, match="is waiting to start: PodInitializing"):
        await cluster.log()
    with pytest.raises(ApiError, match="previous terminated container"):
        await cluster.log(container="first", previous=True)


# -- restarts of the node --------------------------------------------------------------------------


async def test_containers_outlive_the_node(cluster, tmp_path):
    script = f"echo start >> {tmp_path}/starts; while ! test -e {tmp_path}/go; do sleep 0.02; done"
    await cluster.run(["sh", "-c", script + "; echo done; exit 3"])
    await cluster.until("Running")
    await cluster.restart_nodes()
    (tmp_path / "go").touch()
    pod = await cluster.until("Failed")
    assert state_of(pod)["terminated"]["exitCode"] == 3
    assert (tmp_path / "starts").read_text() == "start\n"
    assert await cluster.log() == "done\n"


async def test_what_ended_while_no_node_looked(cluster, tmp_path):
    script = f"while ! test -e {tmp_path}/go; do sleep 0.02; done; echo $$ > {tmp_path}/end; exit 5"
    await cluster.run(["sh", "-c", script])
    await cluster.until("Running")
    await cluster.end_nodes()
    (tmp_path / "go").touch()
    await eventually(lambda: (tmp_path / "end").exists())
    await cluster.start_nodes()
    pod = await cluster.until("Failed")
    assert state_of(pod)["terminated"]["exitCode"] == 5


async def test_pods_deleted_while_no_node_looked_are_cleaned_up(cluster, tmp_path):
    await cluster.run(["sh", "-c", f"echo $$ > {tmp_path}/pid; exec sleep 600"])
    await cluster.until("Running")
    pid = await eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    await cluster.end_nodes()
    await cluster.client.delete(POD, "a", "default", grace_seconds=0)
    await cluster.start_nodes()
    await eventually(lambda: not Path("/proc", pid.strip()).exists())
    await eventually(lambda: not list((tmp_path / "nodes" / "pods").iterdir()))


async def test_stopping_the_nodes_stops_pods_with_their_grace(cluster, tmp_path):
    script = f"trap 'echo bye > {tmp_path}/bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    await cluster.run(["sh", "-c", script], restartPolicy="Always")
    await cluster.until("Running")
    await eventually(cluster_log(cluster, "up"))
    await cluster.runner.stop(5.0)
    pod = await cluster.get()
    assert (pod["status"]["phase"], pod["status"]["reason"]) == ("Failed", "Terminated")
    assert (tmp_path / "bye").exists()


async def test_many_restarts_at_any_moment_start_each_container_once(cluster, tmp_path):
    """The node part is cut off again and again while pods come and go."""
    names = [f"p{i}" for i in range(8)]
    for index, name in enumerate(names):
        script = f"echo {name} >> {tmp_path}/starts; sleep 0.{index}; exit {index}"
        await cluster.run(["sh", "-c", script], name)
        if index % 2:
            await cluster.restart_nodes()

    async def all_ended():
        pods = (await cluster.client.list(POD, "default"))["items"]
        return all(p["status"].get("phase") in {"Succeeded", "Failed"} for p in pods) and pods

    pods = await eventually(all_ended, within=20)
    assert sorted((tmp_path / "starts").read_text().split()) == names
    codes = {p["metadata"]["name"]: state_of(p)["terminated"]["exitCode"] for p in pods}
    assert codes == {f"p{i}": i for i in range(8)}


async def test_a_status_is_written_only_when_it_changes(cluster):
    await cluster.run(["sleep", "600"])
    before = await cluster.until("Running")
    await cluster.client.patch(
        POD, "a", {"metadata": {"labels": {"x": "y"}}}, "default", patch_type=PatchType.MERGE
    )
    await cluster.restart_nodes()
    after = await cluster.get()
    assert json.dumps(after["status"]) == json.dumps(before["status"])
    assert int(after["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])
