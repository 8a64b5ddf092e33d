"""OpenAPI documents: their structure, how they are cached, and what kubectl makes of them."""

import gzip
import json
from pathlib import Path

import pytest

from tests.server import registry_of_all
from tests.server.kubectl_front import Front, kubectl
from volcano.api import kinds
from volcano.base.errors import ApiError
from volcano.base.http import Request, Response
from volcano.server.openapi import HEAD_TYPE, INFO, OpenApi, schemas
from volcano.server.protobuf.wire import fields
from volcano.server.registry import Registry, ServedKind

PROTOBUF_V2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
GVK = "x-kubernetes-group-version-kind"


@pytest.fixture(scope="module")
def openapi() -> OpenApi:
    return OpenApi(registry_of_all.everything())


def ask(openapi: OpenApi, url: str, **headers: str) -> Response:
    path, _, query = url.partition("?")
    pairs = dict(pair.split("=") for pair in query.split("&")) if query else {}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = openapi.answer(Request("GET", path, query=pairs, headers=named))
    assert response is not None
    return response


def urls(openapi: OpenApi) -> dict[str, str]:
    paths = json.loads(ask(openapi, "/openapi/v3").body)["paths"]
    return {name: path["serverRelativeURL"] for name, path in paths.items()}


def test_index_has_every_group_and_version(openapi: OpenApi) -> None:
    expected = {kind.root[1:] for kind in kinds.ALL_KINDS}
    assert set(urls(openapi)) == expected
    for name, url in urls(openapi).items():
        assert url.startswith(f"/openapi/v3/{name}?hash=")


@pytest.mark.parametrize("kind", kinds.ALL_KINDS, ids=lambda kind: kind.resource)
def test_each_kind_carries_itself_on_schema_and_operations(openapi: OpenApi, kind) -> None:
    document = openapi.document(kind.root[1:])
    own = {"group": kind.group, "kind": kind.kind, "version": kind.version}
    assert any(own in (one.get(GVK) or ()) for one in document["components"]["schemas"].values())
    collection = document["paths"][kind.path("{namespace}")]
    assert collection["post"][GVK] == own
    written = [collection["post"]]
    if "patch" in kind.verbs:
        one = document["paths"][kind.path("{namespace}", "{name}")]
        assert {operation[GVK]["kind"] for name, operation in one.items() if name != "parameters"}
        written += [one["put"], one["patch"]]
    for operation in written:
        names = {parameter["name"] for parameter in operation["parameters"]}
        assert {"fieldValidation", "dryRun", "fieldManager"} <= names
    for sub in kind.subresources:
        assert kind.path("{namespace}", "{name}", sub) in document["paths"]


@pytest.mark.parametrize("name", sorted({kind.root[1:] for kind in kinds.ALL_KINDS}))
def test_every_reference_leads_somewhere(openapi: OpenApi, name: str) -> None:
    document = openapi.document(name)
    held = document["components"]["schemas"]
    assert set(schemas.references(document)) <= set(held)


