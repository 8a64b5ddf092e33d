"""The frame all controllers share: informers feed keys to a work queue, workers reconcile them.

A controller says which changes concern which keys and how one key is reconciled; queueing,
back-off and the boundary that catches and logs failures are here, once.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field

import structlog

from volcano.api.kinds import Kind
from volcano.base.clock import Clock
from volcano.base.errors import ApiError, VolcanoError
from volcano.client.client import Client
from volcano.client.events import EventRecorder
from volcano.client.informer import Informer
from volcano.client.workqueue import WorkQueue
from volcano.controllers.effects import Applier, Effect

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Informers:
    """One informer per kind, shared by all controllers of a process."""

    client: Client
    clock: Clock
    by_kind: dict[Kind, Informer] = field(default_factory=dict)
    _group: asyncio.TaskGroup | None = None
    _tasks: dict[Kind, asyncio.Task[None]] = field(default_factory=dict)

    def of(self, kind: Kind) -> Informer:
        """The informer of a kind; one that is new while others run starts at once."""
        if kind not in self.by_kind:
            self.by_kind[kind] = Informer(self.client, kind, clock=self.clock)
            self._start(kind)
        return self.by_kind[kind]

    def drop(self, kind: Kind) -> None:
        """Stop following a kind that is no longer served."""
        self.by_kind.pop(kind, None)
        task = self._tasks.pop(kind, None)
        if task is not None:
            task.cancel()

    async def run(self) -> None:
        """Keep all informers up to date until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                for kind in list(self.by_kind):
                    self._start(kind)
                # Informers may be added and dropped, down to none; the group outlives them.
                await asyncio.Event().wait()
        finally:
            self._group = None
            self._tasks.clear()

    def _start(self, kind: Kind) -> None:
        if self._group is not None:
            self._tasks[kind] = self._group.create_task(self.by_kind[kind].run())


@dataclass(frozen=True, slots=True)
class Context:
    """What every controller is given."""

    client: Client
    clock: Clock
    informers: Informers
    recorder: EventRecorder


class Controller(ABC):
    """One control loop over the keys of a parent kind."""

    name: str
    workers: int = 2

    def __init__(self, context: Context, needs: Iterable[Kind]) -> None:
        self.context = context
        self.needs = tuple(context.informers.of(kind) for kind in needs)
        self.queue: WorkQueue[str] = WorkQueue(context.clock)
        self.applier = Applier(
            context.client, context.recorder, context.informers.by_kind, self.queue.add_after
        )

    @abstractmethod
    async def reconcile(self, key: str) -> None:
        """Bring what belongs to `key` one step closer to what is wanted.

        May be called at any time and any number of times; raises to be called again later.
        """

    async def start(self) -> None:  # noqa: B027 - optional hook, most controllers need none
        """What has to be done once, before the first key; the informers are synced by then."""

    def ready(self) -> bool:
        """Whether what others rely on from the first moment is there."""
        return all(informer.has_synced() for informer in self.needs)

    async def run(self) -> None:
        """Work until cancelled."""
        for informer in self.needs:
            await informer.synced()
        await self.start()
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.workers):
                    group.create_task(self._work())
        finally:
            self.queue.close()

    async def apply(self, key: str, effects: Iterable[Effect]) -> None:
        """Do effects in order."""
        await self.applier.apply(key, effects)

    async def _work(self) -> None:
        while True:
            key = await self.queue.get()
            try:
                await self.reconcile(key)
            except VolcanoError as error:
                await self.failed(key, error)
            except Exception:  # noqa: BLE001 - the boundary: one key's fault must not stop others
                pause = self.queue.add_rate_limited(key)
                _log.exception("reconciling failed", controller=self.name, key=key, again_in=pause)
            else:
                self.queue.forget(key)
            finally:
                self.queue.done(key)

    async def failed(self, key: str, error: VolcanoError) -> None:
        """A request was refused or could not be made: try again later."""
        pause = self.queue.add_rate_limited(key)
        if isinstance(error, ApiError) and error.reason == "Conflict":
            return
        _log.warning(
            "reconciling failed",
            controller=self.name,
            key=key,
            error=error.public,
            again_in=round(pause, 3),
        )
