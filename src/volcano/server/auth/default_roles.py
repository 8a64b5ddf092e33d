"""The objects of access control that a cluster starts with.

The roles every Kubernetes user knows (cluster-admin, admin, edit, view, discovery), with Volcano's
kinds in them, and one role with its ServiceAccount for each of our components. They are ordinary
objects: `objects()` lists them in the order of creation, bootstrap creates what is missing. The
components' rules follow the spec (deploy, section 4) so far as the kinds are served here.
"""

from collections.abc import Iterable, Sequence

from volcano.api import kinds
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.base.identity import AUTHENTICATED, MASTERS, UNAUTHENTICATED

SYSTEM_NAMESPACE = "volcano-system"
NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease", SYSTEM_NAMESPACE)

SCHEDULER = "volcano-scheduler"
CONTROLLERS = "volcano-controllers"
NODE = "volcano-node"
COMPONENTS = (SCHEDULER, CONTROLLERS, NODE)
"""ServiceAccounts in `SYSTEM_NAMESPACE`."""

READ = ("get", "list", "watch")
CHANGE = ("create", "delete", "deletecollection", "patch", "update")
ALL = ("*",)
AUTOUPDATE = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
BOOTSTRAP = {"kubernetes.io/bootstrapping": "rbac-defaults"}
AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"
VOLCANO_GROUPS = tuple(dict.fromkeys(kind.group for kind in kinds.VOLCANO_KINDS))
AUTHORIZATION = "authorization.k8s.io"
AUTHENTICATION = "authentication.k8s.io"


def objects() -> list[tuple[Kind, JsonObject]]:
    """Namespaces, ServiceAccounts, roles and bindings, in the order of creation."""
    namespaces = [(kinds.NAMESPACE, _object(kinds.NAMESPACE, name)) for name in NAMESPACES]
    accounts = [(kinds.SERVICE_ACCOUNT, _account(name)) for name in COMPONENTS]
    roles = [(kinds.CLUSTER_ROLE, role) for role in cluster_roles()]
    bindings = [(kinds.CLUSTER_ROLE_BINDING, binding) for binding in cluster_role_bindings()]
    return [*namespaces, *accounts, *roles, *bindings]


def cluster_roles() -> list[JsonObject]:
    """Every ClusterRole of the start."""
    parts = _aggregated_parts()
    return [
        _role("cluster-admin", [rule(ALL, ("*",), "*"), _path_rule(ALL, "*")]),
        _aggregated("admin", parts, ("admin", "edit", "view")),
        _aggregated("edit", parts, ("edit", "view")),
        _aggregated("view", parts, ("view",)),
        *parts,
        *_everybodys_roles(),
        _role(SCHEDULER, _scheduler_rules()),
        _role(CONTROLLERS, _controllers_rules()),
        _role(NODE, _node_rules()),
    ]


def _aggregated_parts() -> list[JsonObject]:
    return [
        _role("system:aggregate-to-admin", _admin_rules(), {f"{AGGREGATE}admin": "true"}),
        _role("system:aggregate-to-edit", _edit_rules(), {f"{AGGREGATE}edit": "true"}),
        _role("system:aggregate-to-view", _view_rules(), {f"{AGGREGATE}view": "true"}),
        _role("volcano:aggregate-to-edit", _volcano_edit_rules(), {f"{AGGREGATE}edit": "true"}),
        _role("volcano:aggregate-to-view", _volcano_view_rules(), {f"{AGGREGATE}view": "true"}),
    ]


def cluster_role_bindings() -> list[JsonObject]:
    """Every ClusterRoleBinding of the start."""
    return [
        _binding("cluster-admin", "cluster-admin", [_group(MASTERS)]),
        _binding("system:basic-user", "system:basic-user", [_group(AUTHENTICATED)]),
        _binding("system:discovery", "system:discovery", [_group(AUTHENTICATED)]),
        _binding(
            "system:public-info-viewer",
            "system:public-info-viewer",
            [_group(AUTHENTICATED), _group(UNAUTHENTICATED)],
        ),
        _binding("volcano:queue-viewer", "volcano:queue-viewer", [_group(AUTHENTICATED)]),
        *(_binding(f"{name}-role", name, [_subject(name)]) for name in COMPONENTS),
    ]


def rule(verbs: Sequence[str], groups: Sequence[str], *resources: str) -> JsonObject:
    """A PolicyRule about resources."""
    return {"verbs": list(verbs), "apiGroups": list(groups), "resources": list(resources)}


