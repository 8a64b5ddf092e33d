"""create, update, the patch types, apply, dry run, field validation, generation, sub-resources."""

import pytest

from tests.server.harness import Caller, config_map, pod
from volcano.api import kinds
from volcano.api.objects import JsonObject
from volcano.base.identity import AUTHENTICATED, UserInfo
from volcano.base.limits import OBJECT_BYTES_MAX, REQUEST_BODY_BYTES_MAX
from volcano.server.store.log import Key

pytestmark = pytest.mark.anyio
PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


def queue(name: str = "q", **spec: object) -> JsonObject:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }


def deployment(replicas: int = 1) -> JsonObject:
    labels = {"app": "web"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "image": "busybox"}]},
            },
        },
    }


# Create.


async def test_a_new_object_gets_its_identity(admin: Caller) -> None:
    body = config_map("a", k="v")
    body["metadata"] |= {"uid": "mine", "deletionTimestamp": "2020-01-01T00:00:00Z"}
    created = await admin.create(kinds.CONFIG_MAP, body)
    meta = created["metadata"]
    assert meta["uid"] != "mine"
    assert meta["creationTimestamp"] == "2023-11-14T22:13:20Z"
    assert "deletionTimestamp" not in meta
    assert int(meta["resourceVersion"]) == admin.server.store.revision
    assert meta["managedFields"][0]["manager"] == "test"


async def test_generated_names(admin: Caller) -> None:
    body = config_map()
    body["metadata"] = {"generateName": "a-"}
    first, second = [(await admin.ok("POST", MAPS, body))["metadata"]["name"] for _ in range(2)]
    assert first != second
    assert first.startswith("a-")
    assert len(first) == 7


async def test_a_taken_name(admin: Caller) -> None:
    await admin.create(kinds.CONFIG_MAP, config_map())
    body = await admin.refused(409, "POST", MAPS, config_map())
    assert body["reason"] == "AlreadyExists"
    assert body["message"] == 'configmaps "a" already exists'


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        ({"metadata": {"name": "a", "resourceVersion": "5"}}, 400, "resourceVersion should not"),
        ({"metadata": {"name": "a", "namespace": "other"}}, 400, "namespace of the provided"),
        ({"apiVersion": "v2"}, 400, "the API version in the data (v2) does not match"),
        ({"kind": "Secret"}, 400, "cannot be handled"),
        ({"data": {"k": 1}}, 400, "cannot be handled as a ConfigMap"),
    ],
    ids=["revision given", "other namespace", "other version", "other kind", "wrong type"],
)
async def test_bodies_that_are_refused(
    admin: Caller, change: JsonObject, code: int, message: str
) -> None:
    body = await admin.refused(code, "POST", MAPS, {**config_map(), **change})
    assert message in body["message"]
    assert admin.server.store.get(Key("configmaps", "default", "a")) is None


async def test_broken_and_oversized_bodies(admin: Caller) -> None:
    await admin.refused(400, "POST", MAPS, b"{")
    await admin.refused(400, "POST", MAPS, b"[]")
    await admin.refused(415, "POST", MAPS, b"x", content_type="application/cbor")
    await admin.refused(413, "POST", MAPS, b" " * (REQUEST_BODY_BYTES_MAX + 1))
    big = config_map("big", k="x" * OBJECT_BYTES_MAX)
    answer = await admin.call("POST", MAPS, big)
    assert answer.status in (413, 422)


async def test_yaml_is_understood(admin: Caller) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\ndata: {k: v}\n"
    created = await admin.ok("POST", MAPS, text, content_type="application/yaml")
    assert created["data"] == {"k": "v"}


@pytest.mark.parametrize(
    ("mode", "stored", "warned"),
    [("Strict", False, False), ("Warn", True, True), ("Ignore", True, False), ("", True, True)],
)
async def test_unknown_fields(admin: Caller, mode: str, stored: bool, warned: bool) -> None:
    body = pod()
    body["spec"]["wrong"] = 1
    answer = await admin.call("POST", f"{PODS}?fieldValidation={mode}", body)
    if stored:
        assert answer.status == 201
        assert "wrong" not in answer.body["spec"]
    else:
        assert answer.status == 400
        assert answer.message == (
            'Pod in version "v1" cannot be handled as a Pod: '
            'strict decoding error: unknown field "spec.wrong"'
        )
    assert answer.warnings == (('unknown field "spec.wrong"',) if warned else ())