def test_strategic_merge_is_offered_for_builtin_kinds_only(openapi: OpenApi) -> None:
    strategic = "application/strategic-merge-patch+json"
    pod = openapi.document("api/v1")["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]
    assert strategic in pod["patch"]["requestBody"]["content"]
    root = "/apis/batch.volcano.sh/v1alpha1"
    paths = openapi.document("apis/batch.volcano.sh/v1alpha1")["paths"]
    offered = paths[f"{root}/namespaces/{{namespace}}/jobs/{{name}}"]["patch"]["requestBody"]
    assert set(offered["content"]) == {
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/apply-patch+yaml",
    }


def test_custom_kind_has_metadata_and_a_list(openapi: OpenApi) -> None:
    held = openapi.document("apis/batch.volcano.sh/v1alpha1")["components"]["schemas"]
    job = held["sh.volcano.batch.v1alpha1.Job"]
    assert job["properties"]["metadata"]["allOf"][0]["$ref"].endswith("meta.v1.ObjectMeta")
    items = held["sh.volcano.batch.v1alpha1.JobList"]["properties"]["items"]
    assert items["items"]["$ref"] == "#/components/schemas/sh.volcano.batch.v1alpha1.Job"


def test_a_document_is_kept_by_its_hash(openapi: OpenApi) -> None:
    url = urls(openapi)["api/v1"]
    first = ask(openapi, url)
    assert first.status == 200
    assert "immutable" in first.headers["cache-control"]
    assert ask(openapi, url, if_none_match=first.headers["etag"]).status == 304
    assert "cache-control" not in ask(openapi, "/openapi/v3/api/v1").headers
    moved = ask(openapi, "/openapi/v3/api/v1?hash=OLD")
    assert (moved.status, moved.headers["location"]) == (301, url)
    zipped = ask(openapi, url, accept_encoding="gzip")
    assert gzip.decompress(zipped.body) == first.body
    assert ask(openapi, url, accept_encoding="gzip").body is zipped.body


def test_only_the_changed_group_gets_a_new_hash() -> None:
    registry = registry_of_all.everything()
    openapi = OpenApi(registry)
    before = urls(openapi)
    registry.put(registry_of_all.widgets())
    added = urls(openapi)
    assert set(added) - set(before) == {"apis/example.com/v1"}
    assert {name: added[name] for name in before} == before
    old = registry_of_all.widgets()
    registry.put(ServedKind(old.kind, {"type": "object", "properties": {"a": {}}}, old.crd))
    changed = urls(openapi)
    assert [name for name in added if added[name] != changed[name]] == ["apis/example.com/v1"]
    registry.remove(old.kind)
    assert urls(openapi) == before


def test_hashes_are_the_same_after_a_restart(openapi: OpenApi) -> None:
    assert urls(OpenApi(registry_of_all.everything())) == urls(openapi)


@pytest.mark.parametrize(
    ("path", "header", "code"),
    [
        pytest.param("/openapi/v2", "application/yaml", 404, id="v2_as_yaml"),
        pytest.param("/openapi/v3", "application/x-protobuf", 406, id="v3_as_protobuf"),
        pytest.param("/openapi/v3/apis/none/v1", "", 404, id="unknown_group"),
    ],
)
def test_refusals(openapi: OpenApi, path: str, header: str, code: int) -> None:
    with pytest.raises(ApiError) as caught:
        ask(openapi, path, accept=header)
    assert caught.value.code == code


def test_other_paths_are_not_ours(openapi: OpenApi) -> None:
    assert openapi.answer(Request("GET", "/openapi/v4")) is None
    assert openapi.answer(Request("GET", "/api/v1")) is None


def test_v2_as_protobuf_is_only_a_head(openapi: OpenApi) -> None:
    answer = ask(openapi, "/openapi/v2", accept=PROTOBUF_V2)
    assert answer.headers["content-type"] == HEAD_TYPE
    one, head = fields(answer.body)
    assert one == (1, b"2.0")
    assert head[0] == 2
    assert dict(fields(head[1])) == {1: b"Kubernetes", 2: INFO["version"].encode()}


def test_v2_is_one_swagger_document(openapi: OpenApi) -> None:
    document = json.loads(ask(openapi, "/openapi/v2", accept="application/json").body)
    assert document["swagger"] == "2.0"
    text = json.dumps(document)
    assert "#/components/" not in text
    assert '"oneOf": [' not in text
    definitions = document["definitions"]
    targets = set(schemas.references(document))
    assert targets <= set(definitions)
    quantity = definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"]
    assert quantity["type"] == "string"
    assert definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"] == {
        "type": "string",
        "format": "int-or-string",
    }
    post = document["paths"]["/api/v1/namespaces/{namespace}/pods"]["post"]
    body = next(one for one in post["parameters"] if one["in"] == "body")
    assert body["schema"]["$ref"] == "#/definitions/io.k8s.api.core.v1.Pod"


def test_a_kind_without_a_definition_stands_by_its_own_schema() -> None:
    meta = {f"{schemas.META}{name}": {"type": "object"} for name in META_TYPES}
    entry = ServedKind(kinds.LEASE, {"type": "object", "properties": {"spec": {}}})
    document = OpenApi(Registry([entry], meta)).document("apis/coordination.k8s.io/v1")
    assert "io.k8s.coordination.v1.LeaseList" in document["components"]["schemas"]


META_TYPES = ("Status", "DeleteOptions", "Patch", "ObjectMeta", "ListMeta")


@pytest.mark.process
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(
            "vcjob.spec.tasks.template.spec.containers",
            ["GROUP:      batch.volcano.sh", "FIELD: containers <[]", "image\t<string>"],
            id="vcjob",
        ),
        pytest.param(
            "pod.spec.containers.ports",
            [
                "KIND:       Pod",
                "FIELD: ports <[]ContainerPort>",
                "containerPort\t<integer> -required-",
            ],
            id="pod",
        ),
        pytest.param("queue.spec", ["GROUP:      scheduling.volcano.sh", "weight\t<"], id="queue"),
        pytest.param("deploy.spec.replicas", ["FIELD: replicas <integer>"], id="deploy"),
    ],
)
def test_kubectl_explains(tmp_path: Path, path: str, expected: list[str]) -> None:
    front = Front(registry_of_all.everything(), {})
    text = kubectl(front, tmp_path, "explain", path)
    for part in expected:
        assert part in text
    assert "/openapi/v2" not in front.asked


@pytest.mark.process
@pytest.mark.parametrize(
    ("manifest", "path"),
    [
        pytest.param(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
            "/api/v1/namespaces/default/configmaps",
            id="builtin",
        ),
        pytest.param(
            {
                "apiVersion": "batch.volcano.sh/v1alpha1",
                "kind": "Job",
                "metadata": {"name": "a"},
                "spec": {},
            },
            "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs",
            id="custom",
        ),
    ],
)
def test_kubectl_lets_the_server_validate(tmp_path: Path, manifest, path: str) -> None:
    front = Front(registry_of_all.everything(), {})
    text = json.dumps(manifest)
    kubectl(front, tmp_path, "create", "--validate=strict", "-f", "-", stdin=text)
    kubectl(front, tmp_path, "apply", "--dry-run=server", "-f", "-", stdin=text)
    created, applied = front.written
    assert (created.path, created.query["fieldValidation"]) == (path, "Strict")
    assert (applied.query["fieldValidation"], applied.query["dryRun"]) == ("Strict", "All")
    assert "/openapi/v2" not in front.asked
