"""A synchronous client for command lines: one kept-alive connection, and little to import.

Same requests and answers as `client`, which needs an event loop and a bigger import. Not safe for
use by several threads at once.
"""

import os
import time
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Self
from urllib.parse import quote, urlencode, urlsplit

from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.base.errors import ApiError, ConfigError
from volcano.base.http import Request, Response
from volcano.base.limits import (
    BLOCKING_RETRIES_MAX,
    BLOCKING_RETRY_SECONDS_MAX,
    LIST_PAGE_OBJECTS,
    REQUEST_SECONDS_MAX,
)
from volcano.client import http1, requests, responses
from volcano.client.codec import decode_light, encode_light
from volcano.client.config import ClusterConfig, add_client_certificate
from volcano.client.credentials import CredentialSource
from volcano.client.requests import PatchType
from volcano.client.responses import WatchEvent

if TYPE_CHECKING:
    import ssl


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
        self._connection: http1.Connection | None = None
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
        return self._object(requests.create(kind, obj, namespace, encode=encode_light))

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
        return self._object(
            requests.patch(kind, name, patch, namespace, patch_type=patch_type, encode=encode_light)
        )

    def delete(self, kind: Kind, name: str, namespace: str = "") -> JsonObject:
        """Delete an object with the server's default options."""
        return self._object(requests.delete(kind, name, namespace, encode=encode_light))

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
                    yield responses.event_of(line, decode_light)

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
                body = connection.read(answer)
                raise responses.refusal_of(answer.status, body, decode_light)
            yield from connection.chunks(answer)
        except OSError as error:
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
        return responses.object_of(response, decode_light)

    def _send(self, request: Request) -> Response:
        connection = self._usable_connection()
        try:
            answer = self._exchange(connection, request)
            body = connection.read(answer)
        except OSError as error:
            self.close()
            raise self._unreachable(error) from error
        if not answer.keeps_open:
            self.close()
        warnings = tuple(
            _warning_text(value) for name, value in answer.headers if name == "warning"
        )
        if self._on_warning is not None:
            for text in warnings:
                self._on_warning(text)
        return Response(answer.status, dict(answer.headers), body, warnings=warnings)

    def _exchange(self, connection: http1.Connection, request: Request) -> http1.Answer:
        target = self._url.path + quote(request.path)
        if request.query:
            target += "?" + urlencode(request.query)
        headers = {"user-agent": self._user_agent, **request.headers}
        authorization = self._credentials.current().authorization
        if authorization:
            if not (authorization.isascii() and authorization.isprintable()):
                raise ConfigError(
                    f"{self._config.source}: the token holds characters that no HTTP header can;"
                    " it must be one line of ASCII"
                )
            headers["authorization"] = authorization
        return connection.exchange(request.method, target, headers, request.body)

    def _usable_connection(self) -> http1.Connection:
        """The kept connection unless the server has closed it meanwhile, else a new one."""
        if self._connection is not None and not self._connection.is_idle():
            self.close()
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _connect(self) -> http1.Connection:
        host = self._url.hostname or ""
        secure = self._url.scheme == "https"
        try:
            sock = http1.connect(host, self._url.port or (443 if secure else 80), self._timeout)
            if secure:
                name = self._config.tls_server_name or host
                try:
                    sock = self._tls_context().wrap_socket(
                        sock, server_hostname=name.encode("ascii") if name.isascii() else name
                    )
                except BaseException:
                    sock.close()
                    raise
        except OSError as error:
            raise self._unreachable(error) from error
        return http1.Connection(sock, self._url.netloc.rpartition("@")[2])

    def _tls_context(self) -> "ssl.SSLContext":
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
    distrust = getattr(error, "verify_message", "")  # of ssl.SSLCertVerificationError
    if distrust:
        reason = f"its certificate is not trusted: {distrust}"
    elif isinstance(error, TimeoutError):
        reason = "no answer in time"
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
