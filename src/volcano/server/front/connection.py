"""One kept-alive connection: reads requests, has them answered one after the other, in order."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import cast

import httptools
import structlog

from volcano.base.http import TEXT_HEADERS, Handler, Request, Response
from volcano.base.limits import (
    LINGER_SECONDS,
    PIPELINED_REQUESTS_MAX,
    REQUEST_BODY_BYTES_MAX,
    REQUEST_HEAD_BYTES_MAX,
)
from volcano.server.front import wire

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Draft:
    """What has come of a request so far; `head_bytes` only grows until the head is complete."""

    target: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    body: list[bytes] = field(default_factory=list)
    head_bytes: int = 0
    body_bytes: int = 0
    in_head: bool = False


@dataclass(slots=True)
class _Incoming:
    """A request that has arrived.

    Attributes:
        last: no further request is read from the connection.
        chunks: the client understands bodies in chunks (HTTP/1.1).
        refusal: the answer, where the bytes were no request.
    """

    request: Request
    last: bool = False
    chunks: bool = True
    refusal: Response | None = None


class Connection(asyncio.Protocol):
    """Serves one client.

    Args:
        handler: answers requests.
        opened: called with the connection once its handshake is done.
        ended: called with it when it is closed.
        keep_alive: seconds that the client may let us wait.
    """

    def __init__(
        self,
        handler: Handler,
        opened: Callable[["Connection"], object],
        ended: Callable[["Connection"], object],
        keep_alive: float,
    ) -> None:
        self._handler = handler
        self._opened = opened
        self._ended = ended
        self._keep_alive = keep_alive
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._certificate: bytes | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._draft = _Draft()
        self._waiting: deque[_Incoming] = deque()
        self._reading_paused = False
        self._deaf = False
        self._unread = False
        self._stopping = False
        self._streaming = False
        self._writable: asyncio.Future[None] | None = None
        self._since = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self.task: asyncio.Task[None] | None = None
        """Answers requests; None while there is none."""

    # What the loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The handshake is done: see who it is, and begin to count idle time."""
        self._transport = cast("asyncio.Transport", transport)
        tls = transport.get_extra_info("ssl_object")
        if tls is not None:
            self._certificate = tls.getpeercert(binary_form=True)
        self._timer = self._loop.call_later(self._keep_alive, self._check_idle)
        self._opened(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - why it ended changes nothing
        """Stop what was done for the client."""
        self._transport = None
        self._deaf = True
        del self._parser  # it knows the connection as the connection knows it
        if self._timer is not None:
            self._timer.cancel()
        if self.task is not None:
            self.task.cancel()
        self._ended(self)

    def data_received(self, data: bytes) -> None:
        """Take in bytes; a complete request is answered by the connection's task."""
        if self._deaf:
            return
        draft = self._draft
        begun = draft.in_head
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # No other protocol is spoken here: the request is answered as an ordinary one.
            return
        except httptools.HttpParserError as error:
            self._refuse(400, f"400 Bad Request: {error}")
            return
        if begun and draft is self._draft and draft.in_head:
            draft.head_bytes += len(data)
        if self._draft.head_bytes > REQUEST_HEAD_BYTES_MAX:
            self._refuse_head()

    def pause_writing(self) -> None:
        """The client reads slower than we write."""
        self._since = self._loop.time()
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        """The client has caught up."""
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    # What the parser calls.

    def on_message_begin(self) -> None:
        """A request's first byte."""
        self._draft = _Draft(in_head=True)
        self._since = self._loop.time()

    def on_url(self, url: bytes) -> None:
        """The target, or a piece of it."""
        self._draft.target += url
        self._draft.head_bytes += len(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header; values of a repeated one are joined by commas, as HTTP has it."""
        draft = self._draft
        draft.head_bytes += len(name) + len(value)
        key, text = name.decode("latin-1").lower(), value.decode(errors="surrogateescape")
        headers = draft.headers
        headers[key] = f"{headers[key]},{text}" if key in headers else text

    def on_headers_complete(self) -> None:
        """The body may come, unless it says that it is too long."""
        headers = self._draft.headers
        self._draft.in_head = False
        if self._draft.head_bytes > REQUEST_HEAD_BYTES_MAX:
            self._refuse_head()
        elif int(headers.get("content-length", 0)) > REQUEST_BODY_BYTES_MAX:
            self._refuse_length()
        elif headers.get("expect", "").lower() == "100-continue":
            self._write(wire.CONTINUE)

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        draft = self._draft
        draft.body_bytes += len(body)
        if draft.body_bytes <= REQUEST_BODY_BYTES_MAX:
            draft.body.append(body)
        else:
            self._refuse_length()

    def on_message_complete(self) -> None:
        """The request is whole."""
        if not self._deaf:
            parser = self._parser
            self._arrived(last=not parser.should_keep_alive() or parser.should_upgrade())

    # Requests.

    def _arrived(self, *, last: bool) -> None:
        draft = self._draft
        try:
            path, query = wire.parse_target(draft.target)
        except ValueError as error:
            self._refuse(400, f"400 Bad Request: {error}")
            return
        method = self._parser.get_method().decode("latin-1")
        body = draft.body[0] if len(draft.body) == 1 else b"".join(draft.body)
        request = Request(method, path, query, draft.headers, body, None, self._certificate)
        self._deaf = self._deaf or last
        self._enqueue(_Incoming(request, last, self._parser.get_http_version() != "1.0"))

    def _refuse_length(self) -> None:
        """Have a body refused that is too long, without waiting for its end.

        The pipeline gets one byte more than is allowed and words the refusal.
        """
        if not self._unread:
            self._unread = True
            self._draft.body = [b"\0" * (REQUEST_BODY_BYTES_MAX + 1)]
            self._arrived(last=True)

    def _refuse(self, status: int, text: str) -> None:
        """Answer bytes that are no request, behind the answers to the requests before them."""
        if self._deaf:
            return
        self._deaf = True
        refusal = Response(status, TEXT_HEADERS, text.encode())
        self._enqueue(_Incoming(Request("", ""), last=True, refusal=refusal))

    def _refuse_head(self) -> None:
        self._unread = True
        self._refuse(431, "431 Request Header Fields Too Large")

    def _enqueue(self, incoming: _Incoming) -> None:
        self._waiting.append(incoming)
        if self.task is None:
            self.task = self._loop.create_task(self._serve())
        elif len(self._waiting) >= PIPELINED_REQUESTS_MAX and self._transport is not None:
            self._reading_paused = True
            self._transport.pause_reading()

    async def _serve(self) -> None:
        """Answer what waits, then end."""
        try:
            while self._waiting and self._transport is not None:
                incoming = self._waiting.popleft()
                await self._answer(incoming)
                if incoming.last or self._stopping:
                    self._close()
                    break
                if self._reading_paused:
                    self._reading_paused = False
                    self._transport.resume_reading()
        finally:
            self.task = None
            self._since = self._loop.time()

    async def _answer(self, incoming: _Incoming) -> None:
        try:
            response = incoming.refusal or await self._handler(incoming.request)
        except Exception:  # noqa: BLE001 - the edge: a bug must be answered and logged, not hang the client
            _log.exception("request failed", path=incoming.request.path)
            response = Response(500, TEXT_HEADERS, b"500 Internal Server Error")
        if response.stream is not None:
            await self._stream(incoming, response)
            return
        framing = f"content-length: {len(response.body)}"
        head = _head(response, framing, last=incoming.last or self._stopping)
        body = b"" if incoming.request.method == "HEAD" else response.body
        self._write(head + body)
        if self._writable is not None:
            await self._writable

    async def _stream(self, incoming: _Incoming, response: Response) -> None:
        """Send a stream in chunks until it ends, or the front stops."""
        assert response.stream is not None
        framing = "transfer-encoding: chunked" if incoming.chunks else ""
        incoming.last = incoming.last or not incoming.chunks
        head = _head(response, framing, last=incoming.last)
        self._streaming = True
        try:
            async with aclosing(response.stream) as pieces:  # type: ignore[type-var]  # streams are async generators
                self._write(head)
                if incoming.request.method == "HEAD":
                    return
                async for piece in pieces:
                    if piece:
                        self._write(wire.chunk(piece) if incoming.chunks else piece)
                    if self._writable is not None:
                        await self._writable
        except asyncio.CancelledError:
            if not self._stopping:
                raise
        except Exception:  # noqa: BLE001 - the edge: the client sees a body without its end, the log says why
            _log.exception("stream failed", path=incoming.request.path)
            self.abort()
            return
        finally:
            self._streaming = False
        if incoming.chunks:
            self._write(wire.LAST_CHUNK)

    # Ends.

    def stop(self) -> None:
        """Close as soon as what is under way is answered; streams end now."""
        self._stopping = True
        if self.task is None:
            self._close()
        elif self._streaming:
            self.task.cancel()

    def abort(self) -> None:
        """Close at once, whatever has not been sent yet."""
        if self._transport is not None:
            self._transport.abort()

    def _write(self, content: bytes) -> None:
        if self._transport is not None:
            self._transport.write(content)

    def _close(self) -> None:
        """Close; a client that still sends gets time to read why before it is cut off."""
        if self._unread:
            self._loop.call_later(LINGER_SECONDS, self.abort)
        elif self._transport is not None:
            self._transport.close()

    def _check_idle(self) -> None:
        """Cut off a client that has asked, sent or read nothing for too long."""
        ours = self.task is not None and self._writable is None
        idle = 0.0 if ours else self._loop.time() - self._since
        if idle < self._keep_alive:
            self._timer = self._loop.call_later(self._keep_alive - idle, self._check_idle)
        elif self.task is None:
            self._close()
        else:
            self.abort()


def _head(response: Response, framing: str, *, last: bool) -> bytes:
    return wire.response_head(response, framing, wire.http_date(int(time.time())), last=last)
