"""Node objects and their heartbeats.

At the start each node is created, or its status and labels brought up to date; a node's other
fields (taints added later, unschedulable) belong to the user. Afterwards a Lease says that the node
lives: process nodes renew it as a kubelet does, simulated ones seldom. Conditions get a new
heartbeat time every few minutes, those of simulated nodes with the lease; all is spread over the
period. Nothing is removed at the end.
"""

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Iterable, Mapping

import structlog

from volcano import __version__
from volcano.api.kinds import LEASE, NODE
from volcano.api.objects import JsonObject, metadata, uid_of
from volcano.base.clock import Clock, micro_timestamp, timestamp
from volcano.base.errors import ApiError
from volcano.base.limits import (
    LEASE_RENEW_SECONDS,
    LEASE_SECONDS,
    NODE_STATUS_SECONDS,
    NODE_WRITES_CONCURRENT_MAX,
    SIMULATED_LEASE_SECONDS,
    STATUS_RETRY_SECONDS_MAX,
)
from volcano.client.client import Client, PatchType
from volcano.node import machine
from volcano.node.cgroups import Cgroups
from volcano.node.fleet import NodeKind, NodeSpec

LEASE_NAMESPACE = "kube-node-lease"
_RETRY_SECONDS_FIRST = 0.2
_log = structlog.get_logger(__name__)
_Step = Callable[[str], Awaitable[None]]

_PRESSURES = (
    ("MemoryPressure", "HasSufficientMemory", "sufficient memory available"),
    ("DiskPressure", "HasNoDiskPressure", "no disk pressure"),
    ("PIDPressure", "HasSufficientPID", "sufficient process ids available"),
)


def node_object(node: NodeSpec, address: str, limits: Cgroups, now: float) -> JsonObject:
    """The Node object of a fleet's node, status included."""
    spec: JsonObject = {}
    if node.taints:
        spec["taints"] = [dict(taint) for taint in node.taints]
    return {
        "apiVersion": NODE.api_version,
        "kind": NODE.kind,
        "metadata": {"name": node.name, "labels": node.all_labels()},
        "spec": spec,
        "status": node_status(node, address, limits, now),
    }


def node_status(node: NodeSpec, address: str, limits: Cgroups, now: float) -> JsonObject:
    """Capacity, addresses, conditions and system facts."""
    facts = machine.system_facts()
    return {
        "capacity": dict(node.capacity),
        "allocatable": dict(node.capacity),
        "conditions": node_conditions(node, limits, now),
        "addresses": [
            {"type": "InternalIP", "address": address},
            {"type": "Hostname", "address": node.name},
        ],
        "nodeInfo": {
            "machineID": facts.machine_id,
            "systemUUID": facts.machine_id,
            "bootID": facts.boot_id,
            "kernelVersion": facts.kernel,
            "osImage": facts.os_image,
            "containerRuntimeVersion": f"{node.kind.value}://{__version__}",
            "kubeletVersion": f"v{__version__}",
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": machine.architecture(),
        },
    }


def node_conditions(node: NodeSpec, limits: Cgroups, now: float) -> list[JsonObject]:
    """The node's conditions with this heartbeat time."""
    if node.kind is NodeKind.SIMULATED:
        ready = "simulated: pods pass through their phases and nothing runs"
    else:
        ready = "pods run as processes of this machine"
    conditions = [_condition("Ready", "True", "NodeReady", ready, now)]
    for type_, reason, message in _PRESSURES:
        conditions.append(_condition(type_, "False", reason, f"node has {message}", now))
    if node.kind is NodeKind.PROCESS:
        enforced = limits.enforced
        message = (
            f"cpu and memory limits hold by cgroup version {limits.version}"
            if enforced
            else f"cpu and memory limits do not hold: {limits.reason}"
        )
        reason = "CgroupsAvailable" if enforced else "CgroupsNotPermitted"
        status = "True" if enforced else "False"
        conditions.append(_condition("ResourceLimitsEnforced", status, reason, message, now))
    return conditions


def _condition(type_: str, status: str, reason: str, message: str, now: float) -> JsonObject:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": timestamp(now),
        "lastTransitionTime": timestamp(now),
    }


def keep_transitions(conditions: Iterable[JsonObject], stored: JsonObject) -> list[JsonObject]:
    """The conditions with the stored times of change where nothing changed."""
    before = {c.get("type"): c for c in (stored.get("status") or {}).get("conditions") or ()}
    kept = []
    for condition in conditions:
        old = before.get(condition["type"]) or {}
        if old.get("status") == condition["status"] and old.get("lastTransitionTime"):
            condition = {**condition, "lastTransitionTime": old["lastTransitionTime"]}
        kept.append(condition)
    return kept


