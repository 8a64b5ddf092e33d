"""The informer against what servers say: lists, watches, compaction, trouble, own writes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.client.scripted import Answer, Scripted, listing, pod, refusal, watch
from tests.waiting import eventually
from volcano.api.kinds import POD
from volcano.base.clock import ManualClock
from volcano.base.http import Response
from volcano.client.client import Client
from volcano.client.informer import Change, Informer

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def running(
    *answers: Answer, clock: ManualClock | None = None
) -> AsyncIterator[tuple[Informer, Scripted, list[Change]]]:
    transport = Scripted(*answers)
    informer = Informer(Client(transport), POD, clock=clock or ManualClock())
    changes: list[Change] = []
    informer.add_handler(changes.append)
    work = asyncio.create_task(informer.run())
    try:
        await informer.synced()
        yield informer, transport, changes
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


def names(informer: Informer) -> dict[str, str]:
    return {obj["metadata"]["name"]: obj["metadata"]["resourceVersion"] for obj in informer.items()}


async def test_list_then_watch() -> None:
    events = (
        ("ADDED", pod("b", 6)),
        ("MODIFIED", pod("a", 7)),
        ("DELETED", pod("b", 8)),
    )
    async with running(listing(5, pod("a", 4)), watch(*events)) as (informer, transport, changes):
        await eventually(lambda: len(changes) == 4)
        assert names(informer) == {"a": "7"}
        assert transport.requests[1].query["resourceVersion"] == "5"
        assert [(bool(c.old), bool(c.new)) for c in changes] == [
            (False, True),
            (False, True),
            (True, True),
            (True, False),
        ]


async def test_pages_are_put_together() -> None:
    pages = (listing(5, pod("a", 1), token="t"), listing(5, pod("b", 2)))
    async with running(*pages) as (informer, transport, _):
        assert names(informer) == {"a": "1", "b": "2"}
        assert transport.requests[1].query["continue"] == "t"


async def test_watch_resumes_where_it_ended_and_from_bookmarks() -> None:
    bookmark = {"kind": "Pod", "metadata": {"resourceVersion": "40"}}
    first = watch(("ADDED", pod("a", 9)), ("BOOKMARK", bookmark), open_end=False)
    async with running(listing(5), first, watch(("ADDED", pod("b", 41)))) as (
        informer,
        transport,
        _,
    ):
        await eventually(lambda: names(informer) == {"a": "9", "b": "41"})
        assert [r.query.get("resourceVersion") for r in transport.requests] == [None, "5", "40"]


@pytest.mark.parametrize("how", ["refused", "in_stream"])
async def test_compacted_version_leads_to_a_new_list(how: str) -> None:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    expired = refusal("Expired", 410) if how == "refused" else watch(("ERROR", status))
    again = listing(20, pod("b", 12))
    async with running(listing(5, pod("a", 1)), expired, again, watch()) as (informer, _, changes):
        await eventually(lambda: names(informer) == {"b": "12"})
        gone = [c.old["metadata"]["name"] for c in changes if c.new is None and c.old]
        assert gone == ["a"]


async def test_trouble_is_waited_out_with_growing_pauses() -> None:
    clock = ManualClock()
    down = refusal("ServiceUnavailable", 503)
    transport = Scripted(down, down, down, listing(5, pod("a", 1)), watch())
    informer = Informer(Client(transport), POD, clock=clock)
    work = asyncio.create_task(informer.run())
    pauses = []
    for attempt in range(1, 4):
        await eventually(lambda n=attempt: len(transport.requests) == n)
        before = clock.now()
        while len(transport.requests) == attempt:
            await clock.advance(0.05)
        pauses.append(clock.now() - before)
    await informer.synced()
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    assert pauses == sorted(pauses)
    assert pauses[-1] > pauses[0]


async def test_own_write_is_seen_at_once_and_not_undone_by_older_news() -> None:
    async with running(listing(5, pod("a", 1)), watch()) as (informer, _, _changes):
        informer.note_written(pod("a", 9))
        informer.note_written(pod("a", 7))
        assert names(informer) == {"a": "9"}


async def test_answer_older_than_the_watch_does_not_bring_back_what_is_gone() -> None:
    events = (("ADDED", pod("b", 6)), ("DELETED", pod("b", 8)))
    async with running(listing(5), watch(*events)) as (informer, _, changes):
        await eventually(lambda: len(changes) == 2)
        informer.note_written(pod("b", 6))
        assert names(informer) == {}


async def test_deletion_noted_from_its_answer_ends_with_the_event_of_the_same_version() -> None:
    gate = asyncio.Event()

    def later(_: object) -> Response:
        async def stream() -> AsyncIterator[bytes]:
            await gate.wait()
            async for chunk in watch(("DELETED", pod("a", 6))).stream or ():
                yield chunk

        return Response(200, stream=stream())

    async with running(listing(5, pod("a", 1)), later) as (informer, _, _changes):
        informer.note_written(pod("a", 6))
        assert names(informer) == {"a": "6"}
        gate.set()
        await eventually(lambda: names(informer) == {})


async def test_removed_object_stays_away_while_its_older_events_arrive() -> None:
    gate = asyncio.Event()

    def later(_: object) -> Response:
        async def stream() -> AsyncIterator[bytes]:
            await gate.wait()
            async for chunk in (
                watch(("MODIFIED", pod("a", 6)), ("ADDED", pod("c", 7))).stream or ()
            ):
                yield chunk

        return Response(200, stream=stream())

    async with running(listing(5, pod("a", 1)), later) as (informer, _, _changes):
        informer.note_removed("d/a", "uid-a")
        gate.set()
        await eventually(lambda: names(informer) == {"c": "7"})


async def test_same_name_with_another_uid_is_two_changes() -> None:
    again = pod("a", 9, uid="second")
    async with running(listing(5, pod("a", 1)), watch(("ADDED", again))) as (_, _t, changes):
        await eventually(lambda: len(changes) == 3)
        assert changes[1].new is None
        assert changes[2].old is None


async def test_index_follows_changes() -> None:
    informer = Informer(Client(Scripted()), POD, clock=ManualClock())
    informer.add_index("name", lambda obj: (obj["metadata"]["name"],))
    informer._version = "1"
    informer.note_written(pod("a", 2))
    informer.note_written(pod("a", 3))
    assert [o["metadata"]["resourceVersion"] for o in informer.by_index("name", "a")] == ["3"]
    informer.note_removed("d/a", "uid-a")
    assert informer.by_index("name", "a") == []
