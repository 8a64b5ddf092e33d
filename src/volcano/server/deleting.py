"""delete and deletecollection: preconditions, grace, finalizers, propagation policies."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from volcano.api import kinds
from volcano.api.admission import Review
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.base.clock import Clock, timestamp
from volcano.base.errors import ApiError
from volcano.base.http import Response
from volcano.server.admission.chain import Chain
from volcano.server.admission.namespaces import check_delete
from volcano.server.calls import Call, DeleteOptions, delete_options
from volcano.server.refusals import conflict, not_found
from volcano.server.representation import JSON_HEADERS, decode, encode, to_version
from volcano.server.selectors import selection
from volcano.server.store.log import Row, StaleRevisionError
from volcano.server.store.store import Store
from volcano.server.writing import encoded_at

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
CRD_CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
POD_GRACE_SECONDS = 30
_ENDED = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class Removal:
    """What a delete does to an object: removes it, marks it, or (None) finds nothing to change."""

    obj: JsonObject
    remove: bool
    changed: bool


def plan(kind: Kind, obj: JsonObject, options: DeleteOptions, now: float) -> Removal:
    """Decide what deleting `obj` means; `obj` is changed in place."""
    meta = obj["metadata"]
    before = dict(meta)
    finalizers = _finalizers(kind, meta.get("finalizers") or (), options.policy)
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)
    grace = _grace(kind, obj, options)
    if not grace and not finalizers and not _has_own_finalizers(kind, obj):
        meta.setdefault("deletionTimestamp", timestamp(now))
        meta["deletionGracePeriodSeconds"] = 0
        return Removal(obj, remove=True, changed=True)
    marked = "deletionTimestamp" in meta
    if not marked or grace < meta.get("deletionGracePeriodSeconds", 0):
        meta["deletionTimestamp"] = timestamp(now + grace)
        meta["deletionGracePeriodSeconds"] = grace
        if not marked and "generation" in meta:
            meta["generation"] += 1
    if kind == kinds.NAMESPACE:
        obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
    return Removal(obj, remove=False, changed=meta != before)


def _finalizers(kind: Kind, present: Sequence[str], policy: str) -> list[str]:
    kept = [name for name in present if name not in (FOREGROUND, ORPHAN)]
    match policy:
        case "Foreground":
            return [*kept, FOREGROUND]
        case "Orphan":
            return [*kept, ORPHAN]
        case "Background":
            return kept
    if kind == kinds.CUSTOM_RESOURCE_DEFINITION and CRD_CLEANUP not in present:
        return [*present, CRD_CLEANUP]
    return list(present)


def _has_own_finalizers(kind: Kind, obj: JsonObject) -> bool:
    return kind == kinds.NAMESPACE and bool((obj.get("spec") or {}).get("finalizers"))


def _grace(kind: Kind, obj: JsonObject, options: DeleteOptions) -> int:
    """Seconds until a pod may be gone; nothing else has a grace period."""
    if kind != kinds.POD:
        return 0
    spec, status, meta = obj.get("spec") or {}, obj.get("status") or {}, obj["metadata"]
    if not spec.get("nodeName") or status.get("phase") in _ENDED:
        return 0
    if options.grace_seconds is not None:
        grace = options.grace_seconds
    else:
        grace = int(spec.get("terminationGracePeriodSeconds", POD_GRACE_SECONDS))
    if "deletionTimestamp" in meta:
        return min(grace, int(meta.get("deletionGracePeriodSeconds", grace)))
    return grace


class Deleter:
    """Carries out deletes."""

    def __init__(self, store: Store, chain: Chain, clock: Clock) -> None:
        self._store = store
        self._chain = chain
        self._clock = clock

    async def delete(self, call: Call) -> Response:
        """Answer a DELETE of one object."""
        options = delete_options(call.request)
        removal = await self.remove(call, call.route.name, options)
        if removal.remove and not _returns_object(call.resource.kind):
            return Response(200, JSON_HEADERS, encode(_success(call.resource.kind, removal.obj)))
        return Response(200, JSON_HEADERS, encode(removal.obj))

    async def delete_collection(self, call: Call) -> Response:
        """Answer a DELETE of a collection: everything that the selectors match."""
        options = delete_options(call.request)
        resource, namespace = call.resource, call.route.namespace
        chosen = selection(call.request.query, resource.kind, resource.selectable)
        rows = [
            row
            for row in self._store.latest_rows(resource.collection, namespace)
            if chosen.matches(self._store.decoded(row))
        ]
        removed = []
        for row in sorted(rows, key=_key):
            try:
                removal = await self.remove(call, row.key.name, options, row.key.namespace)
            except ApiError as error:
                if error.reason != "NotFound":
                    raise
                continue
            removed.append(removal.obj)
        answer = {
            "kind": resource.kind.list_kind,
            "apiVersion": resource.kind.api_version,
            "metadata": {"resourceVersion": str(self._store.revision)},
            "items": removed,
        }
        return Response(200, JSON_HEADERS, encode(answer))

    async def remove(
        self, call: Call, name: str, options: DeleteOptions, namespace: str | None = None
    ) -> Removal:
        """Delete one object by the rules; what became of it.

        Raises:
            ApiError: NotFound, Conflict for preconditions, or a refusal of admission.
        """
        resource = call.resource
        kind = resource.kind
        space = call.route.namespace if namespace is None else namespace
        row = self._store.latest(resource.key(space, name))
        if row is None:
            raise not_found(kind, name)
        obj = to_version(resource, decode(row.value))
        _check_preconditions(kind, name, obj, options)
        check_delete(kind, name)
        review = Review(
            operation="DELETE",
            kind=kind,
            namespace=space,
            name=name,
            obj=None,
            old=obj,
            user=call.user,
            dry_run=options.dry_run,
        )
        self._chain.mutate(review, call.warnings)
        self._chain.validate(review, call.warnings)
        removal = plan(kind, decode(encode(obj)), options, self._clock.now())
        if removal.changed and not options.dry_run:
            write = self._store.delete if removal.remove else self._store.put
            try:
                await write(row.key, row.revision, partial(encoded_at, removal.obj))
            except StaleRevisionError:
                raise conflict(kind, name) from None
        return removal


def _check_preconditions(kind: Kind, name: str, obj: JsonObject, options: DeleteOptions) -> None:
    meta = obj["metadata"]
    for label, wanted, found in (
        ("UID", options.uid, meta.get("uid", "")),
        ("ResourceVersion", options.resource_version, meta.get("resourceVersion", "")),
    ):
        if wanted and wanted != found:
            raise conflict(
                kind,
                name,
                f"Precondition failed: {label} in precondition: {wanted}, {label} in object"
                f" meta: {found}",
            )


def _returns_object(kind: Kind) -> bool:
    return kind in (kinds.POD, kinds.NAMESPACE, kinds.SERVICE, kinds.SERVICE_ACCOUNT)


def _success(kind: Kind, obj: JsonObject) -> JsonObject:
    meta = obj["metadata"]
    details = {
        "name": meta["name"],
        "group": kind.group,
        "kind": kind.plural,
        "uid": meta.get("uid", ""),
    }
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in details.items() if value},
    }


def _key(row: Row) -> tuple[str, str]:
    return row.key.namespace, row.key.name
