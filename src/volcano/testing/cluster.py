"""A whole cluster on one event loop in virtual time: for tests, and for trying things out.

API server, admission, controllers, simulated nodes and the scheduler are the real ones; only the
HTTPS front, the disk and the scheduler's own process are left out. Time stands still until `until`
or `run_for` moves it, from one sleeper's deadline to the next, each time after everything that
could happen without time has happened.

    async with VirtualCluster(tmp_path, simulated(n1={"cpu": "4"})) as cluster:
        await cluster.client.create(JOB, manifest, "default")
        await cluster.until(done, within=600)
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from volcano.apps.embedded import SCHEDULER_NAMES, Cluster, ClusterOptions
from volcano.apps.scheduler import run_scheduler
from volcano.base.clock import ManualClock
from volcano.base.identity import AUTHENTICATED, MASTERS, UserInfo
from volcano.node.fleet import Fleet, NodeKind, NodeSpec
from volcano.scheduler import conf as configuration
from volcano.scheduler import cycle
from volcano.server.auth import default_roles, pki

T = TypeVar("T")
ADMIN = UserInfo("admin", groups=(MASTERS, AUTHENTICATED))
QUIET_TURNS = 40
"""Turns of the loop without a write after which nothing is taken to be under way."""

TURNS_MAX = 100_000
START_SECONDS_MAX = 60.0
START_POLL_SECONDS = 0.002


def simulated(**nodes: Mapping[str, str]) -> Fleet:
    """A fleet of simulated nodes, name (with _ for -) to capacity; 110 pods and 64Gi by default."""
    specs = (
        NodeSpec(
            name.replace("_", "-"),
            NodeKind.SIMULATED,
            {"memory": "64Gi", "ephemeral-storage": "100Gi", "pods": "110", **capacity},
        )
        for name, capacity in nodes.items()
    )
    return Fleet(tuple(specs), origin="test")


class VirtualCluster:
    """The cluster; use it as an async context manager.

    Args:
        folder: for keys and the nodes' records.
        conf: the scheduler's configuration, the default one unless given.

    Raises:
        ConfigError: the configuration names something that does not exist.

    Attributes:
        clock: the time of every part; `until` and `run_for` move it.
        client: acts as an administrator.
    """

    def __init__(
        self, folder: Path, fleet: Fleet, conf: configuration.SchedulerConf | None = None
    ) -> None:
        self.clock = ManualClock()
        keys = pki.ensure(folder / "pki", now=self.clock.now())
        options = ClusterOptions(keys, folder, fleet, "https://127.0.0.1:7443", durable=False)
        self._cluster = Cluster(options, self.clock)
        self._conf = conf or configuration.default()
        cycle.check(self._conf)
        self._stopped = asyncio.Event()
        self._scheduler: asyncio.Task[None] | None = None
        self.client = self._cluster.client_as(ADMIN, "kubectl")

    async def __aenter__(self) -> Self:
        await self._cluster.start()
        self._scheduler = asyncio.create_task(
            run_scheduler(
                self._cluster.client(default_roles.SCHEDULER),
                self._conf,
                scheduler_names=SCHEDULER_NAMES,
                default_queue="default",
                clock=self.clock,
                stopped=self._stopped,
            )
        )
        # Starting takes threads, whose work is done in real time: virtual time stands still.
        async with asyncio.timeout(START_SECONDS_MAX):
            await self._cluster.nodes_registered()
            while not self._cluster.controllers_ready():  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(START_POLL_SECONDS)
        await self.settle()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopped.set()
        stopping = asyncio.create_task(self._cluster.stop(0.0))
        while not stopping.done():
            await self._next(1.0)
        await stopping
        if self._scheduler is not None:
            await self._scheduler

    def now(self) -> float:
        """Virtual seconds since the epoch."""
        return self.clock.now()

    async def settle(self) -> None:
        """Let everything happen that needs no time.

        Raises:
            AssertionError: it does not come to an end: parts answer each other for ever.
        """
        store, quiet = self._cluster.server.store, 0
        for _ in range(TURNS_MAX):
            before = store.revision
            await asyncio.sleep(0)
            quiet = quiet + 1 if store.revision == before else 0
            if quiet >= QUIET_TURNS:
                return
        raise AssertionError("the cluster does not come to rest though no time passes")

    async def until(
        self, probe: Callable[[], Awaitable[T] | T], *, within: float = 60.0, about: str = ""
    ) -> T:
        """The first truthy answer of `probe`, asked whenever something can have changed.

        Raises:
            AssertionError: there was none within so many virtual seconds; tells the last answer.
        """
        deadline = self.now() + within
        while True:
            await self.settle()
            answer = probe()
            value = await answer if isinstance(answer, Awaitable) else answer
            if value:
                return value
            if self.now() >= deadline:
                raise AssertionError(
                    f"not within {within:g} virtual s: {about or probe}; last answer {value!r}"
                )
            self._check_scheduler()
            await self._next(deadline - self.now())

    async def run_for(self, seconds: float) -> None:
        """Let virtual time pass, with all that happens in it."""
        deadline = self.now() + seconds
        await self.settle()
        while self.now() < deadline:
            await self._next(deadline - self.now())
            await self.settle()

    async def _next(self, at_most: float) -> None:
        due = self.clock.next_due()
        step = at_most if due is None else min(max(due - self.now(), 0.0), at_most)
        await self.clock.advance(step)
        await asyncio.sleep(0)

    def _check_scheduler(self) -> None:
        if self._scheduler is not None and self._scheduler.done():
            self._scheduler.result()
            raise AssertionError("the scheduler has ended")
