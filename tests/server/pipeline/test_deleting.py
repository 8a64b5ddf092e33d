"""delete and deletecollection: grace, finalizers, preconditions, policies, namespaces."""

import pytest

from tests.server.harness import Caller, config_map, names, pod
from volcano.api import kinds
from volcano.api.objects import JsonObject

pytestmark = pytest.mark.anyio
PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"


async def test_an_object_goes_and_the_answer_names_it(admin: Caller) -> None:
    created = await admin.create(kinds.CONFIG_MAP, config_map())
    answer = await admin.ok("DELETE", f"{MAPS}/a")
    assert answer["status"] == "Success"
    assert answer["details"] == {
        "name": "a",
        "kind": "configmaps",
        "uid": created["metadata"]["uid"],
    }
    await admin.refused(404, "GET", f"{MAPS}/a")
    await admin.refused(404, "DELETE", f"{MAPS}/a")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preconditions": {"uid": "other"}}, "UID in precondition: other"),
        ({"preconditions": {"resourceVersion": "1"}}, "ResourceVersion in precondition: 1"),
    ],
)
async def test_preconditions(admin: Caller, options: JsonObject, message: str) -> None:
    await admin.create(kinds.CONFIG_MAP, config_map())
    body = await admin.refused(409, "DELETE", f"{MAPS}/a", options)
    assert message in body["message"]
    assert await admin.get(kinds.CONFIG_MAP, "a", "default")


@pytest.mark.parametrize(
    ("bound", "options", "grace"),
    [
        (False, {}, None),
        (True, {}, 30),
        (True, {"gracePeriodSeconds": 5}, 5),
        (True, {"gracePeriodSeconds": 0}, None),
        (True, {"gracePeriodSeconds": -1}, 1),
    ],
    ids=["not bound", "default", "asked", "at once", "negative"],
)
async def test_pods_get_their_grace(
    admin: Caller, bound: bool, options: JsonObject, grace: int | None
) -> None:
    await admin.create(kinds.POD, pod(**({"nodeName": "n1"} if bound else {})))
    await admin.ok("DELETE", f"{PODS}/a", options)
    if grace is None:
        await admin.refused(404, "GET", f"{PODS}/a")
        return
    meta = (await admin.get(kinds.POD, "a", "default"))["metadata"]
    assert meta["deletionGracePeriodSeconds"] == grace
    assert meta["deletionTimestamp"] == f"2023-11-14T22:13:{20 + grace:02}Z"


async def test_grace_only_shortens_and_the_node_ends_it(admin: Caller) -> None:
    await admin.create(kinds.POD, pod(nodeName="n1"))
    await admin.ok("DELETE", f"{PODS}/a", {"gracePeriodSeconds": 9})
    await admin.ok("DELETE", f"{PODS}/a")
    pod_now = await admin.get(kinds.POD, "a", "default")
    assert pod_now["metadata"]["deletionGracePeriodSeconds"] == 9
    await admin.ok("DELETE", f"{PODS}/a", {"gracePeriodSeconds": 0})
    await admin.refused(404, "GET", f"{PODS}/a")


async def test_finalizers_hold_until_the_last_is_gone(admin: Caller) -> None:
    held = config_map()
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await admin.create(kinds.CONFIG_MAP, held)
    marked = await admin.ok("DELETE", f"{MAPS}/a")
    assert marked["metadata"]["deletionTimestamp"]
    again = await admin.ok("DELETE", f"{MAPS}/a")
    assert again["metadata"]["resourceVersion"] == marked["metadata"]["resourceVersion"]
    version = marked["metadata"]["resourceVersion"]
    events = admin.watch(f"{MAPS}?watch=1&resourceVersion={version}")
    released = {"metadata": {"finalizers": None}}
    await admin.ok("PATCH", f"{MAPS}/a", released, content_type=MERGE)
    event = await anext(events)
    assert (event["type"], event["object"]["metadata"]["name"]) == ("DELETED", "a")
    await events.aclose()
    await admin.refused(404, "GET", f"{MAPS}/a")


@pytest.mark.parametrize(
    ("options", "finalizers"),
    [
        ({"propagationPolicy": "Foreground"}, ["foregroundDeletion"]),
        ({"propagationPolicy": "Orphan"}, ["orphan"]),
        ({"orphanDependents": True}, ["orphan"]),
        ({"propagationPolicy": "Background"}, None),
    ],
)
async def test_propagation_policies(
    admin: Caller, options: JsonObject, finalizers: list[str] | None
) -> None:
    await admin.create(kinds.CONFIG_MAP, config_map())
    answer = await admin.ok("DELETE", f"{MAPS}/a", options)
    if finalizers is None:
        assert answer["status"] == "Success"
    else:
        assert answer["metadata"]["finalizers"] == finalizers


async def test_options_that_make_no_sense(admin: Caller) -> None:
    await admin.create(kinds.CONFIG_MAP, config_map())
    for options in (
        {"propagationPolicy": "Sideways"},
        {"propagationPolicy": "Orphan", "orphanDependents": True},
        {"dryRun": ["Some"]},
    ):
        await admin.refused(422, "DELETE", f"{MAPS}/a", options)
    await admin.refused(400, "DELETE", f"{MAPS}/a", b"{")
    assert await admin.ok("DELETE", f"{MAPS}/a", {"dryRun": ["All"]})
    assert await admin.get(kinds.CONFIG_MAP, "a", "default")


async def test_a_collection_goes_by_selector(admin: Caller) -> None:
    for name, label in (("a", "x"), ("b", "y"), ("c", "x")):
        obj = config_map(name)
        obj["metadata"]["labels"] = {"app": label}
        await admin.create(kinds.CONFIG_MAP, obj)
    gone = await admin.ok("DELETE", f"{MAPS}?labelSelector=app=x")
    assert names(gone["items"]) == ["a", "c"]
    left = await admin.ok("GET", f"{MAPS}?labelSelector=app")
    assert names(left["items"]) == ["b"]


async def test_a_namespace_goes_when_it_was_emptied_and_finalized(admin: Caller) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "end"}}
    created = await admin.create(kinds.NAMESPACE, namespace)
    assert (created["spec"], created["status"]) == (
        {"finalizers": ["kubernetes"]},
        {"phase": "Active"},
    )
    ending = await admin.ok("DELETE", "/api/v1/namespaces/end")
    assert ending["status"]["phase"] == "Terminating"
    ending["spec"] = {}
    await admin.ok("PUT", "/api/v1/namespaces/end/finalize", ending)
    await admin.refused(404, "GET", "/api/v1/namespaces/end")
    body = await admin.refused(403, "DELETE", "/api/v1/namespaces/kube-system")
    assert "this namespace may not be deleted" in body["message"]
