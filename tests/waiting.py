"""Waiting for what the world should come to, with a deadline: never for time to pass."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
POLL_SECONDS = 0.02


async def eventually(
    probe: Callable[[], Awaitable[T] | T], *, within: float = 10.0, about: str = ""
) -> T:
    """The first truthy answer of `probe`; AssertionError with its last answer after `within` s."""
    deadline = time.monotonic() + within
    while True:
        answer = probe()
        value = await answer if isinstance(answer, Awaitable) else answer
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within} s: {about or probe}; last answer {value!r}")
        await asyncio.sleep(POLL_SECONDS)


async def let_run(seconds: float) -> None:
    """Let the world go on for a while: for faults at seeded moments, which nothing announces."""
    await asyncio.sleep(seconds)


def wait_until(probe: Callable[[], T], *, within: float = 10.0, about: str = "") -> T:
    """The same without an event loop, for tests that watch other processes."""
    deadline = time.monotonic() + within
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within} s: {about or probe}; last answer {value!r}")
        time.sleep(POLL_SECONDS)
