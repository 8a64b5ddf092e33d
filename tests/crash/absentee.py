"""A watcher that stays away for a while, often longer than the server keeps history.

It comes back to the revision at which it left: the server must then tell it every change since, in
order and without a gap, or answer 410 Gone, after which it lists anew. The changes are its own, to
one object, numbered, so that a gap shows.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from typing import TypeVar

from tests.crash.ledger import revision_of
from volcano.api.kinds import CONFIG_MAP, NAMESPACE
from volcano.api.objects import JsonObject
from volcano.base.errors import ApiError
from volcano.client.client import Client

T = TypeVar("T")
PLACE = "absent"
NAME = "counter"
AGAIN_SECONDS = 0.1
CATCH_UP_SECONDS_MAX = 120.0
LAST_ABSENCES_MAX = 10
"""Undisturbed absences in which the server has to forget something."""

_UNANSWERED = frozenset({"ServiceUnavailable", "Timeout"})
_GONE = 410


class Absentee:
    """Writes, leaves, comes back.

    Args:
        history_seconds: how long the server keeps history.

    Attributes:
        caught_up: how often the watch told it all that it had missed.
        expired: how often what it had missed was forgotten.
    """

    def __init__(self, client: Client, chance: random.Random, history_seconds: float) -> None:
        self.caught_up = 0
        self.expired = 0
        self._client = client
        self._chance = chance
        self._longest = 3 * history_seconds
        self._revision = 0
        self._written = 0
        self._seen = 0

    async def run(self, stopped: asyncio.Event) -> None:
        """Come and go until `stopped`, and then until the server has once forgotten something.

        Raises:
            AssertionError: a change was missed, or no history is ever forgotten.
        """
        await _answered(lambda: self._create())
        while not stopped.is_set():
            await self._absence(self._chance.uniform(0, self._longest), stopped)
        for _ in range(LAST_ABSENCES_MAX):
            if self.expired:
                return
            await self._absence(self._longest, asyncio.Event())
        raise AssertionError(
            f"history was kept through {LAST_ABSENCES_MAX} absences of {self._longest:g} s"
        )

    async def _absence(self, seconds: float, stopped: asyncio.Event) -> None:
        for _ in range(2):
            self._written += 1
            await _answered(self._write)
        with suppress(TimeoutError):
            await asyncio.wait_for(stopped.wait(), seconds)
        try:
            async with asyncio.timeout(CATCH_UP_SECONDS_MAX):
                await _answered(self._catch_up)
        except TimeoutError as error:
            raise AssertionError(
                f"{self._words()}: {self._written} was not told in {CATCH_UP_SECONDS_MAX:g} s"
            ) from error

    async def _create(self) -> None:
        for kind, name, namespace in ((NAMESPACE, PLACE, ""), (CONFIG_MAP, NAME, PLACE)):
            try:
                await self._client.create(kind, {"metadata": {"name": name}}, namespace)
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise
        await self._list()

    async def _write(self) -> None:
        patch = {"data": {"count": str(self._written)}}
        await self._client.patch(CONFIG_MAP, NAME, patch, PLACE)

    async def _catch_up(self) -> None:
        """Hear of all that was written, or of the present state if history was forgotten."""
        while self._seen < self._written:
            try:
                await self._follow()
            except ApiError as error:
                if error.code != _GONE:
                    raise
                await self._list()
                self.expired += 1
                assert self._seen == self._written, f"{self._words()}, {self._written} was written"
                return
        self.caught_up += 1

    async def _list(self) -> None:
        listed = await self._client.list(CONFIG_MAP, PLACE)
        at = revision_of(listed)
        assert at >= self._revision, f"{self._words()}: a list at {at} steps back"
        (counter,) = [each for each in listed["items"] if each["metadata"]["name"] == NAME]
        self._revision, self._seen = at, _number(counter)

    async def _follow(self) -> None:
        watch = self._client.watch(
            CONFIG_MAP,
            PLACE,
            resource_version=str(self._revision),
            field_selector=f"metadata.name={NAME}",
        )
        async with aclosing(watch) as events:
            async for event in events:
                at = revision_of(event.object)
                if event.type != "BOOKMARK":
                    number = _number(event.object)
                    what = f"{self._words()}: {event.type} of {number} at {at}"
                    assert event.type == "MODIFIED", what
                    assert at > self._revision, what
                    assert number in (self._seen, self._seen + 1), f"{what}: a gap"
                    self._seen = number
                self._revision = at
                if self._seen == self._written:
                    return

    def _words(self) -> str:
        return f"seen {self._seen} at {self._revision}"


def _number(counter: JsonObject) -> int:
    return int((counter.get("data") or {}).get("count", 0))


async def _answered(call: Callable[[], Awaitable[T]]) -> T:
    """Call until the server answers; it is killed now and then."""
    while True:
        try:
            return await call()
        except ApiError as error:
            if error.reason not in _UNANSWERED:
                raise
        await asyncio.sleep(AGAIN_SECONDS)
