"""What a node reads of a Pod, as plain values: the input of `plan` and `status`.

Readers decode: everything else of the object is left alone and never written back.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from volcano.api.objects import JsonObject, metadata, name_of, namespace_of, uid_of
from volcano.base.clock import parse_timestamp

GRACE_SECONDS_DEFAULT = 30


class RestartPolicy(StrEnum):
    """When a container that ended is started again."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"


class Role(StrEnum):
    """What a container is for, which decides when it is started."""

    INIT = "init"
    SIDECAR = "sidecar"
    APP = "app"


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """One container of a pod.

    Attributes:
        restart: the policy that holds for this container: a sidecar's is Always, an init
            container's is the pod's with Always read as OnFailure.
        raw: the container as written in the pod, for environment, mounts and resources.
    """

    name: str
    role: Role
    restart: RestartPolicy
    raw: JsonObject


@dataclass(frozen=True, slots=True)
class PodSpec:
    """One pod as a node sees it. Times are seconds since the epoch.

    Attributes:
        containers: init containers and sidecars in their order, then the app containers.
        deadline_seconds: `activeDeadlineSeconds`, counted from `started_at`.
        deletion_at: when the pod's grace is over (`metadata.deletionTimestamp`), if being deleted.
        started_at: `status.startTime`: when a node first took the pod.
        phase: `status.phase` as stored.
        raw: the whole object.
    """

    uid: str
    namespace: str
    name: str
    node: str
    containers: tuple[ContainerSpec, ...]
    restart_policy: RestartPolicy
    grace_seconds: int
    deadline_seconds: int | None
    deletion_at: float | None
    started_at: float | None
    phase: str
    raw: JsonObject

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    def role(self, *roles: Role) -> Iterator[ContainerSpec]:
        """The containers of these roles, in order."""
        return (container for container in self.containers if container.role in roles)

    def container(self, name: str) -> ContainerSpec | None:
        """The container of that name, or None."""
        return next((c for c in self.containers if c.name == name), None)


def read_pod(obj: JsonObject) -> PodSpec:
    """Decode what a node needs of a stored, hence valid, Pod."""
    spec = obj.get("spec") or {}
    status = obj.get("status") or {}
    meta = metadata(obj)
    policy = RestartPolicy(spec.get("restartPolicy") or "Always")
    grace = spec.get("terminationGracePeriodSeconds")
    if meta.get("deletionGracePeriodSeconds") is not None:
        grace = meta["deletionGracePeriodSeconds"]
    deadline = spec.get("activeDeadlineSeconds")
    return PodSpec(
        uid=uid_of(obj),
        namespace=namespace_of(obj),
        name=name_of(obj),
        node=str(spec.get("nodeName") or ""),
        containers=tuple(_containers(spec, policy)),
        restart_policy=policy,
        grace_seconds=GRACE_SECONDS_DEFAULT if grace is None else int(grace),
        deadline_seconds=None if deadline is None else int(deadline),
        deletion_at=_time(meta.get("deletionTimestamp")),
        started_at=_time(status.get("startTime")),
        phase=str(status.get("phase") or "Pending"),
        raw=obj,
    )


def _containers(spec: JsonObject, policy: RestartPolicy) -> Iterator[ContainerSpec]:
    init_policy = RestartPolicy.NEVER if policy is RestartPolicy.NEVER else RestartPolicy.ON_FAILURE
    for raw in spec.get("initContainers") or ():
        if raw.get("restartPolicy") == RestartPolicy.ALWAYS:
            yield ContainerSpec(raw["name"], Role.SIDECAR, RestartPolicy.ALWAYS, raw)
        else:
            yield ContainerSpec(raw["name"], Role.INIT, init_policy, raw)
    for raw in spec.get("containers") or ():
        yield ContainerSpec(raw["name"], Role.APP, policy, raw)


def _time(text: object) -> float | None:
    return parse_timestamp(str(text)) if text else None
