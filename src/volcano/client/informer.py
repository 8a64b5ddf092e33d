"""A local copy of one kind, kept by list and watch, with indexes and handlers.

Resumes a watch where it ended, lists again only when the server no longer has that version, and
backs off while the server does not answer. `note_written` puts an answer to an own write into the
copy at once (read your writes), so that a controller never acts on a copy older than its own deeds.
`metadata.managedFields` is left out: nobody here reads it, and it is half of a small object.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass

import structlog

from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject, key_of, metadata, uid_of
from volcano.base.clock import Clock
from volcano.base.errors import ApiError
from volcano.base.limits import (
    CLIENT_BACKOFF_SECONDS_MAX,
    INFORMER_EVENTS_PER_SLICE,
    WATCH_SECONDS_MAX,
)
from volcano.client.client import Client, WatchEvent

_BACKOFF_SECONDS_FIRST = 0.1
_GONE = frozenset({"Expired", "Gone"})
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to one object: `old` is None when it is new, `new` is None when it is gone.

    Both are shared with the informer and must not be changed.
    """

    old: JsonObject | None
    new: JsonObject | None

    @property
    def either(self) -> JsonObject:
        """The newest known state of the object."""
        obj = self.new if self.new is not None else self.old
        assert obj is not None, "a change has an old or a new object"
        return obj


