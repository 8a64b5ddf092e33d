"""A lean HTTP/1.1 client over TLS, so that two cores are spent on the server and not on the load.

Each connection has one request under way. Only what this benchmark needs of HTTP is understood:
answers with a Content-Length, and chunked ones for watches.
"""

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import cast

from volcano.server.auth import pki

GROUP = "bench"
POD_BYTES = 1_500
PODS = "/api/v1/namespaces/default/pods"
CREATE = f"{PODS}?fieldValidation=Strict&fieldManager=bench"


def pod(name: str) -> bytes:
    """A pod of `POD_BYTES` bytes as a batch system writes them."""
    obj = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {
                "app.kubernetes.io/name": "trainer",
                "volcano.sh/job-name": "bench",
                "volcano.sh/queue-name": "default",
                "volcano.sh/task-spec": "worker",
            },
            "annotations": {"scheduling.k8s.io/group-name": "bench", "note": ""},
        },
        "spec": {
            "schedulerName": "volcano",
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 10,
            "nodeSelector": {"kubernetes.io/arch": "amd64"},
            "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
            "containers": [
                {
                    "name": "worker",
                    "image": "registry.example.com/team/trainer:1.2.3",
                    "command": ["python", "train.py", "--epochs", "10"],
                    "env": [
                        {"name": f"SETTING_{number}", "value": f"value-{number}"}
                        for number in range(4)
                    ],
                    "resources": {
                        "requests": {"cpu": "1", "memory": "1Gi"},
                        "limits": {"cpu": "2", "memory": "2Gi"},
                    },
                    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                }
            ],
            "volumes": [{"name": "data", "emptyDir": {}}],
        },
    }
    missing = POD_BYTES - len(_json(obj))
    obj["metadata"]["annotations"]["note"] = "x" * missing  # type: ignore[index]  # the dict above
    return _json(obj)


def _json(obj: object) -> bytes:
    return json.dumps(obj, separators=(",", ":")).encode()


def tls(keys: pki.Pki, certificate: str) -> ssl.SSLContext:
    """TLS as the load's user."""
    context = ssl.create_default_context(cafile=str(keys.ca_certificate))
    context.load_cert_chain(certificate)
    return context


class Connection(asyncio.Protocol):
    """One kept-alive connection."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def open(cls, port: int, context: ssl.SSLContext) -> "Connection":
        """Connect to the server on this machine."""
        loop = asyncio.get_running_loop()
        _, protocol = await loop.create_connection(
            cls, "127.0.0.1", port, ssl=context, server_hostname="127.0.0.1"
        )
        return protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail what waits."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("the server hung up"))

    def data_received(self, data: bytes) -> None:
        """Complete the answer once its whole body is there."""
        buffer = self._buffer
        buffer += data
        head = buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        at = buffer.lower().find(b"content-length:", 0, head)
        length = int(buffer[at + 15 : buffer.find(b"\r\n", at)])
        if len(buffer) < head + 4 + length:
            return
        status, body = int(buffer[9:12]), bytes(buffer[head + 4 : head + 4 + length])
        buffer.clear()
        if self._answer is not None and not self._answer.done():
            self._answer.set_result((status, body))

    async def send(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """One request; its status and body."""
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench/1\r\n"
            f"Accept: application/json\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self._transport.write(head.encode() + body)
        return await self._answer

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()


@dataclass
class Measured:
    """Requests of one phase: how long, how many, how late each."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    acknowledged: dict[str, str] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Requests a second."""
        return len(self.latencies) / self.seconds

    def percentile_ms(self, part: float) -> float:
        """Latency that `part` of the requests stay under, in milliseconds."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(part * len(ordered)))] * 1000


async def create_pods(
    connections: list[Connection], names: Iterator[str], seconds: float
) -> Measured:
    """Create pods on all connections for some seconds."""
    measured = Measured()
    start = time.perf_counter()
    deadline = start + seconds

    async def work(connection: Connection) -> None:
        while (sent := time.perf_counter()) < deadline:
            name = next(names)
            status, body = await connection.send("POST", CREATE, pod(name))
            if status != 201:
                raise RuntimeError(f"create answered {status}: {body.decode()}")
            measured.latencies.append(time.perf_counter() - sent)
            measured.acknowledged[name] = revision_of(body)

    await asyncio.gather(*map(work, connections))
    measured.seconds = time.perf_counter() - start
    return measured


def revision_of(body: bytes) -> str:
    """The resourceVersion in an answer, without reading all of it."""
    at = body.index(b'"resourceVersion":"') + 19
    return body[at : body.index(b'"', at)].decode()


async def get_pods(connections: list[Connection], names: list[str], seconds: float) -> Measured:
    """Read pods on all connections for some seconds."""
    measured = Measured()
    start = time.perf_counter()
    deadline = start + seconds

    async def work(offset: int, connection: Connection) -> None:
        at = offset * len(names) // len(connections)
        while (sent := time.perf_counter()) < deadline:
            at = (at + 1) % len(names)
            status, body = await connection.send("GET", f"{PODS}/{names[at]}")
            if status != 200:
                raise RuntimeError(f"get answered {status}: {body.decode()}")
            measured.latencies.append(time.perf_counter() - sent)

    await asyncio.gather(*(work(n, connection) for n, connection in enumerate(connections)))
    measured.seconds = time.perf_counter() - start
    return measured


async def watch_lines(
    port: int, context: ssl.SSLContext, revision: str
) -> AsyncIterator[tuple[float, bytes]]:
    """Events of a watch on pods with the time each arrived."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=context, server_hostname="127.0.0.1", limit=2**24
    )
    path = f"{PODS}?watch=1&resourceVersion={revision}"
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    try:
        await reader.readuntil(b"\r\n\r\n")
        while size := int(await reader.readline(), 16):
            chunk = await reader.readexactly(size + 2)
            arrived = time.perf_counter()
            for line in chunk[:-2].splitlines():
                yield arrived, line
    finally:
        writer.close()


async def read_all(connection: Connection) -> dict[str, str]:
    """Names and resourceVersions of all pods, page by page."""
    found: dict[str, str] = {}
    token = ""
    while True:
        status, body = await connection.send("GET", f"{PODS}?limit=2000&continue={token}")
        if status != 200:
            raise RuntimeError(f"list answered {status}: {body.decode()}")
        page = json.loads(body)
        for item in page["items"]:
            found[item["metadata"]["name"]] = item["metadata"]["resourceVersion"]
        token = page["metadata"].get("continue", "")
        if not token:
            return found
