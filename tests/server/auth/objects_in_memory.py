"""A Lookup over a dict, and one-line builders of the objects that access control reads."""

from collections.abc import Iterable

from volcano.api import kinds, objects
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.base.identity import UserInfo, service_account


class Objects:
    """The Lookup contract, plus `put` and `remove`."""

    def __init__(self, *pairs: tuple[Kind, JsonObject]) -> None:
        self.held: dict[tuple[Kind, str], JsonObject] = {}
        self.reads = 0
        for kind, obj in pairs:
            self.put(kind, obj)

    def put(self, kind: Kind, obj: JsonObject) -> str:
        key = objects.key_of(obj)
        self.held[(kind, key)] = obj
        return key

    def remove(self, kind: Kind, key: str) -> None:
        del self.held[(kind, key)]

    def get(self, kind: Kind, namespace: str, name: str) -> JsonObject | None:
        self.reads += 1
        return self.held.get((kind, f"{namespace}/{name}" if namespace else name))

    def list(self, kind: Kind, namespace: str = "") -> Iterable[JsonObject]:
        for (held_kind, _), obj in list(self.held.items()):
            if held_kind is kind and namespace in ("", objects.namespace_of(obj)):
                yield obj


def account(namespace: str, name: str, uid: str = "account-1") -> tuple[Kind, JsonObject]:
    return kinds.SERVICE_ACCOUNT, _object(name, namespace, uid)


def pod(
    namespace: str, name: str, account_name: str, uid: str = "pod-1"
) -> tuple[Kind, JsonObject]:
    obj = _object(name, namespace, uid)
    obj["spec"] = {"serviceAccountName": account_name, "nodeName": "n1"}
    return kinds.POD, obj


def rules(verbs: str, resources: str, groups: str = "", names: str = "") -> JsonObject:
    """`rules("get list", "pods jobs", "|batch")`: words; groups separated by `|`."""
    rule: JsonObject = {
        "verbs": verbs.split(),
        "resources": resources.split(),
        "apiGroups": groups.split("|"),
    }
    if names:
        rule["resourceNames"] = names.split()
    return rule


def role(
    name: str, *role_rules: JsonObject, namespace: str = "", labels: dict[str, str] | None = None
) -> tuple[Kind, JsonObject]:
    obj = _object(name, namespace, "")
    obj["metadata"]["labels"] = labels or {}
    obj["rules"] = list(role_rules)
    return (kinds.ROLE if namespace else kinds.CLUSTER_ROLE), obj


def binding(
    name: str, role_name: str, *subjects: JsonObject, namespace: str = "", kind: str = "ClusterRole"
) -> tuple[Kind, JsonObject]:
    obj = _object(name, namespace, "")
    obj["roleRef"] = {"apiGroup": kinds.RBAC, "kind": kind, "name": role_name}
    obj["subjects"] = list(subjects)
    return (kinds.ROLE_BINDING if namespace else kinds.CLUSTER_ROLE_BINDING), obj


def to_user(name: str) -> JsonObject:
    return {"apiGroup": kinds.RBAC, "kind": "User", "name": name}


def to_group(name: str) -> JsonObject:
    return {"apiGroup": kinds.RBAC, "kind": "Group", "name": name}


def to_account(namespace: str, name: str) -> JsonObject:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def user(name: str, *groups: str) -> UserInfo:
    return UserInfo(name, groups=(*groups, "system:authenticated"))


def pod_user(namespace: str, name: str) -> UserInfo:
    return service_account(namespace, name)


def _object(name: str, namespace: str, uid: str) -> JsonObject:
    meta: JsonObject = {"name": name}
    if namespace:
        meta["namespace"] = namespace
    if uid:
        meta["uid"] = uid
    return {"metadata": meta}
