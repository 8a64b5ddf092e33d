"""watch: the events of a collection as a stream, from a revision or from the present state on."""

import random
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from volcano.api.objects import JsonObject
from volcano.base.clock import Clock
from volcano.base.errors import ApiError
from volcano.base.http import Request, Response
from volcano.base.limits import (
    WATCH_BOOKMARK_SECONDS,
    WATCH_CHUNK_BYTES,
    WATCH_TIMEOUT_SECONDS,
)
from volcano.server import tables
from volcano.server.reading import (
    check_match,
    parse_revision,
    representation_of,
    selectable,
)
from volcano.server.refusals import bad_request, expired, too_large_revision
from volcano.server.representation import (
    Representation,
    Shape,
    decode,
    encode,
    metadata_only,
    object_bytes,
    to_version,
)
from volcano.server.resources import Resource
from volcano.server.routes import Route, is_true
from volcano.server.selectors import Selection, selection
from volcano.server.store.log import CompactedError, Row
from volcano.server.store.store import Store
from volcano.server.store.watch import Event, Subscription

_HEADERS = {"content-type": "application/json"}
_ADDED, _MODIFIED, _DELETED = "ADDED", "MODIFIED", "DELETED"
_HEADS = {name: b'{"type":"%b","object":' % name.encode() for name in (_ADDED, _MODIFIED, _DELETED)}
_INITIAL_END = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class _Wish:
    """What a watch asks for."""

    selection: Selection
    representation: Representation
    since: int
    state_first: bool
    bookmarks: bool
    mark_initial_end: bool
    seconds: float


