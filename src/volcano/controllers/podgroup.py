"""The PodGroup controller: gives plain pods of our schedulers a PodGroup, one per owner.

Pods of Volcano Jobs, and pods that name a group themselves, are none of its business.
"""

from collections.abc import Mapping

from volcano.api.kinds import (
    BATCH_JOB,
    DAEMON_SET,
    POD,
    POD_GROUP,
    REPLICA_SET,
    STATEFUL_SET,
    Kind,
)
from volcano.api.objects import (
    JsonObject,
    controller_of,
    key_of,
    metadata,
    name_of,
    namespace_of,
    uid_of,
)
from volcano.api.wellknown import (
    COOLDOWN_TIME,
    DEFAULT_SCHEDULER,
    GROUP_MIN_MEMBER,
    GROUP_NAME,
    JDB_MAX_UNAVAILABLE,
    JDB_MIN_AVAILABLE,
    NETWORK_TOPOLOGY_HIGHEST_TIER,
    NETWORK_TOPOLOGY_MODE,
    PREEMPTABLE,
    QUEUE_NAME,
    REVOCABLE_ZONE,
    VOLCANO_PREFIX,
)
from volcano.base.errors import ApiError, VolcanoError
from volcano.client.informer import Change
from volcano.controllers.effects import Create, Effect, Patch
from volcano.controllers.pod_usage import total_usage
from volcano.controllers.runtime import Context, Controller

_OWNERS: Mapping[tuple[str, str], Kind] = {
    (kind.api_version, kind.kind): kind
    for kind in (REPLICA_SET, DAEMON_SET, STATEFUL_SET, BATCH_JOB)
}
_ENDED = frozenset({"Succeeded", "Failed"})
_PASSING = frozenset({"Conflict", "NotFound", "AlreadyExists"})
"""Refusals that the next look at the pod answers by itself."""


def group_name(pod: JsonObject) -> str:
    """Name of the PodGroup of a plain pod: by its controller, or by itself."""
    owner = controller_of(pod)
    return f"podgroup-{owner['uid'] if owner else uid_of(pod)}"


def plan_group(
    pod: JsonObject, owner_annotations: Mapping[str, str], *, exists: bool
) -> list[Effect]:
    """Make the PodGroup of a pod, if need be, and tell the pod its name."""
    name = group_name(pod)
    effects: list[Effect] = []
    if not exists:
        effects.append(Create(POD_GROUP, build_group(pod, owner_annotations)))
    patch = {"metadata": {"annotations": {GROUP_NAME: name}}}
    effects.append(Patch(POD, namespace_of(pod), name_of(pod), patch, missing_ok=True))
    return effects


def build_group(pod: JsonObject, owner_annotations: Mapping[str, str]) -> JsonObject:
    """The PodGroup of a pod, with what its owner says about groups."""
    pod_spec = pod.get("spec") or {}
    annotations = metadata(pod).get("annotations") or {}
    members = _min_member(owner_annotations.get(GROUP_MIN_MEMBER))
    spec: JsonObject = {
        "minMember": members,
        "minResources": total_usage([(pod_spec, members)]),
    }
    if pod_spec.get("priorityClassName"):
        spec["priorityClassName"] = pod_spec["priorityClassName"]
    if annotations.get(QUEUE_NAME):
        spec["queue"] = annotations[QUEUE_NAME]
    topology = _topology(annotations)
    if topology:
        spec["networkTopology"] = topology
    meta: JsonObject = {
        "name": group_name(pod),
        "namespace": namespace_of(pod),
        "ownerReferences": _owners(pod),
        "annotations": _annotations(annotations, owner_annotations),
        "labels": _picked(metadata(pod).get("labels") or {}, (PREEMPTABLE, COOLDOWN_TIME)),
    }
    return {
        "apiVersion": POD_GROUP.api_version,
        "kind": POD_GROUP.kind,
        "metadata": {key: value for key, value in meta.items() if value},
        "spec": spec,
        "status": {"phase": "Pending"},
    }


