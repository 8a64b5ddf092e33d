"""Background work of the API server itself: history, old Events, the objects of a deleted CRD."""

import asyncio
from collections import deque
from functools import partial

import structlog

from volcano.api import kinds
from volcano.api.objects import JsonObject
from volcano.base.clock import Clock
from volcano.base.errors import StoreError
from volcano.base.limits import EVENT_SWEEP_SECONDS, EVENT_TTL_SECONDS, SWEEP_SLICE_OBJECTS
from volcano.server.calls import DeleteOptions
from volcano.server.crds import terminating
from volcano.server.deleting import CRD_CLEANUP, plan
from volcano.server.representation import decode
from volcano.server.resources import Resources
from volcano.server.store.log import Key, Row, StaleRevisionError
from volcano.server.store.store import Store
from volcano.server.store.watch import Event
from volcano.server.writing import encoded_at

_RETRY_SECONDS = 1.0
_IDLE_SECONDS = 3_600.0

_log = structlog.get_logger(__name__)


class EventExpiry:
    """Drops Events an hour after their last change, as kube-apiserver does."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._seen: deque[tuple[float, Key, int]] = deque()

    def listen(self) -> None:
        """Follow the store; Events from before this start count as new."""
        for row in self._store.rows(kinds.EVENT.resource):
            self._note(row)
        self._store.listen(kinds.EVENT.resource, self._changed)

    def _changed(self, event: Event) -> None:
        if not event.row.deleted:
            self._note(event.row)

    def _note(self, row: Row) -> None:
        self._seen.append((self._clock.monotonic(), row.key, row.revision))

    async def run(self) -> None:
        """Sweep until cancelled."""
        while True:
            await self._clock.sleep(EVENT_SWEEP_SECONDS)
            try:
                await self.sweep()
            except StoreError as error:
                _log.warning("old events could not be dropped", error=error.public)

    async def sweep(self) -> None:
        """Drop what is old now, a slice at a time."""
        horizon = self._clock.monotonic() - EVENT_TTL_SECONDS
        while self._seen and self._seen[0][0] <= horizon:
            writes: list[asyncio.Future[Row]] = []
            while self._seen and self._seen[0][0] <= horizon and len(writes) < SWEEP_SLICE_OBJECTS:
                _, key, revision = self._seen.popleft()
                row = self._store.latest(key)
                if row is not None and row.revision == revision:
                    obj = decode(row.value)
                    writes.append(self._store.delete(key, revision, partial(encoded_at, obj)))
            await asyncio.gather(*writes)


class CrdCleanup:
    """Removes the objects of a CRD that is being deleted, then lets the CRD go."""

    def __init__(self, store: Store, resources: Resources, clock: Clock) -> None:
        self._store = store
        self._resources = resources
        self._clock = clock

    async def run(self) -> None:
        """Clean up until cancelled."""
        kind = kinds.CUSTOM_RESOURCE_DEFINITION
        subscription = self._store.subscribe(kind.resource)
        try:
            while not subscription.closed:
                subscription.take()
                going = [
                    row
                    for row in self._store.rows(kind.resource)
                    if terminating(self._store.decoded(row))
                ]
                for row in going:
                    await self._clean(row)
                await subscription.wait(_RETRY_SECONDS if going else _IDLE_SECONDS)
        finally:
            self._store.unsubscribe(subscription)

    async def _clean(self, row: Row) -> None:
        """Ask every object to go; when the last has gone, release the CRD."""
        crd = decode(row.value)
        collection = f"{crd['spec']['names']['plural']}.{crd['spec']['group']}"
        try:
            left = self._store.latest_rows(collection)
            for start in range(0, len(left), SWEEP_SLICE_OBJECTS):
                part = left[start : start + SWEEP_SLICE_OBJECTS]
                await asyncio.gather(*filter(None, map(self._remove, part)))
            if self._store.latest_rows(collection):
                return
            await self._release(crd, row)
        except StaleRevisionError:
            return  # somebody else wrote it: the next round sees the new version
        except StoreError as error:
            _log.warning("objects of a deleted CRD remain", crd=row.key.name, error=error.public)

    def _remove(self, row: Row) -> asyncio.Future[Row] | None:
        group_kind = kinds.CUSTOM_RESOURCE_DEFINITION  # any kind without grace or own finalizers
        removal = plan(group_kind, decode(row.value), _BACKGROUND, self._clock.now())
        if not removal.changed:
            return None
        write = self._store.delete if removal.remove else self._store.put
        return write(row.key, row.revision, partial(encoded_at, removal.obj))

    async def _release(self, crd: JsonObject, row: Row) -> None:
        meta = crd["metadata"]
        left = [name for name in meta.get("finalizers") or () if name != CRD_CLEANUP]
        if left == (meta.get("finalizers") or []):
            return
        meta["finalizers"] = left
        write = self._store.put if left else self._store.delete
        await write(row.key, row.revision, partial(encoded_at, crd))


_BACKGROUND = DeleteOptions(policy="Background")
