"""conformance: pods that keep the cluster itself alive are never victims."""

from collections.abc import Sequence
from dataclasses import dataclass

from volcano.scheduler.conf import Arguments
from volcano.scheduler.hooks import Plugin, Victim
from volcano.scheduler.model.task import Task

_SYSTEM_CLASSES = frozenset({"system-cluster-critical", "system-node-critical"})
_SYSTEM_NAMESPACE = "kube-system"


@dataclass(frozen=True, slots=True)
class Args:
    """No arguments."""

    @classmethod
    def read(cls, _: Arguments) -> "Args":
        """The arguments of a plugin entry."""
        return cls()


class Conformance(Plugin[Args]):
    """System pods (by priority class, or in kube-system) are out of bounds."""

    name = "conformance"
    Args = Args

    def preemptable(
        self,
        preemptor: Task,  # noqa: ARG002  # the hook's signature
        candidates: Sequence[Victim],
    ) -> Sequence[Victim]:
        """Everything but system pods."""
        return [victim for victim in candidates if not _is_system(victim.task)]

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Victim]) -> Sequence[Victim]:
        """Everything but system pods."""
        return self.preemptable(reclaimer, candidates)


def _is_system(task: Task) -> bool:
    spec = task.pod.get("spec") or {}
    return spec.get("priorityClassName") in _SYSTEM_CLASSES or task.namespace == _SYSTEM_NAMESPACE
