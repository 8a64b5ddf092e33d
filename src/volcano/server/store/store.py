"""The store the API works with: numbers changes, checks expectations, keeps what is current.

A write is numbered at once and becomes visible to reads and watches only when the log has made
it durable. Writes see the writes before them that are still under way (`latest`), so that two
changes of one object in one group commit are both checked; if the log fails, all of them fail.
"""

import asyncio
import bisect
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

import msgspec
import structlog

from volcano.api.objects import JsonObject
from volcano.base.clock import Clock
from volcano.base.errors import StoreError
from volcano.base.limits import (
    COMPACTION_AGE_SECONDS,
    COMPACTION_BYTES_MAX,
    COMPACTION_CHECK_SECONDS,
    DECODED_OBJECTS_MAX,
    HISTORY_READ_ROWS,
)
from volcano.server.store.log import CompactedError, Key, Log, Row, StaleRevisionError
from volcano.server.store.watch import Event, Hub, Subscription

Encode = Callable[[int], bytes]
"""Gives the value of a row once its revision is known."""

Listener = Callable[[Event], None]
"""Hears of a commit synchronously; must be quick and must not raise."""

_log = structlog.get_logger(__name__)
_decode = msgspec.json.Decoder().decode


class _Collection:
    """The current rows of one kind, by namespace and name."""

    __slots__ = ("by_namespace", "ordered")

    def __init__(self) -> None:
        self.by_namespace: dict[str, dict[str, Row]] = {}
        self.ordered: dict[str, list[str]] = {}

    def put(self, row: Row) -> None:
        names = self.by_namespace.setdefault(row.key.namespace, {})
        if row.key.name not in names:
            self.ordered.pop(row.key.namespace, None)
        names[row.key.name] = row

    def drop(self, key: Key) -> None:
        names = self.by_namespace.get(key.namespace)
        if names is None or names.pop(key.name, None) is None:
            return
        self.ordered.pop(key.namespace, None)
        if not names:
            del self.by_namespace[key.namespace]

    def rows(self, namespace: str) -> Iterator[Row]:
        """Rows by name, or with an empty namespace by namespace and name."""
        for space in (namespace,) if namespace else sorted(self.by_namespace):
            names = self.by_namespace.get(space)
            if names is None:
                continue
            order = self.ordered.get(space)
            if order is None:
                order = self.ordered[space] = sorted(names)
            for name in order:
                yield names[name]