class Registration:
    """Registers the nodes of a fleet and keeps them alive in the API."""

    def __init__(
        self, client: Client, nodes: Iterable[NodeSpec], address: str, limits: Cgroups, clock: Clock
    ) -> None:
        self._client = client
        self._nodes: Mapping[str, NodeSpec] = {node.name: node for node in nodes}
        self._address = address
        self._limits = limits
        self._clock = clock
        self._uids: dict[str, str] = {}
        self._conditions: dict[str, list[JsonObject]] = {}
        self._deleted: set[str] = set()

    async def register(self) -> None:
        """Create or update all nodes, process nodes first; tries until the API takes them.

        Raises:
            ApiError: the API refuses a node for what it is.
        """
        names = sorted(self._nodes, key=lambda n: self._nodes[n].kind is NodeKind.SIMULATED)
        waiting = iter(names)

        async def worker() -> None:
            for name in waiting:
                await self._insist(name, self._register)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(NODE_WRITES_CONCURRENT_MAX, len(names))):
                group.create_task(worker())

    async def run(self) -> None:
        """Heartbeats until cancelled, each at its time, one after the other."""
        due: list[tuple[float, int, str, float, _Step]] = []
        now = self._clock.now()
        for index, (name, node) in enumerate(self._nodes.items()):
            share = (index + 1) / len(self._nodes)
            lease, status = _periods(node)
            due.append((now + share * lease, 2 * index, name, lease, self._renew))
            due.append((now + share * status, 2 * index + 1, name, status, self._beat))
        heapq.heapify(due)
        while due:
            at, order, name, period, step = due[0]
            pause = at - self._clock.now()
            if pause > 0:
                await self._clock.sleep(pause)
            await self._try(name, step)
            again = max(at, self._clock.now() - period) + period
            heapq.heapreplace(due, (again, order, name, period, step))

    async def _register(self, name: str) -> None:
        wanted = node_object(self._nodes[name], self._address, self._limits, self._clock.now())
        try:
            stored = await self._client.get(NODE, name)
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            stored = await self._client.create(NODE, wanted)
            if "conditions" not in (stored.get("status") or {}):
                await self._patch_status(name, wanted["status"])
        else:
            status = dict(wanted["status"])
            status["conditions"] = keep_transitions(status["conditions"], stored)
            wanted["status"] = status
            labels = metadata(stored).get("labels") or {}
            missing = {k: v for k, v in wanted["metadata"]["labels"].items() if labels.get(k) != v}
            if missing:
                await self._client.patch(NODE, name, {"metadata": {"labels": missing}})
            await self._patch_status(name, status)
        self._uids[name] = uid_of(stored)
        self._conditions[name] = wanted["status"]["conditions"]
        await self._renew(name)

    async def _patch_status(self, name: str, status: JsonObject) -> None:
        await self._client.patch(
            NODE,
            name,
            {"status": status},
            subresource="status",
            patch_type=PatchType.STRATEGIC,
        )

    async def _beat(self, name: str) -> None:
        beat = timestamp(self._clock.now())
        conditions = [
            {"type": condition["type"], "lastHeartbeatTime": beat}
            for condition in self._conditions[name]
        ]
        await self._patch_status(name, {"conditions": conditions})

    async def _renew(self, name: str) -> None:
        """Renew the node's lease; make it if there is none."""
        now = micro_timestamp(self._clock.now())
        try:
            await self._client.patch(LEASE, name, {"spec": {"renewTime": now}}, LEASE_NAMESPACE)
        except ApiError as error:
            if error.reason != "NotFound":
                raise
        else:
            return
        node = self._nodes[name]
        seconds = LEASE_SECONDS if node.kind is NodeKind.PROCESS else SIMULATED_LEASE_SECONDS
        owner = {"apiVersion": "v1", "kind": NODE.kind, "name": name, "uid": self._uids[name]}
        lease = {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": {
                "name": name,
                "namespace": LEASE_NAMESPACE,
                "ownerReferences": [owner],
            },
            "spec": {"holderIdentity": name, "leaseDurationSeconds": seconds, "renewTime": now},
        }
        await self._client.create(LEASE, lease, LEASE_NAMESPACE)

    async def _try(self, name: str, step: _Step) -> None:
        """One heartbeat; one that fails is told and comes again at its next time.

        A node that a user has deleted stays deleted until the runner is started again.
        """
        if name in self._deleted:
            return
        try:
            await step(name)
        except ApiError as error:
            if error.reason == "NotFound" and step == self._beat:
                self._deleted.add(name)
                _log.info("node.deleted_by_user", node=name)
            else:
                _log.warning("node.heartbeat_not_taken", node=name, error=error.message)

    async def _insist(self, name: str, step: _Step) -> None:
        pause = _RETRY_SECONDS_FIRST
        while True:
            try:
                await step(name)
            except ApiError as error:
                if error.code < 500 and error.code not in {404, 409, 429}:
                    raise
                _log.warning("node.not_registered", node=name, error=error.message, seconds=pause)
                await self._clock.sleep(pause)
                pause = min(2 * pause, STATUS_RETRY_SECONDS_MAX)
            else:
                return


def _periods(node: NodeSpec) -> tuple[float, float]:
    """Seconds between two renewals of the lease, and between two heartbeats in the conditions."""
    if node.kind is NodeKind.PROCESS:
        return LEASE_RENEW_SECONDS, NODE_STATUS_SECONDS
    return SIMULATED_LEASE_SECONDS / 3, SIMULATED_LEASE_SECONDS / 3
