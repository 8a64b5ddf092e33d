"""The cluster in one process: API server, admission checks, controllers and nodes on one loop.

`volcano up` runs it behind HTTPS with the scheduler as a process beside it; tests run it bare, and
`volcano.testing.cluster` with the scheduler on the same loop, in virtual time.
Controllers and nodes are ordinary clients: they go through the same pipeline as everybody, with
their own ServiceAccounts, only without a socket.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import structlog

from volcano import webhooks
from volcano.api.kinds import POD
from volcano.api.wellknown import DEFAULT_SCHEDULER, KUBE_SCHEDULER
from volcano.base.clock import Clock
from volcano.base.errors import NodeError
from volcano.base.http import Request, Response
from volcano.base.identity import UserInfo, service_account
from volcano.base.limits import COMPACTION_AGE_SECONDS
from volcano.client.client import Client
from volcano.client.transport import LocalTransport
from volcano.controllers.manager import Manager
from volcano.node.fleet import Fleet
from volcano.node.runner import NodeRunner
from volcano.server import assembly, validation
from volcano.server.auth import default_roles
from volcano.server.auth.pki import Pki

log = structlog.get_logger(__name__)

SCHEDULER_NAMES = (DEFAULT_SCHEDULER, KUBE_SCHEDULER)
"""Schedulers that the one of this cluster answers for; the first is the default of Jobs.

No other scheduler runs here, so that a pod that names none would wait for ever without a word.
"""


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """What a cluster is made of.

    Attributes:
        url: where pods find the API server.
        folder: keeps the store and the nodes' records.
        durable: keep the objects in the folder; otherwise in memory only.
        history_seconds: how long the API keeps superseded versions for watches.
    """

    pki: Pki
    folder: Path
    fleet: Fleet
    url: str
    durable: bool = True
    history_seconds: float = COMPACTION_AGE_SECONDS


class Cluster:
    """Everything but the scheduler and the HTTPS front."""

    def __init__(self, options: ClusterOptions, clock: Clock) -> None:
        self._controllers = Manager(
            self.client(default_roles.CONTROLLERS), clock, scheduler_names=SCHEDULER_NAMES
        )
        self._nodes = NodeRunner(
            self.client(default_roles.NODE),
            options.fleet,
            options.folder / "nodes",
            clock,
            api_url=options.url,
            ca_pem=options.pki.ca_certificate.read_text(),
            # One copy of all pods for both: thousands of them cost time and memory.
            pods=self._controllers.informer(POD),
        )
        checks = webhooks.Options(
            scheduler_names=SCHEDULER_NAMES, pod_validator=validation.pod_template_errors
        )
        self.server = assembly.build(
            assembly.ServerConfig(
                pki=options.pki,
                folder=options.folder / "store" if options.durable else None,
                mutating=webhooks.mutating(checks),
                validating=webhooks.validating(checks),
                pod_logs=self._nodes,
                ready=self.controllers_ready,
                history_seconds=options.history_seconds,
            ),
            clock,
        )
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self) -> None:
        """Bring the server up, then controllers and nodes.

        Raises:
            StoreError: the store does not take writes.
        """
        await self.server.start()
        self._tasks["controllers"] = asyncio.create_task(self._controllers.run())
        self._tasks["nodes"] = asyncio.create_task(self._nodes.run())

    async def nodes_registered(self) -> None:
        """Return once every node of the fleet is in the API.

        Raises:
            NodeError: nodes cannot work here; the reason is in its text.
        """
        waiting = asyncio.ensure_future(self._nodes.registered())
        running = self._tasks["nodes"]
        await asyncio.wait((waiting, running), return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            waiting.cancel()
            raise NodeError(f"the nodes have ended: {running.exception()!r}")

    def controllers_ready(self) -> bool:
        """Whether the controllers have listed everything and the first queues are open."""
        return self._controllers.ready()

    async def failed(self) -> BaseException:
        """Return the reason as soon as controllers or nodes end by themselves."""
        done, _ = await asyncio.wait(self._tasks.values(), return_when=asyncio.FIRST_COMPLETED)
        error = next(iter(done)).exception()
        return error if error is not None else NodeError("a part of the cluster has ended")

    async def stop(self, grace_seconds: float) -> None:
        """Stop controllers, then pods with their grace, then the server; data stays.

        Controllers first, or they would make new pods for those that are ended. The pod informer
        ends with them: nodes write the last statuses without it, and what changes meanwhile is
        seen by the next start.
        """
        await self._end("controllers")
        if "nodes" in self._tasks and not self._tasks["nodes"].done():
            await self._nodes.stop(grace_seconds)
        await self._end("nodes")
        await self.server.stop()

    async def _end(self, part: str) -> None:
        task = self._tasks.pop(part, None)
        if task is None:
            return
        task.cancel()
        await asyncio.wait((task,))
        if not task.cancelled() and task.exception() is not None:
            log.error("cluster.part_failed", part=part, error=repr(task.exception()))

    def client(self, account: str) -> Client:
        """A client in this process that acts as a ServiceAccount of the system's namespace."""
        return self.client_as(service_account(default_roles.SYSTEM_NAMESPACE, account), account)

    def client_as(self, user: UserInfo, user_agent: str) -> Client:
        """A client in this process that acts as `user`."""

        async def handle(request: Request) -> Response:
            return await self.server.api(request)

        return Client(LocalTransport(handle, user), user_agent=user_agent)
