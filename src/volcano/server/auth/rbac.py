"""Role-based access control over the stored roles and bindings.

Roles and bindings are kept parsed and indexed by subject; the server tells of each change, which
replaces one entry and drops the remembered decisions. A decision is remembered per user, verb and
resource in a namespace, together with the object names it is limited to, so that requests for ever
new names cost two dictionary reads. Aggregated ClusterRoles are put together here, when asked for,
from the roles their selectors match: their stored `rules` do not matter.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from volcano.api import kinds, objects
from volcano.api.admission import Lookup
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.base import limits
from volcano.base.errors import ApiError, ErrorDetails
from volcano.base.identity import MASTERS, UserInfo
from volcano.server.auth.rules import Attributes, Rule

RBAC_KINDS = frozenset(
    {kinds.ROLE, kinds.ROLE_BINDING, kinds.CLUSTER_ROLE, kinds.CLUSTER_ROLE_BINDING}
)


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether it is allowed, and why (for a refusal often empty, as in Kubernetes)."""

    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Grant:
    """The rules that one binding gives to a user.

    Attributes:
        binding: how reasons name it, e.g. `ClusterRoleBinding "cluster-admin"`.
        namespace: where it counts; empty for everywhere.
        missing: what the binding refers to and is not there, else empty.
    """

    binding: str
    role: str
    namespace: str
    rules: tuple[Rule, ...]
    missing: str = ""


