"""When cycles run: woken by changes, never closer than a spacing, and now and then without any;
earlier where a cycle asked for it.

The spacing grows with the length of a cycle, so that a burst of ten thousand events costs a few
cycles and the loop stays free for the watches in between.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from volcano.base import limits
from volcano.base.clock import Clock
from volcano.base.waiting import first_of
from volcano.scheduler.cache import Cache
from volcano.scheduler.commit import Committer
from volcano.scheduler.model.decisions import CycleResult

log = structlog.get_logger(__name__)

SPACING_PER_CYCLE = 1.0
"""Pause after a cycle as a multiple of its length: planning takes at most half of the time."""

SPACING_SECONDS_MAX = 1.0


@dataclass(slots=True)
class LoopCounts:
    """Cycles run and failed since the start."""

    cycles: int = 0
    failed: int = 0


class SchedulerLoop:
    """Runs `plan` when something changed and hands its result to the committer.

    Args:
        plan: one cycle, synchronous: (now, cycle number) to decisions.
        wake: set when a cycle should run now.
        unhurried: set when one should run within `limits.CYCLE_UNHURRIED_SECONDS`.
        idle_seconds: longest time without a cycle.
    """

    def __init__(
        self,
        plan: Callable[[float, int], CycleResult],
        cache: Cache,
        committer: Committer,
        *,
        clock: Clock,
        wake: asyncio.Event,
        unhurried: asyncio.Event | None = None,
        idle_seconds: float = limits.CYCLE_IDLE_SECONDS,
    ) -> None:
        self.counts = LoopCounts()
        self._plan = plan
        self._cache = cache
        self._committer = committer
        self._clock = clock
        self._wake = wake
        self._unhurried = unhurried if unhurried is not None else asyncio.Event()
        self._idle_seconds = idle_seconds

    async def run(self) -> None:
        """Plan until cancelled; a failed cycle is logged once and commits nothing."""
        await self._cache.synced()
        log.info("scheduler.ready")
        spacing = limits.CYCLE_SPACING_SECONDS_MIN
        failures = 0
        while True:
            self._wake.clear()
            self._unhurried.clear()
            started = self._clock.monotonic()
            idle_seconds = self._idle_seconds
            try:
                again = self._cycle().again_in_seconds
                if again is not None:
                    idle_seconds = min(idle_seconds, again)
                failures = 0
            except Exception:  # the boundary of one scheduling cycle (style.md 2.8)
                failures += 1
                self.counts.failed += 1
                log.exception("cycle.failed", cycle=self.counts.cycles)
            taken = self._clock.monotonic() - started
            spacing = min(
                max(limits.CYCLE_SPACING_SECONDS_MIN * 2**failures, SPACING_PER_CYCLE * taken),
                SPACING_SECONDS_MAX,
            )
            await self._clock.sleep(spacing)
            if not self._wake.is_set():
                await self._woken_or_idle(idle_seconds)

    async def _woken_or_idle(self, seconds: float) -> None:
        """Return when something changed, or nothing for so long."""
        await first_of(self._wake.wait(), self._unhurried_or_never(), self._clock.sleep(seconds))

    async def _unhurried_or_never(self) -> None:
        """Return some time after a change that is in no hurry."""
        await self._unhurried.wait()
        await self._clock.sleep(limits.CYCLE_UNHURRIED_SECONDS)

    def _cycle(self) -> CycleResult:
        self.counts.cycles += 1
        result = self._plan(self._clock.now(), self.counts.cycles)
        self._committer.submit(result)
        report = result.report
        if report.bound or report.enqueued or result.evictions:
            log.info(
                "cycle.decided",
                cycle=self.counts.cycles,
                bound=report.bound,
                enqueued=report.enqueued,
                evicted=len(result.evictions),
                pending=report.tasks_pending,
                seconds={name: round(value, 4) for name, value in report.seconds.items()},
            )
        return result
