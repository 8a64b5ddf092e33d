"""What the stories share: manifests with sane defaults, and questions to the cluster."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from volcano.api.kinds import COMMAND, EVENT, JOB, POD, POD_GROUP, QUEUE, Kind
from volcano.api.objects import JsonObject, metadata, name_of, uid_of
from volcano.base.errors import ApiError
from volcano.node.fleet import Fleet
from volcano.testing.cluster import VirtualCluster, simulated

NAMESPACE = "default"
JOB_LABEL = "volcano.sh/job-name"


def container(**requests: str) -> JsonObject:
    """A container that asks for what is named (`gpu` for nvidia.com/gpu)."""
    named = {"nvidia.com/gpu" if key == "gpu" else key: value for key, value in requests.items()}
    limits = {key: value for key, value in named.items() if "/" in key}
    return {"name": "main", "image": "i", "resources": {"requests": named, "limits": limits}}


def template(
    *, seconds: float | None = None, exit_code: int = 0, spec: JsonObject | None = None, **ask: str
) -> JsonObject:
    """A pod template whose pods run for `seconds` (for ever unless given)."""
    notes = {"simulation.volcano.sh/exit-code": str(exit_code)}
    if seconds is not None:
        notes["simulation.volcano.sh/duration"] = str(seconds)
    return {
        "metadata": {"annotations": notes},
        "spec": {"containers": [container(**ask)], **(spec or {})},
    }


def task(
    name: str = "work", replicas: int = 1, *, more: JsonObject | None = None, **pod: Any
) -> JsonObject:
    """A task; what is not named here is about its pods."""
    return {"name": name, "replicas": replicas, "template": template(**pod), **(more or {})}


def job(name: str, *tasks: JsonObject, **spec: Any) -> JsonObject:
    """A Job manifest."""
    return {
        "apiVersion": JOB.api_version,
        "kind": JOB.kind,
        "metadata": {"name": name},
        "spec": {"schedulerName": "volcano", "tasks": list(tasks), **spec},
    }


def pod(name: str, *, owner: JsonObject | None = None, **fields: Any) -> JsonObject:
    """A bare pod for Volcano's scheduler."""
    made = template(**fields)
    made["metadata"]["name"] = name
    made["spec"].update(schedulerName="volcano", restartPolicy="Never")
    return {"apiVersion": "v1", "kind": "Pod", **made}


