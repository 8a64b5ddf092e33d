"""Metadata of every kind: names, labels, annotations, finalizers, owners; what may not change."""

from collections.abc import Mapping, Sequence
from typing import Any

from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.base.errors import Cause
from volcano.base.limits import ANNOTATIONS_BYTES_MAX
from volcano.server.schema.causes import forbidden, invalid, required, show, too_long
from volcano.server.validation.texts import (
    Rule,
    dns_label,
    dns_subdomain,
    label_value,
    path_segment,
    qualified_name,
)

_NAME_RULES: Mapping[tuple[str, str], Rule] = {
    ("", "Namespace"): dns_label,
    ("", "Service"): dns_label,
    ("apps", "StatefulSet"): dns_label,
    **{
        ("rbac.authorization.k8s.io", kind): path_segment
        for kind in ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
    },
}
_IMMUTABLE = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)


def name_rule(kind: Kind) -> Rule:
    """What the names of a kind may look like."""
    return _NAME_RULES.get((kind.group, kind.kind), dns_subdomain)


def validate_metadata(kind: Kind, meta: JsonObject, out: list[Cause]) -> None:
    """Metadata of an object to be created, its name generated already."""
    rule = name_rule(kind)
    prefix = meta.get("generateName")
    if prefix:
        # A generated suffix follows, so a prefix may end in a dash.
        masked = f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix
        out += [invalid("metadata.generateName", prefix, problem) for problem in rule(masked)]
    name = meta.get("name")
    if not name:
        out.append(required("metadata.name", "name or generateName is required"))
    else:
        problems = rule(name)
        if problems:
            out += [invalid("metadata.name", name, problem) for problem in problems]
    namespace = meta.get("namespace")
    if kind.namespaced:
        if not namespace:
            out.append(required("metadata.namespace"))
        else:
            problems = dns_label(namespace)
            out += [invalid("metadata.namespace", namespace, problem) for problem in problems]
    elif namespace:
        out.append(forbidden("metadata.namespace", "not allowed on this type"))
    _common(meta, out)
    _finalizers(meta.get("finalizers") or (), out)


def validate_metadata_update(new: JsonObject, old: JsonObject, out: list[Cause]) -> None:
    """Metadata of an object that replaces `old`."""
    if "deletionTimestamp" in old:
        extra = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if extra:
            shown = ", ".join(show(one) for one in extra)
            detail = (
                "no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{shown}}}"
            )
            out.append(forbidden("metadata.finalizers", detail))
    if not new.get("resourceVersion"):
        detail = "must be specified for an update"
        out.append(invalid("metadata.resourceVersion", new.get("resourceVersion", ""), detail))
    if new.get("generation", 0) < old.get("generation", 0):
        detail = "must not be decremented"
        out.append(invalid("metadata.generation", new.get("generation", 0), detail))
    out += [
        invalid(f"metadata.{name}", new.get(name), "field is immutable")
        for name in _IMMUTABLE
        if new.get(name) != old.get(name)
    ]
    _common(new, out)


def _common(meta: JsonObject, out: list[Cause]) -> None:
    labels = meta.get("labels")
    if labels:
        validate_labels(labels, "metadata.labels", out)
    annotations = meta.get("annotations")
    if annotations:
        validate_annotations(annotations, "metadata.annotations", out)
    owners = meta.get("ownerReferences")
    if owners:
        _owners(owners, out)


def validate_labels(labels: Mapping[str, str], path: str, out: list[Cause]) -> None:
    """Keys and values of labels or of a selector that is a plain map."""
    for key, value in labels.items():
        problems = qualified_name(key)
        if problems:
            out += [invalid(path, key, problem) for problem in problems]
        problems = label_value(value)
        if problems:
            out += [invalid(path, value, problem) for problem in problems]


