"""A registry with every kind we serve, as bootstrap makes it: built-in ones and our CRDs."""

from volcano.api import crds, kinds, schemas
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.server.registry import Column, Registry, ServedKind


def everything() -> Registry:
    builtin = [ServedKind(kind, schemas.core_schema(kind)) for kind in kinds.CORE_KINDS]
    return Registry([*builtin, *volcano()], schemas.definitions())


def volcano() -> list[ServedKind]:
    return [entry for crd in crds.load() for entry in of_crd(crd)]


def of_crd(crd: JsonObject) -> list[ServedKind]:
    spec, names = crd["spec"], crd["spec"]["names"]
    entries = []
    for version in spec["versions"]:
        kind = Kind(
            group=spec["group"],
            version=version["name"],
            kind=names["kind"],
            plural=names["plural"],
            namespaced=spec["scope"] == "Namespaced",
            singular=names.get("singular", names["kind"].lower()),
            short_names=tuple(names.get("shortNames", ())),
            categories=tuple(names.get("categories", ())),
            subresources=tuple(version.get("subresources", ())),
        )
        columns = tuple(
            Column(one["name"], one["type"], one["jsonPath"], priority=one.get("priority", 0))
            for one in version.get("additionalPrinterColumns", ())
        )
        entries.append(ServedKind(kind, version["schema"]["openAPIV3Schema"], crd, columns))
    return entries


def widgets(version: str = "v1", group: str = "example.com") -> ServedKind:
    """A small custom kind of nobody."""
    kind = Kind(group, version, "Widget", "widgets", singular="widget")
    return ServedKind(kind, {"type": "object"}, crd={"metadata": {"name": f"widgets.{group}"}})
