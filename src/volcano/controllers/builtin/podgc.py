"""Gives up pods whose node is gone, and removes those on their way out that no node will end."""

from volcano.api.kinds import NODE, POD
from volcano.api.objects import JsonObject, key_of, metadata, name_of, namespace_of, uid_of
from volcano.base.clock import timestamp
from volcano.base.errors import ApiError
from volcano.base.limits import ORPHANED_POD_SECONDS
from volcano.client.informer import Change
from volcano.controllers.effects import Delete, Effect, Patch
from volcano.controllers.runtime import Context, Controller

_BY_NODE = "podgc-node"
_ENDED = frozenset({"Succeeded", "Failed"})


def give_up(pod: JsonObject, now: float) -> list[Effect]:
    """Mark a pod of a lost node Failed, if it has not ended, and delete it at once."""
    effects: list[Effect] = []
    namespace, name = namespace_of(pod), name_of(pod)
    if (pod.get("status") or {}).get("phase") not in _ENDED:
        others = [
            condition
            for condition in (pod.get("status") or {}).get("conditions") or ()
            if condition.get("type") != "DisruptionTarget"
        ]
        lost = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByPodGC",
            "message": f"node {_node_of(pod)} is gone",
            "lastTransitionTime": timestamp(now),
        }
        status = {"status": {"phase": "Failed", "conditions": [*others, lost]}}
        effects.append(Patch(POD, namespace, name, status, "status", missing_ok=True))
    effects.append(Delete(POD, namespace, name, uid=uid_of(pod), grace_seconds=0))
    return effects


class PodCollector(Controller):
    """Watches pods of nodes that no longer exist."""

    name = "pod-garbage-collector"

    def __init__(self, context: Context) -> None:
        super().__init__(context, (POD, NODE))
        self._pods = context.informers.of(POD)
        self._nodes = context.informers.of(NODE)
        self._missing_since: dict[str, float] = {}
        self._pods.add_index(_BY_NODE, lambda pod: filter(None, (_node_of(pod),)))
        self._pods.add_handler(self._pod_changed)
        self._nodes.add_handler(self._node_changed)

    async def reconcile(self, key: str) -> None:
        """Look at one pod."""
        pod = self._pods.get(key)
        if pod is None:
            return
        node = _node_of(pod)
        if not node:
            if "deletionTimestamp" in metadata(pod):
                await self.apply(key, [_remove(pod)])
            return
        if self._nodes.get(node) is not None:
            return
        now = self.context.clock.now()
        since = self._missing_since.setdefault(node, now)
        left = since + ORPHANED_POD_SECONDS - now
        if left > 0:
            self.queue.add_after(key, left)
            return
        if await self._is_gone(node):
            await self.apply(key, give_up(pod, now))

    async def _is_gone(self, node: str) -> bool:
        try:
            await self.context.client.get(NODE, node)
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            return True
        return False

    def _pod_changed(self, change: Change) -> None:
        pod = change.new
        if pod is None:
            return
        if _node_of(pod):
            lost = self._nodes.has_synced() and self._nodes.get(_node_of(pod)) is None
        else:
            lost = "deletionTimestamp" in metadata(pod)
        if lost:
            self.queue.add(key_of(pod))

    def _node_changed(self, change: Change) -> None:
        name = name_of(change.either)
        if change.new is not None:
            self._missing_since.pop(name, None)
            return
        for pod in self._pods.by_index(_BY_NODE, name):
            self.queue.add(key_of(pod))

    async def start(self) -> None:
        """Look at all pods once: their node may have gone while nobody watched."""
        for pod in self._pods.items():
            self.queue.add(key_of(pod))


def _remove(pod: JsonObject) -> Delete:
    return Delete(POD, namespace_of(pod), name_of(pod), uid=uid_of(pod), grace_seconds=0)


def _node_of(pod: JsonObject) -> str:
    return str((pod.get("spec") or {}).get("nodeName") or "")
