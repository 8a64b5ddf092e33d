"""One connection, byte by byte: order, framing, limits, ends. Plain HTTP against small handlers."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from tests.waiting import eventually
from volcano.base.http import Request, Response
from volcano.base.limits import (
    PIPELINED_REQUESTS_MAX,
    REQUEST_BODY_BYTES_MAX,
    REQUEST_HEAD_BYTES_MAX,
)
from volcano.server.front import Front

pytestmark = pytest.mark.anyio
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def echo(request: Request) -> Response:
    """What arrived, as JSON."""
    told = {
        "method": request.method,
        "path": request.path,
        "query": dict(request.query),
        "headers": dict(request.headers),
        "length": len(request.body),
        "body": request.body[:20].decode(errors="replace"),
    }
    return Response(200, {"content-type": "application/json"}, json.dumps(told).encode())


@asynccontextmanager
async def served(
    handler: Callable[[Request], Awaitable[Response]] = echo, keep_alive: float = 60
) -> AsyncIterator[tuple[Front, Callable[[], Awaitable[Streams]]]]:
    """A front on a free port, and how to connect to it."""
    front = Front(handler, None, keep_alive=keep_alive)
    await front.start()
    writers = []

    async def connect() -> Streams:
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        writers.append(writer)
        return reader, writer

    try:
        yield front, connect
    finally:
        for writer in writers:
            writer.close()
        await front.stop()


async def answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    """The next answer: status, headers, body by its length."""
    async with asyncio.timeout(10):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:-2])
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    return int(head[0].split()[1]), headers, body


async def rest(reader: asyncio.StreamReader) -> bytes:
    """Everything until the server closes."""
    async with asyncio.timeout(10):
        return await reader.read()


async def asked(connect: Callable[[], Awaitable[Streams]], content: bytes) -> bytes:
    """What a connection answers to these bytes until the server closes it."""
    reader, writer = await connect()
    writer.write(content)
    return await rest(reader)


async def test_a_request_and_its_answer() -> None:
    async with served() as (_, connect):
        reader, writer = await connect()
        writer.write(
            b"POST /a%20b?x=1 HTTP/1.1\r\nHost: h\r\nX-Two: 1\r\nx-two: 2\r\n"
            b"Content-Length: 5\r\n\r\nhello"
        )
        status, headers, body = await answer(reader)
        assert (status, headers["content-type"]) == (200, "application/json")
        assert "date" in headers
        assert json.loads(body) == {
            "method": "POST",
            "path": "/a b",
            "query": {"x": "1"},
            "headers": {"host": "h", "x-two": "1,2", "content-length": "5"},
            "length": 5,
            "body": "hello",
        }


async def test_byte_by_byte_and_in_chunks() -> None:
    async with served() as (_, connect):
        reader, writer = await connect()
        content = (
            b"PUT /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        )
        for byte in content:
            writer.write(bytes([byte]))
            await writer.drain()
        told = json.loads((await answer(reader))[2])
        assert (told["path"], told["body"]) == ("/a", "abcde")


async def test_pipelined_requests_are_answered_in_order() -> None:
    count = PIPELINED_REQUESTS_MAX * 3
    under_way = 0

    async def slowly(request: Request) -> Response:
        nonlocal under_way
        under_way += 1
        assert under_way == 1
        await asyncio.sleep(0)
        under_way -= 1
        return Response(200, {}, request.path.encode())

    async with served(slowly) as (_, connect):
        reader, writer = await connect()
        for number in range(count):
            writer.write(f"GET /{number} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
            await writer.drain()
        got = [(await answer(reader))[2].decode() for _ in range(count)]
    assert got == [f"/{number}" for number in range(count)]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", id="asked-to"),
        pytest.param(b"GET / HTTP/1.0\r\n\r\n", id="http-1.0"),
        pytest.param(
            b"GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nspdy",
            id="upgrade",
        ),
    ],
)
async def test_the_last_answer_of_a_connection(content: bytes) -> None:
    async with served() as (_, connect):
        got = await asked(connect, content)
        assert got.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"\r\nconnection: close\r\n" in got


async def test_a_head_request_gets_no_body() -> None:
    async with served() as (_, connect):
        got = await asked(connect, b"HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        head, _, body = got.partition(b"\r\n\r\n")
        assert body == b""
        assert b"content-length: 0" not in head


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\x16\x03\x01nonsense\r\n\r\n", id="no-http"),
        pytest.param(b"GET nowhere HTTP/1.1\r\nHost: h\r\n\r\n", id="no-target"),
        pytest.param(b"GET / HTTP/1.1\r\nbad header\r\n\r\n", id="no-header"),
        pytest.param(
            b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            id="two-lengths",
        ),
    ],
)
async def test_bytes_that_are_no_request(content: bytes) -> None:
    async with served() as (_, connect):
        got = await asked(connect, b"GET /first HTTP/1.1\r\nHost: h\r\n\r\n" + content)
        first, _, second = got[9:].partition(b"HTTP/1.1 ")
        assert first.startswith(b"200 ")
        assert second.startswith(b"400 ")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"A: " + b"x" * (5 * REQUEST_HEAD_BYTES_MAX), id="endless-header"),
        pytest.param(
            b"".join(b"A%d: %s\r\n" % (n, b"x" * 1000) for n in range(140)) + b"\r\n",
            id="many-headers",
        ),
    ],
)
async def test_heads_that_are_too_long(content: bytes) -> None:
    async with served() as (_, connect):
        reader, writer = await connect()
        writer.write(b"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n" + content)
        assert (await answer(reader))[0] == 200
        status, headers, _ = await answer(reader)
        assert (status, headers["connection"]) == (431, "close")


async def test_a_body_that_is_too_long_is_refused_before_it_is_sent() -> None:
    async with served() as (_, connect):
        reader, writer = await connect()
        length = REQUEST_BODY_BYTES_MAX + 1
        writer.write(
            b"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
            b"Content-Length: %d\r\n\r\n" % length
        )
        status, headers, body = await answer(reader)
        assert (status, headers["connection"]) == (200, "close")
        assert json.loads(body)["length"] == length


async def test_a_body_that_is_too_long_is_read_on_for_its_sender() -> None:
    async with served() as (_, connect):
        reader, writer = await connect()
        writer.write(b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
        piece = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
        for _ in range(12):
            writer.write(piece)
            await writer.drain()
        status, _, body = await answer(reader)
        assert (status, json.loads(body)["length"]) == (200, REQUEST_BODY_BYTES_MAX + 1)


async def test_continue_is_said_before_the_body() -> None:
    async with served() as (_, connect):
        reader, writer = await connect()
        writer.write(b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert (await answer(reader))[0] == 100
        writer.write(b"hi")
        assert json.loads((await answer(reader))[2])["body"] == "hi"


async def counting(pieces: int) -> AsyncIterator[bytes]:
    for number in range(pieces):
        yield b"%d" % number


async def test_streams_are_chunked_where_the_client_knows_chunks() -> None:
    async def stream(_: Request) -> Response:
        return Response(200, {}, stream=counting(3))

    async with served(stream) as (_, connect):
        got = await asked(connect, b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        head, _, body = got.partition(b"\r\n\r\n")
        assert b"transfer-encoding: chunked" in head
        assert body == b"1\r\n0\r\n1\r\n1\r\n1\r\n2\r\n0\r\n\r\n"
        got = await asked(connect, b"GET / HTTP/1.0\r\n\r\n")
        head, _, body = got.partition(b"\r\n\r\n")
        assert b"chunked" not in head
        assert body == b"012"


async def test_a_stream_waits_for_a_slow_client_and_ends_with_it() -> None:
    sent, closed = 0, False

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent, closed
        try:
            while True:
                sent += 1
                yield b"x" * 100_000
        finally:
            closed = True

    async def stream(_: Request) -> Response:
        return Response(200, {}, stream=endless())

    async with served(stream) as (_, connect):
        reader, writer = await connect()
        writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        for _ in range(50):
            await asyncio.sleep(0)
        before = sent
        assert before < 1000
        for _ in range(300):
            await reader.readexactly(100_000)
        assert sent > before
        writer.close()
        await eventually(lambda: closed)


async def test_a_failing_stream_has_no_end() -> None:
    async def failing() -> AsyncIterator[bytes]:
        yield b"x"
        raise RuntimeError("broken")

    async def stream(_: Request) -> Response:
        return Response(200, {}, stream=failing())

    async with served(stream) as (_, connect):
        reader, writer = await connect()
        writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            async with asyncio.timeout(10):
                await reader.readuntil(b"0\r\n\r\n")


async def test_a_failing_handler_is_an_answer() -> None:
    async def fail(_: Request) -> Response:
        raise RuntimeError("broken")

    async with served(fail) as (_, connect):
        reader, writer = await connect()
        writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        assert (await answer(reader))[0] == 500


async def test_clients_that_leave_are_not_worked_for() -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def wait(_: Request) -> Response:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        raise AssertionError

    async with served(wait) as (_, connect):
        _, writer = await connect()
        writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        await begun.wait()
        writer.close()
        async with asyncio.timeout(10):
            await cancelled.wait()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"GET / HTTP/1.1\r\nHo", id="half-a-head"),
        pytest.param(b"GET / HTTP/1.1\r\nContent-Length: 9\r\n\r\nhalf", id="half-a-body"),
    ],
)
async def test_clients_that_let_us_wait_are_cut_off(content: bytes) -> None:
    async with served(keep_alive=0.05) as (_, connect):
        assert await asked(connect, content) == b""


async def test_a_client_that_does_not_read_is_cut_off() -> None:
    ended = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x" * 100_000
        finally:
            ended.set()

    async def stream(_: Request) -> Response:
        return Response(200, {}, stream=endless())

    async with served(stream, keep_alive=0.05) as (_, connect):
        _, writer = await connect()
        writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        async with asyncio.timeout(10):
            await ended.wait()


async def test_stopping_lets_an_answer_out_and_closes_idle_connections() -> None:
    begun, release = asyncio.Event(), asyncio.Event()

    async def wait(_: Request) -> Response:
        begun.set()
        await release.wait()
        return Response(200, {}, b"done")

    async with served(wait) as (front, connect):
        idle, _ = await connect()
        busy, writer = await connect()
        writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        await begun.wait()
        stopping = asyncio.create_task(front.stop())
        assert await rest(idle) == b""
        assert not stopping.done()
        release.set()
        got = await rest(busy)
        assert got.endswith(b"done")
        assert b"connection: close" in got
        await stopping
