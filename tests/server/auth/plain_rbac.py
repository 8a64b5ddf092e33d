"""RBAC the slow, obvious way: reads every binding and role for every question."""

from volcano.api import kinds
from volcano.base.identity import UserInfo
from volcano.server.auth.rules import Attributes

from .objects_in_memory import Objects


def allowed(held: Objects, user: UserInfo, wanted: Attributes) -> bool:
    if "system:masters" in user.groups:
        return True
    for kind in (kinds.CLUSTER_ROLE_BINDING, kinds.ROLE_BINDING):
        for binding in held.list(kind):
            namespace = binding["metadata"].get("namespace", "")
            counts = kind is kinds.CLUSTER_ROLE_BINDING or (
                wanted.namespace == namespace and not wanted.path
            )
            if counts and any(_is(s, user, namespace) for s in binding["subjects"]):
                for rule in _rules(held, binding["roleRef"], namespace):
                    if _matches(rule, wanted):
                        return True
    return False


def _is(subject, user: UserInfo, namespace: str) -> bool:
    if subject["kind"] == "User":
        return subject["name"] == user.name
    if subject["kind"] == "Group":
        return subject["name"] in user.groups
    owner = subject.get("namespace", namespace)
    return user.name == f"system:serviceaccount:{owner}:{subject['name']}"


def _rules(held: Objects, reference, namespace: str):
    if reference["kind"] == "Role":
        role = held.get(kinds.ROLE, namespace, reference["name"])
        return role["rules"] if role else []
    role = held.get(kinds.CLUSTER_ROLE, "", reference["name"])
    if role is None:
        return []
    if "aggregationRule" not in role:
        return role["rules"]
    return [
        rule
        for other in held.list(kinds.CLUSTER_ROLE)
        if "aggregationRule" not in other
        for selector in role["aggregationRule"]["clusterRoleSelectors"]
        if selector["matchLabels"].items() <= other["metadata"]["labels"].items()
        for rule in other["rules"]
    ]


def _matches(rule, wanted: Attributes) -> bool:
    if not {"*", wanted.verb} & set(rule["verbs"]):
        return False
    if wanted.path:
        return any(
            path == wanted.path or (path[-1] == "*" and wanted.path.startswith(path[:-1]))
            for path in rule.get("nonResourceURLs", ())
        )
    names = {"*", wanted.full_resource}
    if wanted.subresource:
        names.add(f"*/{wanted.subresource}")
    return bool(
        {"*", wanted.group} & set(rule.get("apiGroups", ()))
        and names & set(rule.get("resources", ()))
        and (not rule.get("resourceNames") or wanted.name in rule["resourceNames"])
    )
