"""Discovery: which groups, versions and resources this server has, in the forms clients ask for.

Everything comes from the registry and is kept until it changes: the plain forms (`/api`, `/apis`,
`/apis/GROUP`, `/apis/GROUP/VERSION`) and the aggregated one, which tells all in two requests. The
order of groups matters: clients resolve `jobs` or `events` to the first group that has one, so
built-in groups come first and those of CRDs after, by name, as in Kubernetes. `openapi` shares the
table of what sub-resources are.
"""

import platform
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import msgspec

import volcano
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.api.schemas import KUBERNETES_VERSION
from volcano.base.http import Request, Response
from volcano.server import accept
from volcano.server.documents import Document
from volcano.server.registry import Registry, ServedKind

AGGREGATED_GROUP = "apidiscovery.k8s.io"
AGGREGATED_KIND = "APIGroupDiscoveryList"
AGGREGATED_VERSIONS = ("v2", "v2beta1")
CONNECT_VERBS = ("create", "get")
OBJECT_VERBS = ("get", "patch", "update")


@dataclass(frozen=True, slots=True)
class Subresource:
    """What is served below an object: the kind it speaks, and its verbs."""

    name: str
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]


_OTHER_KINDS: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "scale": ("autoscaling", "v1", "Scale", OBJECT_VERBS),
    "binding": ("", "v1", "Binding", ("create",)),
    "eviction": ("policy", "v1", "Eviction", ("create",)),
    "token": ("authentication.k8s.io", "v1", "TokenRequest", ("create",)),
    "exec": ("", "v1", "PodExecOptions", CONNECT_VERBS),
    "attach": ("", "v1", "PodAttachOptions", CONNECT_VERBS),
    "portforward": ("", "v1", "PodPortForwardOptions", CONNECT_VERBS),
}
_OWN_VERBS = {"log": ("get",), "finalize": ("update",)}


def subresources(kind: Kind) -> list[Subresource]:
    """The sub-resources of a kind, by name."""
    found = []
    for name in sorted(kind.subresources):
        group, version, spoken, verbs = _OTHER_KINDS.get(
            name, (kind.group, kind.version, kind.kind, _OWN_VERBS.get(name, OBJECT_VERBS))
        )
        found.append(Subresource(name, group, version, spoken, verbs))
    return found


def groups(registry: Registry) -> dict[str, dict[str, list[ServedKind]]]:
    """Served kinds by group and version, in the order clients should prefer them."""
    builtin: dict[str, dict[str, list[ServedKind]]] = {"": {}}
    custom: dict[str, dict[str, list[ServedKind]]] = {}
    for entry in registry.all():
        home = custom if entry.custom and entry.kind.group not in builtin else builtin
        versions = home.setdefault(entry.kind.group, {})
        versions.setdefault(entry.kind.version, []).append(entry)
    ordered = [*builtin.items(), *sorted(custom.items())]
    return {
        group: {
            version: sorted(versions[version], key=lambda entry: entry.kind.plural)
            for version in sorted(versions, key=version_rank)
        }
        for group, versions in ordered
        if versions
    }


def version_rank(version: str) -> tuple[int, int, int, str]:
    """Sort key of API versions, most stable and newest first: v2, v1, v1beta1, v1alpha1, others."""
    parts = re.fullmatch(r"v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?", version)
    if parts is None:
        return (3, 0, 0, version)
    stability = {None: 0, "beta": 1, "alpha": 2}[parts[2]]
    return (stability, -int(parts[1]), -int(parts[3] or 0), "")


