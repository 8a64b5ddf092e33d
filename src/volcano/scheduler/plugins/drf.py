"""drf: jobs with the smaller dominant share of the cluster go first."""

from collections.abc import Sequence
from dataclasses import dataclass

from volcano.base.errors import ConfigError
from volcano.resources.vector import add_to
from volcano.scheduler.conf import Arguments
from volcano.scheduler.core.share import dominant_share
from volcano.scheduler.hooks import Key, Plugin, Victim
from volcano.scheduler.model.task import Task, TaskClass
from volcano.scheduler.snapshot import JobView, Snapshot

_SHARE_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Args:
    """No arguments."""

    @classmethod
    def read(cls, _: Arguments) -> "Args":
        """The arguments of a plugin entry."""
        return cls()


class Drf(Plugin[Args]):
    """Dominant share: the largest fraction of any resource of the cluster that a job holds."""

    name = "drf"
    Args = Args

    def open(self, snapshot: Snapshot) -> None:
        """Take the shares of jobs that hold something."""
        self._total = snapshot.total
        self._jobs = snapshot.jobs
        self._held = {
            job.key: dict(job.allocated) for job in snapshot.jobs.values() if job.allocated
        }
        self._share = {key: dominant_share(held, self._total) for key, held in self._held.items()}

    def job_order(self, job: JobView) -> Key:
        """Smaller share first."""
        return self._share.get(job.key, 0.0)

    def allocated(self, job: JobView, cls: TaskClass, count: int) -> None:
        """Keep the share of the job, promises included."""
        held = self._held.setdefault(job.key, {})
        add_to(held, cls.request, count)
        self._share[job.key] = dominant_share(held, self._total)

    def preemptable(self, preemptor: Task, candidates: Sequence[Victim]) -> Sequence[Victim]:
        """Jobs whose share stays at least the preemptor's with its task, after giving theirs."""
        if preemptor.job not in self._jobs:
            return []
        own = dict(self._held.get(preemptor.job, {}))
        add_to(own, preemptor.spec.request)
        mine = dominant_share(own, self._total)
        left: dict[str, dict[int, int]] = {}
        chosen: list[Victim] = []
        for victim in candidates:
            held = left.setdefault(victim.job.key, dict(self._held.get(victim.job.key, {})))
            after = dict(held)
            add_to(after, victim.task.spec.request, -1)
            if mine <= dominant_share(after, self._total) + _SHARE_TOLERANCE:
                left[victim.job.key] = after
                chosen.append(victim)
        return chosen


def refuse_hierarchy(*, enabled: bool) -> None:
    """Hierarchical fairness is configured by a switch that must not be ignored.

    Raises:
        ConfigError: the switch is on.
    """
    if enabled:
        raise ConfigError(
            "plugin drf: enableHierarchy is not available yet; take it out to share by job"
        )
