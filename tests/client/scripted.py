"""A transport that plays a script: what a server said, answer by answer."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable

from volcano.api.objects import JsonObject
from volcano.base.http import Request, Response

Answer = Response | Callable[[Request], Response]


class Scripted:
    """Answers each request with the next answer; hangs when the script is over."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        if not self.answers:
            await asyncio.Event().wait()
        answer = self.answers.pop(0)
        return answer if isinstance(answer, Response) else answer(request)

    async def close(self) -> None:
        pass


def body(obj: JsonObject, status: int = 200) -> Response:
    return Response(status, body=json.dumps(obj).encode())


def refusal(reason: str, code: int, message: str = "no") -> Response:
    status = {"kind": "Status", "status": "Failure", "reason": reason, "code": code}
    return body({**status, "message": message}, code)


def listing(version: int, *items: JsonObject, token: str = "") -> Response:
    metadata: JsonObject = {"resourceVersion": str(version)}
    if token:
        metadata["continue"] = token
    return body({"kind": "PodList", "metadata": metadata, "items": list(items)})


def pod(name: str, version: int, uid: str = "") -> JsonObject:
    meta = {"namespace": "d", "name": name, "uid": uid or f"uid-{name}"}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {**meta, "resourceVersion": str(version)},
    }


def watch(*events: tuple[str, JsonObject], open_end: bool = True) -> Response:
    """A watch that says these events and then stays open, or ends."""

    async def stream() -> AsyncIterator[bytes]:
        for type_, obj in events:
            yield json.dumps({"type": type_, "object": obj}).encode() + b"\n"
        if open_end:
            await asyncio.Event().wait()

    return Response(200, stream=stream())
