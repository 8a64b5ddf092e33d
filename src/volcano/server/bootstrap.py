"""What a new cluster starts with, and what every namespace comes with.

Everything goes through the ordinary write path as the server's own user; what is there already
stays as it is, but for CRDs that this version ships otherwise.
"""

from collections.abc import Iterable, Sequence
from functools import partial

from volcano.api import kinds
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject, name_of, namespace_of
from volcano.base.clock import Clock
from volcano.base.errors import ApiError
from volcano.base.http import Request
from volcano.base.identity import MASTERS, UserInfo
from volcano.server import lifecycle
from volcano.server.admission.service_accounts import ROOT_CA_CONFIG_MAP
from volcano.server.api import Api
from volcano.server.representation import encode
from volcano.server.resources import Resources
from volcano.server.schema import copy_json
from volcano.server.store.log import Key
from volcano.server.store.store import Store
from volcano.server.store.watch import Event
from volcano.server.writing import encoded_at

SERVER_USER = UserInfo("system:apiserver", groups=(MASTERS, "system:authenticated"))
"""Who the server itself acts as."""

_AGENT = {"user-agent": "kube-apiserver/pyvolcano", "content-type": "application/json"}
_SYSTEM_PRIORITIES = (
    ("system-cluster-critical", 2_000_000_000, "must run in the cluster, may be moved"),
    ("system-node-critical", 2_000_001_000, "must not be moved from its node"),
)


def priority_classes() -> Iterable[tuple[Kind, JsonObject]]:
    """The two classes that every Kubernetes cluster has."""
    for name, value, what in _SYSTEM_PRIORITIES:
        yield (
            kinds.PRIORITY_CLASS,
            {
                "apiVersion": kinds.PRIORITY_CLASS.api_version,
                "kind": kinds.PRIORITY_CLASS.kind,
                "metadata": {"name": name},
                "value": value,
                "description": f"For pods that {what}.",
            },
        )


class Bootstrap:
    """Creates what is missing."""

    def __init__(self, api: Api, store: Store, resources: Resources) -> None:
        self._api = api
        self._store = store
        self._resources = resources

    async def create_missing(self, wanted: Sequence[tuple[Kind, JsonObject]]) -> None:
        """Create each object that is not there.

        Raises:
            ApiError: an object was refused: a fault in this program.
        """
        for kind, obj in wanted:
            resource = self._resources.of(kind)
            if self._store.latest(resource.key(namespace_of(obj), name_of(obj))) is None:
                await self._send("POST", kind, obj)

    async def put_crds(self, crds: Sequence[JsonObject]) -> None:
        """Create CRDs, and replace those whose spec is another than this version ships."""
        kind = kinds.CUSTOM_RESOURCE_DEFINITION
        for crd in crds:
            row = self._store.latest(self._resources.of(kind).key("", name_of(crd)))
            if row is None:
                await self._send("POST", kind, crd)
                continue
            present = self._store.decoded(row)
            if not _within(crd["spec"], present["spec"]):
                changed = {**copy_json(crd), "metadata": copy_json(present["metadata"])}
                await self._send("PUT", kind, changed)

    async def _send(self, method: str, kind: Kind, obj: JsonObject) -> None:
        name = name_of(obj) if method == "PUT" else ""
        request = Request(
            method,
            kind.path(namespace_of(obj), name),
            headers=_AGENT,
            body=encode(obj),
            user=SERVER_USER,
        )
        response = await self._api(request)
        if response.status >= 300:
            raise ApiError(
                "InternalError",
                f"cannot create {kind.kind} {name_of(obj)} at start: {response.body.decode()}",
            )


def _within(wanted: object, present: object) -> bool:
    """Whether `present` says all that `wanted` says; defaults may be there besides."""
    if isinstance(wanted, dict) and isinstance(present, dict):
        return all(key in present and _within(wanted[key], present[key]) for key in wanted)
    if isinstance(wanted, list) and isinstance(present, list):
        return len(wanted) == len(present) and all(map(_within, wanted, present))
    return wanted == present


class NamespaceFurniture:
    """Gives each namespace its `default` ServiceAccount and the cluster's root certificate.

    Both are written with the namespace's own commit or right after it, so that a pod can be
    created the moment the namespace is there; and again when somebody deletes them.
    """

    def __init__(self, store: Store, resources: Resources, clock: Clock, ca_pem: str) -> None:
        self._store = store
        self._resources = resources
        self._clock = clock
        self._ca_pem = ca_pem

    def listen(self) -> None:
        """Follow the store."""
        self._store.listen(kinds.NAMESPACE.resource, self._namespace_changed)
        self._store.listen(kinds.SERVICE_ACCOUNT.resource, self._piece_changed)
        self._store.listen(kinds.CONFIG_MAP.resource, self._piece_changed)

    def _namespace_changed(self, event: Event) -> None:
        if not event.row.deleted and event.previous is None:
            self.furnish(event.row.key.name)

    def _piece_changed(self, event: Event) -> None:
        key = event.row.key
        if event.row.deleted and key.name in ("default", ROOT_CA_CONFIG_MAP):
            self.furnish(key.namespace)

    def furnish(self, namespace: str) -> None:
        """Write what the namespace lacks; nothing if it is going."""
        row = self._store.latest(Key(kinds.NAMESPACE.resource, "", namespace))
        if row is None or "deletionTimestamp" in self._store.decoded(row)["metadata"]:
            return
        self._put(kinds.SERVICE_ACCOUNT, namespace, {"metadata": {"name": "default"}})
        self._put(
            kinds.CONFIG_MAP,
            namespace,
            {"metadata": {"name": ROOT_CA_CONFIG_MAP}, "data": {"ca.crt": self._ca_pem}},
        )

    def _put(self, kind: Kind, namespace: str, content: JsonObject) -> None:
        resource = self._resources.of(kind)
        key = resource.key(namespace, name_of(content))
        present = self._store.latest(key)
        obj: JsonObject = {"kind": kind.kind, "apiVersion": kind.api_version, **content}
        if present is not None:
            old = self._store.decoded(present)
            if old.get("data") == obj.get("data"):
                return
            obj = {**old, "data": obj["data"], "metadata": dict(old["metadata"])}
        else:
            lifecycle.prepare_create(resource, obj, namespace, self._clock.now())
        revision = present.revision if present is not None else 0
        self._store.put(key, revision, partial(encoded_at, obj))
