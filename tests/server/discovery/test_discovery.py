"""Discovery in all its forms, and kubectl's view of it."""

import gzip
import json
from pathlib import Path

import pytest

from tests.server import registry_of_all
from tests.server.kubectl_front import Front, kubectl
from volcano.api import kinds
from volcano.base.http import Request, Response
from volcano.server import accept
from volcano.server.discovery import Discovery, version_rank
from volcano.server.registry import Registry, ServedKind

V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
V2BETA1 = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"


def small() -> Registry:
    chosen = (kinds.POD, kinds.NAMESPACE, kinds.BATCH_JOB, kinds.DEPLOYMENT, kinds.TOKEN_REVIEW)
    builtin = [ServedKind(kind, {}) for kind in chosen]
    return Registry([*builtin, *registry_of_all.volcano()], {})


def ask(discovery: Discovery, path: str, **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = discovery.answer(Request("GET", path, headers=named))
    assert response is not None
    return response


def body(path: str, **headers: str):
    return json.loads(ask(Discovery(small()), path, **headers).body)


def test_core_versions() -> None:
    assert body("/api")["versions"] == ["v1"]


def test_groups_builtin_first_then_custom_by_name() -> None:
    groups = body("/apis")["groups"]
    names = [group["name"] for group in groups]
    assert names[:3] == ["batch", "apps", "authentication.k8s.io"]
    assert names[3:] == sorted(names[3:])
    assert "batch.volcano.sh" in names
    assert groups[0]["preferredVersion"] == {"groupVersion": "batch/v1", "version": "v1"}


def test_one_group() -> None:
    group = body("/apis/batch.volcano.sh")
    assert (group["kind"], group["name"]) == ("APIGroup", "batch.volcano.sh")
    assert [version["version"] for version in group["versions"]] == ["v1alpha1"]


def test_resources_of_a_version() -> None:
    listed = body("/api/v1")
    assert (listed["kind"], listed["groupVersion"]) == ("APIResourceList", "v1")
    found = {resource["name"]: resource for resource in listed["resources"]}
    assert found["pods"] == {
        "name": "pods",
        "singularName": "pod",
        "namespaced": True,
        "kind": "Pod",
        "verbs": list(kinds.POD.verbs),
        "shortNames": ["po"],
        "categories": ["all"],
    }
    assert found["pods/log"]["verbs"] == ["get"]
    assert found["pods/eviction"]["kind"] == "Eviction"
    assert (found["pods/eviction"]["group"], found["pods/eviction"]["version"]) == ("policy", "v1")
    assert not found["namespaces"]["namespaced"]


def test_scale_speaks_another_kind() -> None:
    found = {resource["name"]: resource for resource in body("/apis/apps/v1")["resources"]}
    assert found["deployments/scale"]["kind"] == "Scale"
    assert found["deployments/scale"]["group"] == "autoscaling"


@pytest.mark.parametrize(
    ("header", "version"),
    [
        pytest.param(V2, "v2", id="v2"),
        pytest.param(V2BETA1, "v2beta1", id="v2beta1"),
        pytest.param(f"{V2},{V2BETA1},application/json", "v2", id="kubectl"),
        pytest.param(f"{V2};profile=nopeer,{V2},application/json", "v2", id="with_profile"),
        pytest.param(f"application/json;q=0.5,{V2BETA1}", "v2beta1", id="by_quality"),
    ],
)
def test_aggregated(header: str, version: str) -> None:
    response = ask(Discovery(small()), "/apis", accept=header)
    found = json.loads(response.body)
    assert (found["kind"], found["apiVersion"]) == (
        "APIGroupDiscoveryList",
        f"apidiscovery.k8s.io/{version}",
    )
    expected = f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
    assert response.headers["content-type"] == expected


@pytest.mark.parametrize("header", ["", "*/*", "application/json", f"application/json,{V2};q=0.5"])
def test_plain_for_who_asks_plainly(header: str) -> None:
    assert body("/apis", accept=header)["kind"] == "APIGroupList"


def test_aggregated_resource() -> None:
    core = body("/api", accept=V2)["items"]
    assert [group["metadata"]["name"] for group in core] == [""]
    (version,) = core[0]["versions"]
    pod = next(one for one in version["resources"] if one["resource"] == "pods")
    assert pod["scope"] == "Namespaced"
    assert pod["responseKind"] == {"group": "", "version": "v1", "kind": "Pod"}
    subresources = {one["subresource"] for one in pod["subresources"]}
    assert {"status", "binding", "eviction", "log", "exec"} <= subresources


def test_unknown_paths_are_not_ours() -> None:
    discovery = Discovery(small())
    for path in ("/", "/apis/none", "/apis/batch/v9", "/api/v2", "/api/v1/pods", "/openapi/v3"):
        assert discovery.answer(Request("GET", path)) is None


def test_etag_and_not_modified_until_a_kind_is_added() -> None:
    registry = small()
    discovery = Discovery(registry)
    etag = ask(discovery, "/apis", accept=V2).headers["etag"]
    again = ask(discovery, "/apis", accept=V2, if_none_match=etag)
    assert (again.status, again.body) == (304, b"")
    registry.put(registry_of_all.widgets())
    changed = ask(discovery, "/apis", accept=V2, if_none_match=etag)
    assert changed.status == 200
    assert b"example.com" in changed.body
    registry.remove(registry_of_all.widgets().kind)
    assert ask(discovery, "/apis", accept=V2).headers["etag"] == etag


def test_gzip_for_who_reads_it() -> None:
    discovery = Discovery(small())
    plain = ask(discovery, "/api/v1")
    zipped = ask(discovery, "/api/v1", accept_encoding="br, gzip")
    assert zipped.headers["content-encoding"] == "gzip"
    assert gzip.decompress(zipped.body) == plain.body
    assert "content-encoding" not in ask(discovery, "/api/v1", accept_encoding="gzip;q=0").headers


def test_versions_in_kubernetes_order() -> None:
    versions = ["foo10", "v1alpha1", "v2", "v1beta2", "v10", "v1", "v1beta1", "foo1"]
    assert sorted(versions, key=version_rank) == [
        *("v10", "v2", "v1", "v1beta2", "v1beta1", "v1alpha1", "foo1", "foo10")
    ]


def test_version_names_the_kubernetes_release() -> None:
    version = body("/version")
    assert version["gitVersion"].startswith("v1.36.")
    assert (version["major"], version["minor"]) == ("1", "36")


@pytest.mark.parametrize(
    ("header", "first"),
    [
        ("", "*/*"),
        ("text/plain;q=0.2, application/json", "application/json"),
        ("application/json;q=0, text/plain", "text/plain"),
        ("application/json;q=x", "application/json"),
    ],
)
def test_accept(header: str, first: str) -> None:
    assert accept.parse(header)[0].media_type == first


@pytest.mark.process
def test_kubectl_knows_names_short_names_and_categories(tmp_path: Path) -> None:
    front = Front(registry_of_all.everything(), {"/apis/batch.volcano.sh/v1alpha1/jobs": []})
    listed = kubectl(front, tmp_path, "api-resources", "--no-headers", "-o", "wide")
    lines = {line.split()[0] + "|" + line.split("  ")[0]: line for line in listed.splitlines()}
    assert any(
        "vcjob,vj" in line and "batch.volcano.sh/v1alpha1" in line for line in lines.values()
    )
    assert any(line.startswith("pods ") and " po " in line for line in lines.values())
    assert len(listed.splitlines()) == len(kinds.ALL_KINDS)
    every = kubectl(front, tmp_path, "api-resources", "--categories=all", "-o", "name")
    assert {"pods", "services", "deployments.apps", "jobs.batch"} <= set(every.split())
    assert {path for path in front.asked if not path.startswith("/apis/batch.v")} == {
        "/api",
        "/apis",
    }


@pytest.mark.process
def test_kubectl_version(tmp_path: Path) -> None:
    answer = json.loads(kubectl(Front(small(), {}), tmp_path, "version", "-o", "json"))
    assert answer["serverVersion"]["gitVersion"].startswith("v1.36.")
