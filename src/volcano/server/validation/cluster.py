"""Kinds of policy and of the cluster: priority classes, budgets, leases, RBAC, storage, CRDs."""

from collections.abc import Mapping

from volcano.api.objects import JsonObject
from volcano.base.errors import Cause
from volcano.server.schema.causes import forbidden, invalid, not_supported, required
from volcano.server.validation.core import IMMUTABLE
from volcano.server.validation.metadata import dns_name, validate_selector
from volcano.server.validation.texts import (
    Problems,
    dns_label_1035,
    dns_subdomain,
    path_segment,
    qualified_name,
)
from volcano.server.validation.workloads import int_or_percent, not_over_all

RBAC = "rbac.authorization.k8s.io"
_USER_PRIORITY_MAX = 1_000_000_000
_SYSTEM_PRIORITIES: Mapping[str, int] = {
    "system-node-critical": 2_000_001_000,
    "system-cluster-critical": 2_000_000_000,
}
_STORAGE_IMMUTABLE = ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")


def validate_priority_class(obj: JsonObject, out: list[Cause]) -> None:
    """A PriorityClass: the system's own names and values are reserved."""
    name, value = (obj.get("metadata") or {}).get("name", ""), obj.get("value", 0)
    if name.startswith("system-"):
        if _SYSTEM_PRIORITIES.get(name) != value or obj.get("globalDefault"):
            problem = (
                f"value of {name} PriorityClass must be {_SYSTEM_PRIORITIES[name]}"
                if name in _SYSTEM_PRIORITIES
                else f"{name} is not a known system priority class"
            )
            detail = (
                "priority class names with 'system-' prefix are reserved for system use only. "
                f"error: {problem}"
            )
            out.append(forbidden("metadata.name", detail))
    elif value > _USER_PRIORITY_MAX:
        detail = f"maximum allowed value of a user defined priority is {_USER_PRIORITY_MAX}"
        out.append(forbidden("value", detail))
    policies = ("PreemptLowerPriority", "Never")
    policy = obj.get("preemptionPolicy", "PreemptLowerPriority")
    if policy not in policies:
        out.append(not_supported("preemptionPolicy", policy, policies))


def priority_class_update(new: JsonObject, old: JsonObject, out: list[Cause]) -> None:
    """Value and preemption policy stay."""
    if new.get("value", 0) != old.get("value", 0):
        out.append(forbidden("value", "may not be changed in an update."))
    if new.get("preemptionPolicy") != old.get("preemptionPolicy"):
        out.append(invalid("preemptionPolicy", new.get("preemptionPolicy"), IMMUTABLE))


def validate_budget(obj: JsonObject, out: list[Cause]) -> None:
    """A PodDisruptionBudget: one bound, by count or share."""
    spec = obj.get("spec") or {}
    if "minAvailable" in spec and "maxUnavailable" in spec:
        detail = "minAvailable and maxUnavailable cannot be both set"
        out.append(invalid("spec", spec, detail))
    for name in ("minAvailable", "maxUnavailable"):
        if name in spec:
            int_or_percent(spec[name], f"spec.{name}", out)
            not_over_all(spec[name], f"spec.{name}", out)
    validate_selector(spec.get("selector"), "spec.selector", out)
    policies = ("AlwaysAllow", "IfHealthyBudget")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in policies:
        out.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, policies))


def validate_lease(obj: JsonObject, out: list[Cause]) -> None:
    """A Lease's duration and count of holders."""
    spec = obj.get("spec") or {}
    seconds, changes = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if seconds is not None and seconds <= 0:
        out.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    if changes is not None and changes < 0:
        detail = "must be greater than or equal to 0"
        out.append(invalid("spec.leaseTransitions", changes, detail))


def validate_role(obj: JsonObject, out: list[Cause]) -> None:
    """The rules of a Role."""
    _rules(obj, out, namespaced=True)