def validate_annotations(annotations: Mapping[str, str], path: str, out: list[Cause]) -> None:
    """Keys of annotations and their size together."""
    size = 0
    for key, value in annotations.items():
        problems = qualified_name(key.lower())
        if problems:
            out += [invalid(path, key, problem) for problem in problems]
        size += len(key) + len(value)
    # Characters are at most four bytes each, so only large ones are measured.
    if size * 4 > ANNOTATIONS_BYTES_MAX:
        exact = sum(len(one.encode()) for pair in annotations.items() for one in pair)
        if exact > ANNOTATIONS_BYTES_MAX:
            out.append(too_long(path, ANNOTATIONS_BYTES_MAX))


def _owners(owners: list[JsonObject], out: list[Cause]) -> None:
    path, controller = "metadata.ownerReferences", ""
    for owner in owners:
        version = owner.get("apiVersion", "")
        if not version.rpartition("/")[2]:
            out.append(invalid(f"{path}.apiVersion", version, "version must not be empty"))
        out += [
            invalid(f"{path}.{key}", owner.get(key, ""), "must not be empty")
            for key in ("kind", "name", "uid")
            if not owner.get(key)
        ]
        if version == "v1" and owner.get("kind") == "Event":
            detail = "/v1, Kind=Event is disallowed from being an owner"
            out.append(invalid(path, owner, detail))
        if owner.get("controller"):
            current = f"{owner.get('kind')}/{owner.get('name')}"
            if controller:
                detail = (
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controller} and {current}'
                )
                out.append(invalid(path, owners, detail))
            controller = controller or current


def _finalizers(finalizers: Any, out: list[Cause]) -> None:
    path = "metadata.finalizers"
    for finalizer in finalizers:
        out += [invalid(path, finalizer, problem) for problem in qualified_name(finalizer)]
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        out.append(invalid(path, finalizers, detail))


def validate_operator(
    operator: str, values: Sequence[str], where: str, out: list[Cause], *, numbers: bool = False
) -> None:
    """A selector's operator and the number of its values; `numbers` allows Gt and Lt."""
    if operator in ("In", "NotIn"):
        if not values:
            detail = "must be specified when `operator` is 'In' or 'NotIn'"
            out.append(required(f"{where}.values", detail))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            out.append(forbidden(f"{where}.values", detail))
    elif numbers and operator in ("Gt", "Lt"):
        if len(values) != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            out.append(required(f"{where}.values", detail))
    else:
        out.append(invalid(f"{where}.operator", operator, "not a valid selector operator"))


def validate_selector(selector: JsonObject | None, path: str, out: list[Cause]) -> None:
    """A LabelSelector: matchLabels and matchExpressions."""
    if not selector:
        return
    validate_labels(selector.get("matchLabels") or {}, f"{path}.matchLabels", out)
    for index, rule in enumerate(selector.get("matchExpressions") or ()):
        where = f"{path}.matchExpressions[{index}]"
        operator, values = rule.get("operator", ""), rule.get("values") or ()
        validate_operator(operator, values, where, out)
        key = rule.get("key", "")
        out += [invalid(f"{where}.key", key, problem) for problem in qualified_name(key)]
        for position, value in enumerate(values):
            dns_name(f"{where}.values[{position}]", value, out, label_value)


def matches(selector: JsonObject, labels: Mapping[str, str]) -> bool:
    """Whether labels are in a LabelSelector; an empty selector has them all."""
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    for rule in selector.get("matchExpressions") or ():
        present, values = labels.get(rule.get("key", "")), rule.get("values") or ()
        match rule.get("operator"):
            case "In" if present not in values:
                return False
            case "NotIn" if present is not None and present in values:
                return False
            case "Exists" if present is None:
                return False
            case "DoesNotExist" if present is not None:
                return False
    return True


def dns_name(path: str, value: str, out: list[Cause], rule: Rule = dns_label) -> None:
    """Add what is wrong with a name inside a spec."""
    problems = rule(value)
    if problems:
        out += [invalid(path, value, problem) for problem in problems]