def _path_rule(verbs: Sequence[str], *paths: str) -> JsonObject:
    return {"verbs": list(verbs), "nonResourceURLs": list(paths)}


def _rules(verbs: Sequence[str], served: Iterable[Kind], *subresources: str) -> list[JsonObject]:
    """One rule per API group for some kinds, and the sub-resources named as `plural/sub`."""
    by_group: dict[str, list[str]] = {}
    for kind in served:
        names = [f"{kind.plural}/{sub}" for sub in kind.subresources if sub in subresources]
        by_group.setdefault(kind.group, []).extend([kind.plural, *names])
    return [rule(verbs, (group,), *names) for group, names in by_group.items()]


_VIEWED = tuple(
    kind
    for kind in kinds.CORE_KINDS
    if kind.namespaced
    and kind.group not in (kinds.RBAC, AUTHORIZATION, AUTHENTICATION)
    and kind not in (kinds.SECRET, kinds.LEASE)
)
_EDITED = tuple(
    kind
    for kind in _VIEWED
    if kind not in (kinds.RESOURCE_QUOTA, kinds.LIMIT_RANGE, kinds.ENDPOINT_SLICE, kinds.ENDPOINTS)
)
_VOLCANO_NAMESPACED = tuple(kind for kind in kinds.VOLCANO_KINDS if kind.namespaced)
_VOLCANO_CLUSTER = tuple(kind for kind in kinds.VOLCANO_KINDS if not kind.namespaced)


def _view_rules() -> list[JsonObject]:
    return [
        *_rules(READ, _VIEWED, "status", "scale", "log"),
        rule(READ, ("",), "namespaces", "namespaces/status"),
    ]


def _edit_rules() -> list[JsonObject]:
    return [
        *_rules(CHANGE, (*_EDITED, kinds.SECRET, kinds.LEASE), "scale"),
        rule(READ, ("",), "secrets"),
        rule(READ, (kinds.LEASE.group,), "leases"),
        rule(("get", "create"), ("",), "pods/attach", "pods/exec", "pods/portforward"),
        rule(("create",), ("",), "pods/eviction", "serviceaccounts/token"),
        rule(("impersonate",), ("",), "serviceaccounts"),
    ]


def _admin_rules() -> list[JsonObject]:
    return [
        rule((*READ, *CHANGE), (kinds.RBAC,), "roles", "rolebindings"),
        rule(("create",), (AUTHORIZATION,), "localsubjectaccessreviews"),
    ]


def _volcano_view_rules() -> list[JsonObject]:
    return [
        *_rules(READ, _VOLCANO_NAMESPACED, "status"),
        *_rules(READ, _VOLCANO_CLUSTER, "status"),
    ]


def _volcano_edit_rules() -> list[JsonObject]:
    return _rules(CHANGE, _VOLCANO_NAMESPACED)


def _everybodys_roles() -> list[JsonObject]:
    reviews = ("selfsubjectaccessreviews", "selfsubjectrulesreviews")
    public = ("/healthz", "/livez", "/readyz", "/version", "/version/")
    discovery = ("/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", *public)
    return [
        _role(
            "system:basic-user",
            [
                rule(("create",), (AUTHORIZATION,), *reviews),
                rule(("create",), (AUTHENTICATION,), "selfsubjectreviews"),
            ],
        ),
        _role("system:discovery", [_path_rule(("get",), *discovery)]),
        _role("system:public-info-viewer", [_path_rule(("get",), *public)]),
        # Queues have no namespace, so `view` in a namespace does not show them; who may submit a
        # job must be able to see where it waits.
        _role("volcano:queue-viewer", _rules(READ, (kinds.QUEUE,), "status")),
    ]


def _scheduler_rules() -> list[JsonObject]:
    watched = (
        kinds.NAMESPACE,
        kinds.SERVICE,
        kinds.REPLICATION_CONTROLLER,
        kinds.RESOURCE_QUOTA,
        kinds.STORAGE_CLASS,
        kinds.POD_DISRUPTION_BUDGET,
        kinds.PRIORITY_CLASS,
        kinds.DAEMON_SET,
        kinds.REPLICA_SET,
        kinds.STATEFUL_SET,
        kinds.CUSTOM_RESOURCE_DEFINITION,
        kinds.PERSISTENT_VOLUME,
        kinds.PERSISTENT_VOLUME_CLAIM,
        kinds.NUMATOPOLOGY,
        kinds.HYPER_NODE,
        kinds.NODE_SHARD,
        kinds.CONFIG_MAP,
        kinds.JOB,
    )
    return [
        *_rules(READ, watched),
        *_rules((*READ, "update", "patch"), (kinds.NODE, kinds.POD_GROUP, kinds.QUEUE), "status"),
        rule(("update", "patch"), (kinds.POD_GROUP.group,), "podgroups/status"),
        rule((*READ, "patch", "delete"), ("",), "pods"),
        rule(("create",), ("",), "pods/binding", "pods/eviction"),
        rule(("update", "patch"), ("",), "pods/status"),
        rule(("create",), (kinds.QUEUE.group,), "queues"),
        *_component_rules(),
    ]


