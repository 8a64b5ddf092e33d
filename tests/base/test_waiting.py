"""Waiting for whichever comes first."""

import asyncio

import pytest

from volcano.base.waiting import first_of

pytestmark = pytest.mark.anyio


async def test_the_first_ends_it_and_the_others_are_cancelled() -> None:
    first, cancelled = asyncio.Event(), asyncio.Event()

    async def never() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    waiting = asyncio.create_task(first_of(first.wait(), never()))
    await asyncio.sleep(0)
    assert not waiting.done()
    first.set()
    await waiting
    async with asyncio.timeout(10):
        await cancelled.wait()


async def test_all_are_cancelled_with_the_one_who_waits() -> None:
    ended = 0

    async def never() -> None:
        nonlocal ended
        try:
            await asyncio.Event().wait()
        finally:
            ended += 1

    waiting = asyncio.create_task(first_of(never(), never()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.sleep(0)
    assert ended == 2
