"""Carries requests over HTTPS with kept-alive connections; the only client module with aiohttp.

Imported by the processes that speak to a server elsewhere; nothing else should load it.
"""

import asyncio
import os
import re
import time
from collections.abc import AsyncIterator
from urllib.parse import quote, urlsplit

import aiohttp
import yarl

from volcano.base.errors import ApiError, ConfigError
from volcano.base.http import Request, Response
from volcano.base.limits import HTTP_CONNECTIONS_MAX, WATCH_SECONDS_MAX
from volcano.client.config import ClusterConfig, add_client_certificate
from volcano.client.credentials import CredentialSource

_CONNECT_SECONDS = 10.0
_ANSWER_SECONDS = 60.0
_SILENCE_SECONDS = WATCH_SECONDS_MAX + 60.0
_WARNING = re.compile(r'\d{3} \S+ "((?:[^"\\]|\\.)*)"')


class HttpTransport:
    """Sends requests to the server of a `ClusterConfig`.

    Authenticates by client certificate, bearer token, or both, as the configuration has them.
    """

    def __init__(self, config: ClusterConfig) -> None:
        parts = urlsplit(config.server)
        if parts.scheme not in {"http", "https"} or not parts.netloc:
            raise ConfigError(
                f"server {config.server!r} is no address; write it like https://127.0.0.1:7443"
            )
        self._config = config
        self._base = config.server.rstrip("/")
        self._ssl = config.ssl_context()
        self._session: aiohttp.ClientSession | None = None
        self._credentials = CredentialSource(config, environ=os.environ, now=time.time)

    async def send(self, request: Request) -> Response:
        """The answer; of watches and followed logs with its stream still open.

        Raises:
            ApiError: ServiceUnavailable when the server cannot be reached or does not answer.
        """
        streaming = "watch" in request.query or request.path.endswith("/log")
        headers = dict(request.headers)
        authorization = await self._authorization()
        if authorization:
            headers["authorization"] = authorization
        url = yarl.URL(self._base + quote(request.path, safe="/:@!$&'()*+,;=-._~"), encoded=True)
        timeout = aiohttp.ClientTimeout(
            total=None if streaming else _ANSWER_SECONDS,
            sock_connect=_CONNECT_SECONDS,
            sock_read=_SILENCE_SECONDS if streaming else _ANSWER_SECONDS,
        )
        try:
            answer = await self._open().request(
                request.method,
                url.with_query(request.query),
                data=request.body or None,
                headers=headers,
                timeout=timeout,
                allow_redirects=False,
                server_hostname=self._config.tls_server_name or None,
            )
            warnings = tuple(_warnings(answer))
            if answer.status == 401:
                self._credentials.forget()
            found = {name.lower(): value for name, value in answer.headers.items()}
            if streaming and answer.status < 400:
                return Response(
                    answer.status, found, stream=self._chunks(answer), warnings=warnings
                )
            return Response(answer.status, found, body=await answer.read(), warnings=warnings)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._trouble(error) from error

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None
            # aiohttp hands TLS connections to the loop to close; give it one round to do so.
            await asyncio.sleep(0)

    async def _authorization(self) -> str:
        if not self._credentials.refreshable:
            return self._credentials.current().authorization
        cached = self._credentials.cached()
        if cached is not None:
            return cached.authorization
        # A token file is read and an exec plugin runs in a thread: either may block.
        credentials = await asyncio.to_thread(self._credentials.current)
        if credentials.certificate and self._ssl is not None:
            add_client_certificate(
                self._ssl, credentials.certificate, credentials.key, self._config.source
            )
        return credentials.authorization

    def _open(self) -> aiohttp.ClientSession:
        # A session belongs to the running loop, so it is made at the first request.
        if self._session is None:
            connector = aiohttp.TCPConnector(
                ssl=self._ssl if self._ssl is not None else True,
                limit=HTTP_CONNECTIONS_MAX,
                keepalive_timeout=60,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                auto_decompress=True,
                read_bufsize=2**20,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    async def _chunks(self, answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        try:
            async for chunk in answer.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._trouble(error) from error
        finally:
            answer.close()

    def _trouble(self, error: Exception) -> ApiError:
        reason = str(error) or type(error).__name__
        return ApiError(
            "ServiceUnavailable", f"cannot reach the API server at {self._base}: {reason}"
        )


def _warnings(answer: aiohttp.ClientResponse) -> list[str]:
    return [
        match.group(1).replace('\\"', '"')
        for value in answer.headers.getall("Warning", [])
        for match in _WARNING.finditer(value)
    ]
