"""Plain values for tests of the deciding functions: jobs, pod facts, what is observed."""

from dataclasses import replace
from typing import Any

from volcano.api.batch import JobSpec, TaskSpec
from volcano.api.objects import JsonObject, uid_of
from volcano.controllers.job.observed import Eviction, Observed, decode
from volcano.controllers.job.pods import JobPods, PodFact

NOW = 1_700_000_000.0


def stored_job(
    *tasks: JsonObject, phase: str = "", status: JsonObject | None = None, **spec: Any
) -> JsonObject:
    """A Job as the server has it."""
    state = {"state": {"phase": phase, "lastTransitionTime": "2023-11-14T22:13:20Z"}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {
            "name": "j",
            "namespace": "d",
            "uid": "uid-j",
            "resourceVersion": "7",
            "creationTimestamp": "2023-11-14T22:03:20Z",
        },
        "spec": {"queue": "default", "maxRetry": 3, "tasks": list(tasks or [a_task()]), **spec},
        "status": {**(state if phase else {}), **(status or {})},
    }


def a_task(name: str = "work", replicas: int = 1, **more: Any) -> JsonObject:
    container = {"name": "main", "image": "i"}
    return {
        "name": name,
        "replicas": replicas,
        "template": {"spec": {"containers": [container]}},
        **more,
    }


def fact(index: int = 0, phase: str = "Running", task: str = "work", **changes: Any) -> PodFact:
    name = f"j-{task}-{index}"
    base = PodFact(
        name=name,
        uid=f"uid-{name}",
        job="j",
        job_uid="uid-j",
        task=task,
        index=index,
        partition="",
        phase=phase,
        version=0,
        terminating=False,
        out_of_sync=False,
        exit_code=1 if phase == "Failed" else 0,
        restarts=0,
        ready=phase == "Running",
        since=NOW - 100,
    )
    return replace(base, **changes)


def observed(job: JsonObject, *pods: PodFact, **changes: Any) -> Observed:
    """A look at a job whose queue exists and whose PodGroup, unless given, was admitted."""
    defaults: dict[str, Any] = {
        "queue": {"metadata": {"name": "default"}, "spec": {}},
        "pod_group": a_group(job),
    }
    gone = [Eviction(f, NOW - 1) for f in changes.pop("evicted", ())]
    return Observed(
        raw=job,
        job=decode(job),
        pods=JobPods.of(pods),
        now=NOW,
        evictions=tuple(gone),
        **{**defaults, **changes},
    )


def a_group(job: JsonObject, phase: str = "Inqueue", version: int = 0) -> JsonObject:
    return {
        "metadata": {
            "name": f"j-{uid_of(job)}",
            "namespace": "d",
            "uid": "uid-group",
            "annotations": {"volcano.sh/job-version": str(version)},
        },
        "spec": {},
        "status": {"phase": phase},
    }


def a_command(action: str, uid: str = "uid-command", target: str = "uid-j") -> JsonObject:
    return {
        "metadata": {"name": "c", "namespace": "d", "uid": uid},
        "action": action,
        "target": {"kind": "Job", "name": "j", "uid": target},
    }


def a_spec(*tasks: tuple[int, int | None], **spec: Any) -> JobSpec:
    """A JobSpec with tasks given as (replicas, minAvailable)."""
    listed = tuple(
        TaskSpec(name=f"t{number}", replicas=replicas, min_available=minimum)
        for number, (replicas, minimum) in enumerate(tasks)
    )
    return JobSpec(tasks=listed, **spec)
