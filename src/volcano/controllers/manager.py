"""Runs all controllers of a process: shared informers, one recorder, one task per controller."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

from volcano.api.kinds import ALL_KINDS, Kind
from volcano.api.wellknown import DEFAULT_SCHEDULER
from volcano.base.clock import Clock
from volcano.base.limits import CONTROLLER_RESTART_SECONDS_MAX
from volcano.client.client import Client
from volcano.client.events import EventRecorder
from volcano.client.informer import Informer
from volcano.controllers.builtin.gc import GarbageCollector
from volcano.controllers.builtin.namespaces import NamespaceController
from volcano.controllers.builtin.podgc import PodCollector
from volcano.controllers.gc import JobTtlController
from volcano.controllers.job.controller import JobController
from volcano.controllers.podgroup import PodGroupController
from volcano.controllers.queue import QueueController
from volcano.controllers.runtime import Context, Controller, Informers

_COMPONENT = "vc-controller-manager"
_RESTART_SECONDS_FIRST = 0.5
_log = structlog.get_logger(__name__)


class Manager:
    """All controllers on one loop.

    Args:
        client: speaks for the controllers; closed by whoever made it.
        builtin: also run what a real cluster has of its own (`controllers.builtin`), over the
            objects of these kinds; none on a real cluster.
        scheduler_names: schedulers whose plain pods get PodGroups.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        *,
        builtin: Sequence[Kind] = ALL_KINDS,
        scheduler_names: Sequence[str] = (DEFAULT_SCHEDULER,),
    ) -> None:
        self._clock = clock
        self._informers = Informers(client, clock)
        self._recorder = EventRecorder(client, _COMPONENT, clock=clock)
        context = Context(client, clock, self._informers, self._recorder)
        controllers: list[Controller] = [
            JobController(context),
            QueueController(context),
            PodGroupController(context, schedulers=frozenset(scheduler_names)),
            JobTtlController(context),
        ]
        if builtin:
            controllers += [
                GarbageCollector(context, builtin),
                NamespaceController(context, builtin),
                PodCollector(context),
            ]
        self._controllers = tuple(controllers)

    async def run(self) -> None:
        """Work until cancelled; a part that crashes is started again after a pause."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_up("events", self._recorder.run))
            group.create_task(self._keep_up("informers", self._informers.run))
            for controller in self._controllers:
                group.create_task(self._keep_up(controller.name, controller.run))

    def informer(self, kind: Kind) -> Informer:
        """The informer of a kind that the controllers follow, for others in the same process."""
        return self._informers.of(kind)

    def ready(self) -> bool:
        """Whether every controller is at work and the queues `root` and `default` are open."""
        return all(controller.ready() for controller in self._controllers)

    async def _keep_up(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        pause = _RESTART_SECONDS_FIRST
        while True:
            started = self._clock.monotonic()
            try:
                await run()
            except Exception:  # noqa: BLE001 - the boundary: one part's fault must not end all
                _log.exception("controller crashed", controller=name, again_in=pause)
            if self._clock.monotonic() - started > CONTROLLER_RESTART_SECONDS_MAX:
                pause = _RESTART_SECONDS_FIRST
            await self._clock.sleep(pause)
            pause = min(pause * 2, CONTROLLER_RESTART_SECONDS_MAX)
