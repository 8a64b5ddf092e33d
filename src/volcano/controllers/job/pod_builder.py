"""Builds the pods of a Job from its task templates."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from volcano.api.batch import TaskSpec
from volcano.api.objects import JsonObject, metadata
from volcano.api.wellknown import (
    COOLDOWN_TIME,
    GROUP_NAME,
    JDB_MAX_UNAVAILABLE,
    JDB_MIN_AVAILABLE,
    JOB_FORWARDING,
    JOB_NAME,
    JOB_NAMESPACE,
    JOB_QUEUE_NAME,
    JOB_RETRY_COUNT,
    JOB_VERSION,
    NUMA_TOPOLOGY_POLICY,
    PARTITION_ID,
    PREEMPTABLE,
    REVOCABLE_ZONE,
    TASK_INDEX,
    TASK_SPEC,
    TEMPLATE_UID,
)
from volcano.controllers.job.observed import Observed, owner_reference
from volcano.controllers.job.plugins.base import JobPlugin
from volcano.controllers.job.pod_group import pod_group_name

_SUFFIX_LENGTH = 12
_SUFFIX_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def pod_name(job: str, task: str, index: int) -> str:
    """Name of a pod of a job; always the same, so that none is made twice."""
    return f"{job}-{task}-{index}"


def stable_suffix(*parts: str) -> str:
    """Twelve characters of [0-9a-z] that look random but follow from the parts."""
    number = int.from_bytes(hashlib.sha256("\0".join(parts).encode()).digest())
    digits = []
    for _ in range(_SUFFIX_LENGTH):
        number, digit = divmod(number, len(_SUFFIX_DIGITS))
        digits.append(_SUFFIX_DIGITS[digit])
    return "".join(digits)


def build_pods(
    o: Observed, task: TaskSpec, indices: Iterable[int], plugins: Sequence[JobPlugin]
) -> Iterator[JsonObject]:
    """The pods of a task with these indices, built one at a time."""
    # Decoding JSON makes a private copy several times faster than copying the objects.
    template = msgspec.json.encode(_base(o, task))
    for index in indices:
        pod: JsonObject = msgspec.json.decode(template)
        name = pod_name(o.name, task.name, index)
        pod["metadata"]["name"] = name
        for place in ("labels", "annotations"):
            pod["metadata"][place][TASK_INDEX] = str(index)
        if task.partition_policy is not None:
            size = task.partition_policy.partition_size
            pod["metadata"]["labels"][PARTITION_ID] = str(index // size if size > 0 else 0)
        for plugin in plugins:
            plugin.on_pod(pod, task, index)
        yield pod


def _base(o: Observed, task: TaskSpec) -> JsonObject:
    """What all pods of a task have in common."""
    template_meta = metadata(task.template)
    meta: JsonObject = {
        "namespace": o.namespace,
        "labels": {**(template_meta.get("labels") or {}), **_labels(o, task)},
        "annotations": {**(template_meta.get("annotations") or {}), **_annotations(o, task)},
        "ownerReferences": [owner_reference(o.raw)],
    }
    if template_meta.get("finalizers"):
        meta["finalizers"] = template_meta["finalizers"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": _spec(o, task)}


def _labels(o: Observed, task: TaskSpec) -> dict[str, str]:
    labels = {
        JOB_NAME: o.name,
        JOB_NAMESPACE: o.namespace,
        TASK_SPEC: task.name,
        JOB_QUEUE_NAME: o.spec.queue,
    }
    own = metadata(o.raw).get("labels") or {}
    labels |= {key: own[key] for key in (PREEMPTABLE, COOLDOWN_TIME) if key in own}
    if _is_forwarded(o):
        labels[JOB_FORWARDING] = "true"
    return labels


def _annotations(o: Observed, task: TaskSpec) -> dict[str, str]:
    annotations = {
        JOB_NAME: o.name,
        TASK_SPEC: task.name,
        JOB_QUEUE_NAME: o.spec.queue,
        JOB_VERSION: str(o.status.version),
        JOB_RETRY_COUNT: str(o.status.retry_count),
        TEMPLATE_UID: f"{o.name}-{task.name}",
        GROUP_NAME: pod_group_name(o.name, o.uid),
    }
    if task.topology_policy:
        annotations[NUMA_TOPOLOGY_POLICY] = task.topology_policy
    own = metadata(o.raw).get("annotations") or {}
    budget = JDB_MIN_AVAILABLE if JDB_MIN_AVAILABLE in own else JDB_MAX_UNAVAILABLE
    copied = (PREEMPTABLE, COOLDOWN_TIME, REVOCABLE_ZONE, budget)
    annotations |= {key: own[key] for key in copied if key in own}
    if _is_forwarded(o):
        annotations[JOB_FORWARDING] = "true"
    return annotations


def _is_forwarded(o: Observed) -> bool:
    return bool(((o.queue or {}).get("spec") or {}).get("extendClusters"))


def _spec(o: Observed, task: TaskSpec) -> JsonObject:
    spec: JsonObject = dict(task.template.get("spec") or {})
    if o.spec.scheduler_name and not spec.get("schedulerName"):
        spec["schedulerName"] = o.spec.scheduler_name
    if o.spec.priority_class_name and not spec.get("priorityClassName"):
        spec["priorityClassName"] = o.spec.priority_class_name
    # Different: the original leaves the API server's `Always`, under which no task ever ends.
    spec["restartPolicy"] = spec.get("restartPolicy") or "Never"
    mounts = _mounts(o)
    if mounts:
        claims = [
            {"name": name, "persistentVolumeClaim": {"claimName": claim}}
            for name, claim, _ in mounts
        ]
        spec["volumes"] = [*(spec.get("volumes") or ()), *claims]
        paths = [{"name": name, "mountPath": path} for name, _, path in mounts]
        spec["containers"] = [
            {**container, "volumeMounts": [*(container.get("volumeMounts") or ()), *paths]}
            for container in spec.get("containers") or ()
        ]
    return spec


def _mounts(o: Observed) -> list[tuple[str, str, str]]:
    """Volume name, claim and path of each distinct claim; of a repeated one the first counts."""
    mounts: dict[str, tuple[str, str, str]] = {}
    for number, volume in enumerate(o.spec.volumes):
        claim = claim_name(o, number)
        name = f"{o.name}-{stable_suffix(o.uid, claim)}"
        mounts.setdefault(claim, (name, claim, volume.mount_path))
    return list(mounts.values())


def claim_name(o: Observed, number: int) -> str:
    """Name of the claim of a job's volume: as the job gives it, else `generated_claim_name`."""
    return o.spec.volumes[number].volume_claim_name or generated_claim_name(o, number)


def generated_claim_name(o: Observed, number: int) -> str:
    """The name we give to a volume's claim; it follows from the job, so it is made only once."""
    return f"{o.name}-pvc-{stable_suffix(o.uid, 'volume', str(number))}"
