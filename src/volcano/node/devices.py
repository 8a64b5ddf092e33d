"""Which pod has which GPU of a process node. Two pods never share one.

The ledger lives in memory; what it knows survives restarts in the pods' records.
"""

from collections.abc import Iterable, Mapping

from volcano.node.fleet import GPU_RESOURCE, NodeSpec
from volcano.node.pods import ContainerSpec, PodSpec, Role
from volcano.resources.quantity import parse_quantity


class DeviceLedger:
    """The device indices of one node and who holds them."""

    def __init__(self, node: NodeSpec) -> None:
        self._indices = node.gpus.indices if node.gpus is not None else ()
        self._holder: dict[int, str] = {}
        self._leaving: set[str] = set()

    @property
    def free(self) -> int:
        """Devices nobody holds."""
        return len(self._indices) - len(self._holder)

    def will_fit(self, pod: PodSpec) -> bool:
        """Whether the pod's devices are free, or will be when those who leave have ended."""
        leaving = sum(holder in self._leaving for holder in self._holder.values())
        return _needed(pod) <= self.free + leaving

    def note_leaving(self, uid: str) -> None:
        """The pod is gone from the API; its containers are being killed."""
        self._leaving.add(uid)

    def restore(self, uid: str, devices: Mapping[str, Iterable[int]]) -> None:
        """Take over what a pod's record says it holds."""
        for indices in devices.values():
            for index in indices:
                self._holder[index] = uid

    def allocate(self, pod: PodSpec) -> dict[str, list[int]] | None:
        """Devices for each container of a pod; None, and nothing taken, if too few are free.

        Init containers end before app containers start, so they use the pod's own devices.
        """
        lasting = [c for c in pod.containers if c.role is not Role.INIT]
        passing = [c for c in pod.containers if c.role is Role.INIT]
        needed = _needed(pod)
        if needed > self.free:
            return None
        taken = [index for index in self._indices if index not in self._holder][:needed]
        self._holder.update(dict.fromkeys(taken, pod.uid))
        given: dict[str, list[int]] = {}
        rest = list(taken)
        for spec in lasting:
            wanted = gpus_wanted(spec)
            given[spec.name], rest = rest[:wanted], rest[wanted:]
        for spec in passing:
            given[spec.name] = taken[: gpus_wanted(spec)]
        return given

    def release(self, uid: str) -> None:
        """The pod needs its devices no more."""
        self._leaving.discard(uid)
        self._holder = {index: holder for index, holder in self._holder.items() if holder != uid}


def _needed(pod: PodSpec) -> int:
    lasting = sum(gpus_wanted(c) for c in pod.containers if c.role is not Role.INIT)
    return max([lasting, *(gpus_wanted(c) for c in pod.role(Role.INIT))])


def gpus_wanted(spec: ContainerSpec) -> int:
    """GPUs a container asks for."""
    limits = (spec.raw.get("resources") or {}).get("limits") or {}
    return parse_quantity(limits.get(GPU_RESOURCE, "0")).value
