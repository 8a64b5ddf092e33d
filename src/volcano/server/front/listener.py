"""Listens with TLS, opens a `Connection` for each client, and winds them down.

A client certificate is optional, checked by TLS against the cluster's authority, and passed on as
it came.
"""

import asyncio
import socket
import ssl

from volcano.base.errors import ConfigError
from volcano.base.http import Handler
from volcano.base.limits import (
    CLOSE_SECONDS,
    KEEP_ALIVE_SECONDS,
    LISTEN_BACKLOG,
    SHUTDOWN_SECONDS,
)
from volcano.server.auth.pki import Pki
from volcano.server.front.connection import Connection

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
        keep_alive: seconds that a client may let us wait: for a request, for its end, or until it
            reads on.
    """

    def __init__(
        self,
        handler: Handler,
        tls: ssl.SSLContext | None,
        *,
        keep_alive: float = KEEP_ALIVE_SECONDS,
    ) -> None:
        self._handler = handler
        self._tls = tls
        self._keep_alive = keep_alive
        self._server: asyncio.Server | None = None
        self._connections: set[Connection] = set()
        self._all_closed = asyncio.Event()
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
        self._server = await asyncio.get_running_loop().create_server(
            self._connection, sock=listener, ssl=self._tls, backlog=LISTEN_BACKLOG
        )
        self.port = int(listener.getsockname()[1])

    async def stop(self) -> None:
        """End streams, let other requests under way end, close connections."""
        if self._server is None:
            return
        self._server.close()
        self._server = None
        for connection in set(self._connections):
            connection.stop()
        tasks = [task for connection in self._connections if (task := connection.task)]
        if tasks:
            await asyncio.wait(tasks, timeout=SHUTDOWN_SECONDS)
        if not await self._closed(within=CLOSE_SECONDS):
            for connection in set(self._connections):
                connection.abort()
            await self._closed(within=CLOSE_SECONDS)

    def _connection(self) -> Connection:
        return Connection(
            self._handler, self._connections.add, self._ended, keep_alive=self._keep_alive
        )

    def _ended(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._all_closed.set()

    async def _closed(self, *, within: float) -> bool:
        """Wait until no connection is open; whether that came within so many seconds."""
        self._all_closed.clear()
        if not self._connections:
            return True
        try:
            async with asyncio.timeout(within):
                await self._all_closed.wait()
        except TimeoutError:
            return False
        return True