class World:
    """A virtual cluster and what the stories want to know of it."""

    def __init__(self, cluster: VirtualCluster) -> None:
        self.cluster = cluster
        self.client = cluster.client
        self.until = cluster.until
        self.run_for = cluster.run_for

    async def create(self, kind: Kind, obj: JsonObject) -> JsonObject:
        return await self.client.create(kind, obj, NAMESPACE if kind.namespaced else "")

    async def submit(self, *jobs: JsonObject) -> None:
        for manifest in jobs:
            await self.create(JOB, manifest)

    async def find(self, kind: Kind, name: str) -> JsonObject | None:
        try:
            return await self.client.get(kind, name, NAMESPACE if kind.namespaced else "")
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            return None

    async def phase_of(self, name: str) -> str:
        status = (await self.client.get(JOB, name, NAMESPACE)).get("status") or {}
        return str((status.get("state") or {}).get("phase", ""))

    async def phase(self, name: str, wanted: str, *, within: float = 60.0) -> JsonObject:
        """Wait for a job's phase; the job."""

        async def probe() -> bool:
            return await self.phase_of(name) == wanted

        await self.until(probe, within=within, about=f"{name} is {wanted}")
        return await self.client.get(JOB, name, NAMESPACE)

    async def pods(self, job: str) -> dict[str, JsonObject]:
        """The pods of a job by name."""
        found = await self.client.list(POD, NAMESPACE, label_selector=f"{JOB_LABEL}={job}")
        return {name_of(each): each for each in found["items"]}

    async def bound(self, job: str) -> dict[str, str]:
        """Pod → node, of the pods of a job that are on one and have not ended."""
        return {
            name: each["spec"]["nodeName"]
            for name, each in (await self.pods(job)).items()
            if each["spec"].get("nodeName") and each["status"]["phase"] in ("Pending", "Running")
        }

    async def group(self, job: str) -> JsonObject:
        uid = uid_of(await self.client.get(JOB, job, NAMESPACE))
        return await self.client.get(POD_GROUP, f"{job}-{uid}", NAMESPACE)

    async def group_condition(self, job: str) -> JsonObject:
        """Wait for the condition that says why the group of a job waits; the condition."""

        async def probe() -> JsonObject | None:
            found = (await self.group(job)).get("status") or {}
            waits = [c for c in found.get("conditions") or () if c["type"] == "Unschedulable"]
            return waits[0] if waits and waits[0]["status"] == "True" else None

        return await self.until(probe, about=f"{job} says why it waits")

    async def why_pending(self, name: str) -> str:
        """Wait for the PodScheduled=False condition of a pod; its message."""

        async def probe() -> str:
            found = await self.find(POD, name)
            if found is None:
                return ""
            assert not found["spec"].get("nodeName"), f"{name} is on a node"
            for condition in found["status"].get("conditions") or ():
                if (condition["type"], condition["status"]) == ("PodScheduled", "False"):
                    return str(condition["message"])
            return ""

        return await self.until(probe, about=f"{name} says why it waits")

    async def pod_phase(self, name: str, wanted: str, *, within: float = 60.0) -> JsonObject:
        """Wait for a pod's phase; the pod."""

        async def probe() -> JsonObject | None:
            found = await self.find(POD, name)
            return found if found and found["status"]["phase"] == wanted else None

        return await self.until(probe, within=within, about=f"{name} is {wanted}")

    async def command(self, kind: Kind, name: str, action: str) -> None:
        """What `vcctl job suspend` and its like create."""
        target = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "name": name,
            "uid": uid_of(await self.client.get(kind, name, NAMESPACE if kind.namespaced else "")),
        }
        meta = {"generateName": f"{name}-"}
        await self.create(
            COMMAND,
            {
                "apiVersion": COMMAND.api_version,
                "kind": COMMAND.kind,
                "metadata": meta,
                "action": action,
                "target": target,
            },
        )

    async def events(self, name: str, reason: str) -> list[JsonObject]:
        found = (await self.client.list(EVENT, NAMESPACE))["items"]
        return [e for e in found if (e["involvedObject"]["name"], e["reason"]) == (name, reason)]

    async def scale(self, name: str, replicas: int) -> None:
        """Change the replicas of a job's only task, and its minimum with them."""
        found = await self.client.get(JOB, name, NAMESPACE)
        tasks = [{**found["spec"]["tasks"][0], "replicas": replicas, "minAvailable": replicas}]
        await self.client.patch(
            JOB, name, {"spec": {"tasks": tasks, "minAvailable": replicas}}, NAMESPACE
        )

    async def queue_state(self, name: str, wanted: str) -> None:
        async def probe() -> bool:
            status = (await self.client.get(QUEUE, name)).get("status") or {}
            return status.get("state") == wanted

        await self.until(probe, about=f"queue {name} is {wanted}")


def queue(name: str, **spec: Any) -> JsonObject:
    return {
        "apiVersion": QUEUE.api_version,
        "kind": QUEUE.kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def deleted(obj: JsonObject) -> bool:
    return "deletionTimestamp" in metadata(obj)


@asynccontextmanager
async def world(folder: Path, fleet: Fleet | None = None) -> AsyncIterator[World]:
    """A cluster of its own; two nodes of 4 cores unless a fleet is given."""
    nodes = fleet or simulated(n1={"cpu": "4"}, n2={"cpu": "4"})
    async with VirtualCluster(folder, nodes) as cluster:
        yield World(cluster)
