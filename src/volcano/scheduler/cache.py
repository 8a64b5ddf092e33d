"""Keeps the cluster state up to date from the API's watches.

One informer a kind; each change goes straight into the state. `worth_a_cycle` says whether a new
cycle could decide anything differently: heartbeats of nodes and echoes of the scheduler's own
writes are taken in, but wake nobody. The scheduler never reads the API inside a cycle.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from volcano.api.kinds import NODE, POD, POD_GROUP, PRIORITY_CLASS, QUEUE, Kind
from volcano.api.objects import JsonObject, key_of, metadata
from volcano.base.clock import Clock
from volcano.client.client import Client
from volcano.client.informer import Change, Informer
from volcano.scheduler.model.state import ClusterState
from volcano.scheduler.model.task import Task, TaskStatus

WATCHED: tuple[Kind, ...] = (PRIORITY_CLASS, QUEUE, NODE, POD_GROUP, POD)
"""Kinds that scheduling depends on, in the order they are listed."""


class Cache:
    """Informers feeding a cluster state.

    Args:
        wake: called after a change that a cycle should look at.
        wake_later: called instead of `wake` after one that can wait a little.
    """

    def __init__(
        self,
        client: Client,
        state: ClusterState,
        *,
        clock: Clock,
        wake: Callable[[], None],
        wake_later: Callable[[], None] | None = None,
    ) -> None:
        self._state = state
        self._wake = wake
        self._wake_later = wake_later or wake
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

    def restore(self, kind: Kind, key: str) -> None:
        """Put an object into the state as it was last seen; nothing if it is gone."""
        obj = self.informers[kind].get(key)
        if obj is not None:
            self._state.put(kind, obj)

    def _handler(self, kind: Kind) -> Callable[[Change], None]:
        def take(change: Change) -> None:
            before = self._state.tasks.get(key_of(change.either)) if kind is POD else None
            if change.new is not None:
                relevant = self._state.put(kind, change.new)
            else:
                relevant = self._state.delete(kind, change.either)
            if not relevant or not worth_a_cycle(kind, change.old, change.new):
                return
            after = self._state.tasks.get(key_of(change.either)) if kind is POD else None
            if after is not None and can_wait(self._state, before, after):
                self._wake_later()
            else:
                self._wake()

        return take


def worth_a_cycle(kind: Kind, old: JsonObject | None, new: JsonObject | None) -> bool:
    """Whether a change can alter what a cycle decides."""
    if old is None or new is None:
        return True
    return _decisive(kind, old) != _decisive(kind, new)


def can_wait(state: ClusterState, before: Task | None, after: Task) -> bool:
    """Whether a change of a task lets nobody start: there only is something to tell.

    So it is with members of a gang that has too few of them yet, and with pods that come or begin
    to run where they were placed.
    """
    if after.status is TaskStatus.PENDING:
        job = state.jobs.get(after.job)
        return (
            before is None
            and job is not None
            and (job.group is None or len(job.tasks) < job.group.min_member)
        )
    return (
        before is not None
        and before.uid == after.uid
        and before.node == after.node
        and {before.status, after.status} <= _PLACED
    )


_PLACED = frozenset({TaskStatus.BINDING, TaskStatus.BOUND, TaskStatus.RUNNING})


def _decisive(kind: Kind, obj: JsonObject) -> tuple[Any, ...]:
    """The parts of an object that scheduling reads."""
    meta, status = metadata(obj), obj.get("status") or {}
    parts = (
        meta.get("uid"),
        meta.get("labels"),
        meta.get("annotations"),
        meta.get("deletionTimestamp"),
        obj.get("spec"),
    )
    if kind is NODE:
        conditions = [
            (entry.get("type"), entry.get("status")) for entry in status.get("conditions") or ()
        ]
        return (*parts, status.get("allocatable"), status.get("images"), conditions)
    if kind in (POD, POD_GROUP):
        return (*parts, status.get("phase"))
    if kind is QUEUE:
        return (*parts, status.get("state"))
    return (*parts, obj.get("value"), obj.get("globalDefault"))