class Discovery:
    """Answers /api, /apis, /api/v1, /apis/G, /apis/G/V and /version from the registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._generation = 0
        self._documents: dict[tuple[str, str], Document] = {}
        self._version = Document(msgspec.json.encode(version_info()))

    def answer(self, request: Request) -> Response | None:
        """The answer to a GET; None when the path is no discovery path or names no group here."""
        path = request.path.rstrip("/")
        if path == "/version":
            return self._version.answer(request)
        if self._generation != self._registry.generation:
            self._generation = self._registry.generation
            self._documents.clear()
        form = _aggregated_version(request) if path in ("/api", "/apis") else ""
        document = self._documents.get((path, form))
        if document is None:
            build = self._builder(path, form)
            if build is None:
                return None
            document = Document(msgspec.json.encode(build()), _content_type(form))
            self._documents[path, form] = document
        return document.answer(request)

    def _builder(self, path: str, form: str) -> Callable[[], JsonObject] | None:
        known = groups(self._registry)
        match path.split("/")[1:]:
            case ["api"]:
                only = {"": known[""]} if "" in known else {}
                return partial(_aggregated, only, form) if form else _api_versions
            case ["apis"]:
                named = {group: versions for group, versions in known.items() if group}
                return partial(_aggregated if form else _group_list, named, form)
            case ["api", version] if version in known.get("", {}):
                return partial(_resource_list, version, known[""][version])
            case ["apis", group] if group and group in known:
                return partial(_group, group, known[group], top=True)
            case ["apis", group, version] if group and version in known.get(group, {}):
                return partial(_resource_list, f"{group}/{version}", known[group][version])
            case _:
                return None


def version_info() -> JsonObject:
    """The answer to /version: the Kubernetes release this API follows, and this build."""
    major, minor, _ = KUBERNETES_VERSION.removeprefix("v").split(".", 2)
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"{KUBERNETES_VERSION}+pyvolcano.{volcano.__version__}",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": sys.implementation.name,
        "platform": f"{sys.platform}/{machine}",
    }


def _aggregated_version(request: Request) -> str:
    """The version of aggregated discovery that is asked for before plain JSON, or empty."""
    for one in accept.parse(request.headers.get("accept", "")):
        for version in AGGREGATED_VERSIONS:
            if one.asks_for(AGGREGATED_KIND, AGGREGATED_GROUP, version):
                return version
        if one.is_json and "as" not in one.parameters:
            return ""
    return ""


def _content_type(form: str) -> str:
    if not form:
        return "application/json"
    return f"application/json;g={AGGREGATED_GROUP};v={form};as={AGGREGATED_KIND}"


def _api_versions() -> JsonObject:
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}],
    }


def _group_list(known: dict[str, dict[str, list[ServedKind]]], _form: str) -> JsonObject:
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [_group(group, versions) for group, versions in known.items()],
    }


def _group(group: str, versions: dict[str, list[ServedKind]], *, top: bool = False) -> JsonObject:
    listed = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    head = {"kind": "APIGroup", "apiVersion": "v1"} if top else {}
    return {**head, "name": group, "versions": listed, "preferredVersion": listed[0]}


def _resource_list(group_version: str, entries: list[ServedKind]) -> JsonObject:
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": [resource for entry in entries for resource in _resources(entry.kind)],
    }


def _resources(kind: Kind) -> list[JsonObject]:
    main: JsonObject = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(kind.verbs),
        **_names(kind),
    }
    below: list[JsonObject] = []
    for sub in subresources(kind):
        foreign = (sub.group, sub.version) != (kind.group, kind.version)
        below.append(
            {
                "name": f"{kind.plural}/{sub.name}",
                "singularName": "",
                "namespaced": kind.namespaced,
                **({"group": sub.group, "version": sub.version} if foreign else {}),
                "kind": sub.kind,
                "verbs": list(sub.verbs),
            }
        )
    return [main, *below]


def _names(kind: Kind) -> JsonObject:
    pairs = {"shortNames": list(kind.short_names), "categories": list(kind.categories)}
    return {key: value for key, value in pairs.items() if value}


def _aggregated(known: dict[str, dict[str, list[ServedKind]]], form: str) -> JsonObject:
    return {
        "kind": AGGREGATED_KIND,
        "apiVersion": f"{AGGREGATED_GROUP}/{form}",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": group, "creationTimestamp": None},
                "versions": [
                    {
                        "version": version,
                        "resources": [_aggregated_resource(entry.kind) for entry in entries],
                        "freshness": "Current",
                    }
                    for version, entries in versions.items()
                ],
            }
            for group, versions in known.items()
        ],
    }


def _aggregated_resource(kind: Kind) -> JsonObject:
    resource: JsonObject = {
        "resource": kind.plural,
        "responseKind": _gvk(kind.group, kind.version, kind.kind),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
        **_names(kind),
    }
    below = [
        {
            "subresource": sub.name,
            "responseKind": _gvk(sub.group, sub.version, sub.kind),
            "verbs": list(sub.verbs),
        }
        for sub in subresources(kind)
    ]
    return {**resource, "subresources": below} if below else resource


def _gvk(group: str, version: str, kind: str) -> JsonObject:
    return {"group": group, "version": version, "kind": kind}