class Informer:
    """Watches the objects of one kind and keeps them by key (`objects.key_of`).

    Args:
        namespace: only this namespace; empty for all.
        label_selector: only objects that match.
    """

    def __init__(
        self,
        client: Client,
        kind: Kind,
        *,
        namespace: str = "",
        label_selector: str = "",
        clock: Clock,
    ) -> None:
        self.kind = kind
        self._client = client
        self._namespace = namespace
        self._label_selector = label_selector
        self._clock = clock
        self._objects: dict[str, JsonObject] = {}
        self._indexes: dict[str, _Index] = {}
        self._handlers: list[Callable[[Change], None]] = []
        self._version = ""
        self._synced = asyncio.Event()
        self._failures = 0
        self._buried: set[str] = set()

    def get(self, key: str) -> JsonObject | None:
        """The object under a key, or None. Shared: do not change it."""
        return self._objects.get(key)

    def items(self) -> Iterable[JsonObject]:
        """All objects, in no promised order. Shared: do not change them."""
        return self._objects.values()

    def __len__(self) -> int:
        return len(self._objects)

    def add_index(self, name: str, keys: Callable[[JsonObject], Iterable[str]]) -> None:
        """Keep objects findable by the values that `keys` gives for them."""
        index = _Index(keys)
        for key, obj in self._objects.items():
            index.replace(key, None, obj)
        self._indexes[name] = index

    def by_index(self, name: str, value: str) -> list[JsonObject]:
        """Objects that the named index has under `value`, oldest entry first."""
        return list(self._indexes[name].entries.get(value, {}).values())

    def add_handler(self, handler: Callable[[Change], None]) -> None:
        """Call `handler` for each change, in order, on the loop; first for what is here."""
        for obj in list(self._objects.values()):
            handler(Change(None, obj))
        self._handlers.append(handler)

    async def synced(self) -> None:
        """Return once the first complete list is here."""
        await self._synced.wait()

    def has_synced(self) -> bool:
        """Whether the first complete list is here."""
        return self._synced.is_set()

    def note_written(self, obj: JsonObject) -> None:
        """Take in the answer to an own write, unless the watch is already past it.

        resourceVersions are one rising sequence, so an answer at or below the version the watch
        has reached is old news (the object may be gone by now) and is ignored.
        """
        version = _number(_version_of(obj))
        if version is None or not metadata(obj).get("uid"):
            return
        reached = _number(self._version)
        if reached is None or version <= reached:
            return
        stored = self._objects.get(key_of(obj))
        known = _number(_version_of(stored)) if stored is not None else None
        if known is None or version > known:
            self._put(obj)

    def note_removed(self, key: str, uid: str) -> None:
        """Take in that an own deletion removed the object with this uid for good."""
        stored = self._objects.get(key)
        if stored is not None and uid and uid_of(stored) == uid:
            # Older events of it may still be on their way; they must not bring it back.
            self._buried.add(uid)
            self._remove(key)

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            try:
                if not self._version:
                    await self._relist()
                await self._follow()
                self._failures = 0
            except ApiError as error:
                if error.reason in _GONE or error.code == 410:
                    self._version = ""
                    if self._failures == 0:
                        self._failures = 1
                        continue
                await self._back_off(error)
            except (OSError, TimeoutError) as error:
                await self._back_off(error)

    async def _back_off(self, error: Exception) -> None:
        pause = min(_BACKOFF_SECONDS_FIRST * 2**self._failures, CLIENT_BACKOFF_SECONDS_MAX)
        self._failures = min(self._failures + 1, 30)
        _log.warning(
            "informer waits before it asks again",
            kind=self.kind.kind,
            seconds=round(pause, 2),
            error=str(error),
        )
        await self._clock.sleep(pause)

    async def _relist(self) -> None:
        self._buried.clear()
        listed = await self._client.list(
            self.kind, self._namespace, label_selector=self._label_selector
        )
        version = str(listed.get("metadata", {}).get("resourceVersion", ""))
        at = _number(version)
        fresh = {key_of(item): item for item in listed["items"]}
        for count, (key, obj) in enumerate(fresh.items(), start=1):
            if not self._is_stale(key, obj):
                self._put(obj)
            if count % INFORMER_EVENTS_PER_SLICE == 0:
                await asyncio.sleep(0)
        for key, obj in list(self._objects.items()):
            written = _number(_version_of(obj))
            newer = at is not None and written is not None and written > at
            if key not in fresh and not newer:
                self._remove(key)
        self._version = version
        self._failures = 0
        self._synced.set()

    async def _follow(self) -> None:
        watch = self._client.watch(
            self.kind,
            self._namespace,
            resource_version=self._version,
            label_selector=self._label_selector,
            timeout_seconds=WATCH_SECONDS_MAX,
        )
        count = 0
        started = self._clock.monotonic()
        async with aclosing(watch) as events:
            async for event in events:
                self._take(event)
                self._failures = 0
                count += 1
                if count % INFORMER_EVENTS_PER_SLICE == 0:
                    await asyncio.sleep(0)
        if count == 0 and self._clock.monotonic() - started < 1:
            raise TimeoutError("the server ended the watch at once")

    def _take(self, event: WatchEvent) -> None:
        version = _version_of(event.object)
        if event.type != "BOOKMARK":
            event.object.setdefault("apiVersion", self.kind.api_version)
            event.object.setdefault("kind", self.kind.kind)
            key = key_of(event.object)
            if event.type == "DELETED":
                self._buried.discard(uid_of(event.object))
                # An answer to a deletion carries the version of the deletion itself.
                if not self._is_stale(key, event.object, allow_equal=True):
                    self._remove(key, event.object)
            elif not self._is_stale(key, event.object) and uid_of(event.object) not in self._buried:
                self._put(event.object)
        if version:
            self._version = version

    def _is_stale(self, key: str, obj: JsonObject, *, allow_equal: bool = False) -> bool:
        stored = self._objects.get(key)
        if stored is None:
            return False
        ours, theirs = _number(_version_of(stored)), _number(_version_of(obj))
        if ours is None or theirs is None:
            return not allow_equal and _version_of(stored) == _version_of(obj)
        return theirs < ours or (theirs == ours and not allow_equal)

    def _put(self, obj: JsonObject) -> None:
        key = key_of(obj)
        metadata(obj).pop("managedFields", None)
        old = self._objects.get(key)
        if old is not None and metadata(old).get("uid") != metadata(obj).get("uid"):
            self._remove(key)
            old = None
        self._objects[key] = obj
        for index in self._indexes.values():
            index.replace(key, old, obj)
        self._tell(Change(old, obj))

    def _remove(self, key: str, last: JsonObject | None = None) -> None:
        old = self._objects.pop(key, None)
        if old is None:
            return
        for index in self._indexes.values():
            index.replace(key, old, None)
        self._tell(Change(last if last is not None else old, None))

    def _tell(self, change: Change) -> None:
        for handler in self._handlers:
            handler(change)


class _Index:
    """Objects by computed values."""

    def __init__(self, keys: Callable[[JsonObject], Iterable[str]]) -> None:
        self._keys = keys
        self.entries: dict[str, dict[str, JsonObject]] = {}

    def replace(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        """Move the object under `key` from the values of its old state to those of the new."""
        after = set(self._keys(new)) if new is not None else set()
        before = set(self._keys(old)) if old is not None else set()
        for value in before - after:
            bucket = self.entries.get(value)
            if bucket is not None:
                bucket.pop(key, None)
                if not bucket:
                    del self.entries[value]
        if new is not None:
            for value in after:
                self.entries.setdefault(value, {})[key] = new


def _version_of(obj: JsonObject) -> str:
    return str(metadata(obj).get("resourceVersion", ""))


def _number(version: str) -> int | None:
    return int(version) if version.isascii() and version.isdigit() else None
