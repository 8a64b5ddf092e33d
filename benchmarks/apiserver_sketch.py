"""The yardstick of bench-apiserver: a server that does the least such a server could.

aiohttp on uvloop over TLS, bodies kept as they come and committed in groups to SQLite
(`synchronous=FULL`), read back from memory: no routing, rights, checks, managed fields or watches.
What it manages depends on the machine alone, so figures given as parts of it can be compared.
Prints one line of JSON with its port; ends on SIGTERM.
"""

import asyncio
import itertools
import json
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import uvloop
from aiohttp import web

from volcano.base.errors import StoreError
from volcano.server.auth import pki
from volcano.server.front import server_tls
from volcano.server.store.log import Key, Row
from volcano.server.store.sqlite import SqliteLog


class Sketch:
    """Stores what is posted under a number, and answers each read with the last of it."""

    def __init__(self, folder: Path) -> None:
        self._log = SqliteLog(folder)
        loaded = self._log.load()
        self._log.start(self._committed, self._failed)
        self._revisions = itertools.count(loaded.revision + 1)
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._newest = b"{}"

    async def answer(self, request: web.BaseRequest) -> web.Response:
        """One request of `apiserver_load`."""
        if request.method == "GET":
            return web.Response(body=self._newest)
        body = await request.read()
        revision = next(self._revisions)
        stored = body[:-1] + b',"resourceVersion":"%d"}' % revision
        future = self._waiting[revision] = asyncio.get_running_loop().create_future()
        self._log.append(Row(revision, Key("pods", "default", str(revision)), 0, False, stored))
        await future
        self._newest = stored
        return web.Response(status=201, body=stored)

    def _committed(self, rows: Sequence[Row]) -> None:
        for row in rows:
            future = self._waiting.pop(row.revision)
            if not future.done():
                future.set_result(None)

    def _failed(self, error: StoreError) -> None:
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(error)
        self._waiting.clear()


async def serve(folder: Path) -> None:
    """Run until SIGTERM."""
    keys = pki.ensure(folder / "pki", now=time.time())
    sketch = Sketch(folder / "sketch")
    runner = web.ServerRunner(web.Server(sketch.answer, access_log=None))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=server_tls(keys))
    await site.start()
    print(json.dumps({"port": runner.addresses[0][1]}), flush=True)
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    await stopped.wait()
    await runner.cleanup()


if __name__ == "__main__":
    uvloop.run(serve(Path(sys.argv[1])))