class Store:
    """Objects by key, one sequence of revisions, watches. Lives on one event loop.

    Args:
        history_seconds: history younger than this is kept, unless it grows too large.
    """

    def __init__(
        self, log: Log, clock: Clock, *, history_seconds: float = COMPACTION_AGE_SECONDS
    ) -> None:
        self._log = log
        self._clock = clock
        self._history_seconds = history_seconds
        loaded = log.load()
        self._revision = loaded.revision
        self._assigned = loaded.revision
        self._compacted = loaded.compacted
        self._collections: dict[str, _Collection] = {}
        for row in loaded.rows:
            self._collection(row.key.collection).put(row)
        self._pending: dict[str, dict[Key, Row]] = {}
        self._changes: Counter[str] = Counter()
        self._waiting: dict[int, asyncio.Future[Row]] = {}
        self._hub = Hub(loaded.revision)
        self._decoded: OrderedDict[int, JsonObject] = OrderedDict()
        self._superseded_bytes = 0
        self._marks: list[tuple[float, int, int]] = []
        self._listeners: dict[str, list[Listener]] = {}
        self._started = False

    def listen(self, collection: str, listener: Listener) -> None:
        """Call `listener` for each commit to a collection, before the writer is answered."""
        self._listeners.setdefault(collection, []).append(listener)

    def start(self) -> None:
        """Begin to accept writes, on the running loop."""
        self._log.start(self._on_committed, self._on_failed)
        self._started = True

    def close(self) -> None:
        """Finish pending writes, end watches, release the log. Blocks for one commit."""
        self._started = False
        self._hub.close()
        self._log.close()

    @property
    def revision(self) -> int:
        """The newest committed revision."""
        return self._revision

    @property
    def compacted(self) -> int:
        """History up to here is gone."""
        return self._compacted

    def _collection(self, name: str) -> _Collection:
        found = self._collections.get(name)
        if found is None:
            found = self._collections[name] = _Collection()
        return found

    # Reads of what is committed.

    def get(self, key: Key) -> Row | None:
        """The committed version, or None."""
        collection = self._collections.get(key.collection)
        if collection is None:
            return None
        return collection.by_namespace.get(key.namespace, _NO_ROWS).get(key.name)

    def rows(self, collection: str, namespace: str = "") -> list[Row]:
        """Committed rows of a kind, ordered by namespace and name."""
        found = self._collections.get(collection)
        return list(found.rows(namespace)) if found is not None else []

    def count(self, collection: str, namespace: str = "") -> int:
        """How many committed objects there are."""
        found = self._collections.get(collection)
        if found is None:
            return 0
        if namespace:
            return len(found.by_namespace.get(namespace, _NO_ROWS))
        return sum(len(names) for names in found.by_namespace.values())

    async def rows_at(self, collection: str, namespace: str, revision: int) -> list[Row]:
        """Rows as they were at `revision`, in the same order as `rows`.

        Raises:
            CompactedError: that history is gone.
        """
        if revision < self._compacted:
            raise CompactedError(revision, self._compacted)
        present = self.revision
        rows = {row.key: row for row in self.rows(collection, namespace)}
        first: dict[Key, Event] = {}
        async for event in self._history(collection, namespace, revision, present):
            first.setdefault(event.row.key, event)
        for key, event in first.items():
            if event.previous is None:
                rows.pop(key, None)
            else:
                rows[key] = event.previous
        if revision < self._compacted:
            raise CompactedError(revision, self._compacted)
        return sorted(rows.values(), key=lambda row: row.key)

    # Reads for writers: what is committed or under way.

    def latest(self, key: Key) -> Row | None:
        """The version that the next write of this key has to build on."""
        pending = self._pending.get(key.collection)
        if pending is not None:
            row = pending.get(key)
            if row is not None:
                return None if row.deleted else row
        return self.get(key)

    def latest_rows(self, collection: str, namespace: str = "") -> list[Row]:
        """Like `rows`, with the writes under way; in no particular order."""
        pending = self._pending.get(collection)
        if not pending:
            return self.rows(collection, namespace)
        rows = {row.key: row for row in self.rows(collection, namespace)}
        for key, row in pending.items():
            if namespace and key.namespace != namespace:
                continue
            if row.deleted:
                rows.pop(key, None)
            else:
                rows[key] = row
        return list(rows.values())

    def changes(self, collection: str) -> int:
        """A number that another one follows whenever `latest_rows` may answer differently."""
        return self._changes[collection]

    def decoded(self, row: Row) -> JsonObject:
        """The object of a row, shared and cached: never change it."""
        cached = self._decoded.get(row.revision)
        if cached is not None:
            return cached
        obj: JsonObject = _decode(row.value)
        self._decoded[row.revision] = obj
        if len(self._decoded) > DECODED_OBJECTS_MAX:
            self._decoded.popitem(last=False)
        return obj

    # Writes.

    def put(self, key: Key, expected: int, encode: Encode) -> asyncio.Future[Row]:
        """Create (`expected` 0) or replace the version `expected`; done once it is durable.

        Raises:
            StaleRevisionError: at once, when the newest version is another one.
            StoreError: from the future; nothing was changed.
        """
        return self._write(key, expected, encode, deleted=False)

    def delete(self, key: Key, expected: int, encode: Encode) -> asyncio.Future[Row]:
        """Remove the version `expected`; `encode` gives the last state for watchers."""
        return self._write(key, expected, encode, deleted=True)

    def _write(
        self, key: Key, expected: int, encode: Encode, *, deleted: bool
    ) -> asyncio.Future[Row]:
        if not self._started:
            raise StoreError("the store is not running")
        newest = self.latest(key)
        found = newest.revision if newest is not None else 0
        if found != expected:
            raise StaleRevisionError(key, expected, found)
        revision = self._assigned + 1
        row = Row(revision, key, expected, deleted, encode(revision))
        self._assigned = revision
        self._pending.setdefault(key.collection, {})[key] = row
        self._changes[key.collection] += 1
        future = asyncio.get_running_loop().create_future()
        self._waiting[revision] = future
        self._log.append(row)
        return future

    def _on_committed(self, rows: Sequence[Row]) -> None:
        for row in rows:
            key = row.key
            collection = self._collection(key.collection)
            previous = collection.by_namespace.get(key.namespace, _NO_ROWS).get(key.name)
            if row.deleted:
                collection.drop(key)
            else:
                collection.put(row)
            pending = self._pending.get(key.collection)
            if pending is not None and pending.get(key) is row:
                del pending[key]
            self._revision = row.revision
            if previous is not None:
                self._superseded_bytes += len(previous.value)
            future = self._waiting.pop(row.revision, None)
            if future is not None and not future.done():
                future.set_result(row)
            event = Event(row, previous)
            for listener in self._listeners.get(key.collection, ()) if self._started else ():
                listener(event)
            self._hub.publish(event)

    def _on_failed(self, error: StoreError) -> None:
        waiting, self._waiting = self._waiting, {}
        self._changes.update(self._pending.keys())
        self._pending.clear()
        for future in waiting.values():
            if not future.done():
                future.set_exception(type(error)(error.public, error.detail))
                future.exception()
        _log.error("store write failed", error=error.public, detail=error.detail)

    # Watches.

    def subscribe(self, collection: str, namespace: str = "") -> Subscription:
        """Events above the present revision; the caller ends it with `unsubscribe`."""
        return self._hub.subscribe(collection, namespace, self._revision)

    @property
    def watchers(self) -> int:
        """How many watches there are."""
        return self._hub.watchers

    def unsubscribe(self, subscription: Subscription) -> None:
        """End a subscription."""
        self._hub.unsubscribe(subscription)

    async def history(self, collection: str, namespace: str, since: int, upto: int) -> list[Event]:
        """The events of a collection in (since, upto], ascending.

        Raises:
            CompactedError: events after `since` are gone.
        """
        events = [event async for event in self._history(collection, namespace, since, upto)]
        if since < self._compacted:
            raise CompactedError(since, self._compacted)
        return events

    async def _history(
        self, collection: str, namespace: str, since: int, upto: int
    ) -> AsyncIterator[Event]:
        if since < self._compacted:
            raise CompactedError(since, self._compacted)
        while since < min(upto, self._hub.floor):
            rows = await self._log.after(since, HISTORY_READ_ROWS)
            wanted = [
                row for row in rows if row.revision <= upto and _inside(row, collection, namespace)
            ]
            previous = await self._log.at([row.previous for row in wanted if row.previous])
            for row in wanted:
                yield Event(row, previous.get(row.previous))
            if not rows:
                return
            since = rows[-1].revision
        for event in self._hub.recent(since):
            if event.revision > upto:
                return
            if _inside(event.row, collection, namespace):
                yield event

    # Compaction.

    async def compact(self, upto: int) -> int:
        """Forget history up to `upto`, which is kept below the newest revision."""
        upto = min(upto, self._revision - 1)
        if upto <= self._compacted:
            return 0
        since, self._compacted = self._compacted, upto
        return await self._log.compact(since, upto)

    async def maintain(self) -> None:
        """Compact by age and by size until cancelled."""
        pause = min(COMPACTION_CHECK_SECONDS, self._history_seconds / 4)
        while True:
            await self._clock.sleep(pause)
            try:
                await self.compact(self._due())
            except StoreError as error:
                _log.warning("compaction failed", error=error.public, detail=error.detail)

    def _due(self) -> int:
        """The revision up to which history is old enough, or too large."""
        now = self._clock.monotonic()
        self._marks.append((now, self._revision, self._superseded_bytes))
        old = bisect.bisect_right(self._marks, now - self._history_seconds, key=lambda m: m[0])
        keep = self._superseded_bytes - COMPACTION_BYTES_MAX
        large = bisect.bisect_right(self._marks, keep, key=lambda m: m[2]) if keep > 0 else 0
        passed = max(old, large)
        if passed == 0:
            return 0
        due = self._marks[passed - 1][1]
        del self._marks[: passed - 1]
        return due


_NO_ROWS: dict[str, Row] = {}


def _inside(row: Row, collection: str, namespace: str) -> bool:
    return row.key.collection == collection and (not namespace or row.key.namespace == namespace)
