"""What the server itself writes into objects: identity, generation, status isolation. Pure."""

import os
from collections.abc import Mapping
from typing import Any

from volcano.api import kinds
from volcano.api.objects import JsonObject
from volcano.base.clock import timestamp
from volcano.server.resources import Resource

GENERATED_SUFFIX = 5
GENERATED_PREFIX_MAX = 63 - GENERATED_SUFFIX
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""What Kubernetes builds random suffixes from: no vowels, nothing that looks alike."""

_NOT_CLIENTS = ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion")
_KEPT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_STATUS_AT_CREATE: Mapping[str, JsonObject] = {
    "Namespace": {"phase": "Active"},
    "PersistentVolumeClaim": {"phase": "Pending"},
    "PersistentVolume": {"phase": "Pending"},
    "Service": {"loadBalancer": {}},
}
_KEEPS_STATUS = frozenset({kinds.NODE.kind})


def generated_name(prefix: str) -> str:
    """A name from `generateName`."""
    return prefix[:GENERATED_PREFIX_MAX] + random_suffix()


def random_suffix() -> str:
    """Five letters that nobody guesses or reads wrongly."""
    number = int.from_bytes(os.urandom(8))
    letters = []
    for _ in range(GENERATED_SUFFIX):
        number, index = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[index])
    return "".join(letters)


def new_uid() -> str:
    """A random UUID (RFC 9562, version 4); a third of what making a `uuid.UUID` first takes."""
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def prepare_create(resource: Resource, obj: JsonObject, namespace: str, now: float) -> None:
    """Give a new object its identity and drop what clients may not set, in place."""
    meta = obj["metadata"]
    for name in _NOT_CLIENTS:
        meta.pop(name, None)
    _drop_empty(meta)
    if resource.kind.namespaced:
        meta["namespace"] = namespace
    else:
        meta.pop("namespace", None)
    meta["uid"] = new_uid()
    meta["creationTimestamp"] = timestamp(now)
    if resource.counts_generation:
        meta["generation"] = 1
    else:
        meta.pop("generation", None)
    _first_status(resource, obj)


def _first_status(resource: Resource, obj: JsonObject) -> None:
    kind = resource.kind
    if not resource.has_status or (kind.group == "" and kind.kind in _KEEPS_STATUS):
        return
    obj.pop("status", None)
    if resource.custom:
        return
    if kind.group == "":
        first = _STATUS_AT_CREATE.get(kind.kind)
        if first is not None:
            obj["status"] = dict(first)
        elif kind.kind == "Pod":
            obj["status"] = {"phase": "Pending"}
        if kind.kind == "Namespace":
            obj["spec"] = {**(obj.get("spec") or {}), "finalizers": ["kubernetes"]}


def prepare_update(
    resource: Resource, new: JsonObject, old: JsonObject, subresource: str
) -> JsonObject:
    """The object to store for an update: what the caller may not change comes from `old`.

    `new` may be changed. With sub-resource `status` only the status (and, for core kinds, labels,
    annotations and finalizers) is taken from it.
    """
    if subresource == "status":
        new = _status_only(resource, new, old)
    elif resource.has_status:
        _keep(new, old, "status")
    if resource.kind == kinds.NAMESPACE and subresource != "finalize":
        _keep(new, old, "spec")
    meta, before = new["metadata"], old["metadata"]
    for name in _KEPT:
        _keep(meta, before, name)
    meta.pop("selfLink", None)
    _drop_empty(meta)
    _keep(meta, before, "generation")
    return new


def _drop_empty(meta: JsonObject) -> None:
    """Metadata has no empty maps and lists in Kubernetes, whoever wrote them."""
    for name in _NEVER_EMPTY:
        if name in meta and not meta[name]:
            del meta[name]


def _status_only(resource: Resource, new: JsonObject, old: JsonObject) -> JsonObject:
    merged = {key: value for key, value in old.items() if key != "status"}
    if "status" in new:
        merged["status"] = new["status"]
    meta = dict(old["metadata"])
    given = new.get("metadata", {})
    taken = ("managedFields",) if resource.custom else _STATUS_METADATA
    for name in taken:
        _keep(meta, given, name)
    merged["metadata"] = meta
    return merged


_NEVER_EMPTY = ("labels", "annotations", "finalizers", "ownerReferences")
_STATUS_METADATA = ("managedFields", "labels", "annotations", "finalizers")


def _keep(target: JsonObject, source: JsonObject, name: str) -> None:
    if name in source:
        target[name] = source[name]
    else:
        target.pop(name, None)


def count_generation(resource: Resource, new: JsonObject, old: JsonObject) -> None:
    """Raise the generation if what is wanted has changed; `new` has its defaults by now."""
    meta, before = new["metadata"], old["metadata"]
    if "generation" in before:
        generation = before["generation"]
        if resource.counts_generation and _desired_changed(resource, new, old):
            generation += 1
        meta["generation"] = generation
    else:
        meta.pop("generation", None)


def _desired_changed(resource: Resource, new: JsonObject, old: JsonObject) -> bool:
    if not resource.custom and ("spec" in new or "spec" in old):
        return bool(new.get("spec") != old.get("spec"))
    ignored = {"metadata", "status"} if resource.has_status else {"metadata"}
    return _without(new, ignored) != _without(old, ignored)


def _without(obj: JsonObject, names: set[str]) -> dict[str, Any]:
    return {key: value for key, value in obj.items() if key not in names}