@dataclass(frozen=True, slots=True)
class _Binding:
    key: str
    namespace: str
    role_kind: str
    role_name: str
    subjects: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Role:
    rules: tuple[Rule, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    selectors: tuple[JsonObject, ...] = ()


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What holds for any name (`decision`), and the names for which it is allowed besides."""

    decision: Decision
    names: Mapping[str, str] = field(default_factory=dict)


class Authorizer:
    """Decides by the stored roles and bindings; reads them all when first asked."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._loaded = False
        self._roles: dict[tuple[str, str], _Role] = {}
        self._bindings: dict[tuple[str, str], _Binding] = {}
        self._by_subject: dict[tuple[str, str], dict[tuple[str, str], None]] = {}
        self._aggregated: dict[str, tuple[Rule, ...]] = {}
        self._remembered: dict[tuple[str | tuple[str, ...], ...], _Verdict] = {}

    def changed(self, kind: Kind, key: str) -> None:
        """Hear of a change (`objects.key_of`) of any kind; free when it is no RBAC kind.

        Call it after the change can be read through the lookup and before it is acknowledged.
        """
        if kind not in RBAC_KINDS or not self._loaded:
            return
        namespace, _, name = key.rpartition("/")
        obj = self._lookup.get(kind, namespace, name)
        if kind in (kinds.ROLE, kinds.CLUSTER_ROLE):
            self._put_role((namespace, name), obj)
        else:
            self._put_binding((namespace, name), obj)
        self._remembered.clear()
        self._aggregated.clear()

    def authorize(self, user: UserInfo, attributes: Attributes) -> Decision:
        """Whether the user may; members of system:masters may everything."""
        if MASTERS in user.groups:
            return Decision(allowed=True, reason="the user is in system:masters")
        verb, group, resource, subresource, namespace, name, path = attributes
        key = (verb, group, resource, subresource, namespace, path, user.name, user.groups)
        verdict = self._remembered.get(key)
        if verdict is None:
            verdict = self._decide(user, attributes)
            if len(self._remembered) >= limits.AUTHORIZATION_CACHE_ENTRIES_MAX:
                self._remembered.clear()
            self._remembered[key] = verdict
        if name in verdict.names and not verdict.decision.allowed:
            return Decision(allowed=True, reason=verdict.names[name])
        return verdict.decision

    def grants(self, user: UserInfo, namespace: str) -> Iterator[Grant]:
        """What bindings give the user in a namespace (empty: only what counts everywhere)."""
        self._load()
        found: dict[tuple[str, str], None] = {}
        for subject in [("User", user.name), *(("Group", group) for group in user.groups)]:
            found.update(self._by_subject.get(subject, {}))
        for key in sorted(found):
            binding = self._bindings[key]
            if binding.namespace in ("", namespace):
                yield self._grant(binding)

    def rules_of(self, user: UserInfo, namespace: str) -> list[Rule]:
        """All rules that count for the user in a namespace."""
        if MASTERS in user.groups:
            return [Rule(("*",), ("*",), ("*",)), Rule(("*",), paths=("*",))]
        return [rule for grant in self.grants(user, namespace) for rule in grant.rules]

    def role_rules(self, kind: str, name: str, namespace: str) -> tuple[Rule, ...] | None:
        """Rules of a role as bindings see it (aggregation done); None when it does not exist."""
        self._load()
        if kind == "Role":
            role = self._roles.get((namespace, name))
            return role.rules if role else None
        role = self._roles.get(("", name))
        if role is None:
            return None
        return self._aggregate(name) if role.selectors else role.rules

    def _decide(self, user: UserInfo, attributes: Attributes) -> _Verdict:
        names: dict[str, str] = {}
        missing: dict[str, None] = {}
        for grant in self.grants(user, attributes.namespace):
            if grant.missing:
                missing[grant.missing] = None
            reason = f"RBAC: allowed by {grant.binding} of {grant.role}"
            for rule in grant.rules:
                if not attributes.path and rule.names:
                    unnamed = Rule(rule.verbs, rule.groups, rule.resources)
                    if unnamed.allows(attributes):
                        names.update(dict.fromkeys(rule.names, reason))
                elif rule.allows(attributes):
                    return _Verdict(Decision(allowed=True, reason=reason))
        refusal = f"RBAC: {_joined(list(missing))}" if missing else ""
        return _Verdict(Decision(allowed=False, reason=refusal), names)

    def _grant(self, binding: _Binding) -> Grant:
        rules = self.role_rules(binding.role_kind, binding.role_name, binding.namespace)
        kind = "RoleBinding" if binding.namespace else "ClusterRoleBinding"
        role = f"{binding.role_kind} {json.dumps(binding.role_name)}"
        plural = binding.role_kind.lower()
        return Grant(
            binding=f"{kind} {json.dumps(binding.key)}",
            role=role,
            namespace=binding.namespace,
            rules=rules or (),
            missing=""
            if rules is not None
            else f'{plural}.{kinds.RBAC} "{binding.role_name}" not found',
        )

    def _aggregate(self, name: str) -> tuple[Rule, ...]:
        known = self._aggregated.get(name)
        if known is None:
            found: dict[Rule, None] = {}
            seen, waiting = {name}, [name]  # roles may select each other: each is visited once
            while waiting:
                role = self._roles[("", waiting.pop())]
                if not role.selectors:
                    found.update(dict.fromkeys(role.rules))
                    continue
                chosen = self._selected(role.selectors) - seen
                seen |= chosen
                waiting += sorted(chosen, reverse=True)
            known = self._aggregated[name] = tuple(found)
        return known

    def _selected(self, selectors: Iterable[JsonObject]) -> set[str]:
        return {
            name
            for (namespace, name), role in self._roles.items()
            if not namespace and any(_selects(selector, role.labels) for selector in selectors)
        }

    def _load(self) -> None:
        if self._loaded:
            return
        for kind in (kinds.ROLE, kinds.CLUSTER_ROLE):
            for obj in self._lookup.list(kind):
                self._put_role((objects.namespace_of(obj), objects.name_of(obj)), obj)
        for kind in (kinds.ROLE_BINDING, kinds.CLUSTER_ROLE_BINDING):
            for obj in self._lookup.list(kind):
                self._put_binding((objects.namespace_of(obj), objects.name_of(obj)), obj)
        self._loaded = True

    def _put_role(self, key: tuple[str, str], obj: JsonObject | None) -> None:
        if obj is None:
            self._roles.pop(key, None)
            return
        aggregation = obj.get("aggregationRule") or {}
        self._roles[key] = _Role(
            rules=tuple(Rule.from_json(rule) for rule in obj.get("rules") or ()),
            labels=dict(objects.metadata(obj).get("labels") or {}),
            selectors=tuple(aggregation.get("clusterRoleSelectors") or ()),
        )

    def _put_binding(self, key: tuple[str, str], obj: JsonObject | None) -> None:
        old = self._bindings.pop(key, None)
        for subject in old.subjects if old else ():
            self._by_subject[subject].pop(key, None)
            if not self._by_subject[subject]:
                del self._by_subject[subject]
        if obj is None:
            return
        reference = obj.get("roleRef") or {}
        namespace, name = key
        binding = _Binding(
            key=f"{name}/{namespace}" if namespace else name,
            namespace=namespace,
            role_kind=str(reference.get("kind", "")),
            role_name=str(reference.get("name", "")),
            subjects=tuple(dict.fromkeys(_subjects(obj.get("subjects") or (), namespace))),
        )
        self._bindings[key] = binding
        for subject in binding.subjects:
            self._by_subject.setdefault(subject, {})[key] = None


def forbidden(user: UserInfo, attributes: Attributes, decision: Decision) -> ApiError:
    """The refusal, worded as Kubernetes words it."""
    text = f"User {json.dumps(user.name, ensure_ascii=False)} cannot {attributes.verb}"
    if attributes.path:
        text += f" path {json.dumps(attributes.path, ensure_ascii=False)}"
    else:
        where = (
            f'in the namespace "{attributes.namespace}"'
            if attributes.namespace
            else "at the cluster scope"
        )
        text += f' resource "{attributes.full_resource}" in API group "{attributes.group}" {where}'
    if decision.reason:
        text += f": {decision.reason}"
    return refusal(attributes.group, attributes.resource, attributes.name, text)


def refusal(group: str, plural: str, name: str, text: str) -> ApiError:
    """A Forbidden error about a resource (or, without one, about a path)."""
    resource = f"{plural}.{group}" if group else plural
    if not resource:
        return ApiError("Forbidden", f"forbidden: {text}", details=ErrorDetails())
    subject = f'{resource} "{name}"' if name else resource
    return ApiError(
        "Forbidden",
        f"{subject} is forbidden: {text}",
        details=ErrorDetails(name=name, group=group, kind=plural),
    )


def _subjects(subjects: Iterable[JsonObject], namespace: str) -> Iterator[tuple[str, str]]:
    """Subjects as (User or Group, name); a ServiceAccount is the user that it logs in as."""
    for subject in subjects:
        name = str(subject.get("name", ""))
        if subject.get("kind") == "ServiceAccount":
            owner = subject.get("namespace") or namespace
            if owner:
                yield "User", f"system:serviceaccount:{owner}:{name}"
        elif subject.get("kind") in ("User", "Group"):
            yield str(subject["kind"]), name


def _selects(selector: JsonObject, labels: Mapping[str, str]) -> bool:
    """Whether a `metav1.LabelSelector` matches; an empty one matches everything."""
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_holds(rule, labels) for rule in selector.get("matchExpressions") or ())


def _holds(expression: JsonObject, labels: Mapping[str, str]) -> bool:
    key, values = expression.get("key", ""), expression.get("values") or ()
    match expression.get("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case _:
            return False  # validation refuses other operators; giving no rights is the safe reading


def _joined(texts: list[str]) -> str:
    """Several errors as Kubernetes prints an aggregate: `[a, b]`, one without brackets."""
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
