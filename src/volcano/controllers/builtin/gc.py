"""The garbage collector: deletes objects whose owners are gone.

Background, foreground and orphaning deletion as Kubernetes has them. An owner that is not in our
copy is looked up live, by name and uid, before anything is deleted for its absence.
"""

from collections.abc import Iterable, Sequence
from functools import partial

from volcano.api.kinds import (
    CUSTOM_RESOURCE_DEFINITION,
    EVENT,
    EVENTS_EVENT,
    Kind,
)
from volcano.api.objects import JsonObject, key_of, metadata, name_of, namespace_of, uid_of
from volcano.base.errors import ApiError
from volcano.base.limits import ABSENT_OWNERS_KNOWN_MAX
from volcano.client.informer import Change, Informer
from volcano.controllers.effects import Delete, Patch
from volcano.controllers.runtime import Context, Controller

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_UNCOLLECTED = frozenset({EVENT, EVENTS_EVENT})


def collected_kinds(kinds: Iterable[Kind]) -> list[Kind]:
    """The kinds whose objects have owners or are some: stored ones, but for events."""
    return [kind for kind in kinds if "delete" in kind.verbs and kind not in _UNCOLLECTED]


class GarbageCollector(Controller):
    """Follows owner references across all kinds."""

    name = "garbage-collector"
    workers = 16

    def __init__(self, context: Context, kinds: Sequence[Kind]) -> None:
        self._kinds = {kind.resource: kind for kind in collected_kinds(kinds)}
        super().__init__(context, self._kinds.values())
        self._by_api_kind: dict[tuple[str, str], Kind] = {}
        self._informers: dict[str, Informer] = {}
        self._uids: dict[str, tuple[str, str]] = {}
        self._dependents: dict[str, set[tuple[str, str]]] = {}
        self._absent: dict[str, None] = {}
        self._added: set[Kind] = set()
        for kind in self._kinds.values():
            self._follow(kind, (kind.api_version,))
        context.informers.of(CUSTOM_RESOURCE_DEFINITION).add_handler(self._crd_changed)

    def _crd_changed(self, change: Change) -> None:
        """Follow the kinds that come with CRDs; those known from the start stay."""
        found = kind_of_crd(change.either)
        if found is None:
            return
        kind, versions = found
        if change.new is None and kind in self._added:
            self._added.discard(kind)
            del self._kinds[kind.resource], self._informers[kind.resource]
            self.context.informers.drop(kind)
        elif change.new is not None and kind.resource not in self._kinds:
            self._kinds[kind.resource] = kind
            self._added.add(kind)
            self._follow(kind, versions)

    def _follow(self, kind: Kind, versions: Iterable[str]) -> None:
        informer = self.context.informers.of(kind)
        for version in versions:
            self._by_api_kind[(version, kind.kind)] = kind
        self._informers[kind.resource] = informer
        informer.add_handler(partial(self._changed, kind.resource))

    def _changed(self, resource: str, change: Change) -> None:
        obj = change.either
        node = (resource, key_of(obj))
        before = _owner_uids(change.old) if change.old is not None else set()
        after = _owner_uids(change.new) if change.new is not None else set()
        for uid in before - after:
            self._forget_dependent(uid, node)
        for uid in after - before:
            self._dependents.setdefault(uid, set()).add(node)
        uid = uid_of(obj)
        if change.new is None:
            if self._uids.get(uid) == node:
                del self._uids[uid]
            for dependent in self._dependents.get(uid, ()):
                self._add(dependent)
            for owner in before:
                self._add_foreground_owner(owner)
            return
        self._uids[uid] = node
        deleting = "deletionTimestamp" in metadata(obj)
        if after and (after != before or deleting):
            self._add(node)
        if deleting:
            if metadata(obj).get("finalizers"):
                self._add(node)
            for owner in after:
                self._add_foreground_owner(owner)

    def _forget_dependent(self, uid: str, node: tuple[str, str]) -> None:
        dependents = self._dependents.get(uid)
        if dependents is not None:
            dependents.discard(node)
            if not dependents:
                del self._dependents[uid]

    def _add(self, node: tuple[str, str]) -> None:
        self.queue.add(f"{node[0]} {node[1]}")

    def _add_foreground_owner(self, uid: str) -> None:
        """An owner that waits for its dependents looks again when one of them moves."""
        node = self._uids.get(uid)
        if node is not None:
            owner = self._get(node)
            if owner is not None and _waits(owner, FOREGROUND):
                self._add(node)

    def _get(self, node: tuple[str, str]) -> JsonObject | None:
        informer = self._informers.get(node[0])
        return informer.get(node[1]) if informer is not None else None

    async def reconcile(self, key: str) -> None:
        """Look at one object: as an owner on its way out, and as a dependent."""
        resource, _, name = key.partition(" ")
        kind = self._kinds.get(resource)
        obj = self._get((resource, name))
        if obj is None or kind is None:
            return
        if _waits(obj, ORPHAN):
            await self._orphan(key, kind, obj)
        elif _waits(obj, FOREGROUND):
            await self._foreground(key, kind, obj)
        if metadata(obj).get("ownerReferences"):
            await self._collect(key, kind, obj)

    async def _orphan(self, key: str, kind: Kind, obj: JsonObject) -> None:
        """Release the dependents, then let the object go."""
        uid = uid_of(obj)
        for node in list(self._dependents.get(uid, ())):
            dependent = self._get(node)
            if dependent is not None:
                kept = [ref for ref in _owners(dependent) if ref.get("uid") != uid]
                await self._set_owners(key, self._kinds[node[0]], dependent, kept)
        await self._drop_finalizer(key, kind, obj, ORPHAN)

    async def _foreground(self, key: str, kind: Kind, obj: JsonObject) -> None:
        """Delete the dependents first; the object goes when none that blocks is left."""
        uid = uid_of(obj)
        blocked = False
        for node in list(self._dependents.get(uid, ())):
            dependent = self._get(node)
            if dependent is None:
                continue
            blocked = blocked or any(
                ref.get("uid") == uid and ref.get("blockOwnerDeletion")
                for ref in _owners(dependent)
            )
            if "deletionTimestamp" not in metadata(dependent):
                self._add(node)
        if not blocked:
            await self._drop_finalizer(key, kind, obj, FOREGROUND)

    async def _collect(self, key: str, kind: Kind, obj: JsonObject) -> None:
        """Delete an object all of whose owners are gone, or release it from those that are."""
        if "deletionTimestamp" in metadata(obj):
            return
        solid: list[JsonObject] = []
        waiting = False
        for reference in _owners(obj):
            owner = await self._owner(reference, namespace_of(obj))
            if owner is None:
                continue
            if _waits(owner, FOREGROUND) and reference.get("blockOwnerDeletion"):
                waiting = True
            else:
                solid.append(reference)
        if solid:
            if len(solid) != len(_owners(obj)):
                await self._set_owners(key, kind, obj, solid)
            return
        has_dependents = bool(self._dependents.get(uid_of(obj)))
        policy = "Foreground" if waiting and has_dependents else "Background"
        gone = Delete(kind, namespace_of(obj), name_of(obj), uid=uid_of(obj), propagation=policy)
        await self.apply(key, [gone])

    async def _owner(self, reference: JsonObject, namespace: str) -> JsonObject | None:
        """The owner a reference means, or None when it is surely gone."""
        uid = str(reference.get("uid", ""))
        node = self._uids.get(uid)
        if node is not None:
            known = self._get(node)
            if known is not None:
                return known
        if uid in self._absent:
            return None
        kind = self._by_api_kind.get(
            (str(reference.get("apiVersion", "")), str(reference.get("kind", "")))
        )
        if kind is None:
            # A kind that nobody serves (any more): no reason to delete what belongs to it.
            return dict(reference)
        try:
            live = await self.context.client.get(
                kind, str(reference.get("name", "")), namespace if kind.namespaced else ""
            )
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            live = {}
        if uid_of(live) == uid:
            return live
        self._absent[uid] = None
        if len(self._absent) > ABSENT_OWNERS_KNOWN_MAX:
            del self._absent[next(iter(self._absent))]
        return None

    async def _set_owners(
        self, key: str, kind: Kind, obj: JsonObject, references: list[JsonObject]
    ) -> None:
        patch = {"metadata": {"ownerReferences": references or None}}
        await self._patch(key, kind, obj, patch)

    async def _drop_finalizer(self, key: str, kind: Kind, obj: JsonObject, name: str) -> None:
        kept = [entry for entry in metadata(obj).get("finalizers") or () if entry != name]
        await self._patch(key, kind, obj, {"metadata": {"finalizers": kept or None}})

    async def _patch(self, key: str, kind: Kind, obj: JsonObject, patch: JsonObject) -> None:
        change = Patch(
            kind,
            namespace_of(obj),
            name_of(obj),
            patch,
            resource_version=str(metadata(obj).get("resourceVersion", "")),
            missing_ok=True,
        )
        await self.apply(key, [change])


def kind_of_crd(crd: JsonObject) -> tuple[Kind, tuple[str, ...]] | None:
    """The kind that a CustomResourceDefinition adds, and all apiVersions it is served in."""
    spec = crd.get("spec") or {}
    names = spec.get("names") or {}
    served = [str(entry["name"]) for entry in spec.get("versions") or () if entry.get("served")]
    if not served:
        return None
    kind = Kind(
        group=str(spec.get("group", "")),
        version=served[0],
        kind=str(names.get("kind", "")),
        plural=str(names.get("plural", "")),
        namespaced=spec.get("scope") == "Namespaced",
    )
    return kind, tuple(f"{kind.group}/{version}" for version in served)


def _owners(obj: JsonObject) -> list[JsonObject]:
    return list(metadata(obj).get("ownerReferences") or ())


def _owner_uids(obj: JsonObject) -> set[str]:
    return {str(reference.get("uid", "")) for reference in _owners(obj)}


def _waits(obj: JsonObject, finalizer: str) -> bool:
    meta = metadata(obj)
    return "deletionTimestamp" in meta and finalizer in (meta.get("finalizers") or ())
