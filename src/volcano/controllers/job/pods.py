"""The pods of one Job as the controller needs them: facts per pod and running totals.

Kept up to date pod by pod, so that a gang of thousands is not counted anew for each change.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from volcano.api.kinds import JOB
from volcano.api.objects import JsonObject, controller_of, metadata, name_of, uid_of
from volcano.api.wellknown import (
    CONTROLLER_OUT_OF_SYNC,
    JOB_NAME,
    JOB_VERSION,
    PARTITION_ID,
    TASK_INDEX,
    TASK_SPEC,
)
from volcano.base.clock import parse_timestamp
from volcano.controllers.job.machine import Counts

PENDING, RUNNING, SUCCEEDED, FAILED = "Pending", "Running", "Succeeded", "Failed"
ENDED = frozenset({SUCCEEDED, FAILED})
_PHASES = frozenset({PENDING, RUNNING, SUCCEEDED, FAILED})


@dataclass(frozen=True, slots=True)
class PodFact:
    """What matters of a pod.

    Attributes:
        job: name of the Job that controls it; `job_uid` its uid.
        version: the job's version when the pod was made.
        out_of_sync: the controller itself is replacing it.
        exit_code: of the first container that ended badly, else 0.
        restarts: of its containers, init containers included.
        ready: it runs and every container is ready.
        since: when its last container ended, or else when it was created, in epoch seconds.
    """

    name: str
    uid: str
    job: str
    job_uid: str
    task: str
    index: int
    partition: str
    phase: str
    version: int
    terminating: bool
    out_of_sync: bool
    exit_code: int
    restarts: int
    ready: bool
    since: float

    @property
    def alive(self) -> bool:
        """It is neither on its way out nor ended."""
        return not self.terminating and self.phase not in ENDED


def fact_of(pod: JsonObject) -> PodFact | None:
    """The facts of a pod that a Volcano Job controls; None for any other pod."""
    owner = controller_of(pod)
    if owner is None or owner.get("kind") != JOB.kind or owner.get("apiVersion") != JOB.api_version:
        return None
    meta = metadata(pod)
    annotations = meta.get("annotations") or {}
    version, task = annotations.get(JOB_VERSION, ""), annotations.get(TASK_SPEC, "")
    if not task or not version.isdigit() or not annotations.get(JOB_NAME):
        return None
    labels = meta.get("labels") or {}
    status = pod.get("status") or {}
    phase = status.get("phase") or PENDING
    containers = status.get("containerStatuses") or []
    index = annotations.get(TASK_INDEX, "")
    return PodFact(
        name=name_of(pod),
        uid=uid_of(pod),
        job=str(owner.get("name", "")),
        job_uid=str(owner.get("uid", "")),
        task=task,
        index=int(index) if index.isdigit() else _index_in(name_of(pod)),
        partition=labels.get(PARTITION_ID, ""),
        phase=phase if phase in _PHASES else "Unknown",
        version=int(version),
        terminating="deletionTimestamp" in meta,
        out_of_sync=CONTROLLER_OUT_OF_SYNC in annotations,
        exit_code=_exit_code(containers) if phase == FAILED else 0,
        restarts=sum(
            entry.get("restartCount") or 0
            for entry in (*containers, *(status.get("initContainerStatuses") or ()))
        ),
        ready=phase == RUNNING and bool(containers) and all(c.get("ready") for c in containers),
        since=_since(meta, containers, phase),
    )


def _index_in(name: str) -> int:
    last = name.rpartition("-")[2]
    return int(last) if last.isdigit() else -1


def _exit_code(containers: list[JsonObject]) -> int:
    for entry in containers:
        ended = (entry.get("state") or {}).get("terminated")
        if ended and ended.get("exitCode"):
            return int(ended["exitCode"])
    return 0


def _since(meta: JsonObject, containers: list[JsonObject], phase: str) -> float:
    times = [meta.get("creationTimestamp")]
    if phase in ENDED:
        times += [
            ((entry.get("state") or {}).get("terminated") or {}).get("finishedAt")
            for entry in containers
        ]
    return max((parse_timestamp(text) for text in times if text), default=0.0)


@dataclass(slots=True)
class TaskPods:
    """The pods of one task."""

    pods: dict[str, PodFact] = field(default_factory=dict)
    phases: Counter[str] = field(default_factory=Counter)
    terminating: int = 0
    restarts: int = 0

    def put(self, fact: PodFact) -> None:
        """Take in the newest facts of a pod."""
        self.remove(fact.name)
        self.pods[fact.name] = fact
        self._count(fact, 1)

    def remove(self, name: str) -> None:
        """Forget a pod."""
        fact = self.pods.pop(name, None)
        if fact is not None:
            self._count(fact, -1)

    def _count(self, fact: PodFact, sign: int) -> None:
        if fact.terminating:
            self.terminating += sign
            return
        self.phases[fact.phase] += sign
        if fact.phase in {PENDING, RUNNING}:
            self.restarts += sign * fact.restarts


@dataclass(slots=True)
class JobPods:
    """All pods of one Job (one uid), by task."""

    tasks: dict[str, TaskPods] = field(default_factory=dict)

    @classmethod
    def of(cls, facts: Iterable[PodFact]) -> "JobPods":
        """The pods with these facts."""
        pods = cls()
        for fact in facts:
            pods.put(fact)
        return pods

    def __iter__(self) -> Iterator[PodFact]:
        for task in self.tasks.values():
            yield from task.pods.values()

    def __len__(self) -> int:
        return sum(len(task.pods) for task in self.tasks.values())

    def put(self, fact: PodFact) -> None:
        """Take in the newest facts of a pod."""
        self.tasks.setdefault(fact.task, TaskPods()).put(fact)

    def remove(self, fact: PodFact) -> None:
        """Forget a pod."""
        task = self.tasks.get(fact.task)
        if task is not None:
            task.remove(fact.name)
            if not task.pods:
                del self.tasks[fact.task]

    def of_task(self, task: str) -> TaskPods:
        """The pods of a task; empty if there are none."""
        return self.tasks.get(task) or TaskPods()

    def find(self, task: str, name: str) -> PodFact | None:
        """One pod, or None."""
        return self.of_task(task).pods.get(name)

    def counts(self) -> Counts:
        """All pods by state."""
        phases: Counter[str] = Counter()
        terminating = 0
        for task in self.tasks.values():
            phases.update(task.phases)
            terminating += task.terminating
        return Counts(
            pending=phases[PENDING],
            running=phases[RUNNING],
            succeeded=phases[SUCCEEDED],
            failed=phases[FAILED],
            unknown=phases["Unknown"],
            terminating=terminating,
        )

    def by_task(self) -> dict[str, dict[str, int]]:
        """Pods per task and phase, those on their way out left aside."""
        found = {
            name: {phase: count for phase, count in sorted(task.phases.items()) if count}
            for name, task in sorted(self.tasks.items())
        }
        return {name: phases for name, phases in found.items() if phases}
