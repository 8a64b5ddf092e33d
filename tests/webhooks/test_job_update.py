"""A Job is changed: scenario list of spec admission 16.4 and section 5."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.webhooks.world import update, verdict
from volcano.api import kinds
from volcano.api.objects import JsonObject
from volcano.webhooks import Options, jobs

TEMPLATE: JsonObject = {
    "metadata": {"labels": {"app": "a"}},
    "spec": {
        "containers": [
            {
                "name": "main",
                "image": "busybox",
                "resources": {"requests": {"cpu": "1000m"}},
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
            }
        ],
        "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}}],
    },
}


def old_job() -> JsonObject:
    return {
        "metadata": {"name": "job", "namespace": "test", "resourceVersion": "1"},
        "spec": {
            "minAvailable": 5,
            "queue": "default",
            "maxRetry": 3,
            "tasks": [{"name": "task-1", "replicas": 5, "template": copy.deepcopy(TEMPLATE)}],
            "volumes": [{"mountPath": "/a", "volumeClaim": {"storageClassName": "fast"}}],
        },
        "status": {"state": {"phase": "Running"}},
    }


Change = Callable[[dict[str, Any]], object]


def changed(change: Change) -> str:
    new = old_job()
    new["metadata"]["resourceVersion"] = "2"
    new["status"] = {"state": {"phase": "Completed"}}
    change(new["spec"])
    return verdict(jobs.validating(Options()), update(kinds.JOB, old_job(), new))


def task_of(spec: JsonObject) -> JsonObject:
    task: JsonObject = spec["tasks"][0]
    return task


def container_of(spec: JsonObject) -> JsonObject:
    container: JsonObject = task_of(spec)["template"]["spec"]["containers"][0]
    return container


def set_to(path: str, value: Any) -> Change:
    """Set a field of the spec; digits step into lists."""

    def change(spec: dict[str, Any]) -> None:
        holder: Any = spec
        *parents, last = path.split(".")
        for step in parents:
            holder = holder[int(step)] if step.isdigit() else holder.setdefault(step, {})
        holder[last] = value

    return change


def both(*changes: Change) -> Change:
    return lambda spec: [change(spec) for change in changes]


CONTAINER = "tasks.0.template.spec.containers.0"
ALLOWED = {
    "nothing": lambda _spec: None,
    "scale up": set_to("tasks.0.replicas", 6),
    "scale down": both(set_to("tasks.0.replicas", 4), set_to("minAvailable", 3)),
    "task minimum": set_to("tasks.0.minAvailable", 2),
    "priority": set_to("priorityClassName", "high"),
    "claim name written by the controller": set_to("volumes.0.volumeClaimName", "job-pvc-1"),
    "quantity spelled otherwise": set_to(f"{CONTAINER}.resources.requests.cpu", 1),
    "size spelled otherwise": set_to(
        "tasks.0.template.spec.volumes.0.emptyDir.sizeLimit", "1024Mi"
    ),
    "empty list": set_to("policies", []),
    "null": set_to("plugins", None),
    "empty struct of a Go client": set_to("tasks.0.template.metadata.annotations", {}),
    "zero of a Go client": set_to("tasks.0.template.spec.hostNetwork", False),
}


@pytest.mark.parametrize("change", ALLOWED.values(), ids=ALLOWED)
def test_allowed(change: Change) -> None:
    assert changed(change) == ""


FIXED = (
    "job updates may not change fields other than `minAvailable`,"
    " `tasks[*].replicas under spec` and `PriorityClassName`"
)
COUNT = "job updates may not add or remove tasks"
EXTRA = {"name": "task-2", "replicas": 5, "template": TEMPLATE}
PARTITION = {"totalPartitions": 2, "partitionSize": 2}
REFUSED = {
    "scale under the gang size": (
        set_to("tasks.0.replicas", 4),
        "job 'minAvailable' must not be greater than total replicas",
    ),
    "gang size over replicas": (
        set_to("minAvailable", 10),
        "job 'minAvailable' must not be greater than total replicas",
    ),
    "task minimum over replicas": (
        set_to("tasks.0.minAvailable", 6),
        "'minAvailable' must be <= 'replicas' in task: task-1",
    ),
    "another task": (lambda spec: spec["tasks"].append(EXTRA), COUNT),
    "name of a task": (set_to("tasks.0.name", "renamed"), FIXED),
    "queue": (set_to("queue", "other"), FIXED),
    "retries": (set_to("maxRetry", 4), FIXED),
    "life after the end": (set_to("ttlSecondsAfterFinished", 0), FIXED),
    "image": (set_to(f"{CONTAINER}.image", "other"), FIXED),
    "request": (set_to(f"{CONTAINER}.resources.requests.cpu", "1001m"), FIXED),
    "user": (set_to(f"{CONTAINER}.securityContext", {"runAsUser": 0}), FIXED),
    "label": (set_to("tasks.0.template.metadata.labels.app", "b"), FIXED),
    "plugin without arguments": (set_to("plugins", {"svc": []}), FIXED),
    "storage class": (set_to("volumes.0.volumeClaim.storageClassName", ""), FIXED),
    "both tiers": (
        set_to("networkTopology", {"highestTierAllowed": 1, "highestTierName": "a"}),
        "must not specify 'highestTierAllowed' and 'highestTierName'",
    ),
    "partitions": (
        set_to("tasks.0.partitionPolicy", PARTITION),
        "'Replicas' are not equal to TotalPartitions*PartitionSize in task: task-1",
    ),
}


@pytest.mark.parametrize(("change", "text"), REFUSED.values(), ids=REFUSED)
def test_refused(change: Change, text: str) -> None:
    assert text in changed(change)


def test_a_plugin_with_null_is_one_without_arguments() -> None:
    old = old_job()
    old["spec"]["plugins"] = {"svc": []}
    new = copy.deepcopy(old)
    new["spec"]["plugins"] = {"svc": None}
    assert verdict(jobs.validating(Options()), update(kinds.JOB, old, new)) == ""
    new["spec"]["plugins"] = {}
    assert verdict(jobs.validating(Options()), update(kinds.JOB, old, new)) == FIXED


def test_state_of_the_queue_is_not_looked_at_again() -> None:
    new = old_job()
    new["spec"]["minAvailable"] = 1
    assert verdict(jobs.validating(Options()), update(kinds.JOB, old_job(), new)) == ""
