"""Objects as JSON: the alias for them and the few accessors everybody needs."""

from typing import Any

JsonObject = dict[str, Any]
"""A Kubernetes object, whole, as decoded from JSON. Never put back from a partial type."""


def metadata(obj: JsonObject) -> JsonObject:
    """The `metadata` of an object; an empty dict if it has none."""
    meta = obj.get("metadata")
    return meta if isinstance(meta, dict) else {}


def name_of(obj: JsonObject) -> str:
    """`metadata.name`, or an empty string."""
    return str(metadata(obj).get("name", ""))


def namespace_of(obj: JsonObject) -> str:
    """`metadata.namespace`; empty for cluster-scoped objects."""
    return str(metadata(obj).get("namespace", ""))


def uid_of(obj: JsonObject) -> str:
    """`metadata.uid`, or an empty string."""
    return str(metadata(obj).get("uid", ""))


def key_of(obj: JsonObject) -> str:
    """`namespace/name`, or the bare name of a cluster-scoped object: the work-queue key."""
    namespace = namespace_of(obj)
    return f"{namespace}/{name_of(obj)}" if namespace else name_of(obj)


def controller_of(obj: JsonObject) -> JsonObject | None:
    """The owner reference with `controller: true`, if there is one."""
    for reference in metadata(obj).get("ownerReferences") or ():
        if reference.get("controller"):
            return dict(reference)
    return None
