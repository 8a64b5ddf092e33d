"""Served kinds made ready for requests: compiled schema, where objects are stored, what differs.

`Resources` is rebuilt entry by entry as the registry changes; nothing else caches kinds.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from volcano.api import kinds
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.base.limits import REMEMBERED_LIST_MAX, REMEMBERED_LISTS_MAX
from volcano.server.registry import Registry, ServedKind
from volcano.server.schema import Compiler, Schema
from volcano.server.store.log import Key
from volcano.server.store.store import Store

_WITHOUT_GENERATION = frozenset(
    {
        kinds.NAMESPACE,
        kinds.NODE,
        kinds.SERVICE,
        kinds.CONFIG_MAP,
        kinds.SECRET,
        kinds.SERVICE_ACCOUNT,
        kinds.EVENT,
        kinds.EVENTS_EVENT,
        kinds.PERSISTENT_VOLUME,
        kinds.PERSISTENT_VOLUME_CLAIM,
        kinds.RESOURCE_QUOTA,
        kinds.LIMIT_RANGE,
        kinds.ENDPOINTS,
        kinds.PRIORITY_CLASS,
        kinds.STORAGE_CLASS,
        kinds.LEASE,
        kinds.ROLE,
        kinds.ROLE_BINDING,
        kinds.CLUSTER_ROLE,
        kinds.CLUSTER_ROLE_BINDING,
    }
)


def collection_of(kind: Kind) -> str:
    """Where objects of a kind are stored; both Event kinds share one place."""
    return kinds.EVENT.resource if kind.group == kinds.EVENTS_EVENT.group else kind.resource


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """One served kind, ready for use.

    Attributes:
        collection: where its objects are stored.
        converted: stored objects may have another apiVersion than this kind's.
        has_status: the status is written through its own sub-resource only.
        counts_generation: `metadata.generation` rises with the desired state.
        selectable: fields that a CRD makes selectable.
    """

    entry: ServedKind
    kind: Kind
    schema: Schema
    collection: str
    converted: bool
    has_status: bool
    counts_generation: bool
    selectable: tuple[str, ...] = ()

    @property
    def custom(self) -> bool:
        """Whether a CRD brought it."""
        return self.entry.custom

    def key(self, namespace: str, name: str) -> Key:
        """The store's key of an object."""
        return Key(self.collection, namespace, name)


class Resources:
    """The registry's kinds, compiled at first use and again when their entry changes."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self._compiler = Compiler(registry.definitions)
        self._known: dict[tuple[str, str, str], Resource] = {}

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """The kind behind a URL, or None."""
        entry = self.registry.find(group, version, plural)
        if entry is None:
            return None
        path = (group, version, plural)
        known = self._known.get(path)
        if known is None or known.entry is not entry:
            known = self._known[path] = self._make(entry)
        return known

    def of(self, kind: Kind) -> Resource:
        """The resource of a kind that is known to be served."""
        found = self.find(kind.group, kind.version, kind.plural)
        assert found is not None, f"{kind.resource} is not served"
        return found

    def _make(self, entry: ServedKind) -> Resource:
        kind = entry.kind
        versions = entry.crd["spec"]["versions"] if entry.crd is not None else ()
        selectable: tuple[str, ...] = ()
        for version in versions:
            if version["name"] == kind.version:
                selectable = tuple(
                    field["jsonPath"].lstrip(".") for field in version.get("selectableFields", ())
                )
        compiler = Compiler(self.registry.definitions) if entry.custom else self._compiler
        return Resource(
            entry=entry,
            kind=kind,
            schema=Schema(entry.schema, compiler, custom=entry.custom),
            collection=collection_of(kind),
            converted=len(versions) > 1 or collection_of(kind) == kinds.EVENT.resource,
            has_status="status" in kind.subresources,
            counts_generation=entry.custom or kind not in _WITHOUT_GENERATION,
            selectable=selectable,
        )


class CommittedLookup:
    """What is durable: for authentication and authorization."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, kind: Kind, namespace: str, name: str) -> JsonObject | None:
        """The stored object, shared; or None."""
        row = self._store.get(Key(collection_of(kind), namespace, name))
        return self._store.decoded(row) if row is not None else None

    def list(self, kind: Kind, namespace: str = "") -> Iterable[JsonObject]:
        """All stored objects of a kind."""
        for row in self._store.rows(collection_of(kind), namespace):
            yield self._store.decoded(row)


class LatestLookup:
    """What is durable or under way: for admission, which decides on the next write.

    Short lists are remembered until they change: each new pod is measured by the priority classes,
    limit ranges and quotas there are.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lists: dict[tuple[str, str], tuple[int, tuple[JsonObject, ...]]] = {}

    def get(self, kind: Kind, namespace: str, name: str) -> JsonObject | None:
        """The newest object, shared; or None."""
        row = self._store.latest(Key(collection_of(kind), namespace, name))
        return self._store.decoded(row) if row is not None else None

    def list(self, kind: Kind, namespace: str = "") -> Iterable[JsonObject]:
        """The newest objects of a kind."""
        collection = collection_of(kind)
        changes = self._store.changes(collection)
        known = self._lists.get((collection, namespace))
        if known is not None and known[0] == changes:
            return known[1]
        rows = self._store.latest_rows(collection, namespace)
        found = (self._store.decoded(row) for row in rows)
        if len(rows) > REMEMBERED_LIST_MAX:
            return found
        if len(self._lists) >= REMEMBERED_LISTS_MAX:
            self._lists.clear()
        short = tuple(found)
        self._lists[collection, namespace] = (changes, short)
        return short
