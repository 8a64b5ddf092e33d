"""Runs all controllers of a process: shared informers, one recorder, one task per controller."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

from volcano.base.clock import Clock
from volcano.base.limits import CONTROLLER_RESTART_SECONDS_MAX
from volcano.client.client import Client
from volcano.client.events import EventRecorder
from volcano.controllers.job.controller import JobController
from volcano.controllers.runtime import Context, Controller, Informers

_COMPONENT = "vc-controller-manager"
_RESTART_SECONDS_FIRST = 0.5
_log = structlog.get_logger(__name__)


class Manager:
    """All controllers on one loop.

    Args:
        client: speaks for the controllers; closed by whoever made it.
    """

    def __init__(self, client: Client, clock: Clock) -> None:
        self._clock = clock
        self._informers = Informers(client, clock)
        self._recorder = EventRecorder(client, _COMPONENT, clock=clock)
        context = Context(client, clock, self._informers, self._recorder)
        self._controllers: Sequence[Controller] = (JobController(context),)

    async def run(self) -> None:
        """Work until cancelled; a part that crashes is started again after a pause."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_up("events", self._recorder.run))
            for kind, informer in list(self._informers.by_kind.items()):
                group.create_task(self._keep_up(f"informer {kind.resource}", informer.run))
            for controller in self._controllers:
                group.create_task(self._keep_up(controller.name, controller.run))

    def ready(self) -> bool:
        """Whether every informer has its first complete list."""
        return all(informer.has_synced() for informer in self._informers.by_kind.values())

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
