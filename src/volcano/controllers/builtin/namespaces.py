"""Empties namespaces that are being deleted, then lets them go."""

from collections.abc import Iterable

from volcano.api.kinds import NAMESPACE, Kind
from volcano.api.objects import JsonObject, metadata, name_of, uid_of
from volcano.base.errors import ApiError
from volcano.client.informer import Change
from volcano.controllers.effects import Delete
from volcano.controllers.runtime import Context, Controller

_FINALIZER = "kubernetes"
_WAIT_SECONDS = 1.0


class NamespaceController(Controller):
    """Deletes what is in a Terminating namespace and removes its finalizer when it is empty."""

    name = "namespace-controller"

    def __init__(self, context: Context, kinds: Iterable[Kind]) -> None:
        super().__init__(context, (NAMESPACE,))
        self._kinds = [kind for kind in kinds if kind.namespaced and "delete" in kind.verbs]
        self._namespaces = context.informers.of(NAMESPACE)
        self._namespaces.add_handler(self._changed)

    async def reconcile(self, key: str) -> None:
        """Empty one namespace, as far as it goes."""
        namespace = self._namespaces.get(key)
        if namespace is None or not _is_terminating(namespace):
            return
        left = False
        for kind in self._present_kinds():
            left = await self._empty(kind, key) or left
        if left:
            self.queue.add_after(key, _WAIT_SECONDS)
            return
        await self._finalize(key)

    def _present_kinds(self) -> list[Kind]:
        """Kinds served from the start and those that CRDs have added since."""
        known = {kind.resource: kind for kind in self._kinds}
        for kind in self.context.informers.by_kind:
            if kind.namespaced and "delete" in kind.verbs:
                known.setdefault(kind.resource, kind)
        return list(known.values())

    async def _empty(self, kind: Kind, namespace: str) -> bool:
        """Delete all objects of a kind; whether some are left."""
        try:
            listed = await self.context.client.list(kind, namespace)
            if not listed["items"]:
                return False
            gone = [
                Delete(kind, namespace, name_of(item), uid=uid_of(item))
                for item in listed["items"]
                if "deletionTimestamp" not in metadata(item)
            ]
            if gone:
                await self.apply(namespace, gone)
                listed = await self.context.client.list(kind, namespace)
            return bool(listed["items"])
        except ApiError as error:
            if error.code == 404:
                # The kind is no longer served, so there is nothing of it.
                return False
            raise

    async def _finalize(self, name: str) -> None:
        try:
            current = await self.context.client.get(NAMESPACE, name)
            spec = current.get("spec") or {}
            kept = [entry for entry in spec.get("finalizers") or () if entry != _FINALIZER]
            if kept == (spec.get("finalizers") or []):
                return
            finalized = {**current, "spec": {**spec, "finalizers": kept}}
            await self.context.client.update(NAMESPACE, finalized, subresource="finalize")
        except ApiError as error:
            if error.reason != "NotFound":
                raise

    def _changed(self, change: Change) -> None:
        if change.new is not None and _is_terminating(change.new):
            self.queue.add(name_of(change.new))


def _is_terminating(namespace: JsonObject) -> bool:
    return "deletionTimestamp" in metadata(namespace)
