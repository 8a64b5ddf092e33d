"""Queues, groups of plain pods, and collection of what is left over, on an in-process server."""

from pathlib import Path

import pytest

from tests.controllers.harness import Cluster, cluster, job
from tests.waiting import eventually
from volcano.api.kinds import (
    COMMAND,
    CONFIG_MAP,
    JOB,
    NAMESPACE,
    NODE,
    POD,
    POD_GROUP,
    QUEUE,
    REPLICA_SET,
)
from volcano.api.objects import JsonObject, metadata, uid_of

pytestmark = pytest.mark.anyio


def queue(name: str, parent: str = "root") -> JsonObject:
    return {
        "apiVersion": QUEUE.api_version,
        "kind": QUEUE.kind,
        "metadata": {"name": name},
        "spec": {"weight": 1, "parent": parent},
    }


async def operate(c: Cluster, name: str, action: str) -> None:
    target = {"apiVersion": QUEUE.api_version, "kind": "Queue", "name": name}
    found = await c.client.get(QUEUE, name)
    obj = {
        "apiVersion": COMMAND.api_version,
        "kind": COMMAND.kind,
        "metadata": {"generateName": f"{name}-"},
        "action": action,
        "target": {**target, "uid": uid_of(found)},
    }
    await c.create(COMMAND, obj)


async def in_state(c: Cluster, name: str, state: str) -> None:
    async def probe() -> bool:
        found = await c.client.get(QUEUE, name)
        return (found.get("status") or {}).get("state") == state

    await eventually(probe, about=f"{name} is {state}")


