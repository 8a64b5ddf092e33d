"""The work queue: each key once, never two workers on one, back-off, delays."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volcano.base.clock import ManualClock
from volcano.client.workqueue import WorkQueue

pytestmark = pytest.mark.anyio


async def test_waiting_key_is_handed_out_once() -> None:
    queue: WorkQueue[str] = WorkQueue(ManualClock())
    for _ in range(3):
        queue.add("a")
    assert await queue.get() == "a"
    assert len(queue) == 0


async def test_key_added_while_worked_on_comes_back_afterwards() -> None:
    queue: WorkQueue[str] = WorkQueue(ManualClock())
    queue.add("a")
    key = await queue.get()
    queue.add("a")
    assert len(queue) == 0
    queue.done(key)
    assert await queue.get() == "a"


async def test_back_off_doubles_until_forgotten() -> None:
    queue: WorkQueue[str] = WorkQueue(ManualClock(), base_seconds=1, max_seconds=5)
    assert [queue.add_rate_limited("a") for _ in range(5)] == [1, 2, 4, 5, 5]
    queue.forget("a")
    assert queue.add_rate_limited("a") == 1
    queue.close()


async def test_earliest_of_several_delays_counts() -> None:
    clock = ManualClock()
    queue: WorkQueue[str] = WorkQueue(clock)
    queue.add_after("a", 10)
    queue.add_after("b", 6)
    queue.add_after("a", 3)
    await asyncio.sleep(0)
    await clock.advance(4)
    assert await queue.get() == "a"
    queue.done("a")
    await clock.advance(20)
    assert await queue.get() == "b"
    assert len(queue) == 0
    queue.close()


@given(st.lists(st.sampled_from(["add a", "add b", "get", "done"]), max_size=40))
def test_no_key_is_lost_or_worked_on_twice(steps: list[str]) -> None:
    async def play() -> None:
        queue: WorkQueue[str] = WorkQueue(ManualClock())
        active: list[str] = []
        owed: set[str] = set()
        for step in steps:
            if step.startswith("add"):
                owed.add(step[-1])
                queue.add(step[-1])
            elif step == "get" and len(queue):
                key = await queue.get()
                assert key not in active
                active.append(key)
                owed.discard(key)
            elif step == "done" and active:
                queue.done(active.pop(0))
        for key in active:
            queue.done(key)
        rest = {await queue.get() for _ in range(len(queue))}
        assert rest == owed

    asyncio.run(play())
