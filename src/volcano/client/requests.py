"""Builds the HTTP request of each API verb, as plain values.

Shared by the asynchronous `Client` and the blocking client of the command lines, so that paths,
query parameters and bodies are decided once. Nothing here sends.
"""

from enum import StrEnum
from typing import Any

from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject, name_of, namespace_of
from volcano.base.http import Request
from volcano.client import codec
from volcano.client.codec import Encode

PatchBody = JsonObject | list[JsonObject]
"""A merge, strategic or apply patch is an object; a JSON patch is a list of operations."""

_JSON = "application/json"
_Query = dict[str, str | bool | int | None]


class PatchType(StrEnum):
    """The patch formats of the Kubernetes API, by media type."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


def build(
    method: str,
    path: str,
    *,
    query: _Query | None = None,
    body: Any = None,
    content_type: str = _JSON,
    encode: Encode = codec.encode,
) -> Request:
    """One request; empty, false and absent query parameters are left out."""
    headers = {"accept": _JSON}
    payload = b""
    if body is not None:
        payload = encode(body)
        headers["content-type"] = content_type
    return Request(method, path, query=_query(query or {}), headers=headers, body=payload)


def _query(parameters: _Query) -> dict[str, str]:
    kept: dict[str, str] = {}
    for key, value in parameters.items():
        if value is None or value is False or value == "":
            continue
        kept[key] = "true" if value is True else str(value)
    return kept


def get(kind: Kind, name: str, namespace: str = "", *, subresource: str = "") -> Request:
    """Read one object or one of its sub-resources."""
    return build("GET", _object_path(kind, namespace, name, subresource))


def list_page(
    kind: Kind,
    namespace: str = "",
    *,
    label_selector: str = "",
    field_selector: str = "",
    resource_version: str = "",
    limit: int = 0,
    continue_token: str = "",
) -> Request:
    """Read one page of a collection; a page that continues must not name a resourceVersion."""
    query: _Query = {
        "labelSelector": label_selector,
        "fieldSelector": field_selector,
        "resourceVersion": "" if continue_token else resource_version,
        "limit": limit or None,
        "continue": continue_token,
    }
    return build("GET", kind.path(namespace), query=query)


def watch(
    kind: Kind,
    namespace: str = "",
    *,
    resource_version: str = "",
    label_selector: str = "",
    field_selector: str = "",
    timeout_seconds: int = 0,
) -> Request:
    """Follow a collection, bookmarks asked for."""
    query: _Query = {
        "watch": True,
        "allowWatchBookmarks": True,
        "resourceVersion": resource_version,
        "labelSelector": label_selector,
        "fieldSelector": field_selector,
        "timeoutSeconds": timeout_seconds or None,
    }
    return build("GET", kind.path(namespace), query=query)


def create(
    kind: Kind,
    obj: JsonObject,
    namespace: str = "",
    *,
    dry_run: bool = False,
    field_validation: str = "",
    encode: Encode = codec.encode,
) -> Request:
    """Create an object; without `namespace` in the one the object names."""
    query: _Query = {"dryRun": "All" if dry_run else "", "fieldValidation": field_validation}
    path = kind.path(namespace or namespace_of(obj))
    return build("POST", path, query=query, body=obj, encode=encode)


def update(kind: Kind, obj: JsonObject, *, subresource: str = "") -> Request:
    """Replace an object or one of its sub-resources."""
    return build("PUT", _object_path(kind, namespace_of(obj), name_of(obj), subresource), body=obj)


def patch(
    kind: Kind,
    name: str,
    body: PatchBody,
    namespace: str = "",
    *,
    subresource: str = "",
    patch_type: PatchType = PatchType.MERGE,
    field_manager: str = "",
    force: bool = False,
    encode: Encode = codec.encode,
) -> Request:
    """Change an object or one of its sub-resources; a list is the body of a JSON patch."""
    return build(
        "PATCH",
        _object_path(kind, namespace, name, subresource),
        query={"fieldManager": field_manager, "force": force},
        body=body,
        content_type=patch_type.value,
        encode=encode,
    )


def delete(
    kind: Kind,
    name: str,
    namespace: str = "",
    *,
    grace_seconds: int | None = None,
    propagation: str = "",
    uid: str = "",
    resource_version: str = "",
    encode: Encode = codec.encode,
) -> Request:
    """Delete an object, optionally only the one with that uid or resourceVersion."""
    options: JsonObject = {"kind": "DeleteOptions", "apiVersion": "v1"}
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    if propagation:
        options["propagationPolicy"] = propagation
    preconditions = {"uid": uid, "resourceVersion": resource_version}
    if uid or resource_version:
        options["preconditions"] = {key: value for key, value in preconditions.items() if value}
    return build("DELETE", _object_path(kind, namespace, name), body=options, encode=encode)


def delete_collection(
    kind: Kind, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
) -> Request:
    """Delete all objects of a kind that match, in one namespace."""
    query: _Query = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return build("DELETE", kind.path(namespace), query=query)


def create_subresource(
    kind: Kind, name: str, subresource: str, body: JsonObject, namespace: str = ""
) -> Request:
    """Post to a sub-resource: binding, eviction, token."""
    return build("POST", _object_path(kind, namespace, name, subresource), body=body)


def pod_log(
    name: str,
    namespace: str,
    *,
    container: str = "",
    follow: bool = False,
    previous: bool = False,
    tail_lines: int | None = None,
) -> Request:
    """Read a container's log; with `follow` until the container has ended."""
    query: _Query = {
        "container": container,
        "follow": follow,
        "previous": previous,
        "tailLines": tail_lines,
    }
    request = build("GET", f"/api/v1/namespaces/{namespace}/pods/{name}/log", query=query)
    return request._replace(headers={"accept": "*/*"})


def _object_path(kind: Kind, namespace: str, name: str, subresource: str = "") -> str:
    if not name:
        raise ValueError(f"a request for one {kind.kind} needs its name; it is empty")
    return kind.path(namespace, name, subresource)