async def test_dry_run_stores_nothing(admin: Caller) -> None:
    before = admin.server.store.revision
    made = await admin.ok("POST", f"{MAPS}?dryRun=All", config_map())
    assert made["metadata"]["uid"]
    assert "resourceVersion" not in made["metadata"]
    assert admin.server.store.revision == before
    await admin.refused(404, "GET", f"{MAPS}/a")
    await admin.refused(422, "POST", f"{MAPS}?dryRun=Some", config_map())


async def test_a_missing_or_ending_namespace_takes_nothing(admin: Caller) -> None:
    missing = await admin.refused(
        404, "POST", "/api/v1/namespaces/none/configmaps", config_map("a", "none")
    )
    assert missing["message"] == 'namespaces "none" not found'
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "end"}}
    await admin.create(kinds.NAMESPACE, namespace)
    await admin.create(kinds.POD, pod("first", "end"))
    await admin.ok("DELETE", "/api/v1/namespaces/end")
    ending = await admin.refused(
        403, "POST", "/api/v1/namespaces/end/configmaps", config_map("a", "end")
    )
    assert "because it is being terminated" in ending["message"]
    assert ending["details"]["causes"][0]["reason"] == "NamespaceTerminating"


async def test_kinds_without_a_controller_say_so(admin: Caller) -> None:
    answer = await admin.call("POST", "/apis/apps/v1/namespaces/default/deployments", deployment())
    assert answer.status == 201
    assert answer.warnings == (
        "Deployment is stored, but no controller of this cluster acts on it yet",
    )


# Update.


async def test_a_stale_update_is_a_conflict(admin: Caller) -> None:
    first = await admin.create(kinds.CONFIG_MAP, config_map(k="1"))
    second = await admin.ok("PUT", f"{MAPS}/a", {**first, "data": {"k": "2"}})
    body = await admin.refused(409, "PUT", f"{MAPS}/a", {**first, "data": {"k": "3"}})
    assert body["message"] == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; please'
        " apply your changes to the latest version and try again"
    )
    assert await admin.get(kinds.CONFIG_MAP, "a", "default") == second


async def test_an_update_without_a_revision_wins_for_core_kinds_only(admin: Caller) -> None:
    await admin.create(kinds.CONFIG_MAP, config_map(k="1"))
    assert (await admin.ok("PUT", f"{MAPS}/a", config_map(k="2")))["data"] == {"k": "2"}
    await admin.create(kinds.QUEUE, queue())
    body = await admin.refused(422, "PUT", f"{QUEUES}/q", queue(weight=2))
    assert "metadata.resourceVersion" in body["message"]
    await admin.refused(404, "PUT", f"{MAPS}/none", config_map("none"))
    await admin.refused(400, "PUT", f"{MAPS}/none", config_map("a"))


async def test_an_update_that_changes_nothing_is_not_written(admin: Caller) -> None:
    created = await admin.create(kinds.CONFIG_MAP, config_map(k="1"))
    assert await admin.ok("PUT", f"{MAPS}/a", created) == created
    assert await admin.ok("PATCH", f"{MAPS}/a", {}, content_type=MERGE) == created


async def test_what_clients_may_not_change_stays(admin: Caller) -> None:
    created = await admin.create(kinds.CONFIG_MAP, config_map())
    changed = {**created, "metadata": {**created["metadata"], "creationTimestamp": None}}
    changed["data"] = {"k": "v"}
    updated = await admin.ok("PUT", f"{MAPS}/a", changed)
    for name in ("uid", "creationTimestamp"):
        assert updated["metadata"][name] == created["metadata"][name]
    wrong = {**updated, "metadata": {**updated["metadata"], "uid": "other"}}
    body = await admin.refused(409, "PUT", f"{MAPS}/a", wrong)
    assert "Precondition failed: UID in precondition: other" in body["message"]