def _controllers_rules() -> list[JsonObject]:
    return [
        # Garbage collection follows owner references of any kind, also of CRDs yet unknown.
        rule((*READ, "delete", "patch", "update"), ("*",), "*"),
        rule(
            ("create",),
            ("",),
            *("pods", "services", "configmaps", "secrets", "persistentvolumeclaims"),
            *("serviceaccounts", "serviceaccounts/token", "pods/eviction"),
        ),
        rule(("create",), VOLCANO_GROUPS, "*"),
        rule(("create", "delete"), (kinds.NETWORK_POLICY.group,), "networkpolicies"),
        rule(("create", "delete"), (kinds.PRIORITY_CLASS.group,), "priorityclasses"),
        *_component_rules(),
    ]


def _node_rules() -> list[JsonObject]:
    return [
        rule((*READ, "create", "delete", "update", "patch"), ("",), "nodes"),
        rule(("update", "patch"), ("",), "nodes/status", "pods/status"),
        rule((*READ, "delete"), ("",), "pods"),
        rule(
            READ,
            ("",),
            *("configmaps", "secrets", "services", "namespaces", "serviceaccounts"),
            *("persistentvolumes", "persistentvolumeclaims"),
        ),
        rule(("create",), ("",), "serviceaccounts/token"),
        *_component_rules(),
    ]


def _component_rules() -> list[JsonObject]:
    """What every component does: events and leases."""
    return [
        rule(
            ("create", "get", "list", "watch", "update", "patch"), ("", "events.k8s.io"), "events"
        ),
        rule(
            ("create", "get", "list", "watch", "update", "patch", "delete"),
            (kinds.LEASE.group,),
            "leases",
        ),
    ]


def _object(kind: Kind, name: str, **parts: object) -> JsonObject:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name},
        **parts,
    }


def _account(name: str) -> JsonObject:
    account = _object(kinds.SERVICE_ACCOUNT, name)
    account["metadata"]["namespace"] = SYSTEM_NAMESPACE
    return account


def _role(
    name: str, rules: Sequence[JsonObject], labels: dict[str, str] | None = None
) -> JsonObject:
    role = _object(kinds.CLUSTER_ROLE, name)
    role["metadata"].update(labels={**BOOTSTRAP, **(labels or {})}, annotations=dict(AUTOUPDATE))
    role["rules"] = list(rules)
    return role


def _aggregated(name: str, parts: Sequence[JsonObject], chosen: Sequence[str]) -> JsonObject:
    """A role that holds what is labelled for it, and goes itself into the next wider one.

    The rules written here are for people who look; the authorizer puts them together itself.
    """
    labels = {f"{AGGREGATE}{target}" for target in chosen}
    held = [part for part in parts if labels & part["metadata"]["labels"].keys()]
    rules = [dict(one) for part in held for one in part["rules"]]
    wider = {"edit": "admin", "view": "edit"}.get(name)
    role = _role(name, rules, {f"{AGGREGATE}{wider}": "true"} if wider else None)
    role["aggregationRule"] = {
        "clusterRoleSelectors": [{"matchLabels": {f"{AGGREGATE}{name}": "true"}}]
    }
    return role


def _binding(name: str, role: str, subjects: Sequence[JsonObject]) -> JsonObject:
    binding = _object(kinds.CLUSTER_ROLE_BINDING, name)
    binding["metadata"].update(labels=dict(BOOTSTRAP), annotations=dict(AUTOUPDATE))
    binding["roleRef"] = {"apiGroup": kinds.RBAC, "kind": "ClusterRole", "name": role}
    binding["subjects"] = list(subjects)
    return binding


def _group(name: str) -> JsonObject:
    return {"apiGroup": kinds.RBAC, "kind": "Group", "name": name}


def _subject(name: str) -> JsonObject:
    return {"kind": "ServiceAccount", "name": name, "namespace": SYSTEM_NAMESPACE}
