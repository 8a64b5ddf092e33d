"""CustomResourceDefinitions: what they need to be valid, what the server writes into them, and
the kinds that they bring. Pure but for `Registrar`, which keeps the registry in step."""

from collections.abc import Iterable, Iterator, Mapping

from volcano.api.admission import ALLOWED, Admission, Lookup, Operation, Refusal, Review
from volcano.api.kinds import (
    CUSTOM_RESOURCE_DEFINITION,
    VOLCANO_KINDS,
    Kind,
    by_resource,
)
from volcano.api.objects import JsonObject
from volcano.base.clock import Clock, timestamp
from volcano.base.errors import Cause
from volcano.server.refusals import invalid
from volcano.server.registry import Column, Registry, ServedKind
from volcano.server.schema import causes

_KNOWN: Mapping[tuple[str, str, str], Kind] = by_resource(VOLCANO_KINDS)
_ANYTHING: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_SCOPES = ("Cluster", "Namespaced")


class CrdAdmission:
    """Completes a CRD's names and status, and refuses one that cannot be served."""

    name = "CustomResourceDefinition"
    kinds: frozenset[Kind] = frozenset({CUSTOM_RESOURCE_DEFINITION})
    operations: frozenset[Operation] = frozenset({"CREATE", "UPDATE"})

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def admit(self, review: Review, lookup: Lookup) -> Admission:
        """The CRD as it will be served."""
        if review.obj is None:
            return ALLOWED
        wrong = list(problems(review.obj))
        for other in lookup.list(CUSTOM_RESOURCE_DEFINITION):
            wrong += _clashes(review.obj, other)
        if wrong:
            refusal = invalid(CUSTOM_RESOURCE_DEFINITION, review.name, wrong)
            return Admission(Refusal(refusal.message, refusal.code, refusal.reason))
        return Admission(patched=established(review.obj, self._clock.now()))


def problems(crd: JsonObject) -> Iterator[Cause]:
    """Why a CRD cannot be served."""
    spec = crd.get("spec") or {}
    names, group = spec.get("names") or {}, spec.get("group") or ""
    if not group:
        yield causes.required("spec.group")
    for field in ("plural", "kind"):
        if not names.get(field):
            yield causes.required(f"spec.names.{field}")
    expected = f"{names.get('plural', '')}.{group}"
    name = (crd.get("metadata") or {}).get("name")
    if name != expected:
        yield causes.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    if spec.get("scope") not in _SCOPES:
        yield causes.not_supported("spec.scope", spec.get("scope") or "", _SCOPES)
    versions = spec.get("versions") or []
    if not versions:
        yield causes.required("spec.versions", "must have at least one version")
    elif sum(bool(version.get("storage")) for version in versions) != 1:
        yield causes.invalid(
            "spec.versions", [], "must have exactly one version marked as storage version"
        )
    for index, version in enumerate(versions):
        if "openAPIV3Schema" not in (version.get("schema") or {}):
            yield causes.required(
                f"spec.versions[{index}].schema.openAPIV3Schema", "schemas are required"
            )
    if (spec.get("conversion") or {}).get("strategy", "None") != "None":
        yield causes.not_supported(
            "spec.conversion.strategy", spec["conversion"]["strategy"], ("None",)
        )


def _clashes(crd: JsonObject, other: JsonObject) -> Iterator[Cause]:
    """Names that another CRD of the same group has already."""
    spec, taken = crd["spec"], other["spec"]
    if other["metadata"]["name"] == crd["metadata"].get("name"):
        return
    if spec.get("group") != taken["group"]:
        return
    if (spec.get("names") or {}).get("kind") == taken["names"]["kind"]:
        yield causes.invalid(
            "spec.names.kind",
            taken["names"]["kind"],
            f"is already in use by {other['metadata']['name']}",
        )


def established(crd: JsonObject, now: float) -> JsonObject:
    """A copy with names completed and a status that says it is served."""
    spec = dict(crd["spec"])
    names = dict(spec["names"])
    names.setdefault("singular", names["kind"].lower())
    names.setdefault("listKind", f"{names['kind']}List")
    spec["names"] = names
    spec.setdefault("conversion", {"strategy": "None"})
    storage = next(version["name"] for version in spec["versions"] if version.get("storage"))
    before = crd.get("status") or {}
    stored = list(before.get("storedVersions") or ())
    status = {
        **before,
        "acceptedNames": names,
        "conditions": [
            _condition(before, "NamesAccepted", "NoConflicts", "no conflicts found", now),
            _condition(
                before,
                "Established",
                "InitialNamesAccepted",
                "the initial names have been accepted",
                now,
            ),
        ],
        "storedVersions": stored if storage in stored else [*stored, storage],
    }
    return {**crd, "spec": spec, "status": status}


def _condition(before: JsonObject, kind: str, reason: str, message: str, now: float) -> JsonObject:
    for condition in before.get("conditions") or ():
        if condition.get("type") == kind and condition.get("status") == "True":
            return dict(condition)
    return {
        "type": kind,
        "status": "True",
        "lastTransitionTime": timestamp(now),
        "reason": reason,
        "message": message,
    }


def served_kinds(crd: JsonObject) -> Iterator[ServedKind]:
    """The kinds that a CRD brings: one per served version."""
    spec = crd["spec"]
    for version in spec["versions"]:
        if not version.get("served"):
            continue
        yield ServedKind(
            kind=_kind(spec, version),
            schema=(version.get("schema") or {}).get("openAPIV3Schema") or _ANYTHING,
            crd=crd,
            columns=tuple(_columns(version.get("additionalPrinterColumns") or ())),
        )


def _kind(spec: JsonObject, version: JsonObject) -> Kind:
    names = spec["names"]
    kind = Kind(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        namespaced=spec["scope"] == "Namespaced",
        singular=names.get("singular") or names["kind"].lower(),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=tuple(
            name for name in ("status", "scale") if name in (version.get("subresources") or {})
        ),
    )
    known = _KNOWN.get((kind.group, kind.version, kind.plural))
    return known if known == kind else kind


def _columns(declared: Iterable[JsonObject]) -> Iterator[Column]:
    for column in declared:
        yield Column(
            name=column["name"],
            type=column["type"],
            json_path=column["jsonPath"],
            format=column.get("format", ""),
            description=column.get("description", ""),
            priority=column.get("priority", 0),
        )


class Registrar:
    """Serves what the stored CRDs say."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def put(self, crd: JsonObject, previous: JsonObject | None = None) -> None:
        """Serve a CRD's kinds, and no longer those that only its previous version had."""
        kept = {_path(entry.kind) for entry in served_kinds(crd)}
        for entry in served_kinds(previous) if previous is not None else ():
            if _path(entry.kind) not in kept:
                self._registry.remove(entry.kind)
        for entry in served_kinds(crd):
            self._registry.put(entry)

    def remove(self, crd: JsonObject) -> None:
        """Stop serving a CRD's kinds."""
        for entry in served_kinds(crd):
            self._registry.remove(entry.kind)


def _path(kind: Kind) -> tuple[str, str, str]:
    return kind.group, kind.version, kind.plural


def terminating(crd: JsonObject | None) -> bool:
    """Whether a CRD is being deleted: its objects go, none is added."""
    return crd is not None and "deletionTimestamp" in crd["metadata"]
