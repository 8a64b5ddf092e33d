"""A real API server in memory and a real node runner on one loop, for tests of nodes."""

import asyncio
import contextlib
from dataclasses import dataclass, field
from pathlib import Path

from tests.node.worlds import pod_object
from tests.waiting import eventually
from volcano.api.kinds import EVENT, POD
from volcano.api.pod_logs import LogOptions
from volcano.base.clock import Clock, SystemClock
from volcano.base.errors import ApiError
from volcano.base.identity import MASTERS, UserInfo
from volcano.client.client import Client
from volcano.client.transport import LocalTransport
from volcano.node.fleet import Fleet
from volcano.node.runner import NodeRunner
from volcano.server import assembly
from volcano.server.auth import default_roles, pki

ADMIN = UserInfo("admin", groups=(MASTERS, "system:authenticated"))
NODE_USER = UserInfo(
    f"system:serviceaccount:{default_roles.SYSTEM_NAMESPACE}:{default_roles.NODE}",
    groups=(
        "system:serviceaccounts",
        f"system:serviceaccounts:{default_roles.SYSTEM_NAMESPACE}",
        "system:authenticated",
    ),
)


@dataclass
class World:
    """API and nodes; `restart_nodes` is what a crash and a new start of the node part is."""

    folder: Path
    fleet: Fleet
    clock: Clock = field(default_factory=SystemClock)

    async def start(self):
        certificates = pki.ensure(self.folder / "pki", now=SystemClock().now())
        self.ca = certificates.ca_certificate.read_text()
        self.server = assembly.build(
            assembly.ServerConfig(pki=certificates, pod_logs=self, crds=()), self.clock
        )
        await self.server.start()
        self.client = Client(LocalTransport(self.server.api, ADMIN))
        await self.start_nodes()

    async def start_nodes(self):
        self.runner = NodeRunner(
            Client(LocalTransport(self.server.api, NODE_USER)),
            self.fleet,
            self.folder / "nodes",
            self.clock,
            api_url="https://127.0.0.1:7443",
            ca_pem=self.ca,
        )
        self.task = asyncio.create_task(self.runner.run())
        await self.runner.registered()

    async def end_nodes(self):
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task

    async def restart_nodes(self):
        await self.end_nodes()
        await self.start_nodes()

    async def close(self):
        for pod in (await self.client.list(POD))["items"]:
            with contextlib.suppress(ApiError):
                await self.client.delete(
                    POD, pod["metadata"]["name"], pod["metadata"]["namespace"], grace_seconds=0
                )
        if not self.task.done():
            await eventually(
                lambda: not any((self.folder / "nodes" / "pods").iterdir()), about="folders gone"
            )
            await self.end_nodes()
        await self.server.stop()

    async def open(self, pod, options):
        return await self.runner.open(pod, options)

    async def create(self, name="a", **spec):
        obj = pod_object(name=name, **spec)
        del obj["status"], obj["metadata"]["uid"]
        return await self.client.create(POD, obj)

    async def run(self, command, name="a", **fields):
        container = {"name": "main", "image": "busybox", "command": command}
        for key in ("env", "resources", "volumeMounts", "envFrom", "workingDir", "image"):
            if key in fields:
                container[key] = fields.pop(key)
        return await self.create(name, containers=[container], **fields)

    async def get(self, name="a"):
        return await self.client.get(POD, name, "default")

    async def until(self, phase, name="a", within=10.0):
        async def reached():
            pod = await self.get(name)
            return pod if pod["status"].get("phase") == phase else None

        return await eventually(reached, within=within, about=f"{name} is {phase}")

    async def gone(self, name="a", within=10.0):
        async def absent():
            try:
                await self.get(name)
            except ApiError as error:
                return error.reason == "NotFound"
            return False

        await eventually(absent, within=within, about=f"{name} is gone")

    async def log(self, name="a", container="main", **options):
        stream = await self.runner.open(await self.get(name), LogOptions(container, **options))
        return b"".join([chunk async for chunk in stream]).decode()

    async def events(self, reason):
        items = (await self.client.list(EVENT, "default"))["items"]
        return [event["message"] for event in items if event["reason"] == reason]


def state_of(pod, container="main"):
    status = pod["status"]
    entries = [*status.get("initContainerStatuses", ()), *status["containerStatuses"]]
    return next(e for e in entries if e["name"] == container)["state"]


@contextlib.asynccontextmanager
async def world(folder, fleet, clock=None):
    made = World(folder, fleet, clock or SystemClock())
    await made.start()
    try:
        yield made
    finally:
        await made.close()
