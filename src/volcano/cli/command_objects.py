"""Command objects: how suspend, resume, open and close reach the controllers (spec cli, 1.5)."""

from volcano.api import kinds
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject, name_of, namespace_of, uid_of


def command_for(kind: Kind, target: JsonObject, action: str) -> JsonObject:
    """The Command that asks the controllers for `action` on `target`; it goes with its target."""
    reference = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": name_of(target),
        "uid": uid_of(target),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    meta: JsonObject = {
        "generateName": f"{name_of(target)}-{action.lower()}-",
        "ownerReferences": [reference],
    }
    if kind.namespaced:
        meta["namespace"] = namespace_of(target)
    return {
        "apiVersion": kinds.COMMAND.api_version,
        "kind": kinds.COMMAND.kind,
        "metadata": meta,
        "action": action,
        "target": reference,
    }