def validate_cluster_role(obj: JsonObject, out: list[Cause]) -> None:
    """The rules of a ClusterRole, and the selectors it is aggregated by."""
    _rules(obj, out, namespaced=False)
    aggregation = obj.get("aggregationRule")
    if aggregation is not None:
        path = "aggregationRule.clusterRoleSelectors"
        selectors = aggregation.get("clusterRoleSelectors") or ()
        if not selectors:
            detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            out.append(required(path, detail))
        for index, selector in enumerate(selectors):
            validate_selector(selector, f"{path}[{index}]", out)


def _rules(obj: JsonObject, out: list[Cause], *, namespaced: bool) -> None:
    for index, rule in enumerate(obj.get("rules") or ()):
        path = f"rules[{index}]"
        if not rule.get("verbs"):
            out.append(required(f"{path}.verbs", "verbs must contain at least one value"))
        urls = rule.get("nonResourceURLs")
        if urls:
            where = f"{path}.nonResourceURLs"
            if namespaced:
                detail = "namespaced rules cannot apply to non-resource URLs"
                out.append(invalid(where, urls, detail))
            if any(rule.get(key) for key in ("apiGroups", "resources", "resourceNames")):
                detail = "rules cannot apply to both regular resources and non-resource URLs"
                out.append(invalid(where, urls, detail))
            continue
        for key, word in (("apiGroups", "api group"), ("resources", "resource")):
            if not rule.get(key):
                detail = f"resource rules must supply at least one {word}"
                out.append(required(f"{path}.{key}", detail))


def validate_role_binding(obj: JsonObject, out: list[Cause]) -> None:
    """A RoleBinding."""
    _binding(obj, ("Role", "ClusterRole"), out, namespaced=True)


def validate_cluster_role_binding(obj: JsonObject, out: list[Cause]) -> None:
    """A ClusterRoleBinding."""
    _binding(obj, ("ClusterRole",), out, namespaced=False)


def _binding(
    obj: JsonObject, kinds: tuple[str, ...], out: list[Cause], *, namespaced: bool
) -> None:
    reference = obj.get("roleRef") or {}
    if reference.get("apiGroup") != RBAC:
        out.append(not_supported("roleRef.apiGroup", reference.get("apiGroup", ""), (RBAC,)))
    if reference.get("kind") not in kinds:
        out.append(not_supported("roleRef.kind", reference.get("kind", ""), kinds))
    if not reference.get("name"):
        out.append(required("roleRef.name"))
    else:
        dns_name("roleRef.name", reference["name"], out, path_segment)
    for index, subject in enumerate(obj.get("subjects") or ()):
        _subject(subject, f"subjects[{index}]", out, namespaced=namespaced)


