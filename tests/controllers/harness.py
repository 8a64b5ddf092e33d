"""A real API server in this process with all controllers on it, and the parts others play.

There is no scheduler and no node here: `admit`, `run_pod`, `end_pod` write what those would.
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from tests.waiting import eventually
from volcano import webhooks
from volcano.api.kinds import COMMAND, EVENT, JOB, POD, POD_GROUP, Kind
from volcano.api.objects import JsonObject, metadata, name_of, uid_of
from volcano.base.clock import SystemClock, timestamp
from volcano.base.errors import ApiError
from volcano.base.identity import AUTHENTICATED, MASTERS, UserInfo, service_account
from volcano.client.client import Client
from volcano.client.transport import LocalTransport
from volcano.controllers.manager import Manager
from volcano.server.assembly import Server, ServerConfig, build
from volcano.server.auth import default_roles, pki

ADMIN = UserInfo("admin", groups=(MASTERS, AUTHENTICATED))
NAMESPACE = "default"


@dataclass
class Cluster:
    """The server, a client to it, and the running controllers."""

    server: Server
    client: Client

    async def create(self, kind: Kind, obj: JsonObject, namespace: str = NAMESPACE) -> JsonObject:
        return await self.client.create(kind, obj, namespace if kind.namespaced else "")

    async def find(self, kind: Kind, name: str, namespace: str = NAMESPACE) -> JsonObject | None:
        try:
            return await self.client.get(kind, name, namespace if kind.namespaced else "")
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            return None

    async def job(self, name: str) -> JsonObject:
        return await self.client.get(JOB, name, NAMESPACE)

    async def phase(self, name: str, wanted: str, *, within: float = 10.0) -> JsonObject:
        """Wait for a job's phase; the job."""

        async def probe() -> JsonObject | None:
            job = await self.job(name)
            return job if state_of(job).get("phase") == wanted else None

        return await eventually(probe, within=within, about=f"{name} is {wanted}")

    async def group(self, job: str) -> JsonObject:
        """Wait for the PodGroup of a job."""
        uid = uid_of(await self.job(job))

        async def probe() -> JsonObject | None:
            return await self.find(POD_GROUP, f"{job}-{uid}")

        return await eventually(probe, about=f"PodGroup of {job}")

    async def admit(self, job: str, phase: str = "Inqueue") -> None:
        """What the scheduler does when a group may have pods."""
        group = await self.group(job)
        await self.client.patch(POD_GROUP, name_of(group), {"status": {"phase": phase}}, NAMESPACE)

    async def pods(self, job: str, count: int | None = None) -> dict[str, JsonObject]:
        """The pods of a job by name; with `count` once there are so many, none terminating."""

        async def probe() -> list[JsonObject] | None:
            listed = await self.client.list(
                POD, NAMESPACE, label_selector=f"volcano.sh/job-name={job}"
            )
            live = [pod for pod in listed["items"] if "deletionTimestamp" not in metadata(pod)]
            return live if count is None or len(live) == count else None

        if count is None:
            found = await probe() or []
        elif count == 0:

            async def none_left() -> bool:
                return await probe() == []

            await eventually(none_left, about=f"{job} has no pods")
            found = []
        else:
            found = await eventually(probe, about=f"{count} pods of {job}")
        return {name_of(pod): pod for pod in found}

    async def run_pod(self, name: str, *, restarts: int = 0) -> None:
        """What a node reports when the containers run."""
        status = {
            "phase": "Running",
            "containerStatuses": [
                {
                    "name": "main",
                    "ready": True,
                    "restartCount": restarts,
                    "image": "i",
                    "imageID": "",
                    "state": {"running": {"startedAt": timestamp(time.time())}},
                }
            ],
        }
        await self._status(name, status)

    async def end_pod(self, name: str, exit_code: int = 0) -> None:
        """What a node reports when the containers have ended."""
        ended = {"exitCode": exit_code, "finishedAt": timestamp(time.time())}
        status = {
            "phase": "Failed" if exit_code else "Succeeded",
            "containerStatuses": [
                {
                    "name": "main",
                    "ready": False,
                    "restartCount": 0,
                    "image": "i",
                    "imageID": "",
                    "state": {"terminated": ended},
                }
            ],
        }
        await self._status(name, status)

    async def _status(self, name: str, status: JsonObject) -> None:
        await self.client.patch(POD, name, {"status": status}, NAMESPACE, subresource="status")

    async def command(self, job: str, action: str) -> None:
        """What `vcctl job suspend` and its like create."""
        target = {
            "apiVersion": JOB.api_version,
            "kind": JOB.kind,
            "name": job,
            "uid": uid_of(await self.job(job)),
        }
        obj = {
            "apiVersion": COMMAND.api_version,
            "kind": COMMAND.kind,
            "metadata": {"generateName": f"{job}-{action.lower()}-"},
            "action": action,
            "target": target,
        }
        await self.create(COMMAND, obj)

    async def events(self, name: str, reason: str) -> list[JsonObject]:
        """Events of one reason about an object."""
        listed = await self.client.list(EVENT, NAMESPACE)
        return [
            event
            for event in listed["items"]
            if event["involvedObject"]["name"] == name and event["reason"] == reason
        ]


@asynccontextmanager
async def cluster(folder: Path, *, controllers: bool = True) -> AsyncIterator[Cluster]:
    """A fresh cluster in memory."""
    clock = SystemClock()
    options = webhooks.Options()
    config = ServerConfig(
        pki.ensure(folder / "pki", now=clock.now()),
        mutating=webhooks.mutating(options),
        validating=webhooks.validating(options),
    )
    server = build(config, clock)
    await server.start()
    try:
        async with anyio.create_task_group() as group:
            client = Client(LocalTransport(server.api, ADMIN))
            if controllers:
                manager = start_manager(server)
                group.start_soon(manager.run)
                await eventually(manager.ready, about="controllers are ready")
            yield Cluster(server, client)
            group.cancel_scope.cancel()
    finally:
        await server.stop()


def start_manager(server: Server) -> Manager:
    """Controllers for a server; the caller runs them."""
    user = service_account(default_roles.SYSTEM_NAMESPACE, default_roles.CONTROLLERS)
    client = Client(LocalTransport(server.api, user), user_agent="vc-controller-manager")
    return Manager(client, SystemClock())


def state_of(job: JsonObject) -> JsonObject:
    """`status.state` of a job."""
    return (job.get("status") or {}).get("state") or {}


def job(name: str, *tasks: JsonObject, **spec: object) -> JsonObject:
    """A Job manifest; without tasks it has one pod."""
    return {
        "apiVersion": JOB.api_version,
        "kind": JOB.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"schedulerName": "volcano", "tasks": list(tasks or [task()]), **spec},
    }


def task(name: str = "work", replicas: int = 1, **more: object) -> JsonObject:
    """A task whose pods have one container."""
    container = {"name": "main", "image": "i", "command": ["true"]}
    return {
        "name": name,
        "replicas": replicas,
        "template": {"spec": {"containers": [container]}},
        **more,
    }


def policy(action: str, *events: str, **more: object) -> JsonObject:
    """A lifecycle policy."""
    return {"action": action, "events": list(events), **more}
