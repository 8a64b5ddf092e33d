"""Time as an argument: every decision that needs the time gets a `Clock`.

`SystemClock` is the machine's; `ManualClock` moves only when a test says so.
"""

import asyncio
import heapq
import itertools
import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol


class Clock(Protocol):
    """Wall time in seconds since the epoch, a monotonic reading, and a cancellable sleep."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds of a clock that never steps back; only differences mean something."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds` on this clock."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Sleep on the running event loop."""
        await asyncio.sleep(seconds)


class ManualClock:
    """A clock for tests: `advance` moves it and wakes, in order, the sleepers that are due."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        """Seconds since the epoch, as set."""
        return self._now

    def monotonic(self) -> float:
        """The same reading as `now`."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait until `advance` has moved the clock far enough."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waiter = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), waiter))
        await waiter

    def next_due(self) -> float | None:
        """When the first sleeper is due, on this clock; None if nobody sleeps."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    async def advance(self, seconds: float) -> None:
        """Move forward, one deadline at a time, so that the sleepers' work is seen in order."""
        target = self._now + seconds
        while self._sleepers and self._sleepers[0][0] <= target:
            deadline, _, waiter = heapq.heappop(self._sleepers)
            self._now = max(self._now, deadline)
            if not waiter.done():
                waiter.set_result(None)
            for _ in range(10):
                await asyncio.sleep(0)
        self._now = target


def timestamp(seconds: float) -> str:
    """RFC 3339 text in whole seconds UTC, as `metav1.Time` is written: 2026-01-02T03:04:05Z."""
    return _second(int(seconds))


@lru_cache(maxsize=256)
def _second(seconds: int) -> str:
    """The text of one second: a busy server writes the same one thousands of times."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_timestamp(seconds: float) -> str:
    """RFC 3339 text with microseconds, as `metav1.MicroTime` is written."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_timestamp(text: str) -> float:
    """Seconds since the epoch of an RFC 3339 text.

    Raises:
        ValueError: the text is no RFC 3339 time.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"time {text!r} has no zone; write it like 2026-01-02T03:04:05Z")
    return moment.timestamp()
