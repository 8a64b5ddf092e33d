"""Pods and pod templates: what a spec must hold, and what may change in a pod that exists."""

from collections.abc import Callable
from typing import Any

from volcano.api.objects import JsonObject
from volcano.base.errors import Cause
from volcano.server.schema.causes import forbidden, invalid, not_supported, required, sentence, show
from volcano.server.validation.containers import (
    STRICT_TEMPLATE_RULES,
    TEMPLATE_RULES,
    PodRules,
    validate_containers,
)
from volcano.server.validation.defaults import default_pod_template
from volcano.server.validation.metadata import (
    dns_name,
    validate_annotations,
    validate_labels,
    validate_operator,
    validate_selector,
)
from volcano.server.validation.texts import (
    between,
    dns_label,
    dns_subdomain,
    label_value,
    qualified_name,
)
from volcano.server.validation.volumes import validate_volumes

POD_RULES = PodRules()

_INT32_MAX = 2**31 - 1
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_UPDATABLE = (
    "`spec.containers[*].image`",
    "`spec.initContainers[*].image`",
    "`spec.activeDeadlineSeconds`",
    "`spec.tolerations` (only additions to existing tolerations)",
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
)
_UPDATABLE_FIELDS = ("activeDeadlineSeconds", "tolerations", "schedulingGates")


def validate_pod(pod: JsonObject, out: list[Cause]) -> None:
    """A pod to be created; its metadata is checked elsewhere."""
    spec = pod.get("spec") or {}
    validate_pod_spec(spec, "spec", POD_RULES, out)
    if spec.get("ephemeralContainers"):
        out.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        detail = "cannot be set until all schedulingGates have been cleared"
        out.append(forbidden("spec.nodeName", detail))


def validate_template(
    template: JsonObject, path: str, out: list[Cause], rules: PodRules = TEMPLATE_RULES
) -> None:
    """A pod template, defaulted."""
    meta = template.get("metadata") or {}
    validate_labels(meta.get("labels") or {}, f"{path}.labels", out)
    validate_annotations(meta.get("annotations") or {}, f"{path}.annotations", out)
    spec = template.get("spec") or {}
    validate_pod_spec(spec, f"{path}.spec", rules, out)
    if spec.get("ephemeralContainers"):
        detail = "ephemeral containers not allowed in pod template"
        out.append(forbidden(f"{path}.spec.ephemeralContainers", detail))


def pod_template_errors(template: JsonObject) -> list[str]:
    """What is wrong with the template of a Volcano task, one sentence each.

    The template is defaulted first (a copy of it) and judged by the older, stricter rules that
    Volcano applies to templates. Paths start at `template`.
    """
    defaulted = default_pod_template(template)
    out: list[Cause] = []
    validate_template(defaulted, "template", out, STRICT_TEMPLATE_RULES)
    return [sentence(cause) for cause in out]


def validate_pod_spec(spec: JsonObject, path: str, rules: PodRules, out: list[Cause]) -> None:
    """A pod spec, defaulted."""
    get = spec.get
    if get("terminationGracePeriodSeconds") is None:
        out.append(required(f"{path}.terminationGracePeriodSeconds"))
    volumes = get("volumes")
    known = validate_volumes(volumes, f"{path}.volumes", out) if volumes else {}
    validate_containers(spec, path, known, rules, out)
    if get("hostNetwork"):
        _host_network(spec, path, rules, out)
    if get("restartPolicy") not in _RESTART_POLICIES:
        _one_of(get("restartPolicy"), f"{path}.restartPolicy", _RESTART_POLICIES, out)
    if get("dnsPolicy") not in _DNS_POLICIES:
        _one_of(get("dnsPolicy"), f"{path}.dnsPolicy", _DNS_POLICIES, out)
    if get("dnsPolicy") == "None" and not (get("dnsConfig") or {}).get("nameservers"):
        _dns_none(get("dnsConfig"), f"{path}.dnsConfig", out)
    for key, check in _PARTS:
        part = get(key)
        if part:
            check(part, f"{path}.{key}", out)
    for key, rule in _NAMES:
        value = get(key)
        if value:
            problems = rule(value)
            if problems:
                out += [invalid(f"{path}.{key}", value, problem) for problem in problems]
    deadline = get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _INT32_MAX:
        out.append(invalid(f"{path}.activeDeadlineSeconds", deadline, between(1, _INT32_MAX)))
    preemption = get("preemptionPolicy")
    if preemption is not None and preemption not in _PREEMPTION_POLICIES:
        _one_of(preemption, f"{path}.preemptionPolicy", _PREEMPTION_POLICIES, out)


_NAMES = (
    ("serviceAccountName", dns_subdomain),
    ("nodeName", dns_subdomain),
    ("hostname", dns_label),
    ("subdomain", dns_label),
    ("priorityClassName", dns_subdomain),
    ("runtimeClassName", dns_subdomain),
)


def _one_of(value: Any, path: str, values: tuple[str, ...], out: list[Cause]) -> None:
    out.append(not_supported(path, value, values) if value else required(path))


