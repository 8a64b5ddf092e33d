"""The recorder: one Event with a count, bounded, never in the way."""

import json

import pytest

from tests.client.scripted import Scripted, body, pod, refusal
from volcano.base.clock import ManualClock
from volcano.base.http import Request, Response
from volcano.base.identity import UserInfo
from volcano.base.limits import RECORDER_SIMILAR_MESSAGES_MAX
from volcano.client.client import Client
from volcano.client.events import EventRecorder
from volcano.client.transport import LocalTransport

pytestmark = pytest.mark.anyio

_PENDING_MAX = 100
ANYBODY = UserInfo("somebody")


def recorder(*answers: Response) -> tuple[EventRecorder, Scripted]:
    transport = Scripted(*(answers or [_echo] * 50))
    return EventRecorder(Client(transport), "tester", clock=ManualClock()), transport


def _echo(request: Request) -> Response:
    return Response(200, body=request.body)


def sent(request: Request) -> dict[str, object]:
    return json.loads(request.body)


async def test_thousand_repeats_are_one_event_with_a_count() -> None:
    events, transport = recorder()
    for _ in range(1000):
        events.event(pod("a", 1), "Warning", "Waits", "no room")
    await events.flush()
    for _ in range(5):
        events.event(pod("a", 1), "Warning", "Waits", "no room")
    await events.flush()
    create, patch = transport.requests
    assert sent(create)["count"] == 1000
    assert sent(create)["source"] == {"component": "tester"}
    assert sent(create)["involvedObject"]["uid"] == "uid-a"
    assert patch.method == "PATCH"
    assert sent(patch)["count"] == 1005


async def test_many_similar_messages_are_combined() -> None:
    events, transport = recorder()
    for number in range(RECORDER_SIMILAR_MESSAGES_MAX + 20):
        events.event(pod("a", 1), "Warning", "Waits", f"message {number}")
    await events.flush()
    assert len(transport.requests) == RECORDER_SIMILAR_MESSAGES_MAX + 1
    last = sent(transport.requests[-1])
    assert last["count"] == 20
    assert str(last["message"]).startswith("(combined from similar events): message")


async def test_event_that_vanished_is_made_anew() -> None:
    events, transport = recorder(body({}), refusal("NotFound", 404), body({}))
    for _ in range(2):
        events.event(pod("a", 1), "Normal", "Did", "it")
        await events.flush()
    assert [request.method for request in transport.requests] == ["POST", "PATCH", "POST"]
    assert sent(transport.requests[2])["count"] == 1


async def test_trouble_is_retried_and_refusals_are_dropped() -> None:
    down = refusal("ServiceUnavailable", 503)
    events, transport = recorder(down, body({}))
    events.event(pod("a", 1), "Normal", "Did", "it")
    await events.flush()
    await events.flush()
    assert len(transport.requests) == 2
    events, transport = recorder(refusal("Forbidden", 403), body({}))
    events.event(pod("a", 1), "Normal", "Did", "it")
    await events.flush()
    await events.flush()
    assert len(transport.requests) == 1


async def test_queue_is_bounded() -> None:
    transport = Scripted(*[body({})] * (_PENDING_MAX + 10))
    clock = ManualClock()
    events = EventRecorder(Client(transport), "tester", clock=clock, pending_max=_PENDING_MAX)
    for number in range(_PENDING_MAX + 5):
        events.event(pod(f"p{number}", 1), "Normal", "Did", "it")
    await events.flush()
    assert len(transport.requests) == _PENDING_MAX


async def test_each_write_gives_way() -> None:
    order: list[str] = []

    async def give_way() -> None:
        order.append("way")

    async def answer(request: Request) -> Response:
        order.append("write")
        return _echo(request)

    client = Client(LocalTransport(answer, ANYBODY))
    events = EventRecorder(client, "tester", clock=ManualClock(), give_way=give_way)
    for name in "ab":
        events.event(pod(name, 1), "Normal", "Scheduled", "bound")
    await events.flush()
    assert order == ["way", "write"] * 2
