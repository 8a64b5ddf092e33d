"""What the Job controller looks at before it decides: one Job and everything around it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from volcano.api.batch import Job, JobPhase, JobSpec, JobStatus
from volcano.api.kinds import JOB
from volcano.api.objects import JsonObject, name_of, namespace_of, uid_of
from volcano.base.errors import VolcanoError
from volcano.controllers.job.pods import JobPods, PodFact


class JobUnreadableError(VolcanoError):
    """A stored Job does not have the shape of its schema."""


@dataclass(frozen=True, slots=True)
class Eviction:
    """A pod that vanished without the controller having removed it."""

    fact: PodFact
    at: float


@dataclass(frozen=True, slots=True)
class Observed:
    """One Job, its pods and what else matters for it.

    Attributes:
        raw: the Job as stored; `job` is the same, decoded.
        commands: Commands for this job, oldest first.
        evictions: pods that vanished and have not been reacted to.
        priorities: value of each PriorityClass.
        claims: names of the PersistentVolumeClaims in the job's namespace.
        told: what was last recorded about the PodGroup.
        now: seconds since the epoch.
    """

    raw: JsonObject
    job: Job
    pods: JobPods
    now: float
    pod_group: JsonObject | None = None
    queue: JsonObject | None = None
    commands: tuple[JsonObject, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    priorities: Mapping[str, int] = field(default_factory=dict)
    claims: frozenset[str] = frozenset()
    told: str = ""

    @property
    def spec(self) -> JobSpec:
        """What the job wants."""
        return self.job.spec

    @property
    def status(self) -> JobStatus:
        """What was last written about it."""
        return self.job.status

    @property
    def phase(self) -> JobPhase:
        """The phase written last; Pending for a job nobody has looked at."""
        return self.status.state.phase or JobPhase.PENDING

    @property
    def name(self) -> str:
        """Name of the job."""
        return name_of(self.raw)

    @property
    def namespace(self) -> str:
        """Namespace of the job."""
        return namespace_of(self.raw)

    @property
    def uid(self) -> str:
        """Uid of the job."""
        return uid_of(self.raw)


def decode(raw: JsonObject) -> Job:
    """The Job, decoded.

    Raises:
        JobUnreadableError: it does not have the shape of its schema.
    """
    try:
        return msgspec.convert(raw, Job)
    except msgspec.ValidationError as error:
        raise JobUnreadableError(f"Job {namespace_of(raw)}/{name_of(raw)}: {error}") from error


def owner_reference(raw: JsonObject) -> JsonObject:
    """The reference that makes the Job the controller of what it creates."""
    return {
        "apiVersion": JOB.api_version,
        "kind": JOB.kind,
        "name": name_of(raw),
        "uid": uid_of(raw),
        "controller": True,
        "blockOwnerDeletion": True,
    }