def _host_network(spec: JsonObject, path: str, rules: PodRules, out: list[Cause]) -> None:
    for index, container in enumerate(spec.get("containers") or ()):
        for position, port in enumerate(container.get("ports") or ()):
            host = port.get("hostPort", 0)
            if (rules.is_pod or host) and host != port.get("containerPort"):
                where = f"{path}.containers[{index}].ports[{position}].hostPort"
                detail = "must match `containerPort` when `hostNetwork` is true"
                out.append(invalid(where, host, detail))


def _dns_none(config: JsonObject | None, path: str, out: list[Cause]) -> None:
    if config is None:
        out.append(required(path, "must provide `dnsConfig` when `dnsPolicy` is None"))
    else:
        detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        out.append(required(f"{path}.nameservers", detail))


def _gates(gates: list[JsonObject], path: str, out: list[Cause]) -> None:
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name", "")
        dns_name(f"{path}[{index}]", name, out, qualified_name)
        if name in seen:
            out.append(
                Cause("FieldValueDuplicate", f'Duplicate value: "{name}"', f"{path}[{index}]")
            )
        seen.add(name)


def _tolerations(tolerations: list[JsonObject], path: str, out: list[Cause]) -> None:
    for index, toleration in enumerate(tolerations):
        where = f"{path}[{index}]"
        key, operator = toleration.get("key", ""), toleration.get("operator", "")
        value, effect = toleration.get("value", ""), toleration.get("effect", "")
        if key:
            dns_name(f"{where}.key", key, out, qualified_name)
        elif operator != "Exists":
            detail = (
                "operator must be Exists when `key` is empty, which means "
                '"match all values and all keys"'
            )
            out.append(invalid(f"{where}.operator", operator, detail))
        if "tolerationSeconds" in toleration and effect != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            out.append(invalid(f"{where}.effect", effect, detail))
        if operator in ("Equal", ""):
            problems = label_value(value)
            if problems:
                out.append(invalid(f"{where}.operator", value, ";".join(problems)))
        elif operator == "Exists":
            if value:
                detail = "value must be empty when `operator` is 'Exists'"
                out.append(invalid(f"{where}.operator", value, detail))
        else:
            out.append(not_supported(f"{where}.operator", operator, ("Equal", "Exists")))
        if effect and effect not in _EFFECTS:
            out.append(not_supported(f"{where}.effect", effect, _EFFECTS))


def _affinity(affinity: JsonObject, path: str, out: list[Cause]) -> None:
    node = affinity.get("nodeAffinity") or {}
    wanted = node.get("requiredDuringSchedulingIgnoredDuringExecution")
    if wanted is not None:
        where = f"{path}.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        validate_node_selector(wanted, where, out)
    for index, term in enumerate(node.get("preferredDuringSchedulingIgnoredDuringExecution") or ()):
        where = f"{path}.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
        _weight(term, where, out)
        _node_term(term.get("preference") or {}, f"{where}.preference", out)
    for key in ("podAffinity", "podAntiAffinity"):
        _pod_affinity(affinity.get(key) or {}, f"{path}.{key}", out)


def _weight(term: JsonObject, path: str, out: list[Cause]) -> None:
    weight = term.get("weight", 0)
    if not 1 <= weight <= 100:
        out.append(invalid(f"{path}.weight", weight, "must be in the range 1-100"))


def _pod_affinity(affinity: JsonObject, path: str, out: list[Cause]) -> None:
    for index, term in enumerate(
        affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
    ):
        where = f"{path}.requiredDuringSchedulingIgnoredDuringExecution[{index}]"
        _pod_term(term, where, out)
    for index, term in enumerate(
        affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    ):
        where = f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
        _weight(term, where, out)
        _pod_term(term.get("podAffinityTerm") or {}, f"{where}.podAffinityTerm", out)


def _pod_term(term: JsonObject, path: str, out: list[Cause]) -> None:
    validate_selector(term.get("labelSelector"), f"{path}.labelSelector", out)
    validate_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector", out)
    for name in term.get("namespaces") or ():
        dns_name(f"{path}.namespace", name, out)
    key = term.get("topologyKey", "")
    if not key:
        out.append(required(f"{path}.topologyKey", "can not be empty"))
    dns_name(f"{path}.topologyKey", key, out, qualified_name)


def validate_node_selector(selector: JsonObject, path: str, out: list[Cause]) -> None:
    """Required node affinity: at least one term, each of well-formed expressions."""
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        detail = "must have at least one node selector term"
        out.append(required(f"{path}.nodeSelectorTerms", detail))
    for index, term in enumerate(terms):
        _node_term(term, f"{path}.nodeSelectorTerms[{index}]", out)


def _node_term(term: JsonObject, path: str, out: list[Cause]) -> None:
    for index, rule in enumerate(term.get("matchExpressions") or ()):
        where = f"{path}.matchExpressions[{index}]"
        operator, values = rule.get("operator", ""), rule.get("values") or ()
        validate_operator(operator, values, where, out, numbers=True)
        dns_name(f"{where}.key", rule.get("key", ""), out, qualified_name)
        for position, value in enumerate(values):
            dns_name(f"{where}.values[{position}]", value, out, label_value)


