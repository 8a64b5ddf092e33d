"""The HTTPS transport against the real front: exchanges, streams, warnings, trouble."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from volcano.api.kinds import POD
from volcano.base.errors import ApiError
from volcano.base.http import Request, Response
from volcano.client.client import Client
from volcano.client.config import ClusterConfig
from volcano.client.http_transport import HttpTransport
from volcano.server.front import Front

pytestmark = pytest.mark.anyio
LINE = b'{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"%d"}}}\n'


async def answer(request: Request) -> Response:
    """Says back what was asked; watches go on until the client leaves."""
    if "watch" in request.query:
        return Response(200, {"content-type": "application/json"}, stream=_endless())
    if request.headers.get("authorization") != "Bearer secret":
        status = b'{"kind":"Status","reason":"Unauthorized","code":401,"message":"Unauthorized"}'
        return Response(401, {"content-type": "application/json"}, status)
    text = f'{{"path":"{request.path}","selector":"{request.query.get("labelSelector", "")}"}}'
    headers = {"content-type": "application/json"}
    return Response(200, headers, text.encode(), warnings=('say "please"',))


async def _endless() -> AsyncIterator[bytes]:
    for version in range(1000):
        yield LINE % version
        await asyncio.sleep(0)
    await asyncio.Event().wait()


@asynccontextmanager
async def served(token: str = "secret") -> AsyncIterator[tuple[Client, list[str]]]:
    front = Front(answer, None)
    await front.start()
    heard: list[str] = []
    transport = HttpTransport(ClusterConfig(f"http://127.0.0.1:{front.port}", token=token))
    client = Client(transport, on_warning=heard.append)
    try:
        yield client, heard
    finally:
        await client.close()
        await front.stop()


async def test_exchange_with_odd_characters_and_a_warning() -> None:
    async with served() as (client, heard):
        got = await client.get(POD, "a%b", "d")
        assert got["path"] == "/api/v1/namespaces/d/pods/a%b"
        request = Request("GET", "/x", {"labelSelector": "a in (b,c),d=e&f"}, {})
        assert b"a in (b,c),d=e&f" in (await client.send(request)).body
        assert heard == ['say "please"'] * 2


async def test_watch_streams_until_the_client_leaves() -> None:
    async with served() as (client, _):
        watch = client.watch(POD)
        versions = [(await anext(watch)).object["metadata"]["resourceVersion"] for _ in range(50)]
        await watch.aclose()
        assert versions == [str(number) for number in range(50)]


async def test_wrong_token_is_a_refusal() -> None:
    async with served("wrong") as (client, _):
        with pytest.raises(ApiError) as caught:
            await client.get(POD, "a", "d")
        assert caught.value.code == 401


async def test_server_that_is_not_there_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        client = Client(HttpTransport(ClusterConfig(address)))
        with pytest.raises(ApiError, match=f"cannot reach the API server at {address}") as caught:
            await client.get(POD, "a", "d")
        assert caught.value.reason == "ServiceUnavailable"
        await client.close()
