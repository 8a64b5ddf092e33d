"""When cycles run: when woken, spaced, now and then when idle; a failed one writes nothing."""

import asyncio
from collections.abc import Callable
from typing import Self

import pytest

from tests.scheduler.edge import Edge, bind
from volcano.base import limits
from volcano.client.client import Client
from volcano.scheduler.cache import Cache
from volcano.scheduler.loop import SPACING_SECONDS_MAX, SchedulerLoop
from volcano.scheduler.model import CycleResult

pytestmark = pytest.mark.anyio
Plan = Callable[[float, int], CycleResult]


class NothingThere(Cache):
    """A cache that has everything from the start."""

    async def synced(self) -> None:
        """At once."""


class Running:
    """A loop on a manual clock; `times` are those of its cycles, counted from the start."""

    def __init__(self, plan: Plan = lambda _now, _number: CycleResult()) -> None:
        self.edge = Edge()
        self.wake = asyncio.Event()
        self.unhurried = asyncio.Event()
        self.times: list[float] = []
        clock = self.edge.clock
        start = clock.now()

        def noted(now: float, number: int) -> CycleResult:
            self.times.append(round(now - start, 3))
            return plan(now, number)

        cache = NothingThere(
            Client(self.edge.api), self.edge.state, clock=clock, wake=self.wake.set
        )
        self.loop = SchedulerLoop(
            noted,
            cache,
            self.edge.committer,
            clock=clock,
            wake=self.wake,
            unhurried=self.unhurried,
        )

    async def __aenter__(self) -> Self:
        await self.edge.__aenter__()
        self._task = asyncio.create_task(self.loop.run())
        await self.edge.turns()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self.edge.__aexit__()

    async def wake_at(self, second: float) -> None:
        """Wake the loop so many seconds after the first cycle."""
        await self.edge.after(second - (self.edge.clock.now() - 1_700_000_000.0))
        self.wake.set()
        await self.edge.turns()


async def test_one_cycle_at_the_start_then_one_per_idle_time() -> None:
    async with Running() as r:
        assert r.times == [0.0]
        await r.edge.after(limits.CYCLE_IDLE_SECONDS / 2)
        assert r.times == [0.0]
        await r.edge.after(3 * limits.CYCLE_IDLE_SECONDS)
        assert len(r.times) == 4


async def test_a_change_is_looked_at_at_once() -> None:
    async with Running() as r:
        await r.wake_at(3)
        assert r.times == [0.0, 3.0]


async def test_a_cycle_may_ask_for_an_earlier_one() -> None:
    def plan(_now: float, number: int) -> CycleResult:
        return CycleResult(again_in_seconds=2.0 if number == 1 else None)

    async with Running(plan) as r:
        await r.edge.after(2.1)
        assert len(r.times) == 2
        await r.edge.after(limits.CYCLE_IDLE_SECONDS - 1)
        assert len(r.times) == 2


async def test_changes_in_no_hurry_wait_together_but_hold_up_no_other() -> None:
    async with Running() as r:
        await r.edge.after(1)
        r.unhurried.set()
        await r.edge.turns()
        assert r.times == [0.0]
        await r.edge.after(0.5)
        assert r.times == [0.0, 1.5]
        r.unhurried.set()
        await r.wake_at(1.7)
        await r.edge.after(5)
        assert r.times == [0.0, 1.5, 1.7]


async def test_a_burst_of_changes_is_one_cycle() -> None:
    async with Running() as r:
        await r.wake_at(3)
        for _ in range(100):
            r.wake.set()
            await asyncio.sleep(0)
        assert r.times == [0.0, 3.0]
        await r.edge.after(limits.CYCLE_SPACING_SECONDS_MIN)
        assert r.times == [0.0, 3.0, 3.0 + limits.CYCLE_SPACING_SECONDS_MIN]
        await r.edge.after(1)
        assert len(r.times) == 3


async def test_a_change_during_a_cycle_is_not_lost() -> None:
    def plan(_now: float, number: int) -> CycleResult:
        if number == 1:
            r.wake.set()
        return CycleResult()

    r = Running(plan)
    async with r:
        await r.edge.after(1)
        assert len(r.times) == 2


async def test_failed_cycle_commits_nothing_and_the_next_comes_later_each_time() -> None:
    healthy = False

    def plan(_now: float, _number: int) -> CycleResult:
        if not healthy:
            raise ArithmeticError("a plugin divides by zero")
        result = CycleResult()
        result.binds.append(bind("a"))
        return result

    async with Running(plan) as r:
        for _ in range(400):
            r.wake.set()
            await r.edge.after(0.01)
        assert r.edge.api.requests == []
        assert r.loop.counts.failed == len(r.times)
        gaps = [later - earlier for earlier, later in zip(r.times, r.times[1:], strict=False)]
        assert gaps == sorted(gaps)
        assert max(gaps) <= SPACING_SECONDS_MAX + 0.02
        assert len(r.times) < 12
        healthy = True
        r.wake.set()
        await r.edge.after(2)
        assert len(r.edge.api.sent("binding")) >= 1