def _spread(constraints: list[JsonObject], path: str, out: list[Cause]) -> None:
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(constraints):
        where = f"{path}[{index}]"
        if constraint.get("maxSkew", 0) <= 0:
            detail = "must be greater than zero"
            out.append(invalid(f"{where}.maxSkew", constraint.get("maxSkew", 0), detail))
        key = constraint.get("topologyKey", "")
        if not key:
            out.append(required(f"{where}.topologyKey", "can not be empty"))
        else:
            dns_name(f"{where}.topologyKey", key, out, qualified_name)
        action = constraint.get("whenUnsatisfiable", "")
        actions = ("DoNotSchedule", "ScheduleAnyway")
        if action not in actions:
            out.append(not_supported(f"{where}.whenUnsatisfiable", action, actions))
        if (key, action) in seen:
            field = f"{where}.{{topologyKey, whenUnsatisfiable}}"
            message = f'Duplicate value: "{{{key}, {action}}}"'
            out.append(Cause("FieldValueDuplicate", message, field))
        seen.add((key, action))
        validate_selector(constraint.get("labelSelector"), f"{where}.labelSelector", out)


_PARTS: tuple[tuple[str, Callable[[Any, str, list[Cause]], None]], ...] = (
    ("nodeSelector", validate_labels),
    ("affinity", _affinity),
    ("schedulingGates", _gates),
    ("topologySpreadConstraints", _spread),
    ("tolerations", _tolerations),
)


def validate_pod_update(new: JsonObject, old: JsonObject, out: list[Cause]) -> None:
    """A pod's spec hardly changes; its metadata is checked elsewhere."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    if spec == before:
        return
    validate_pod_spec(spec, "spec", POD_RULES, out)
    for key in ("containers", "initContainers"):
        if len(spec.get(key) or ()) != len(before.get(key) or ()):
            detail = "pod updates may not add or remove containers"
            out.append(forbidden(f"spec.{key}", detail))
            return
    _deadline_update(spec, before, out)
    if not _only_added(spec.get("tolerations") or [], before.get("tolerations") or []):
        detail = "existing toleration can not be modified except its tolerationSeconds"
        out.append(forbidden("spec.tolerations", detail))
    gates = {gate.get("name") for gate in before.get("schedulingGates") or ()}
    for gate in spec.get("schedulingGates") or ():
        if gate.get("name") not in gates:
            name = gate.get("name")
            detail = f"only deletion is allowed, but found new scheduling gate '{name}'"
            out.append(forbidden("spec.schedulingGates", detail))
    changed = sorted(_changed_fields(spec, before))
    if changed:
        detail = f"pod updates may not change fields other than {','.join(_UPDATABLE)}\n"
        out.append(forbidden("spec", detail + _difference(spec, before, changed)))


def _deadline_update(spec: JsonObject, before: JsonObject, out: list[Cause]) -> None:
    path = "spec.activeDeadlineSeconds"
    new, old = spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if new is None and old is not None:
        detail = "must not update from a positive integer to nil value"
        out.append(invalid(path, new, detail))
    elif new is not None and old is not None and old < new:
        out.append(invalid(path, new, "must be less than or equal to previous value"))


def _only_added(new: list[JsonObject], old: list[JsonObject]) -> bool:
    def plain(toleration: JsonObject) -> JsonObject:
        return {key: item for key, item in toleration.items() if key != "tolerationSeconds"}

    present = [plain(toleration) for toleration in new]
    return all(plain(toleration) in present for toleration in old)


def _changed_fields(spec: JsonObject, before: JsonObject) -> set[str]:
    changed = {
        key
        for key in (spec.keys() | before.keys()) - set(_UPDATABLE_FIELDS)
        if _without_images(key, spec.get(key)) != _without_images(key, before.get(key))
    }
    grace, old_grace = (one.get("terminationGracePeriodSeconds") for one in (spec, before))
    if grace == 1 and old_grace is not None and old_grace < 0:
        changed.discard("terminationGracePeriodSeconds")
    if before.get("schedulingGates"):
        # A gated pod's node selector and affinity may be narrowed by whoever holds the gate.
        kept = (before.get("nodeSelector") or {}).items() <= (
            spec.get("nodeSelector") or {}
        ).items()
        changed -= {"nodeSelector", "affinity"} if kept else {"affinity"}
    return changed


def _without_images(key: str, value: Any) -> Any:
    if key not in ("containers", "initContainers"):
        return value
    return [{name: item for name, item in one.items() if name != "image"} for one in value or ()]


def _difference(spec: JsonObject, before: JsonObject, changed: list[str]) -> str:
    """The changed fields, before and after: enough to see what was not allowed."""
    lines = []
    for key in changed:
        lines.append(f"- {key}: {show(before.get(key))}")
        lines.append(f"+ {key}: {show(spec.get(key))}")
    return "\n".join(lines)
