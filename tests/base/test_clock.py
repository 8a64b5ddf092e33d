"""The manual clock wakes sleepers in the order of their deadlines; times round-trip as text."""

import asyncio

import pytest

from volcano.base.clock import ManualClock, parse_timestamp, timestamp


@pytest.mark.anyio
async def test_sleepers_wake_in_order_of_deadline():
    clock = ManualClock(0.0)
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.now()))

    tasks = [asyncio.create_task(sleeper(*pair)) for pair in (("late", 5.0), ("early", 2.0))]
    await asyncio.sleep(0)
    await clock.advance(1.0)
    assert woken == []
    await clock.advance(10.0)
    assert woken == [("early", 2.0), ("late", 5.0)]
    await asyncio.gather(*tasks)
    assert clock.now() == 11.0


@pytest.mark.anyio
async def test_next_due_is_the_first_deadline_of_those_who_still_sleep():
    clock = ManualClock(0.0)
    assert clock.next_due() is None
    tasks = [asyncio.create_task(clock.sleep(seconds)) for seconds in (5.0, 2.0)]
    await asyncio.sleep(0)
    assert clock.next_due() == 2.0
    tasks[1].cancel()
    await asyncio.sleep(0)
    assert clock.next_due() == 5.0
    await clock.advance(5.0)
    await tasks[0]
    assert clock.next_due() is None


def test_timestamps_round_trip():
    assert timestamp(0) == "1970-01-01T00:00:00Z"
    assert parse_timestamp(timestamp(1_700_000_000)) == 1_700_000_000
    with pytest.raises(ValueError, match="no zone"):
        parse_timestamp("2026-01-01T00:00:00")