def _owners(pod: JsonObject) -> list[JsonObject]:
    if controller_of(pod) is not None:
        return [dict(reference) for reference in metadata(pod)["ownerReferences"]]
    return [
        {
            "apiVersion": POD.api_version,
            "kind": POD.kind,
            "name": name_of(pod),
            "uid": uid_of(pod),
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


def _min_member(text: str | None) -> int:
    return int(text) if text is not None and text.isdigit() else 1


def _topology(annotations: Mapping[str, str]) -> JsonObject:
    mode = annotations.get(NETWORK_TOPOLOGY_MODE)
    tier = annotations.get(NETWORK_TOPOLOGY_HIGHEST_TIER)
    if mode is None and tier is None:
        return {}
    lowered = (mode or "").lower()
    topology: JsonObject = {"mode": lowered if lowered in {"hard", "soft"} else "hard"}
    if tier is not None and tier.isdigit():
        topology["highestTierAllowed"] = int(tier)
    return topology


def _annotations(own: Mapping[str, str], owner: Mapping[str, str]) -> dict[str, str]:
    inherited = {key: value for key, value in owner.items() if key.startswith(VOLCANO_PREFIX)}
    budget = JDB_MIN_AVAILABLE if JDB_MIN_AVAILABLE in own else JDB_MAX_UNAVAILABLE
    return inherited | _picked(own, (PREEMPTABLE, COOLDOWN_TIME, REVOCABLE_ZONE, budget))


def _picked(source: Mapping[str, str], keys: tuple[str, ...]) -> dict[str, str]:
    return {key: source[key] for key in keys if key in source}


class PodGroupController(Controller):
    """Groups the plain pods of the given schedulers.

    Args:
        schedulers: names in `spec.schedulerName` that are ours.
        inherit: take annotations of the owning workload into account.
    """

    name = "pg-controller"

    def __init__(
        self,
        context: Context,
        *,
        schedulers: frozenset[str] = frozenset({DEFAULT_SCHEDULER}),
        inherit: bool = True,
    ) -> None:
        super().__init__(context, (POD, POD_GROUP))
        self._schedulers = schedulers
        self._inherit = inherit
        self._pods = context.informers.of(POD)
        self._groups = context.informers.of(POD_GROUP)
        self._pods.add_handler(self._pod_changed)

    async def reconcile(self, key: str) -> None:
        """Group one pod."""
        pod = self._pods.get(key)
        if pod is None or not self._is_ours(pod):
            return
        exists = self._groups.get(f"{namespace_of(pod)}/{group_name(pod)}") is not None
        annotations = await self._owner_annotations(pod) if self._inherit and not exists else {}
        await self.apply(key, plan_group(pod, annotations, exists=exists))

    async def failed(self, key: str, error: VolcanoError) -> None:
        """Tell a pod whose group is refused: without one nobody else would look at it."""
        await super().failed(key, error)
        pod = self._pods.get(key)
        if pod is not None and isinstance(error, ApiError) and error.reason not in _PASSING:
            text = f"The pod waits for a PodGroup, which was refused: {error.public}"
            self.context.recorder.event(pod, "Warning", "FailedCreate", text)

    async def _owner_annotations(self, pod: JsonObject) -> dict[str, str]:
        """Annotations of the owning workloads; the first owner's win."""
        merged: dict[str, str] = {}
        for reference in metadata(pod).get("ownerReferences") or ():
            kind = _OWNERS.get((reference.get("apiVersion", ""), reference.get("kind", "")))
            if kind is None:
                continue
            try:
                owner = await self.context.client.get(kind, reference["name"], namespace_of(pod))
            except ApiError as error:
                if error.code not in {403, 404}:
                    raise
                continue
            if uid_of(owner) == reference.get("uid"):
                merged = {**(metadata(owner).get("annotations") or {}), **merged}
        return merged

    def _pod_changed(self, change: Change) -> None:
        if change.new is not None and self._is_ours(change.new):
            self.queue.add(key_of(change.new))

    def _is_ours(self, pod: JsonObject) -> bool:
        meta, status = metadata(pod), pod.get("status") or {}
        return (
            (pod.get("spec") or {}).get("schedulerName") in self._schedulers
            and not (meta.get("annotations") or {}).get(GROUP_NAME)
            and "deletionTimestamp" not in meta
            and status.get("phase") not in _ENDED
        )