async def test_what_defaults_fill_in_again_is_no_new_generation(admin: Caller) -> None:
    await admin.create(kinds.DEPLOYMENT, deployment())
    url = "/apis/apps/v1/namespaces/default/deployments/web"
    replaced = await admin.ok("PUT", url, deployment())
    assert "revisionHistoryLimit" in replaced["spec"]
    assert replaced["metadata"]["generation"] == 1


async def test_metadata_has_no_empty_maps(admin: Caller) -> None:
    body = config_map("a")
    body["metadata"] |= {"labels": {}, "annotations": {"x": "y"}, "finalizers": []}
    created = await admin.create(kinds.CONFIG_MAP, body)
    assert created["metadata"].keys().isdisjoint(("labels", "finalizers"))
    patch = {"metadata": {"annotations": {"x": None}}}
    patched = await admin.ok("PATCH", f"{MAPS}/a", patch, content_type=MERGE)
    assert "annotations" not in patched["metadata"]


async def test_generation_rises_with_the_desired_state_only(admin: Caller) -> None:
    created = await admin.create(kinds.QUEUE, queue())
    assert created["metadata"]["generation"] == 1

    async def patched(path: str, body: JsonObject) -> JsonObject:
        return dict(await admin.ok("PATCH", path, body, content_type=MERGE))

    labelled = await patched(f"{QUEUES}/q", {"metadata": {"labels": {"a": "b"}}})
    assert labelled["metadata"]["generation"] == 1
    weighed = await patched(f"{QUEUES}/q", {"spec": {"weight": 3}})
    assert weighed["metadata"]["generation"] == 2
    told = await patched(f"{QUEUES}/q/status", {"status": {"state": "Open"}})
    assert told["metadata"]["generation"] == 2


async def test_status_and_spec_are_written_apart(admin: Caller) -> None:
    body = queue(weight=1)
    body["status"] = {"state": "Open"}
    created = await admin.create(kinds.QUEUE, body)
    assert "state" not in created.get("status", {})
    status = await admin.ok(
        "PATCH",
        f"{QUEUES}/q/status",
        {"spec": {"weight": 9}, "status": {"state": "Closed"}, "metadata": {"labels": {"a": "b"}}},
        content_type=MERGE,
    )
    assert (status["spec"]["weight"], status["status"]["state"]) == (1, "Closed")
    assert "labels" not in status["metadata"]
    spec = await admin.ok(
        "PATCH",
        f"{QUEUES}/q",
        {"spec": {"weight": 9}, "status": {"state": "Open"}},
        content_type=MERGE,
    )
    assert (spec["spec"]["weight"], spec["status"]["state"]) == (9, "Closed")
    assert await admin.ok("GET", f"{QUEUES}/q/status") == spec


# Patches.


async def test_patch_types(admin: Caller) -> None:
    await admin.create(kinds.POD, pod())
    operation = [{"op": "add", "path": "/metadata/labels", "value": {"a": "1"}}]
    await admin.ok("PATCH", f"{PODS}/a", operation, content_type=JSON_PATCH)
    merge = {"metadata": {"labels": {"b": "2", "a": None}}}
    await admin.ok("PATCH", f"{PODS}/a", merge, content_type=MERGE)
    strategic = {"spec": {"containers": [{"name": "c", "image": "new"}]}}
    done = await admin.ok("PATCH", f"{PODS}/a", strategic, content_type=STRATEGIC)
    assert done["metadata"]["labels"] == {"b": "2"}
    assert done["spec"]["containers"][0]["image"] == "new"
    assert done["spec"]["containers"][0]["terminationMessagePath"] == "/dev/termination-log"


