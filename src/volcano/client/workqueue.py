"""Keys that wait for work: each at most once, one worker a key, back-off per key, delayed adds.

A key added while it is being worked on is handed out again afterwards, never at the same time.
Time comes from a `Clock`.
"""

import asyncio
import heapq
import itertools
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

from volcano.base.clock import Clock
from volcano.base.limits import QUEUE_BACKOFF_SECONDS_MAX

_BACKOFF_SECONDS_FIRST = 0.005
_EXPONENT_MAX = 24

Key = TypeVar("Key", bound=Hashable)


class WorkQueue(Generic[Key]):
    """A queue for any number of workers on one loop.

    Args:
        base_seconds: pause after the first failure of a key; doubles with each further one.
        max_seconds: longest pause.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        base_seconds: float = _BACKOFF_SECONDS_FIRST,
        max_seconds: float = QUEUE_BACKOFF_SECONDS_MAX,
    ) -> None:
        self._clock = clock
        self._base = base_seconds
        self._max = max_seconds
        self._ready: deque[Key] = deque()
        self._queued: set[Key] = set()
        self._active: set[Key] = set()
        self._failures: dict[Key, int] = {}
        # Counts what is in `_ready`: each key wakes one waiting worker, not all of them.
        self._available = asyncio.Semaphore(0)
        self._deadlines: dict[Key, float] = {}
        self._heap: list[tuple[float, int, Key]] = []
        self._order = itertools.count()
        self._timer: asyncio.Task[None] | None = None
        self._armed_for = 0.0

    def __len__(self) -> int:
        """Keys that could be handed out now."""
        return len(self._ready)

    def add(self, key: Key) -> None:
        """Queue a key; no effect if it waits already."""
        if key in self._queued:
            return
        self._queued.add(key)
        if key not in self._active:
            self._ready.append(key)
            self._available.release()

    def add_after(self, key: Key, seconds: float) -> None:
        """Queue a key in `seconds`; of several such calls the earliest counts."""
        if seconds <= 0:
            self.add(key)
            return
        deadline = self._clock.monotonic() + seconds
        known = self._deadlines.get(key)
        if known is not None and known <= deadline:
            return
        self._deadlines[key] = deadline
        heapq.heappush(self._heap, (deadline, next(self._order), key))
        if self._timer is None or self._timer.done() or deadline < self._armed_for:
            self._arm()

    def add_rate_limited(self, key: Key) -> float:
        """Queue a key after the pause its failures so far have earned, in seconds."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        pause: float = min(self._base * 2 ** min(failures, _EXPONENT_MAX), self._max)
        self.add_after(key, pause)
        return pause

    def failures(self, key: Key) -> int:
        """How often the key was added with back-off since it was last forgotten."""
        return self._failures.get(key, 0)

    def forget(self, key: Key) -> None:
        """Start the key's back-off over."""
        self._failures.pop(key, None)

    async def get(self) -> Key:
        """The next key, waiting for one; the caller says `done` when it has worked on it."""
        await self._available.acquire()
        key = self._ready.popleft()
        self._queued.discard(key)
        self._active.add(key)
        return key

    def done(self, key: Key) -> None:
        """The worker is finished with the key."""
        self._active.discard(key)
        if key in self._queued:
            self._ready.append(key)
            self._available.release()

    def close(self) -> None:
        """Stop the timer of delayed keys."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self) -> None:
        self.close()
        self._armed_for = self._heap[0][0]
        self._timer = asyncio.get_running_loop().create_task(self._release())

    async def _release(self) -> None:
        """Queue delayed keys as their time comes, until none is left."""
        while self._heap:
            deadline, _, key = self._heap[0]
            pause = deadline - self._clock.monotonic()
            if pause > 0:
                self._armed_for = deadline
                await self._clock.sleep(pause)
                continue
            heapq.heappop(self._heap)
            if self._deadlines.get(key) == deadline:
                del self._deadlines[key]
                self.add(key)