def _subject(subject: JsonObject, path: str, out: list[Cause], *, namespaced: bool) -> None:
    name, kind = subject.get("name", ""), subject.get("kind", "")
    group = subject.get("apiGroup", "")
    if not name:
        out.append(required(f"{path}.name"))
    if kind == "ServiceAccount":
        if name:
            dns_name(f"{path}.name", name, out, dns_subdomain)
        if group:
            out.append(not_supported(f"{path}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            out.append(required(f"{path}.namespace"))
    elif kind in ("User", "Group"):
        if group != RBAC:
            out.append(not_supported(f"{path}.apiGroup", group, (RBAC,)))
    else:
        out.append(not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group")))


def binding_update(new: JsonObject, old: JsonObject, out: list[Cause]) -> None:
    """A binding keeps the role it refers to."""
    if new.get("roleRef") != old.get("roleRef"):
        out.append(invalid("roleRef", new.get("roleRef"), "cannot change roleRef"))


def validate_storage_class(obj: JsonObject, out: list[Cause]) -> None:
    """A StorageClass."""
    provisioner = obj.get("provisioner", "")
    if not provisioner:
        out.append(required("provisioner"))
    else:
        dns_name("provisioner", provisioner.lower(), out, qualified_name)
    for key, values in (
        ("reclaimPolicy", ("Delete", "Retain")),
        ("volumeBindingMode", ("Immediate", "WaitForFirstConsumer")),
    ):
        if obj.get(key) not in values:
            out.append(not_supported(key, obj.get(key, ""), values))


def storage_class_update(new: JsonObject, old: JsonObject, out: list[Cause]) -> None:
    """What volumes were made by stays."""
    out += [
        invalid(key, new.get(key), IMMUTABLE)
        for key in _STORAGE_IMMUTABLE
        if new.get(key) != old.get(key)
    ]


def validate_definition(obj: JsonObject, out: list[Cause]) -> None:
    """A CustomResourceDefinition: names, versions, a schema for each version."""
    spec = obj.get("spec") or {}
    names, group = spec.get("names") or {}, spec.get("group", "")
    expected = f"{names.get('plural', '')}.{group}"
    name = (obj.get("metadata") or {}).get("name", "")
    if name != expected:
        detail = 'must be spec.names.plural+"."+spec.group'
        out.append(invalid("metadata.name", name, detail))
    if not group:
        out.append(required("spec.group"))
    elif dns_subdomain(group):
        out.append(invalid("spec.group", group, ",".join(dns_subdomain(group))))
    elif "." not in group:
        out.append(invalid("spec.group", group, "should be a domain with at least one dot"))
    scopes = ("Cluster", "Namespaced")
    if not spec.get("scope"):
        out.append(required("spec.scope"))
    elif spec["scope"] not in scopes:
        out.append(not_supported("spec.scope", spec["scope"], scopes))
    _versions(spec.get("versions") or [], out)
    _names(names, out)


def _versions(versions: list[JsonObject], out: list[Cause]) -> None:
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}]"
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            out.append(required(f"{path}.schema.openAPIV3Schema"))
        problems: Problems = dns_label_1035(version.get("name", ""))
        if problems:
            out.append(invalid(f"{path}.name", version.get("name", ""), ",".join(problems)))
    names = [version.get("name") for version in versions]
    if len(set(names)) < len(names):
        detail = "must contain unique version names"
        out.append(invalid("spec.versions", versions, detail))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        out.append(invalid("spec.versions", versions, detail))


def _names(names: JsonObject, out: list[Cause]) -> None:
    for key in ("plural", "singular", "kind", "listKind"):
        value = names.get(key, "")
        path = f"spec.names.{key}"
        if not value:
            out.append(required(path))
            continue
        problems = ",".join(dns_label_1035(value.lower() if "ind" in key else value))
        if problems and key in ("kind", "listKind"):
            problems = f"may have mixed case, but should otherwise match: {problems}"
        if problems:
            out.append(invalid(path, value, problems))
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        detail = "kind and listKind may not be the same"
        out.append(invalid("spec.names.listKind", names["listKind"], detail))
    for key in ("shortNames", "categories"):
        for index, value in enumerate(names.get(key) or ()):
            problems = ",".join(dns_label_1035(value))
            if problems:
                out.append(invalid(f"spec.names.{key}[{index}]", value, problems))


def definition_update(new: JsonObject, old: JsonObject, out: list[Cause]) -> None:
    """Group, plural, and once accepted kind and scope stay."""
    spec, before = new["spec"], old["spec"]
    names, old_names = spec.get("names") or {}, before.get("names") or {}
    conditions = (old.get("status") or {}).get("conditions") or ()
    if any(one.get("type") == "Established" and one.get("status") == "True" for one in conditions):
        if spec.get("scope") != before.get("scope"):
            out.append(invalid("spec.scope", spec.get("scope"), IMMUTABLE))
        if names.get("kind") != old_names.get("kind"):
            out.append(invalid("spec.names.kind", names.get("kind"), IMMUTABLE))
    if spec.get("group") != before.get("group"):
        out.append(invalid("spec.group", spec.get("group"), IMMUTABLE))
    if names.get("plural") != old_names.get("plural"):
        out.append(invalid("spec.names.plural", names.get("plural"), IMMUTABLE))