async def test_patches_that_are_refused(admin: Caller) -> None:
    await admin.create(kinds.QUEUE, queue())
    await admin.create(kinds.CONFIG_MAP, config_map())
    body = await admin.refused(415, "PATCH", f"{QUEUES}/q", {}, content_type=STRATEGIC)
    assert "accepted media types include: application/apply-patch+yaml" in body["message"]
    await admin.refused(415, "PATCH", f"{MAPS}/a", {}, content_type="application/json")
    await admin.refused(404, "PATCH", f"{MAPS}/none", {}, content_type=MERGE)
    await admin.refused(400, "PATCH", f"{MAPS}/a", b"{", content_type=MERGE)
    stale = {"metadata": {"resourceVersion": "1"}}
    await admin.refused(409, "PATCH", f"{MAPS}/a", stale, content_type=MERGE)
    renamed = {"metadata": {"name": "b"}}
    await admin.refused(400, "PATCH", f"{MAPS}/a", renamed, content_type=MERGE)
    test = [{"op": "test", "path": "/data/k", "value": "v"}]
    await admin.refused(422, "PATCH", f"{MAPS}/a", test, content_type=JSON_PATCH)
    unknown = await admin.refused(
        422, "PATCH", f"{MAPS}/a?fieldValidation=Strict", {"wrong": 1}, content_type=MERGE
    )
    assert 'unknown field "wrong"' in unknown["message"]


async def test_server_side_apply(admin: Caller) -> None:
    config = config_map(k="1")
    made = await admin.call("PATCH", f"{MAPS}/a?fieldManager=one", config, content_type=APPLY)
    assert made.status == 201
    again = await admin.call("PATCH", f"{MAPS}/a?fieldManager=one", config, content_type=APPLY)
    assert (again.status, again.body) == (200, made.body)
    other = config_map(k="2")
    body = await admin.refused(
        409, "PATCH", f"{MAPS}/a?fieldManager=two", other, content_type=APPLY
    )
    assert body["details"]["causes"][0]["reason"] == "FieldManagerConflict"
    forced = await admin.ok(
        "PATCH", f"{MAPS}/a?fieldManager=two&force=true", other, content_type=APPLY
    )
    assert forced["data"] == {"k": "2"}
    await admin.refused(422, "PATCH", f"{MAPS}/a", config, content_type=APPLY)


# Below an object.


async def test_scale(admin: Caller) -> None:
    await admin.create(kinds.DEPLOYMENT, deployment(2))
    path = "/apis/apps/v1/namespaces/default/deployments/web/scale"
    scale = await admin.ok("GET", path)
    assert (scale["kind"], scale["spec"], scale["status"]) == (
        "Scale",
        {"replicas": 2},
        {"replicas": 0, "selector": "app=web"},
    )
    patched = await admin.ok("PATCH", path, {"spec": {"replicas": 3}}, content_type=MERGE)
    assert patched["spec"] == {"replicas": 3}
    stored = await admin.get(kinds.DEPLOYMENT, "web", "default")
    assert (stored["spec"]["replicas"], stored["metadata"]["generation"]) == (3, 2)
    await admin.refused(409, "PUT", path, scale)
    await admin.refused(400, "PATCH", path, {"spec": {"replicas": -1}}, content_type=MERGE)


async def test_a_pod_is_bound_once(admin: Caller) -> None:
    await admin.create(kinds.POD, pod())
    binding = {"kind": "Binding", "target": {"kind": "Node", "name": "n1"}}
    assert (await admin.ok("POST", f"{PODS}/a/binding", binding))["status"] == "Success"
    bound = await admin.get(kinds.POD, "a", "default")
    assert bound["spec"]["nodeName"] == "n1"
    (condition,) = bound["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")
    body = await admin.refused(409, "POST", f"{PODS}/a/binding", binding)
    assert 'pod a is already assigned to node "n1"' in body["message"]
    await admin.refused(404, "POST", f"{PODS}/none/binding", binding)
    await admin.refused(422, "POST", f"{PODS}/a/binding", {"target": {}})


