"""A synchronous client for command lines: http.client and ssl only, one kept-alive connection.

Same requests and answers as `client`, which needs an event loop and a bigger import. Not safe for
use by several threads at once.
"""

import http.client
import os
import select
import socket
import ssl
import time
from collections.abc import Callable, Generator, Iterator
from typing import Self
from urllib.parse import quote, urlencode, urlsplit

from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.base.errors import ApiError
from volcano.base.http import Request, Response
from volcano.base.limits import (
    BLOCKING_RETRIES_MAX,
    BLOCKING_RETRY_SECONDS_MAX,
    LIST_PAGE_OBJECTS,
    REQUEST_SECONDS_MAX,
)
from volcano.client import requests, responses
from volcano.client.config import ClusterConfig, add_client_certificate
from volcano.client.credentials import CredentialSource
from volcano.client.requests import PatchType
from volcano.client.responses import WatchEvent

_CHUNK_BYTES = 65_536


class BlockingClient:
    """Speaks to one API server and waits for each answer.

    Every method raises `ApiError`: the server's refusal, or ServiceUnavailable when it cannot be
    reached or does not answer in time, with the address and where it was configured.

    Args:
        config: the server and the credentials.
        user_agent: names the program to the server.
        timeout_seconds: for connecting and for each wait on the socket, streams excepted.
        on_warning: is told each `Warning` of an answer.
        sleep: waits between bounded retries of 429 answers.
    """

    def __init__(
        self,
        config: ClusterConfig,
        *,
        user_agent: str = "vcctl",
        timeout_seconds: float = REQUEST_SECONDS_MAX,
        on_warning: Callable[[str], None] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._config = config
        self._user_agent = user_agent
        self._timeout = timeout_seconds
        self._on_warning = on_warning
        self._sleep = sleep
        self._url = urlsplit(config.server)
        self._credentials = CredentialSource(config, environ=os.environ, now=time.time)
        self._connection: http.client.HTTPConnection | None = None
        self._tls: ssl.SSLContext | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def config(self) -> ClusterConfig:
        """The server this speaks to."""
        return self._config

    def close(self) -> None:
        """Give up the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def get(self, kind: Kind, name: str, namespace: str = "") -> JsonObject:
        """One object."""
        return self._object(requests.get(kind, name, namespace))

    def list(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> JsonObject:
        """The complete List object, pages put together."""
        whole: JsonObject | None = None
        token = ""
        while True:
            page = self._object(
                requests.list_page(
                    kind,
                    namespace,
                    label_selector=label_selector,
                    field_selector=field_selector,
                    limit=LIST_PAGE_OBJECTS,
                    continue_token=token,
                )
            )
            items = page.get("items") or []
            if whole is None:
                whole = page
                whole["items"] = items
            else:
                whole["items"] += items
            token = str((page.get("metadata") or {}).get("continue") or "")
            if not token:
                whole["metadata"] = page.get("metadata") or {}
                return whole

    def create(self, kind: Kind, obj: JsonObject, namespace: str = "") -> JsonObject:
        """Create an object; without `namespace` in the one the object names."""
        return self._object(requests.create(kind, obj, namespace))

    def patch(
        self,
        kind: Kind,
        name: str,
        patch: JsonObject,
        namespace: str = "",
        *,
        patch_type: PatchType = PatchType.MERGE,
    ) -> JsonObject:
        """Change an object."""
        return self._object(requests.patch(kind, name, patch, namespace, patch_type=patch_type))

    def delete(self, kind: Kind, name: str, namespace: str = "") -> JsonObject:
        """Delete an object with the server's default options."""
        return self._object(requests.delete(kind, name, namespace))

    def watch(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        resource_version: str = "",
        timeout_seconds: int = 0,
    ) -> Iterator[WatchEvent]:
        """Events of a collection until the server ends the watch, by `timeout_seconds` if given."""
        request = requests.watch(
            kind, namespace, resource_version=resource_version, timeout_seconds=timeout_seconds
        )
        rest = b""
        for chunk in self.stream(request):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if line:
                    yield responses.event_of(line)

    def pod_log(
        self, name: str, namespace: str, *, container: str = "", follow: bool = False
    ) -> Generator[bytes]:
        """Chunks of a container's log as they come; with `follow` until it has ended."""
        return self.stream(requests.pod_log(name, namespace, container=container, follow=follow))

    def stream(self, request: Request) -> Generator[bytes]:
        """Body of an answer as it comes, on a connection of its own without a read timeout."""
        connection = self._connect()
        try:
            answer = self._exchange(connection, request)
            if answer.status >= 400:
                raise responses.refusal_of(answer.status, answer.read())
            if connection.sock is not None:
                connection.sock.settimeout(None)
                connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            while chunk := answer.read1(_CHUNK_BYTES):
                yield chunk
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        finally:
            connection.close()

    def read(self, path: str) -> Response:
        """GET a path as it is, e.g. `/readyz`; an error code is an answer, not an exception."""
        return self._send(requests.build("GET", path))

    def _object(self, request: Request) -> JsonObject:
        response = self._send(request)
        for attempt in range(BLOCKING_RETRIES_MAX):
            if response.status == 401 and attempt == 0 and self._credentials.refreshable:
                self._credentials.forget()
                self.close()
            elif response.status == 429:
                self._sleep(min(_retry_after(response) * 2**attempt, BLOCKING_RETRY_SECONDS_MAX))
            else:
                break
            response = self._send(request)
        return responses.object_of(response)

    def _send(self, request: Request) -> Response:
        connection = self._usable_connection()
        try:
            answer = self._exchange(connection, request)
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise self._unreachable(error) from error
        if answer.will_close:
            self.close()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        warnings = tuple(_warning_text(value) for value in answer.headers.get_all("warning") or ())
        if self._on_warning is not None:
            for text in warnings:
                self._on_warning(text)
        return Response(answer.status, headers, body, warnings=warnings)

    def _exchange(
        self, connection: http.client.HTTPConnection, request: Request
    ) -> http.client.HTTPResponse:
        target = self._url.path + quote(request.path)
        if request.query:
            target += "?" + urlencode(request.query)
        headers = {"user-agent": self._user_agent, **request.headers}
        authorization = self._credentials.current().authorization
        if authorization:
            headers["authorization"] = authorization
        connection.request(request.method, target, request.body or None, headers)
        return connection.getresponse()

    def _usable_connection(self) -> http.client.HTTPConnection:
        """The kept connection unless the server has closed it meanwhile, else a new one."""
        connection = self._connection
        if connection is not None and connection.sock is not None:
            readable, _, _ = select.select([connection.sock], [], [], 0)
            if not readable:
                return connection
            connection.close()
        try:
            self._connection = self._connect()
        except OSError as error:
            raise self._unreachable(error) from error
        return self._connection

    def _connect(self) -> http.client.HTTPConnection:
        host = self._url.hostname or ""
        secure = self._url.scheme == "https"
        connection = http.client.HTTPConnection(
            host, self._url.port or (443 if secure else 80), timeout=self._timeout
        )
        connection.auto_open = 0
        try:
            connection.connect()
            if secure:
                connection.sock = self._tls_context().wrap_socket(
                    connection.sock, server_hostname=self._config.tls_server_name or host
                )
        except OSError as error:
            connection.close()
            raise self._unreachable(error) from error
        return connection

    def _tls_context(self) -> ssl.SSLContext:
        credentials = self._credentials.current()
        if self._tls is None or credentials.certificate:
            context = self._config.ssl_context()
            assert context is not None, self._config.server
            if credentials.certificate:
                add_client_certificate(
                    context, credentials.certificate, credentials.key, self._config.source
                )
            self._tls = context
        return self._tls

    def _unreachable(self, error: Exception) -> ApiError:
        if isinstance(error, ApiError):
            return error
        return ApiError("ServiceUnavailable", unreachable_text(self._config, error))


def unreachable_text(config: ClusterConfig, error: Exception) -> str:
    """Why a server could not be asked, where its address came from, and what to do."""
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = f"its certificate is not trusted: {error.verify_message}"
    elif isinstance(error, TimeoutError):
        reason = "no answer in time"
    elif isinstance(error, http.client.RemoteDisconnected | http.client.IncompleteRead):
        reason = "it closed the connection before the answer was complete"
    else:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    source = f" (from {config.source})" if config.source else ""
    hint = "; start it with 'volcano up'" if config.local else ""
    return f"cannot reach the server {config.server}{source}: {reason}{hint}"


def _retry_after(response: Response) -> float:
    text = response.headers.get("retry-after", "")
    return float(text) if text.isdigit() else 1.0


def _warning_text(value: str) -> str:
    """The quoted text of a Warning header: `299 - "text"`."""
    _, quote_mark, rest = value.partition('"')
    return rest.rsplit('"', 1)[0].replace('\\"', '"') if quote_mark else value
