"""Keeps the cluster state up to date from the API's watches; the only mutable mirror.

One informer a kind; each change goes straight into the state, which says whether a new cycle could
decide anything differently. The scheduler never reads the API inside a cycle.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from volcano.api.kinds import NODE, POD, POD_GROUP, PRIORITY_CLASS, QUEUE, Kind
from volcano.api.objects import JsonObject
from volcano.base.clock import Clock
from volcano.client.client import Client
from volcano.client.informer import Change, Informer

WATCHED: tuple[Kind, ...] = (PRIORITY_CLASS, QUEUE, NODE, POD_GROUP, POD)
"""Kinds that scheduling depends on, in the order they are listed."""


class Mirror(Protocol):
    """What the cache feeds: `model.state.ClusterState`."""

    def put(self, kind: Kind, obj: JsonObject) -> bool:
        """Take in a new or changed object; whether a cycle could now decide differently."""
        ...

    def delete(self, kind: Kind, obj: JsonObject) -> bool:
        """Take out an object that is gone; whether a cycle could now decide differently."""
        ...


class Cache:
    """Informers feeding a mirror.

    Args:
        wake: called after a change that a cycle should look at.
    """

    def __init__(
        self, client: Client, mirror: Mirror, *, clock: Clock, wake: Callable[[], None]
    ) -> None:
        self._mirror = mirror
        self._wake = wake
        self.informers: Mapping[Kind, Informer] = {
            kind: Informer(client, kind, clock=clock) for kind in WATCHED
        }
        for kind, informer in self.informers.items():
            informer.add_handler(self._handler(kind))

    async def run(self) -> None:
        """Follow all kinds until cancelled."""
        async with asyncio.TaskGroup() as group:
            for informer in self.informers.values():
                group.create_task(informer.run())

    async def synced(self) -> None:
        """Return once every kind has been listed completely."""
        for informer in self.informers.values():
            await informer.synced()

    def _handler(self, kind: Kind) -> Callable[[Change], None]:
        def take(change: Change) -> None:
            if change.new is not None:
                relevant = self._mirror.put(kind, change.new)
            else:
                relevant = self._mirror.delete(kind, change.either)
            if relevant:
                self._wake()

        return take