async def test_eviction_heeds_the_disruption_budget(admin: Caller) -> None:
    labelled = pod(nodeName="n1")
    labelled["metadata"]["labels"] = {"app": "web"}
    await admin.create(kinds.POD, labelled)
    running = {"status": {"phase": "Running"}}
    await admin.ok("PATCH", f"{PODS}/a/status", running, content_type=MERGE)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    await admin.create(kinds.POD_DISRUPTION_BUDGET, budget)
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b/status"

    async def allow(count: int) -> None:
        status = {"status": {"observedGeneration": 1, "disruptionsAllowed": count}}
        await admin.ok("PATCH", path, status, content_type=MERGE)

    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
    await admin.refused(429, "POST", f"{PODS}/a/eviction", eviction)
    await allow(0)
    body = await admin.refused(429, "POST", f"{PODS}/a/eviction", eviction)
    assert "would violate the pod's disruption budget" in body["message"]
    await allow(1)
    await admin.ok("POST", f"{PODS}/a/eviction", eviction)
    evicted = await admin.get(kinds.POD, "a", "default")
    assert evicted["metadata"]["deletionGracePeriodSeconds"] == 30
    charged = await admin.get(kinds.POD_DISRUPTION_BUDGET, "b", "default")
    assert charged["status"]["disruptionsAllowed"] == 0
    assert "a" in charged["status"]["disruptedPods"]


@pytest.mark.parametrize("name", ["exec", "attach", "portforward"])
async def test_what_is_not_there_yet_says_so(admin: Caller, name: str) -> None:
    await admin.create(kinds.POD, pod())
    body = await admin.refused(501, "POST", f"{PODS}/a/{name}")
    assert body["message"].startswith(f"{name} is not implemented by this server yet")


async def test_a_service_account_token(admin: Caller) -> None:
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = (await admin.ok("POST", path, body))["status"]["token"]
    caller = Caller(admin.server, None, {"authorization": f"Bearer {token}"})
    refused = await caller.refused(403, "GET", "/api/v1/namespaces/kube-system/secrets")
    assert "system:serviceaccount:default:default" in refused["message"]


# Who may what.


async def test_nobody_gets_in_without_credentials(admin: Caller) -> None:
    nobody = admin.as_user(None)
    for path in ("/version", "/livez", "/readyz", "/healthz"):
        assert (await nobody.call("GET", path)).status == 200
    for path in (PODS, "/api", "/openapi/v3", "/nothing"):
        body = await nobody.refused(401, "GET", path)
        assert (body["reason"], body["message"]) == ("Unauthorized", "Unauthorized")


async def test_rights_are_asked_for(admin: Caller) -> None:
    jane = admin.as_user(UserInfo("jane", groups=(AUTHENTICATED,)))
    body = await jane.refused(403, "GET", PODS)
    assert body["message"] == (
        'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the'
        ' namespace "default"'
    )
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "r", "namespace": "default"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}],
    }
    await admin.create(kinds.ROLE, role)
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "r", "namespace": "default"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}],
    }
    await admin.create(kinds.ROLE_BINDING, binding)
    assert (await jane.ok("GET", PODS))["items"] == []
    await jane.refused(403, "GET", "/api/v1/pods")


async def test_reviews(admin: Caller) -> None:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "list", "resource": "pods"}},
    }
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert (await admin.ok("POST", path, review))["status"]["allowed"] is True
    jane = admin.as_user(UserInfo("jane", groups=(AUTHENTICATED,)))
    assert (await jane.ok("POST", path, review))["status"]["allowed"] is False


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/api/v1/nothing", 404),
        ("GET", "/apis/none/v1/pods", 404),
        ("GET", "/api/v1/namespaces/default/nodes", 404),
        ("PUT", PODS, 405),
        ("POST", f"{PODS}/a", 405),
        ("DELETE", "/api/v1/pods", 405),
        ("POST", "/api/v1/pods", 400),
        ("GET", f"{PODS}/a/wrong", 404),
        ("GET", f"{MAPS}/a/status", 404),
        ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", 405),
    ],
)
async def test_paths_and_methods_that_are_not_there(
    admin: Caller, method: str, path: str, code: int
) -> None:
    await admin.refused(code, method, path, {})