class Watcher:
    """Answers watch requests."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def watch(self, resource: Resource, route: Route, request: Request) -> Response:
        """A stream of events, one JSON document a line.

        Raises:
            ApiError: Expired for compacted history, Timeout for a future revision.
        """
        wish = self._wish(resource, request)
        if not wish.state_first:
            if wish.since > self._store.revision:
                raise too_large_revision(wish.since, self._store.revision)
            if wish.since < self._store.compacted:
                raise expired(CompactedError(wish.since, self._store.compacted))
        stream = _Stream(self._store, self._clock, resource, wish)
        return Response(200, _HEADERS, stream=stream.run(route.namespace))

    def _wish(self, resource: Resource, request: Request) -> _Wish:
        query = request.query
        version = query.get("resourceVersion", "")
        check_match(
            version,
            query.get("resourceVersionMatch", ""),
            continued=False,
            query=query,
            watching=True,
        )
        initial = query.get("sendInitialEvents")
        state_first = is_true(initial) or (initial is None and version in ("", "0"))
        since = parse_revision(version) if version else 0
        if initial is not None and since > self._store.revision:
            raise too_large_revision(since, self._store.revision)
        if not state_first and since == 0:
            since = self._store.revision
        bookmarks = is_true(query.get("allowWatchBookmarks"))
        return _Wish(
            selection=selection(query, resource.kind, resource.selectable),
            representation=representation_of(request),
            since=since,
            state_first=state_first,
            bookmarks=bookmarks,
            mark_initial_end=is_true(initial) and bookmarks,
            seconds=_timeout(query),
        )


class _Stream:
    """One watch: what was, what is in between, what comes."""

    def __init__(self, store: Store, clock: Clock, resource: Resource, wish: _Wish) -> None:
        self._store = store
        self._clock = clock
        self._resource = resource
        self._wish = wish
        self._sent_columns = False

    async def run(self, namespace: str) -> AsyncIterator[bytes]:
        """Chunks until time is up, the reader is cut for lagging, or the server stops."""
        subscription = self._store.subscribe(self._resource.collection, namespace)
        deadline = self._clock.monotonic() + self._wish.seconds
        try:
            if self._wish.state_first:
                async for chunk in self._state(subscription):
                    yield chunk
            else:
                async for chunk in self._past(subscription):
                    yield chunk
            async for chunk in self._live(subscription, deadline):
                yield chunk
        finally:
            self._store.unsubscribe(subscription)

    async def _state(self, subscription: Subscription) -> AsyncIterator[bytes]:
        rows = self._store.rows(self._resource.collection, subscription.namespace)
        size, parts = 0, []
        for row in rows:
            if not self._selects(row):
                continue
            parts.append(self._written(_ADDED, row))
            size += len(parts[-1])
            if size > WATCH_CHUNK_BYTES:
                yield b"".join(parts)
                size, parts = 0, []
        if self._wish.mark_initial_end:
            parts.append(self._bookmark(subscription.since, {_INITIAL_END: "true"}))
        if parts:
            yield b"".join(parts)

    async def _past(self, subscription: Subscription) -> AsyncIterator[bytes]:
        if self._wish.since >= subscription.since:
            return
        try:
            events = await self._store.history(
                self._resource.collection,
                subscription.namespace,
                self._wish.since,
                subscription.since,
            )
        except CompactedError as error:
            yield _error(expired(error))
            subscription.close()
            return
        chunk = self._encoded(events)
        if chunk:
            yield chunk

    async def _live(self, subscription: Subscription, deadline: float) -> AsyncIterator[bytes]:
        next_bookmark = self._clock.monotonic() + WATCH_BOOKMARK_SECONDS
        while True:
            now = self._clock.monotonic()
            events = subscription.take()
            if events:
                chunk = self._encoded(events)
                if chunk:
                    yield chunk
                continue
            if self._wish.bookmarks and (now >= next_bookmark or now >= deadline):
                next_bookmark = now + WATCH_BOOKMARK_SECONDS
                yield self._bookmark(self._store.revision)
            if subscription.closed or now >= deadline:
                return
            until = min(deadline, next_bookmark) if self._wish.bookmarks else deadline
            await subscription.wait(max(0.001, until - now))

    def _encoded(self, events: list[Event]) -> bytes:
        return b"".join(filter(None, map(self._event, events)))

    def _selects(self, row: Row) -> bool:
        chosen = self._wish.selection
        if chosen.everything:
            return True
        if chosen.name and row.key.name != chosen.name:
            return False
        return chosen.matches(selectable(self._resource, self._store, row))

    def _event(self, event: Event) -> bytes:
        """An event as this watch sees it: entering the selection is ADDED, leaving it DELETED."""
        row, previous = event.row, event.previous
        was = previous is not None and self._selects(previous)
        if row.deleted:
            return self._written(_DELETED, row) if was else b""
        if self._selects(row):
            return self._written(_MODIFIED if was else _ADDED, row)
        if was and previous is not None:
            return self._written(_DELETED, previous, row.revision)
        return b""

    def _written(self, name: str, row: Row, revision: int = 0) -> bytes:
        """One line; with `revision` the object is an earlier state told at a later revision."""
        plain = self._wish.representation.shape is Shape.OBJECT
        if plain and not revision:
            return b"%b%b}\n" % (_HEADS[name], object_bytes(self._resource, row))
        obj: JsonObject = to_version(self._resource, decode(row.value))
        if revision:
            obj["metadata"]["resourceVersion"] = str(revision)
        return b"%b%b}\n" % (_HEADS[name], encode(obj if plain else self._shaped(obj)))

    def _shaped(self, obj: JsonObject) -> JsonObject:
        if self._wish.representation.shape is Shape.METADATA:
            return metadata_only(obj)
        with_columns, self._sent_columns = not self._sent_columns, True
        return tables.table(
            self._resource.entry,
            [obj],
            self._clock.now(),
            include_object=self._wish.representation.include,
            list_metadata={"resourceVersion": obj["metadata"].get("resourceVersion", "")},
            with_columns=with_columns,
        )

    def _bookmark(self, revision: int, annotations: Mapping[str, str] | None = None) -> bytes:
        kind = self._resource.kind
        meta: JsonObject = {"resourceVersion": str(revision), "creationTimestamp": None}
        if annotations:
            meta["annotations"] = dict(annotations)
        obj: JsonObject = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": meta}
        if self._wish.representation.shape is Shape.METADATA:
            obj = metadata_only(obj)
        elif self._wish.representation.shape is Shape.TABLE:
            obj = {
                "kind": "Table",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": meta,
                "columnDefinitions": [],
                "rows": [],
            }
        return encode({"type": "BOOKMARK", "object": obj}) + b"\n"


def _error(refusal: ApiError) -> bytes:
    return encode({"type": "ERROR", "object": refusal.to_status()}) + b"\n"


def _timeout(query: Mapping[str, str]) -> float:
    text = query.get("timeoutSeconds", "")
    if not text or text == "0":
        return random.uniform(WATCH_TIMEOUT_SECONDS, 2 * WATCH_TIMEOUT_SECONDS)
    if not text.isdecimal():
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return float(text)