def plain_pod(name: str, **more: object) -> JsonObject:
    containers = [{"name": "main", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    meta = {"name": name, **more}
    return {"metadata": meta, "spec": {"schedulerName": "volcano", "containers": containers}}


def owned(name: str, owner: JsonObject, *, blocks: bool = True) -> JsonObject:
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": metadata(owner)["name"],
        "uid": uid_of(owner),
        "blockOwnerDeletion": blocks,
    }
    return {"metadata": {"name": name, "ownerReferences": [reference]}}


async def test_first_queues_are_there(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        default = await c.client.get(QUEUE, "default")
        assert default["spec"]["parent"] == "root"
        assert default["status"]["state"] == "Open"
        assert not (await c.client.get(QUEUE, "root"))["spec"]["reclaimable"]


async def test_closing_goes_down_the_tree_and_opening_follows(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        await c.create(QUEUE, queue("q1"))
        await in_state(c, "q1", "Open")
        await c.create(QUEUE, queue("q11", "q1"))
        await in_state(c, "q11", "Open")
        await operate(c, "q1", "CloseQueue")
        await in_state(c, "q1", "Closed")
        await in_state(c, "q11", "Closed")
        await operate(c, "q11", "OpenQueue")

        async def used_up() -> bool:
            return not (await c.client.list(COMMAND))["items"]

        await eventually(used_up)
        await in_state(c, "q11", "Closed")
        await operate(c, "q1", "OpenQueue")
        await in_state(c, "q1", "Open")
        await in_state(c, "q11", "Open")


async def test_queue_in_use_is_closing_until_its_last_group_is_gone(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        await c.create(QUEUE, queue("q"))
        await in_state(c, "q", "Open")
        await c.create(JOB, job("j", queue="q"))
        await c.group("j")
        await operate(c, "q", "CloseQueue")
        await in_state(c, "q", "Closing")
        await c.client.delete(JOB, "j", "default")
        await in_state(c, "q", "Closed")


async def test_plain_pod_gets_a_group_of_its_own(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        created = await c.create(POD, plain_pod("p"))
        name = f"podgroup-{uid_of(created)}"

        async def grouped() -> bool:
            pod = await c.client.get(POD, "p", "default")
            return metadata(pod).get("annotations", {}).get("scheduling.k8s.io/group-name") == name

        await eventually(grouped)
        group = await c.client.get(POD_GROUP, name, "default")
        assert group["spec"]["minMember"] == 1
        assert group["spec"]["queue"] == "default"
        assert group["spec"]["minResources"]["cpu"] == "1"
        assert group["status"]["phase"] == "Pending"
        await c.client.delete(POD, "p", "default")

        async def gone() -> bool:
            return await c.find(POD_GROUP, name) is None

        await eventually(gone)


async def test_pods_of_one_owner_share_a_group_with_its_annotations(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        labels = {"app": "a"}
        manifest = {
            "metadata": {
                "name": "rs",
                "annotations": {
                    "scheduling.volcano.sh/group-min-member": "2",
                    "volcano.sh/sla-waiting-time": "1h",
                },
            },
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
            },
        }
        owner = await c.create(REPLICA_SET, manifest)
        reference = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": "rs",
            "uid": uid_of(owner),
            "controller": True,
        }
        for name in ("a", "b"):
            await c.create(POD, plain_pod(name, ownerReferences=[reference]))

        async def grouped() -> bool:
            pod = await c.client.get(POD, "b", "default")
            return "annotations" in metadata(pod)

        await eventually(grouped)
        (group,) = (await c.client.list(POD_GROUP, "default"))["items"]
        assert metadata(group)["name"] == f"podgroup-{uid_of(owner)}"
        assert group["spec"]["minMember"] == 2
        assert group["spec"]["minResources"]["cpu"] == "2"
        assert metadata(group)["annotations"] == {"volcano.sh/sla-waiting-time": "1h"}


@pytest.mark.parametrize("policy", ["Background", "Foreground", "Orphan"])
async def test_deletion_of_an_owner(tmp_path: Path, policy: str) -> None:
    async with cluster(tmp_path) as c:
        owner = await c.create(CONFIG_MAP, {"metadata": {"name": "owner"}})
        child = await c.create(CONFIG_MAP, owned("child", owner))
        await c.create(CONFIG_MAP, owned("grandchild", child))
        await c.client.delete(CONFIG_MAP, "owner", "default", propagation=policy)

        async def settled() -> bool:
            if await c.find(CONFIG_MAP, "owner") is not None:
                return False
            child = await c.find(CONFIG_MAP, "child")
            if policy == "Orphan":
                return child is not None and "ownerReferences" not in metadata(child)
            return child is None and await c.find(CONFIG_MAP, "grandchild") is None

        await eventually(settled)
        if policy == "Orphan":
            assert await c.find(CONFIG_MAP, "grandchild") is not None


async def test_one_owner_left_keeps_the_object_and_loses_the_other(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        owners = [await c.create(CONFIG_MAP, {"metadata": {"name": n}}) for n in ("a", "b")]
        both = owned("child", owners[0])
        both["metadata"]["ownerReferences"] += owned("x", owners[1])["metadata"]["ownerReferences"]
        await c.create(CONFIG_MAP, both)
        await c.client.delete(CONFIG_MAP, "a", "default")

        async def released() -> bool:
            child = await c.client.get(CONFIG_MAP, "child", "default")
            return [ref["name"] for ref in metadata(child)["ownerReferences"]] == ["b"]

        await eventually(released)


async def test_owner_of_that_name_but_another_uid_does_not_count(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        owner = await c.create(CONFIG_MAP, {"metadata": {"name": "owner"}})
        stale = {**owner, "metadata": {**metadata(owner), "uid": "gone-long-ago"}}
        await c.create(CONFIG_MAP, owned("child", stale))

        async def collected() -> bool:
            return await c.find(CONFIG_MAP, "child") is None

        await eventually(collected)
        assert await c.find(CONFIG_MAP, "owner") is not None


async def test_namespace_goes_with_everything_in_it(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        await c.create(NAMESPACE, {"metadata": {"name": "n"}})
        await c.create(POD, plain_pod("p"), "n")
        await c.create(JOB, {**job("j"), "metadata": {"name": "j", "namespace": "n"}}, "n")
        await c.client.delete(NAMESPACE, "n")

        async def gone() -> bool:
            return await c.find(NAMESPACE, "n") is None

        await eventually(gone)
        for kind in (POD, JOB, CONFIG_MAP, POD_GROUP):
            assert not (await c.client.list(kind, "n"))["items"]


async def test_unbound_terminating_pod_is_removed_and_nodes_pods_wait(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        await c.create(NODE, {"metadata": {"name": "n1"}})
        bound = plain_pod("bound")
        bound["spec"]["nodeName"] = "n1"
        await c.create(POD, bound)
        await c.client.delete(POD, "bound", "default")
        pod = await c.client.get(POD, "bound", "default")
        assert "deletionTimestamp" in metadata(pod)
