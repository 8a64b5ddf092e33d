"""Waiting for an event or a time of a `Clock`, and for work in a thread."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

from volcano.base.clock import Clock
from volcano.base.waiting import first_of

T = TypeVar("T")
_SLEEP_SECONDS_MAX = 60.0


async def sleep_until(clock: Clock, wake: asyncio.Event, deadline: float | None) -> None:
    """Return when `wake` is set, or when the clock reaches `deadline` (seconds since the epoch).

    May return a little before: the longest sleep is a minute, so that a wall clock that was set
    is noticed. Callers look again anyway.
    """
    if wake.is_set():
        return
    if deadline is None:
        await wake.wait()
        return
    pause = min(deadline - clock.now(), _SLEEP_SECONDS_MAX)
    if pause <= 0:
        return
    await first_of(clock.sleep(pause), wake.wait())


async def run_in(executor: Executor, work: Callable[[], T]) -> T:
    """Run blocking work in a thread of the executor."""
    return await asyncio.get_running_loop().run_in_executor(executor, work)
