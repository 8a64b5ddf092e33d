"""An API that records what the scheduler writes, refuses when told to, and can be slow."""

import asyncio
import json
from collections.abc import Callable
from typing import Self

from volcano.api.objects import JsonObject
from volcano.base.clock import ManualClock
from volcano.base.http import Request, Response
from volcano.client.client import Client
from volcano.client.events import EventRecorder
from volcano.scheduler.commit import Committer
from volcano.scheduler.model import ClusterState, CycleResult
from volcano.scheduler.model.decisions import (
    Bind,
    EventNote,
    Eviction,
    PodConditionUpdate,
    PodGroupUpdate,
)

TURNS = 30
Answer = Callable[[Request], Response | None]


def refusal(code: int, reason: str = "", message: str = "no") -> Response:
    status = {"kind": "Status", "status": "Failure", "reason": reason, "code": code}
    return Response(code, body=json.dumps({**status, "message": message}).encode())


class RecordingApi:
    """A transport: `answer` decides about each request, None lets it through."""

    def __init__(self, answer: Answer = lambda _: None) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.in_flight = 0
        self.in_flight_max = 0

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        self.in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self.in_flight)
        try:
            await self.gate.wait()
        finally:
            self.in_flight -= 1
        answer = self.answer(request)
        return answer if answer is not None else Response(200, body=b'{"metadata": {}}')

    async def close(self) -> None:
        """Nothing is open."""

    def sent(self, what: str) -> list[Request]:
        """Requests whose path has `what` in it."""
        return [request for request in self.requests if what in request.path]

    def bodies(self, what: str) -> list[JsonObject]:
        return [json.loads(request.body) for request in self.sent(what) if request.body]


class Edge:
    """A committer on a manual clock, what it was told back, and the API behind it."""

    def __init__(self, answer: Answer = lambda _: None) -> None:
        self.api = RecordingApi(answer)
        self.clock = ManualClock()
        self.state = ClusterState()
        client = Client(self.api)
        self.recorder = EventRecorder(client, "volcano", clock=self.clock)
        self.woken = 0
        self.restored: list[tuple[str, str]] = []
        self.committer = Committer(
            client,
            self.state,
            self.recorder,
            clock=self.clock,
            restore=lambda kind, key: self.restored.append((kind.kind, key)),
            failed=self._wake,
        )

    def _wake(self) -> None:
        self.woken += 1

    async def __aenter__(self) -> Self:
        self._tasks = [
            asyncio.create_task(part) for part in (self.committer.run(), self.recorder.run())
        ]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def turns(self) -> None:
        """Let everything happen that needs no time."""
        for _ in range(TURNS):
            await asyncio.sleep(0)

    async def after(self, seconds: float) -> None:
        await self.clock.advance(seconds)
        await self.turns()

    async def submit(self, *decisions: object) -> None:
        """Hand a cycle's decisions over, and let them be written as far as they go."""
        result = CycleResult()
        lists = {
            Bind: result.binds,
            Eviction: result.evictions,
            PodGroupUpdate: result.pod_groups,
            PodConditionUpdate: result.pod_conditions,
            EventNote: result.events,
        }
        for decision in decisions:
            lists[type(decision)].append(decision)  # type: ignore[attr-defined]  # by its own type
        self.committer.submit(result)
        await self.turns()


def bind(name: str, node: str = "n1") -> Bind:
    return Bind("ns", name, f"uid-ns-{name}", node)


def evict(name: str) -> Eviction:
    return Eviction("ns", name, f"uid-ns-{name}", "preempt")


def group_status(name: str, phase: str) -> PodGroupUpdate:
    return PodGroupUpdate("ns", name, f"uid-ns-{name}", {"phase": phase})


def condition(name: str, message: str) -> PodConditionUpdate:
    text = {"type": "PodScheduled", "status": "False", "message": message}
    return PodConditionUpdate("ns", name, f"uid-ns-{name}", text)
