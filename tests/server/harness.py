"""A whole API server in the test's process: in memory or on SQLite, called as a chosen user."""

import atexit
import json
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject, name_of, namespace_of
from volcano.base.clock import Clock, ManualClock
from volcano.base.http import Request, Response
from volcano.base.identity import AUTHENTICATED, MASTERS, UserInfo
from volcano.server import assembly
from volcano.server.auth import pki

ADMIN = UserInfo("admin", groups=(MASTERS, AUTHENTICATED))
NOW = 1_700_000_000.0


@cache
def test_pki() -> pki.Pki:
    """Certificates and keys shared by all tests of a process."""
    folder = Path(mkdtemp(prefix="volcano-pki-"))
    atexit.register(shutil.rmtree, folder)
    return pki.ensure(folder, now=NOW)


test_pki.__test__ = False  # type: ignore[attr-defined]  # pytest must not collect it


@dataclass
class Answer:
    """A response, read."""

    status: int
    body: Any
    warnings: tuple[str, ...]
    response: Response

    @property
    def message(self) -> str:
        return str(self.body.get("message", ""))


@dataclass
class Caller:
    """Sends requests as one user, through the whole pipeline."""

    server: assembly.Server
    user: UserInfo | None = ADMIN
    headers: dict[str, str] = field(default_factory=lambda: {"user-agent": "test/1"})

    def as_user(self, user: UserInfo | None) -> "Caller":
        return Caller(self.server, user, self.headers)

    async def send(
        self,
        method: str,
        url: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        accept: str = "",
    ) -> Response:
        parts = urlsplit(url)
        headers = {**self.headers, "content-type": content_type}
        if accept:
            headers["accept"] = accept
        content = body if isinstance(body, bytes) else b"" if body is None else _json(body)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        return await self.server.api(
            Request(method, parts.path, query, headers, content, self.user)
        )

    async def call(self, method: str, url: str, body: Any = None, **options: Any) -> Answer:
        response = await self.send(method, url, body, **options)
        assert response.stream is None, "a stream: use watch()"
        text = response.headers.get("content-type", "").startswith("application/json")
        read = json.loads(response.body) if text else response.body.decode()
        return Answer(response.status, read, response.warnings, response)

    async def ok(self, method: str, url: str, body: Any = None, **options: Any) -> Any:
        answer = await self.call(method, url, body, **options)
        assert answer.status < 300, answer.body
        return answer.body

    async def refused(
        self, status: int, method: str, url: str, body: Any = None, **options: Any
    ) -> JsonObject:
        answer = await self.call(method, url, body, **options)
        assert answer.status == status, answer.body
        assert answer.body["kind"] == "Status"
        assert answer.body["status"] == "Failure"
        assert answer.body["code"] == status
        return dict(answer.body)

    async def create(self, kind: Kind, obj: JsonObject, query: str = "") -> JsonObject:
        return dict(await self.ok("POST", kind.path(namespace_of(obj)) + query, obj))

    async def get(self, kind: Kind, name: str, namespace: str = "") -> JsonObject:
        return dict(await self.ok("GET", kind.path(namespace, name)))

    async def watch(self, url: str, **options: Any) -> AsyncIterator[JsonObject]:
        """Events of a watch, decoded; close it with `aclose`."""
        response = await self.send("GET", url, **options)
        assert response.stream is not None, response.body
        try:
            async for chunk in response.stream:
                for line in chunk.splitlines():
                    yield json.loads(line)
        finally:
            await response.stream.aclose()  # type: ignore[attr-defined]  # streams are async generators


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


@asynccontextmanager
async def running(
    *, folder: Path | None = None, clock: Clock | None = None, **config: Any
) -> AsyncIterator[Caller]:
    """A started server and a caller who is its administrator."""
    settings = assembly.ServerConfig(pki=test_pki(), folder=folder, **config)
    server = assembly.build(settings, clock or ManualClock(NOW))
    await server.start()
    try:
        yield Caller(server)
    finally:
        await server.stop()


def pod(name: str = "a", namespace: str = "default", **spec: Any) -> JsonObject:
    """The smallest good pod."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [{"name": "c", "image": "busybox"}], **spec},
    }


def config_map(name: str = "a", namespace: str = "default", **data: str) -> JsonObject:
    """A ConfigMap: the plainest object there is."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data,
    }


def names(items: Sequence[JsonObject]) -> list[str]:
    return [name_of(item) for item in items]
