"""Defaults of a new Job: scenario list of spec admission 16.3."""

from typing import Any

import pytest

from tests.webhooks.world import Stored, create, operations, update
from volcano.api import kinds
from volcano.api.objects import JsonObject
from volcano.webhooks import Options, jobs


def job(*tasks: JsonObject, **spec: Any) -> JsonObject:
    return {"metadata": {"name": "a"}, "spec": {"tasks": list(tasks), **spec}}


def filled(obj: JsonObject, options: Options | None = None) -> JsonObject:
    admission = jobs.mutating(options or Options()).admit(create(kinds.JOB, obj), Stored())
    assert admission.refusal is None
    spec: JsonObject = (admission.patched or obj)["spec"]
    return spec


def partition(size: int, total: int, **more: Any) -> dict[str, Any]:
    return {"partitionPolicy": {"partitionSize": size, "totalPartitions": total, **more}}


def test_operations_come_in_order() -> None:
    obj = job({"replicas": 2}, {"replicas": 3, "minAvailable": 1}, plugins={})
    assert operations(jobs.mutating(Options()), create(kinds.JOB, obj)) == [
        {"op": "add", "path": "/spec/queue", "value": "default"},
        {"op": "add", "path": "/spec/schedulerName", "value": "volcano"},
        {"op": "add", "path": "/spec/maxRetry", "value": 3},
        {
            "op": "replace",
            "path": "/spec/tasks",
            "value": [
                {"replicas": 2, "name": "default0", "minAvailable": 2, "maxRetry": 3},
                {"replicas": 3, "minAvailable": 1, "name": "default1", "maxRetry": 3},
            ],
        },
        {"op": "add", "path": "/spec/minAvailable", "value": 3},
        {"op": "replace", "path": "/spec/plugins", "value": {}},
    ]


SUMS = {
    "replicas": ([{"replicas": 2}, {"replicas": 3}], 5),
    "a task with a minimum": ([{"replicas": 2, "minAvailable": 1}, {"replicas": 3}], 4),
    "an explicit zero": ([{"replicas": 2, "minAvailable": 0}, {"replicas": 3}], 3),
    "least partitions": ([{"replicas": 9, **partition(3, 3, minPartitions=2)}], 6),
    "no least partitions": ([{"replicas": 4, **partition(2, 2)}], 4),
    "one replica where none is said": ([{}], 1),
    "an explicit zero stays": ([{"replicas": 0}], 0),
}


@pytest.mark.parametrize(("tasks", "total"), SUMS.values(), ids=SUMS)
def test_gang_size(tasks: list[JsonObject], total: int) -> None:
    assert filled(job(*tasks))["minAvailable"] == total


def test_tasks() -> None:
    tasks = filled(
        job(
            {"replicas": 1},
            {"replicas": 2, "minAvailable": 1},
            {"replicas": 1, **partition(1, 1, minPartitions=1)},
            {"replicas": 1, **partition(1, 1)},
        )
    )["tasks"]
    assert [task["name"] for task in tasks] == ["default0", "default1", "default2", "default3"]
    assert [task["minAvailable"] for task in tasks] == [1, 1, 1, 1]
    assert [task["maxRetry"] for task in tasks] == [3, 3, 3, 3]


PLUGINS = {
    "tensorflow": ({"tensorflow": []}, {"tensorflow": [], "svc": []}),
    "pytorch": ({"pytorch": ["--master=m"]}, {"pytorch": ["--master=m"], "svc": []}),
    "ray": ({"ray": []}, {"ray": [], "svc": []}),
    "mpi": (
        {"mpi": ["--master=task-1", "--worker=task-1"]},
        {"mpi": ["--master=task-1", "--worker=task-1"], "svc": [], "ssh": []},
    ),
    "own svc": (
        {"tensorflow": [], "svc": ["--publish-not-ready-addresses"]},
        {"tensorflow": [], "svc": ["--publish-not-ready-addresses"]},
    ),
    "env": ({"env": []}, {"env": []}),
}


@pytest.mark.parametrize(("given", "completed"), PLUGINS.values(), ids=PLUGINS)
def test_plugins(given: JsonObject, completed: JsonObject) -> None:
    assert filled(job({"name": "a"}, plugins=given))["plugins"] == completed


def test_what_is_said_stays() -> None:
    task = {"name": "a", "replicas": 2, "minAvailable": 2, "maxRetry": 5, "template": {}}
    obj = job(task, queue="q", schedulerName="custom-sched", maxRetry=10, minAvailable=2)
    assert jobs.mutating(Options()).admit(create(kinds.JOB, obj), Stored()).patched is None


def test_the_host_network_gets_its_dns_policy() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"hostNetwork": True}}
    chosen = {"spec": {"hostNetwork": True, "dnsPolicy": "Default"}}
    first, second = filled(job({"template": template}, {"template": chosen}))["tasks"]
    assert first["template"]["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"
    assert first["template"]["metadata"] == template["metadata"]
    assert second["template"] == chosen
    assert "dnsPolicy" not in first


def test_the_first_scheduler_is_the_default() -> None:
    options = Options(scheduler_names=("mine", "volcano"))
    assert filled(job({"name": "a"}), options)["schedulerName"] == "mine"


UNREADABLE = {
    "no spec": {"metadata": {"name": "a"}},
    "spec is a text": {"spec": "no"},
    "tasks are no list": {"spec": {"tasks": {"a": 1}}},
    "replicas is a text": {"spec": {"tasks": [{"replicas": "two"}]}},
}


@pytest.mark.parametrize("obj", UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_is_left_to_the_schema(obj: JsonObject) -> None:
    assert operations(jobs.mutating(Options()), create(kinds.JOB, obj)) == []


MANIFEST = job({"name": "a", "template": {}}, {"replicas": 3, "template": {}})


def updated(old: JsonObject, new: JsonObject) -> JsonObject:
    admission = jobs.mutating(Options()).admit(update(kinds.JOB, old, new), Stored())
    assert admission.refusal is None
    return (admission.patched or new)["spec"]


def test_manifest_applied_again_gets_the_same_defaults() -> None:
    stored = {"metadata": {"name": "a"}, "spec": filled(MANIFEST)}
    assert updated(stored, MANIFEST) == stored["spec"]
    patched = {**stored, "spec": {**stored["spec"], "tasks": MANIFEST["spec"]["tasks"]}}
    assert updated(stored, patched) == stored["spec"]


def test_stored_job_that_is_changed_gets_no_defaults() -> None:
    stored = {"metadata": {"name": "a"}, "spec": filled(MANIFEST)}
    first, second = stored["spec"]["tasks"]
    # What a Go client sends after scaling the first task to zero.
    without_zero = {key: value for key, value in first.items() if key != "replicas"}
    scaled = {**stored, "spec": {**stored["spec"], "tasks": [without_zero, second]}}
    assert updated(stored, scaled) == scaled["spec"]
