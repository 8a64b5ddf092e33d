"""The checks kube-apiserver has built in: accounts, priorities, limit ranges, quotas, scopes."""

import asyncio

import pytest

from tests.server.harness import Caller, config_map, pod
from volcano.api import kinds
from volcano.api.objects import JsonObject

pytestmark = pytest.mark.anyio
PODS = "/api/v1/namespaces/default/pods"


def sized(name: str = "a", **resources: JsonObject) -> JsonObject:
    container = {"name": "c", "image": "busybox", "resources": resources}
    return pod(name, containers=[container])


def quota(scopes: list[str] | None = None, **hard: str) -> JsonObject:
    named = {name.replace("__", "/").replace("_", "."): value for name, value in hard.items()}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "default"},
        "spec": {"hard": named, **({"scopes": scopes} if scopes else {})},
    }


def limits(**item: object) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l", "namespace": "default"},
        "spec": {"limits": [{"type": "Container", **item}]},
    }


async def test_pods_run_as_the_default_account_with_its_token(admin: Caller) -> None:
    made = await admin.create(kinds.POD, pod())
    assert made["spec"]["serviceAccountName"] == "default"
    (volume,) = made["spec"]["volumes"]
    assert volume["name"].startswith("kube-api-access-")
    (mount,) = made["spec"]["containers"][0]["volumeMounts"]
    assert mount["name"] == volume["name"]
    bare = await admin.create(kinds.POD, pod("bare", automountServiceAccountToken=False))
    assert "volumes" not in bare["spec"]
    body = await admin.refused(403, "POST", PODS, pod("b", serviceAccountName="none"))
    assert body["message"] == (
        'pods "b" is forbidden: error looking up service account default/none: serviceaccount'
        ' "none" not found'
    )


async def test_every_namespace_has_its_account_and_certificate(admin: Caller) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}}
    await admin.create(kinds.NAMESPACE, namespace)
    await admin.create(kinds.POD, pod(namespace="new"))
    certificate = await admin.get(kinds.CONFIG_MAP, "kube-root-ca.crt", "new")
    assert certificate["data"]["ca.crt"].startswith("-----BEGIN CERTIFICATE-----")
    await admin.ok("DELETE", "/api/v1/namespaces/new/serviceaccounts/default")
    await admin.create(kinds.POD, pod("b", namespace="new"))


async def test_priorities_come_from_classes(admin: Caller) -> None:
    plain = await admin.create(kinds.POD, pod("plain"))
    assert plain["spec"]["priority"] == 0
    for name, value, default in (("high", 10, False), ("usual", 5, True)):
        body = {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "globalDefault": default,
        }
        await admin.create(kinds.PRIORITY_CLASS, body)
    high = await admin.create(kinds.POD, pod("high", priorityClassName="high"))
    assert (high["spec"]["priority"], high["spec"]["preemptionPolicy"]) == (
        10,
        "PreemptLowerPriority",
    )
    usual = await admin.create(kinds.POD, pod("usual"))
    assert (usual["spec"]["priority"], usual["spec"]["priorityClassName"]) == (5, "usual")
    body = await admin.refused(403, "POST", PODS, pod("b", priorityClassName="none"))
    assert "no PriorityClass with name none was found" in body["message"]
    await admin.refused(403, "POST", PODS, pod("b", priorityClassName="high", priority=3))
    system = await admin.create(kinds.POD, pod("s", priorityClassName="system-node-critical"))
    assert system["spec"]["priority"] == 2_000_001_000


async def test_limit_ranges_complete_and_bound(admin: Caller) -> None:
    await admin.create(
        kinds.LIMIT_RANGE,
        limits(
            default={"cpu": "1", "memory": "1Gi"},
            defaultRequest={"cpu": "500m", "memory": "1Gi"},
            max={"cpu": "2"},
            min={"cpu": "100m"},
        ),
    )
    made = await admin.create(kinds.POD, pod())
    assert made["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "1", "memory": "1Gi"},
        "requests": {"cpu": "500m", "memory": "1Gi"},
    }
    assert made["status"]["qosClass"] == "Burstable"
    much = sized("b", limits={"cpu": "3"})
    body = await admin.refused(403, "POST", PODS, much)
    assert "maximum cpu usage per Container is 2, but limit is 3" in body["message"]
    little = sized("b", requests={"cpu": "50m"})
    body = await admin.refused(403, "POST", PODS, little)
    assert "minimum cpu usage per Container is 100m, but request is 50m" in body["message"]


async def test_a_quota_bounds_what_a_namespace_holds(admin: Caller) -> None:
    await admin.create(kinds.RESOURCE_QUOTA, quota(pods="2", requests_cpu="3"))
    two = {"requests": {"cpu": "2"}}
    await admin.create(kinds.POD, sized("a", **two))
    body = await admin.refused(403, "POST", PODS, sized("b", **two))
    assert body["message"] == (
        'pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=2,'
        " used: requests.cpu=2, limited: requests.cpu=3"
    )
    body = await admin.refused(403, "POST", PODS, pod("b"))
    assert "failed quota: q: must specify requests.cpu for: c" in body["message"]
    await admin.ok(
        "PATCH",
        f"{PODS}/a/status",
        {"status": {"phase": "Succeeded"}},
        content_type="application/merge-patch+json",
    )
    await admin.create(kinds.POD, sized("b", **two))


async def test_a_burst_cannot_slip_past_a_quota(admin: Caller) -> None:
    await admin.create(kinds.RESOURCE_QUOTA, quota(count__configmaps="5"))
    answers = await asyncio.gather(
        *(
            admin.call("POST", "/api/v1/namespaces/default/configmaps", config_map(f"m{number}"))
            for number in range(10)
        )
    )
    assert [answer.status for answer in answers].count(201) == 4, "the root certificate is one"


async def test_quota_scopes(admin: Caller) -> None:
    await admin.create(kinds.RESOURCE_QUOTA, quota(["BestEffort"], pods="1"))
    await admin.create(kinds.POD, pod("a"))
    await admin.refused(403, "POST", PODS, pod("b"))
    await admin.create(kinds.POD, sized("c", requests={"cpu": "1"}))
