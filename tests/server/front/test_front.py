"""The HTTPS front with real sockets: certificates, tokens, warnings, streams, bad bodies."""

import asyncio
import io
import json
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.server.harness import config_map, pod
from tests.waiting import eventually
from volcano.base.clock import SystemClock
from volcano.base.limits import REQUEST_BODY_BYTES_MAX
from volcano.server import assembly
from volcano.server.auth import pki
from volcano.server.front import Front, server_tls

pytestmark = pytest.mark.anyio
MAPS = "/api/v1/namespaces/default/configmaps"


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[tuple[str, pki.Pki, assembly.Server, Front]]:
    """A server on a free port; its address, keys and innards."""
    keys = pki.ensure(folder / "pki", now=time.time())
    server = assembly.build(assembly.ServerConfig(pki=keys), SystemClock())
    await server.start()
    front = Front(server.api, server_tls(keys))
    await front.start()
    try:
        yield f"https://127.0.0.1:{front.port}", keys, server, front
    finally:
        await front.stop()
        await server.stop()


def trusting(keys: pki.Pki, certificate: pki.Issued | None, folder: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(keys.ca_certificate))
    if certificate is not None:
        path = folder / "client.pem"
        path.write_bytes(certificate.certificate + certificate.key)
        context.load_cert_chain(path)
    return context


async def answer(session: aiohttp.ClientSession, method: str, url: str, **options: Any) -> Any:
    async with session.request(method, url, **options) as response:
        return response.status, await response.json(content_type=None), response.headers


@asynccontextmanager
async def as_admin(url: str, keys: pki.Pki, folder: Path) -> AsyncIterator[aiohttp.ClientSession]:
    issued = pki.client_certificate(keys, "root", ("system:masters",), now=time.time())
    connector = aiohttp.TCPConnector(ssl=trusting(keys, issued, folder))
    async with aiohttp.ClientSession(url, connector=connector) as session:
        yield session


async def test_a_certificate_is_the_administrator(tmp_path: Path) -> None:
    async with serving(tmp_path) as (url, keys, *_), as_admin(url, keys, tmp_path) as session:
        status, made, _ = await answer(session, "POST", MAPS, json=config_map(k="v"))
        assert (status, made["data"]) == (201, {"k": "v"})
        status, body, headers = await answer(session, "GET", f"{MAPS}/a")
        assert (status, body) == (200, made)
        assert headers["content-type"] == "application/json"


async def test_who_is_refused(tmp_path: Path) -> None:
    other = pki.ensure(tmp_path / "other", now=time.time())
    async with serving(tmp_path) as (url, keys, *_):
        nobody = aiohttp.TCPConnector(ssl=trusting(keys, None, tmp_path))
        async with aiohttp.ClientSession(url, connector=nobody) as session:
            status, body, _ = await answer(session, "GET", MAPS)
            assert (status, body["reason"]) == (401, "Unauthorized")
            status, _, _ = await answer(
                session, "GET", MAPS, headers={"authorization": "Bearer x.y.z"}
            )
            assert status == 401
            assert (await answer(session, "GET", "/version"))[0] == 200
        now = time.time()
        issued = pki.client_certificate(other, "root", ("system:masters",), now=now)
        connector = aiohttp.TCPConnector(ssl=trusting(keys, issued, tmp_path))
        async with aiohttp.ClientSession(url, connector=connector) as session:
            with pytest.raises(aiohttp.ClientError):
                await answer(session, "GET", MAPS)
        begun = now - 2 * pki.LEAF_SECONDS
        issued = pki.client_certificate(keys, "root", ("system:masters",), now=begun)
        connector = aiohttp.TCPConnector(ssl=trusting(keys, issued, tmp_path))
        async with aiohttp.ClientSession(url, connector=connector) as session:
            status, body, _ = await answer(session, "GET", MAPS)
            assert (status, body["reason"]) == (401, "Unauthorized")


async def test_warnings_and_oversized_bodies(tmp_path: Path) -> None:
    async with serving(tmp_path) as (url, keys, *_), as_admin(url, keys, tmp_path) as session:
        wrong = {**config_map(), "wrong": 1}
        _, _, headers = await answer(session, "POST", MAPS, json=wrong)
        assert headers["warning"] == '299 - "unknown field \\"wrong\\""'
        large = b" " * (REQUEST_BODY_BYTES_MAX + 10)
        status, body, _ = await answer(session, "POST", MAPS, data=io.BytesIO(large))
        assert (status, body["reason"]) == (413, "RequestEntityTooLarge")
        status, body, _ = await answer(session, "GET", f"{MAPS}/none?pretty=true")
        assert (status, body["reason"]) == (404, "NotFound")


async def test_a_watch_is_a_stream_of_lines(tmp_path: Path) -> None:
    async with serving(tmp_path) as (url, keys, _, front), as_admin(url, keys, tmp_path) as session:
        pods = "/api/v1/namespaces/default/pods"
        async with session.get(f"{pods}?watch=1") as response:
            await answer(session, "POST", pods, json=pod())
            event = json.loads(await asyncio.wait_for(response.content.readline(), 5))
            assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")
            await front.stop()
            assert await asyncio.wait_for(response.content.read(), 5) == b""


async def test_a_client_that_leaves_is_forgotten(tmp_path: Path) -> None:
    async with serving(tmp_path) as (url, keys, server, _):
        before = server.store.watchers
        async with as_admin(url, keys, tmp_path) as session:
            response = await session.get("/api/v1/pods?watch=1")
            await eventually(lambda: server.store.watchers != before)
            response.close()
            await eventually(lambda: server.store.watchers == before)
