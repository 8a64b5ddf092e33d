"""Schemas of the core kinds: field names, types, list-map keys and merge keys, no descriptions.

Data derived from the OpenAPI v3 documents of one Kubernetes version by `scripts/core_schemas.py`.
Strict validation, `kubectl explain`, strategic merge, server-side apply and the CRDs of the
Volcano kinds (`volcano.api.crds`) all read the same definitions.

A reference is written `{"$ref": REF}`, or `{"allOf": [{"$ref": REF}], ...}` where something stands
beside it; `reference_of` reads both. Schemas are shared: callers must not change them.
"""

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from types import MappingProxyType

import msgspec

from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject

KUBERNETES_VERSION = "v1.36.3"
"""The Kubernetes release whose kube-apiserver published the schemas."""

REFERENCE_PREFIX = "#/components/schemas/"

INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"


@lru_cache(maxsize=1)
def definitions() -> Mapping[str, JsonObject]:
    """All definitions by name, e.g. `io.k8s.api.core.v1.Pod`; read at the first call."""
    data = resources.files("volcano.api").joinpath("data", "core_schemas.json").read_bytes()
    return MappingProxyType(msgspec.json.decode(data, type=dict[str, JsonObject]))


@lru_cache(maxsize=1)
def _names_by_kind() -> Mapping[tuple[str, str, str], str]:
    found = {}
    for name, schema in definitions().items():
        gvks = schema.get("x-kubernetes-group-version-kind", ())
        # Types shared by all groups (DeleteOptions, WatchEvent, Status) are no kind of one group.
        if len(gvks) == 1:
            gvk = gvks[0]
            found[gvk["group"], gvk["version"], gvk["kind"]] = name
    return MappingProxyType(found)


def definition_name(kind: Kind) -> str:
    """Name of the definition of a core kind.

    Raises:
        KeyError: the kind is no core kind.
    """
    return _names_by_kind()[kind.group, kind.version, kind.kind]


def core_schema(kind: Kind) -> JsonObject:
    """The definition of a core kind, with `x-kubernetes-group-version-kind`.

    Raises:
        KeyError: the kind is no core kind.
    """
    return definitions()[definition_name(kind)]


def reference_of(schema: JsonObject) -> str | None:
    """Name of the definition that a schema refers to, or None if it stands by itself."""
    reference = schema.get("$ref")
    if reference is None and "allOf" in schema:
        reference = schema["allOf"][0].get("$ref")
    return None if reference is None else str(reference).removeprefix(REFERENCE_PREFIX)
