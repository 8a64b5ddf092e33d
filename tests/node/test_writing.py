"""Status writes: which pods from the watch are only the echo of an own write."""

import pytest

from tests.client.scripted import Scripted, body, pod
from volcano.base.clock import ManualClock
from volcano.client.client import Client
from volcano.node.writing import StatusWriter

RUNNING = {"phase": "Running"}


def seen(version: int, **more: object) -> dict[str, object]:
    obj = pod("a", version)
    return {**obj, "status": {"phase": "Pending"}, **more}


@pytest.mark.anyio
async def test_only_the_answer_to_the_last_write_is_an_echo_and_only_once() -> None:
    answer = seen(5, status=RUNNING)
    transport = Scripted(body(answer))
    writer = StatusWriter(Client(transport), ManualClock())
    assert await writer.write(seen(4), RUNNING) is None
    assert not writer.is_echo(seen(4))
    assert await writer.write(seen(4), RUNNING) is None, "the answer is newer than the copy"
    assert len(transport.requests) == 1
    assert writer.is_echo(answer)
    assert not writer.is_echo(answer)
    assert not writer.is_echo(seen(6, status=RUNNING))
