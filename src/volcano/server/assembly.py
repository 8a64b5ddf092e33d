"""Puts the API server together: store, registry, security, admission, background work.

`build` wires, `Server.start` brings it up (CRDs registered, first objects created), `Server.stop`
winds it down. The HTTPS front is `front.py`; in process, call `server.api` as a handler.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from volcano.api import crds as volcano_crds
from volcano.api import kinds, schemas
from volcano.api.admission import Admitter, Lookup
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.api.pod_logs import PodLogs
from volcano.base.clock import Clock
from volcano.base.limits import COMPACTION_AGE_SECONDS
from volcano.server.admission.chain import Chain
from volcano.server.admission.limit_ranges import LimitRangeCheck, LimitRangeDefaults
from volcano.server.admission.notices import Notices
from volcano.server.admission.priorities import PriorityAdmission
from volcano.server.admission.quotas import QuotaAdmission
from volcano.server.admission.service_accounts import ServiceAccountAdmission
from volcano.server.api import Api
from volcano.server.auth import default_roles
from volcano.server.auth.authn import Authenticator
from volcano.server.auth.escalation import RbacEscalation
from volcano.server.auth.pki import Pki
from volcano.server.auth.rbac import Authorizer
from volcano.server.auth.reviews import Reviews
from volcano.server.auth.tokens import BOUND_KINDS, ServiceAccountTokens
from volcano.server.bootstrap import Bootstrap, NamespaceFurniture, priority_classes
from volcano.server.crds import CrdAdmission, Registrar
from volcano.server.discovery import Discovery
from volcano.server.housekeeping import CrdCleanup, EventExpiry
from volcano.server.openapi import OpenApi
from volcano.server.parts import Parts, Security
from volcano.server.registry import Registry, ServedKind
from volcano.server.resources import CommittedLookup, LatestLookup, Resources, collection_of
from volcano.server.store.log import Log
from volcano.server.store.memory import MemoryLog
from volcano.server.store.sqlite import SqliteLog
from volcano.server.store.store import Store
from volcano.server.store.watch import Event

_log = structlog.get_logger(__name__)
_NO_SCHEMA: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """What a server is made of.

    Attributes:
        pki: certificates and keys, from `auth.pki.ensure`.
        folder: where the store lives; None keeps everything in memory (tests).
        mutating: admission checks that may change objects, in order, after the built-in ones.
        validating: admission checks that may only refuse, in order.
        pod_logs: where container logs come from.
        crds: CRDs registered at start; the Volcano kinds unless told otherwise.
        initial: further objects created at start where missing.
        ready: what else /readyz waits for.
        history_seconds: how long superseded versions are kept for watches and continued lists.
    """

    pki: Pki
    folder: Path | None = None
    mutating: Sequence[Admitter] = ()
    validating: Sequence[Admitter] = ()
    pod_logs: PodLogs | None = None
    crds: Sequence[JsonObject] | None = None
    initial: Sequence[tuple[Kind, JsonObject]] = ()
    ready: Callable[[], bool] = lambda: True
    history_seconds: float = COMPACTION_AGE_SECONDS


@dataclass(slots=True)
class Server:
    """A server put together. `api` answers requests once `start` has returned.

    Attributes:
        lookup: the newest objects, for in-process readers such as admission checks.
    """

    api: Api
    store: Store
    registry: Registry
    resources: Resources
    security: Security
    lookup: Lookup
    config: ServerConfig
    _clock: Clock
    _log: Log
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _ready: bool = False

    @property
    def ready(self) -> bool:
        """Whether it answers as it should."""
        return self._ready

    async def start(self) -> None:
        """Open for writes and create what every cluster has.

        Raises:
            StoreError: the store does not take writes.
            ApiError: a first object was refused.
        """
        self.store.start()
        clock, store = self._clock, self.store
        expiry = EventExpiry(store, clock)
        expiry.listen()
        furniture = NamespaceFurniture(
            store, self.resources, clock, self.config.pki.ca_certificate.read_text()
        )
        furniture.listen()
        bootstrap = Bootstrap(self.api, store, self.resources)
        wanted = [*default_roles.objects(), *priority_classes(), *self.config.initial]
        await bootstrap.create_missing([pair for pair in wanted if pair[0] == kinds.NAMESPACE])
        for row in store.rows(kinds.NAMESPACE.resource):
            furniture.furnish(row.key.name)
        await bootstrap.put_crds(
            volcano_crds.load() if self.config.crds is None else self.config.crds
        )
        await bootstrap.create_missing([pair for pair in wanted if pair[0] != kinds.NAMESPACE])
        cleanup = CrdCleanup(store, self.resources, clock)
        for name, work in (
            ("compaction", store.maintain()),
            ("event-expiry", expiry.run()),
            ("crd-cleanup", cleanup.run()),
        ):
            task = asyncio.create_task(work, name=f"server-{name}")
            task.add_done_callback(_report)
            self._tasks.append(task)
        self._ready = True

    async def stop(self) -> None:
        """End watches and background work, finish pending writes, let go of the data folder."""
        self._ready = False
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        self.store.close()
        await asyncio.sleep(0)


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.error("background work ended", task=task.get_name(), error=repr(task.exception()))


def build(config: ServerConfig, clock: Clock) -> Server:
    """Open the store and wire everything; nothing is written before `Server.start`.

    Raises:
        ConfigError: the data folder is in use, or was written by a newer version.
        StoreError: the store cannot be opened.
    """
    log: Log = SqliteLog(config.folder) if config.folder is not None else MemoryLog()
    store = Store(log, clock, history_seconds=config.history_seconds)
    registry = Registry(_core_kinds(), schemas.definitions())
    resources = Resources(registry)
    committed, latest = CommittedLookup(store), LatestLookup(store)
    key = config.pki.service_account_key.read_bytes()
    tokens = ServiceAccountTokens(key, committed, clock)
    authorizer = Authorizer(committed)
    security = Security(
        authenticator=Authenticator(
            config.pki.ca_certificate.read_bytes(), tokens, clock, authorizer
        ),
        authorizer=authorizer,
        reviews=Reviews(authorizer, tokens),
        tokens=tokens,
    )
    parts = Parts(
        store=store,
        resources=resources,
        chain=_chain(config, authorizer, latest, clock),
        security=security,
        discovery=Discovery(registry),
        openapi=OpenApi(registry),
        clock=clock,
        pod_logs=config.pod_logs,
    )
    server = Server(Api(parts), store, registry, resources, security, latest, config, clock, log)
    parts.ready = lambda: server.ready and config.ready()
    _follow_crds(store, Registrar(registry))
    _follow_security(store, security)
    return server


def _core_kinds() -> Iterable[ServedKind]:
    for kind in kinds.CORE_KINDS:
        try:
            schema = schemas.core_schema(kind)
        except KeyError:
            schema = _NO_SCHEMA
        yield ServedKind(kind, schema)


def _chain(config: ServerConfig, authorizer: Authorizer, lookup: Lookup, clock: Clock) -> Chain:
    mutating: list[Admitter] = [
        LimitRangeDefaults(),
        ServiceAccountAdmission(),
        PriorityAdmission(),
        CrdAdmission(clock),
        *config.mutating,
    ]
    validating: list[Admitter] = [
        RbacEscalation(authorizer),
        LimitRangeCheck(),
        Notices(),
        *config.validating,
        QuotaAdmission(kinds.ALL_KINDS),
    ]
    return Chain(mutating, validating, lookup)


def _follow_crds(store: Store, registrar: Registrar) -> None:
    """Serve the stored CRDs, and from now on what their commits say."""
    collection = kinds.CUSTOM_RESOURCE_DEFINITION.resource

    def changed(event: Event) -> None:
        crd = store.decoded(event.row)
        if event.row.deleted:
            registrar.remove(crd)
        else:
            previous = store.decoded(event.previous) if event.previous is not None else None
            registrar.put(crd, previous)

    for row in store.rows(collection):
        registrar.put(store.decoded(row))
    store.listen(collection, changed)


def _follow_security(store: Store, security: Security) -> None:
    """Tell roles, bindings and the owners of tokens that change to those who remember them."""

    def follow(kind: Kind, *, only_gone: bool) -> None:
        def changed(event: Event) -> None:
            if only_gone and not event.row.deleted:
                return
            key = event.row.key
            path = f"{key.namespace}/{key.name}" if key.namespace else key.name
            security.authorizer.changed(kind, path)
            security.tokens.changed(kind, path)

        store.listen(collection_of(kind), changed)

    for kind in (kinds.ROLE, kinds.ROLE_BINDING, kinds.CLUSTER_ROLE, kinds.CLUSTER_ROLE_BINDING):
        follow(kind, only_gone=False)
    for kind in (kinds.SERVICE_ACCOUNT, *BOUND_KINDS.values()):
        follow(kind, only_gone=True)
