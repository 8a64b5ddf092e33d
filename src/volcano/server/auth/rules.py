"""RBAC rules as values: matching one request, and whether some rules cover others.

Pure; `rbac.py` finds the rules of a user, this module says what they mean.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from volcano.api.objects import JsonObject

ANY = "*"


class Attributes(NamedTuple):
    """What is asked for; a tuple, because one is made for every request.

    Attributes:
        verb: get, list, watch, create, …; for paths the HTTP method in lower case.
        subresource: e.g. `status`; empty for the object itself.
        namespace: empty for cluster-scoped kinds and for all namespaces.
        path: set for what is no resource (`/version`); then `resource` is empty.
    """

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def full_resource(self) -> str:
        """`resource` or `resource/subresource`, as rules name it."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True)
class Rule:
    """One `PolicyRule`."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, rule: JsonObject) -> "Rule":
        """The rule of an object on the wire."""
        return cls(
            verbs=tuple(rule.get("verbs") or ()),
            groups=tuple(rule.get("apiGroups") or ()),
            resources=tuple(rule.get("resources") or ()),
            names=tuple(rule.get("resourceNames") or ()),
            paths=tuple(rule.get("nonResourceURLs") or ()),
        )

    def to_json(self) -> JsonObject:
        """The rule for the wire, empty fields left out."""
        pairs = {
            "verbs": self.verbs,
            "apiGroups": self.groups,
            "resources": self.resources,
            "resourceNames": self.names,
            "nonResourceURLs": self.paths,
        }
        return {key: list(value) for key, value in pairs.items() if value or key == "verbs"}

    def allows(self, attributes: Attributes) -> bool:
        """Whether this rule alone allows a request."""
        if attributes.path:
            return self.matches_verb(attributes.verb) and self.matches_path(attributes.path)
        return (
            self.matches_verb(attributes.verb)
            and self.matches_group(attributes.group)
            and self.matches_resource(attributes.resource, attributes.subresource)
            and (not self.names or attributes.name in self.names)
        )

    def matches_verb(self, verb: str) -> bool:
        """Whether the verb is named, or all are."""
        return ANY in self.verbs or verb in self.verbs

    def matches_group(self, group: str) -> bool:
        """Whether the API group is named, or all are."""
        return ANY in self.groups or group in self.groups

    def matches_resource(self, resource: str, subresource: str) -> bool:
        """Whether `resource/subresource` is named; `*/sub` names it for every resource."""
        if ANY in self.resources:
            return True
        if not subresource:
            return resource in self.resources
        return f"{resource}/{subresource}" in self.resources or f"*/{subresource}" in self.resources

    def matches_path(self, path: str) -> bool:
        """Whether the path is named; a final `*` stands for any rest."""
        return any(
            rule == path or (rule.endswith(ANY) and path.startswith(rule[:-1]))
            for rule in self.paths
        )

    def describe(self) -> str:
        """The rule as Kubernetes prints it: `{APIGroups:[""], Resources:["pods"], …}`."""
        parts = (
            ("APIGroups", self.groups),
            ("Resources", self.resources),
            ("ResourceNames", self.names),
            ("NonResourceURLs", self.paths),
            ("Verbs", self.verbs),
        )
        texts = [f"{name}:{_quoted(values)}" for name, values in parts if values]
        return "{" + ", ".join(texts) + "}"


def uncovered(held: Sequence[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """The parts of `wanted` that no held rule covers, one verb, group, resource and name each."""
    return [
        part
        for rule in wanted
        for part in _parts(rule)
        if not any(_covers(owner, part) for owner in held)
    ]


def compact(rules: Iterable[Rule]) -> list[Rule]:
    """Rules that differ only in their verbs put together, in order of first appearance."""
    verbs: dict[Rule, list[str]] = {}
    for rule in rules:
        bare = Rule((), rule.groups, rule.resources, rule.names, rule.paths)
        seen = verbs.setdefault(bare, [])
        seen.extend(verb for verb in rule.verbs if verb not in seen)
    return [
        Rule(tuple(names), bare.groups, bare.resources, bare.names, bare.paths)
        for bare, names in verbs.items()
    ]


def _parts(rule: Rule) -> Iterable[Rule]:
    for verb in rule.verbs:
        for path in rule.paths:
            yield Rule((verb,), paths=(path,))
        for group in rule.groups:
            for resource in rule.resources:
                for name in rule.names or ("",):
                    yield Rule((verb,), (group,), (resource,), (name,) if name else ())


def _covers(owner: Rule, part: Rule) -> bool:
    """Whether `owner` covers a single part; a `*` that is wanted must be held as `*`."""
    if not owner.matches_verb(part.verbs[0]):
        return False
    if part.paths:
        return owner.matches_path(part.paths[0])
    resource, _, subresource = part.resources[0].partition("/")
    # A wanted "*/scale" is covered by the same words or by "*", never by "pods/scale".
    return (
        owner.matches_group(part.groups[0])
        and owner.matches_resource(resource, subresource)
        and (not owner.names or (bool(part.names) and part.names[0] in owner.names))
    )


def _quoted(values: Sequence[str]) -> str:
    return "[" + " ".join(f'"{value}"' for value in values) + "]"
