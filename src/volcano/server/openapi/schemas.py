"""Which schemas a document holds, under which names, and what they refer to."""

from collections.abc import Iterable, Mapping
from typing import Any

from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.server.registry import ServedKind

PREFIX = "#/components/schemas/"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
GVK = "x-kubernetes-group-version-kind"


def reference(name: str) -> JsonObject:
    """A reference to a schema of the same document."""
    return {"$ref": f"{PREFIX}{name}"}


def gvk(kind: Kind) -> JsonObject:
    """Group, version and kind as extensions name them."""
    return {"group": kind.group, "kind": kind.kind, "version": kind.version}


class Names:
    """Finds the name of a kind's schema: that of its definition, or one made from the group."""

    def __init__(self, definitions: Mapping[str, JsonObject]) -> None:
        self._definitions = definitions
        self._by_kind: dict[tuple[str, str, str], str] = {}
        for name, schema in definitions.items():
            kinds: list[JsonObject] = schema.get(GVK) or []
            # Types that all groups share (DeleteOptions) name many kinds and are none's own.
            if len(kinds) == 1:
                one = kinds[0]
                self._by_kind[one["group"], one["version"], one["kind"]] = name

    def defined(self, group: str, version: str, kind: str) -> str | None:
        """Name of the definition with this kind, or None."""
        return self._by_kind.get((group, version, kind))

    def of(self, entry: ServedKind) -> str:
        """Name of the schema of a served kind."""
        kind = entry.kind
        if not entry.custom and (found := self.defined(kind.group, kind.version, kind.kind)):
            return found
        return made_name(kind, kind.kind)

    def of_list(self, entry: ServedKind) -> str:
        """Name of the schema of a list of these."""
        kind = entry.kind
        if not entry.custom and (found := self.defined(kind.group, kind.version, kind.list_kind)):
            return found
        return made_name(kind, kind.list_kind)


def made_name(kind: Kind, name: str) -> str:
    """`sh.volcano.batch.v1alpha1.Job`: the group's domain backwards, version, kind."""
    return ".".join([*reversed(kind.group.split(".")), kind.version, name])


def own_schemas(entry: ServedKind, names: Names) -> dict[str, JsonObject]:
    """The schemas of a kind that is no definition (that of a CRD), and of its list."""
    kind = entry.kind
    own = dict(entry.schema)
    own["type"] = "object"
    properties = entry.schema.get("properties") or {}
    own["properties"] = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        **properties,
        "metadata": _with_description("Standard object metadata.", f"{META}ObjectMeta"),
    }
    own[GVK] = [gvk(kind)]
    listed: JsonObject = {
        "description": f"{kind.list_kind} is a list of {kind.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "items": {"type": "array", "items": reference(names.of(entry))},
            "kind": {"type": "string"},
            "metadata": reference(f"{META}ListMeta"),
        },
        GVK: [{**gvk(kind), "kind": kind.list_kind}],
    }
    return {names.of(entry): own, names.of_list(entry): listed}


def closure(
    wanted: Iterable[str], own: Mapping[str, JsonObject], definitions: Mapping[str, JsonObject]
) -> dict[str, JsonObject]:
    """The named schemas and all that they refer to, by name in order.

    Raises:
        KeyError: a reference leads nowhere.
    """
    found: dict[str, JsonObject] = {}
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = own[name] if name in own else definitions[name]
            waiting += references(found[name])
    return dict(sorted(found.items()))


def references(schema: Any) -> list[str]:
    """Names of all schemas that something refers to, at any depth."""
    found: list[str] = []
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            target = value.get("$ref")
            if isinstance(target, str):
                found.append(target.rpartition("/")[2])
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return found


def _with_description(text: str, name: str) -> JsonObject:
    return {"allOf": [reference(name)], "description": text}
