"""The HTTPS front: aiohttp on the running loop. The only server module that knows aiohttp.

Turns an exchange into the plain `Request` and `Response` that the API works with; knows nothing
of Kubernetes. A client certificate is optional, checked by TLS against the cluster's authority,
and passed on as it came.
"""

import asyncio
import socket
import ssl
from collections.abc import Mapping
from contextlib import aclosing
from typing import cast
from weakref import WeakKeyDictionary

import structlog
from aiohttp import web

from volcano.base.errors import ConfigError
from volcano.base.http import Handler, Request, Response
from volcano.base.limits import (
    KEEP_ALIVE_SECONDS,
    LISTEN_BACKLOG,
    REQUEST_BODY_BYTES_MAX,
    REQUEST_LINE_BYTES_MAX,
    SHUTDOWN_SECONDS,
)
from volcano.server.auth.pki import Pki

_log = structlog.get_logger(__name__)
_WARNING_AGENT = "299 -"


_VERIFY_NO_CHECK_TIME = ssl.VerifyFlags(0x200000)
"""OpenSSL's X509_V_FLAG_NO_CHECK_TIME, which the ssl module does not name."""


def server_tls(pki: Pki) -> ssl.SSLContext:
    """TLS as a server, asking clients for a certificate but not insisting on one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(pki.server_certificate, pki.server_key)
    context.load_verify_locations(pki.ca_certificate)
    context.verify_mode = ssl.CERT_OPTIONAL
    # A certificate that has expired is for the authenticator to refuse, in words: refused here the
    # connection would end without any, because TLS 1.3 clients are through with their handshake.
    context.verify_flags |= _VERIFY_NO_CHECK_TIME
    context.set_alpn_protocols(["http/1.1"])
    return context


class Front:
    """Serves a handler over HTTPS.

    Args:
        handler: answers requests.
        tls: from `server_tls`; None serves plain HTTP, for tests.
    """

    def __init__(self, handler: Handler, tls: ssl.SSLContext | None) -> None:
        self._handler = handler
        self._tls = tls
        self._runner: web.ServerRunner | None = None
        self._streams: set[asyncio.Task[object]] = set()
        self._certificates: WeakKeyDictionary[ssl.SSLObject, bytes | None] = WeakKeyDictionary()
        self._stopping = False
        self.port = 0
        """The port that was bound."""

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen; port 0 takes a free one.

        Raises:
            ConfigError: the address cannot be bound.
        """
        try:
            listener = socket.create_server((host, port), backlog=LISTEN_BACKLOG)
        except OSError as error:
            raise ConfigError(
                f"cannot listen on {host} port {port}: {error.strerror or error}; choose another"
                " with --port"
            ) from error
        await self.start_on(listener)

    async def start_on(self, listener: socket.socket) -> None:
        """Serve a socket that listens already; it is closed with the front."""
        server = web.Server(
            self._serve,
            request_factory=self._request,
            keepalive_timeout=KEEP_ALIVE_SECONDS,
            handler_cancellation=True,
            max_line_size=REQUEST_LINE_BYTES_MAX,
            max_field_size=REQUEST_LINE_BYTES_MAX,
            access_log=None,
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=SHUTDOWN_SECONDS)
        await self._runner.setup()
        await web.SockSite(self._runner, listener, ssl_context=self._tls).start()
        self.port = int(listener.getsockname()[1])

    async def stop(self) -> None:
        """End streams, let other requests under way end, close connections."""
        self._stopping = True
        for stream in self._streams:
            stream.cancel()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _request(
        self,
        message: object,
        payload: object,
        protocol: object,
        writer: object,
        task: "asyncio.Task[None]",
    ) -> web.BaseRequest:
        loop = asyncio.get_running_loop()
        return web.BaseRequest(
            message,  # type: ignore[arg-type]  # aiohttp's own values, handed through
            payload,  # type: ignore[arg-type]  # as above
            protocol,  # type: ignore[arg-type]  # as above
            writer,  # type: ignore[arg-type]  # as above
            task,
            loop,
            client_max_size=REQUEST_BODY_BYTES_MAX + 1,
        )

    async def _serve(self, incoming: web.BaseRequest) -> web.StreamResponse:
        try:
            body = await incoming.read() if incoming.body_exists else b""
        except web.HTTPRequestEntityTooLarge:
            # One byte more than is allowed: the pipeline words the refusal.
            body = b"\0" * (REQUEST_BODY_BYTES_MAX + 1)
        request = Request(
            incoming.method,
            incoming.path,
            _query(incoming),
            _request_headers(incoming),
            body,
            None,
            self._peer_certificate(incoming),
        )
        response = await self._handler(request)
        if response.stream is not None:
            return await self._stream(incoming, response)
        return web.Response(body=response.body, status=response.status, headers=_headers(response))

    def _peer_certificate(self, incoming: web.BaseRequest) -> bytes | None:
        """The client's certificate; TLS is asked for it once a connection."""
        transport = incoming.transport
        tls = transport.get_extra_info("ssl_object") if transport is not None else None
        if tls is None:
            return None
        if tls not in self._certificates:
            certificate = cast("ssl.SSLObject", tls).getpeercert(binary_form=True)
            self._certificates[tls] = certificate
        return self._certificates[tls]

    async def _stream(self, incoming: web.BaseRequest, response: Response) -> web.StreamResponse:
        outgoing = web.StreamResponse(status=response.status, headers=_headers(response))
        outgoing.enable_chunked_encoding()
        assert response.stream is not None
        task = asyncio.current_task()
        assert task is not None
        self._streams.add(task)
        try:
            async with aclosing(response.stream) as chunks:  # type: ignore[type-var]  # streams are async generators
                await outgoing.prepare(incoming)
                async for chunk in chunks:
                    await outgoing.write(chunk)
            await outgoing.write_eof()
        except (ConnectionResetError, BrokenPipeError):
            _log.debug("a client left its stream", path=incoming.path)
        except asyncio.CancelledError:
            if not self._stopping:
                raise
            await outgoing.write_eof()
        finally:
            self._streams.discard(task)
        return outgoing


def _request_headers(incoming: web.BaseRequest) -> Mapping[str, str]:
    """Names in lower case; values of a repeated header joined by commas, as HTTP has it."""
    headers: dict[str, str] = {}
    for name, value in incoming.headers.items():
        key = name.lower()
        headers[key] = f"{headers[key]},{value}" if key in headers else value
    return headers


def _query(incoming: web.BaseRequest) -> Mapping[str, str]:
    if not incoming.query_string:
        return _NO_QUERY
    query: dict[str, str] = {}
    for name, value in incoming.query.items():
        query.setdefault(name, value)
    return query


_NO_QUERY: Mapping[str, str] = {}


def _headers(response: Response) -> Mapping[str, str] | list[tuple[str, str]]:
    if not response.warnings:
        return response.headers
    headers = list(response.headers.items())
    for text in response.warnings:
        quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
        headers.append(("Warning", f'{_WARNING_AGENT} "{quoted}"'))
    return headers
