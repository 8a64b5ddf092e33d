"""Defaults of a Job: what is left out is filled in, what is said stays.

On an update too, where what is written is a manifest and not the stored Job, changed: `kubectl
apply` of a manifest sends its list of tasks whole, without the defaults that creation put there.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import structs

from volcano.api import wellknown
from volcano.api.admission import Lookup, Review
from volcano.api.objects import JsonObject
from volcano.webhooks.check import (
    Options,
    PatchOperation,
    add,
    replace,
    spec_of,
    without_nulls,
)
from volcano.webhooks.shapes import JobShape, TaskShape

_TOLD_APART_BY = ("minAvailable", "maxRetry")
_NEED_SVC = frozenset({"tensorflow", "mpi", "pytorch", "ray"})


def planner(options: Options) -> Callable[[Review, Lookup], Sequence[PatchOperation]]:
    """The defaults as JSON patch operations, with the scheduler name of the options."""
    return partial(_plan, options.scheduler_names)


def _plan(schedulers: Sequence[str], review: Review, _lookup: Lookup) -> Sequence[PatchOperation]:
    spec = spec_of(review.obj)
    if spec is None:
        # Nothing to fill in: that there are no tasks is said by validation.
        return ()
    try:
        job = msgspec.convert(without_nulls(spec), JobShape)
    except msgspec.ValidationError:
        # The schema check that follows names the field; defaults would only hide it.
        return ()
    raw_tasks = spec.get("tasks") or ()
    if review.operation == "UPDATE" and not _is_manifest(spec_of(review.old) or {}, spec):
        return ()
    tasks = [_with_replicas(task, raw) for task, raw in zip(job.tasks, raw_tasks, strict=True)]
    operations = []
    if not job.queue:
        operations.append(add("/spec/queue", wellknown.DEFAULT_QUEUE))
    if not job.scheduler_name:
        scheduler = schedulers[0] if schedulers else wellknown.DEFAULT_SCHEDULER
        operations.append(add("/spec/schedulerName", scheduler))
    if job.max_retry == 0:
        operations.append(add("/spec/maxRetry", wellknown.DEFAULT_MAX_RETRY))
    missing = [
        _task_defaults(index, task, said=raw)
        for index, (task, raw) in enumerate(zip(tasks, raw_tasks, strict=True))
    ]
    if any(missing):
        filled = [_with(task, more) for task, more in zip(spec["tasks"], missing, strict=True)]
        operations.append(replace("/spec/tasks", filled))
    if job.min_available == 0:
        total = sum(
            more["minAvailable"] if task.min_available is None else task.min_available
            for task, more in zip(tasks, missing, strict=True)
        )
        operations.append(add("/spec/minAvailable", total))
    if job.plugins is not None:
        operations.append(replace("/spec/plugins", _plugins(job.plugins)))
    return operations


def _is_manifest(old: JsonObject, new: JsonObject) -> bool:
    """Whether every task lacks some default that its stored task has.

    Clients that change what they have read send all of these, Go clients too: the stored
    `minAvailable` is a pointer there and the stored `maxRetry` is never zero. `replicas` says
    nothing: a zero is left out.
    """
    before, after = old.get("tasks") or (), new.get("tasks") or ()
    return (
        bool(after)
        and len(before) == len(after)
        and all(
            any(task.get(name) is None and stored.get(name) is not None for name in _TOLD_APART_BY)
            for task, stored in zip(after, before, strict=True)
        )
    )


def _with_replicas(task: TaskShape, said: Mapping[str, Any]) -> TaskShape:
    """One pod, or what the partitions add up to, where the manifest says nothing.

    Only in manifests: a Go client drops a zero from the wire, and a job may be scaled to zero.
    """
    if said.get("replicas") is not None:
        return task
    policy = task.partition_policy
    return structs.replace(
        task, replicas=policy.total_partitions * policy.partition_size if policy else 1
    )


def _task_defaults(index: int, task: TaskShape, *, said: Mapping[str, Any]) -> JsonObject:
    """What a task lacks; `dnsPolicy` stands for that of its pod template."""
    more: JsonObject = {}
    if said.get("replicas") is None:
        more["replicas"] = task.replicas
    if not task.name:
        more["name"] = f"{wellknown.DEFAULT_TASK_NAME}{index}"
    if task.min_available is None:
        policy = task.partition_policy
        by_partition = policy.min_partitions * policy.partition_size if policy else 0
        more["minAvailable"] = by_partition if by_partition > 0 else task.replicas
    if task.max_retry == 0:
        more["maxRetry"] = wellknown.DEFAULT_MAX_RETRY
    pod = task.template.get("spec")
    if isinstance(pod, dict) and pod.get("hostNetwork") is True and not pod.get("dnsPolicy"):
        more["dnsPolicy"] = "ClusterFirstWithHostNet"
    return more


def _with(task: Mapping[str, Any], more: JsonObject) -> JsonObject:
    filled = {**task, **more}
    dns_policy = filled.pop("dnsPolicy", None)
    if dns_policy is not None:
        template = task["template"]
        pod = {**template["spec"], "dnsPolicy": dns_policy}
        filled["template"] = {**template, "spec": pod}
    return filled


def _plugins(plugins: Mapping[str, Sequence[str]]) -> JsonObject:
    completed: JsonObject = {name: list(arguments) for name, arguments in plugins.items()}
    if _NEED_SVC & plugins.keys():
        completed.setdefault("svc", [])
    if "mpi" in plugins:
        completed.setdefault("ssh", [])
    return completed
