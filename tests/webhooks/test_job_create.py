"""A new Job is checked: scenario list of spec admission 16.1."""

import copy
from collections.abc import Sequence
from typing import Any

import pytest

from tests.webhooks.world import Stored, create, queue, verdict
from volcano.api import kinds
from volcano.api.objects import JsonObject
from volcano.webhooks import Options, jobs

QUEUES = (
    queue("root"),
    queue("default"),
    queue("closed", state="Closed"),
    queue("closing", state="Closing"),
    queue("fresh", state=""),
    queue("branch"),
    queue("twig", "branch"),
    queue("leaf", "twig"),
)


def pod(**spec: Any) -> JsonObject:
    container = {"name": "busybox", "image": "busybox"}
    return {"spec": {"containers": [container], **spec}}


def task(name: str = "task-1", replicas: int = 1, **more: Any) -> JsonObject:
    return {"name": name, "replicas": replicas, "template": pod(), **more}


def job(*tasks: JsonObject, name: str = "job", **spec: Any) -> JsonObject:
    return {
        "metadata": {"name": name, "namespace": "test"},
        "spec": {"queue": "default", "minAvailable": 1, "tasks": list(tasks or [task()]), **spec},
    }


def policies(*rules: Any) -> dict[str, Any]:
    return {"policies": list(rules)}


def rule(action: str = "", **trigger: Any) -> JsonObject:
    return {"action": action, **trigger} if action else trigger


def volumes(*given: JsonObject) -> dict[str, Any]:
    return {"volumes": list(given)}


def partition(size: int, total: int, **more: Any) -> dict[str, Any]:
    return {"partitionPolicy": {"partitionSize": size, "totalPartitions": total, **more}}


def cpu(amount: str, key: str = "limits") -> JsonObject:
    return {
        "spec": {
            "containers": [{"name": "a", "image": "b", "resources": {key: {"cpu": amount}}}],
        }
    }


BOTH_TIERS = {"mode": "hard", "highestTierAllowed": 1, "highestTierName": "tier-1"}
ONE_TIER = {"mode": "hard", "highestTierName": "tier-1"}

ALLOWED = {
    "base": job(),
    "policy evicted": job(**policies(rule("RestartTask", event="PodEvicted"))),
    "privileged container": job(
        task(template=pod(containers=[{"name": "a", "securityContext": {"privileged": True}}]))
    ),
    "depends on": job(task("t1", dependsOn={"name": ["t2"]}), task("t2")),
    "empty depends on": job(task("t1", dependsOn={}), task("t2")),
    "partitions": job(task(replicas=8, **partition(4, 2))),
    "partitions in a tier by name": job(
        task(replicas=8, **partition(4, 2, networkTopology=ONE_TIER)), networkTopology=ONE_TIER
    ),
    "least partitions, no minimum": job(task(replicas=8, **partition(4, 2, minPartitions=1))),
    "least partitions as the minimum": job(
        task(replicas=8, minAvailable=4, **partition(2, 4, minPartitions=2))
    ),
    "no least partitions": job(task(replicas=4, minAvailable=4, **partition(2, 2))),
    "mpi": job(
        task("launcher"), task("worker", 2), plugins={"mpi": ["--master=launcher"], "svc": []}
    ),
    "mpi without worker": job(task("launcher"), plugins={"mpi": ["--master=launcher"]}),
    "leaf queue": job(queue="leaf"),
    "whole cpu by limit": job(task(topologyPolicy="restricted", template=cpu("1"))),
    "numa none with half a cpu": job(task(topologyPolicy="none", template=cpu("500m"))),
    "same event twice in a rule": job(
        **policies(rule("AbortJob", event="PodFailed", events=["PodFailed"]))
    ),
    "exit code without action": job(**policies(rule(exitCode=3))),
    "negative exit code": job(**policies(rule("RestartJob", exitCode=-1))),
    "any event and exit code": job(**policies(rule("AbortJob", event="*"), rule(exitCode=3))),
    "same event on task and job": job(
        task(**policies(rule("AbortJob", event="PodFailed"))),
        **policies(rule("AbortJob", event="PodFailed")),
    ),
    "volumes": job(
        **volumes(
            {"mountPath": "/a", "volumeClaimName": "pvc1"},
            {"mountPath": "/b", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}},
        )
    ),
}


@pytest.mark.parametrize("obj", ALLOWED.values(), ids=ALLOWED)
def test_allowed(obj: JsonObject) -> None:
    assert verdict(jobs.validating(Options()), create(kinds.JOB, obj), *QUEUES) == ""


SIMULTANEOUS = "must not specify event and exitCode simultaneously"
ANY_ALONE = "if there's * here, no other policy should be here"
NO_CLAIM = "either VolumeClaim or VolumeClaimName must be specified;"
DAG = "job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG);"
TIERS = "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology"
REFUSED = {
    "no tasks": (job(tasks=[]), "No task specified in job spec"),
    "no spec": ({"metadata": {"name": "a"}}, "No task specified in job spec"),
    "two tasks of a name": (
        job(task("twice"), task("twice")),
        "duplicated task name twice;",
    ),
    "same event twice": (
        job(**policies(rule("AbortJob", event="PodFailed"), rule("RestartJob", event="PodFailed"))),
        "duplicate event PodFailed  across different policy",
    ),
    "gang over replicas": (
        job(minAvailable=2),
        "job 'minAvailable' should not be greater than total replicas in tasks;",
    ),
    "negative replicas": (
        job(task(replicas=-1)),
        "job 'minAvailable' should not be greater than total replicas in tasks;",
    ),
    "task minimum over replicas": (
        job(task(replicas=3, minAvailable=5)),
        "'minAvailable' is greater than 'replicas' in task: task-1, job: job;",
    ),
    "unknown plugin": (job(plugins={"big_plugin": []}), "unable to find job plugin: big_plugin;"),
    "event and exit code": (
        job(**policies(rule("AbortJob", event="PodFailed", exitCode=-1))),
        SIMULTANEOUS,
    ),
    "no trigger": (
        job(**policies(rule("AbortJob"))),
        "either event and exitCode should be specified",
    ),
    "unknown event": (
        job(**policies(rule("AbortJob", event="someFakeEvent"))),
        'spec.policies: Invalid value: "someFakeEvent": invalid policy event',
    ),
    "internal event": (
        job(task(**policies(rule("AbortJob", event="OutOfSync")))),
        'spec.tasks.policies: Invalid value: "OutOfSync": invalid policy event',
    ),
    "pod running": (
        job(**policies(rule("AbortJob", event="PodRunning"))),
        "invalid policy event",
    ),
    "unknown action": (
        job(**policies(rule("someFakeAction", event="PodEvicted"))),
        'spec.policies: Invalid value: "someFakeAction": invalid policy action',
    ),
    "internal action": (
        job(**policies(rule("SyncJob", event="PodEvicted"))),
        "invalid policy action",
    ),
    "no action": (job(**policies(rule(event="PodEvicted"))), "invalid policy action"),
    "exit code 0": (job(**policies(rule("AbortJob", exitCode=0))), "0 is not a valid error code"),
    "same exit code twice": (
        job(**policies(rule(exitCode=1), rule(exitCode=1))),
        "duplicate exitCode 1",
    ),
    "any and another": (
        job(**policies(rule("AbortJob", event="*"), rule("RestartJob", event="PodFailed"))),
        ANY_ALONE,
    ),
    "any and another in a task": (
        job(task(**policies(rule("AbortJob", event="*"), rule("RestartJob", event="PodFailed")))),
        ANY_ALONE,
    ),
    "any and another in one rule": (
        job(**policies(rule("AbortJob", events=["*", "PodFailed"]))),
        ANY_ALONE,
    ),
    "no mount path": (
        job(**volumes({"mountPath": "", "volumeClaimName": "a"})),
        "mountPath is required;",
    ),
    "same mount path": (
        job(
            **volumes(
                {"mountPath": "/var", "volumeClaimName": "pvc1"},
                {"mountPath": "/var", "volumeClaimName": "pvc2"},
            )
        ),
        "duplicated mountPath: /var;",
    ),
    "no claim": (job(**volumes({"mountPath": "/var"}, {"mountPath": "/var"})), NO_CLAIM),
    "claim and name": (
        job(**volumes({"mountPath": "/var", "volumeClaimName": "a", "volumeClaim": {}})),
        "conflict: ",
    ),
    "claim name": (
        job(**volumes({"mountPath": "/var", "volumeClaimName": "Bad_Name"})),
        "invalid VolumeClaimName Bad_Name : a lowercase RFC 1123 subdomain",
    ),
    "unknown queue": (
        job(queue="jobQueue"),
        'unable to find job queue: queue.scheduling.volcano.sh "jobQueue" not found;',
    ),
    "closed queue": (
        job(queue="closed"),
        "can only submit job to queue with state `Open`, queue `closed` status is `Closed`;",
    ),
    "closing queue": (job(queue="closing"), "queue `closing` status is `Closing`;"),
    "queue without state": (job(queue="fresh"), "queue `fresh` status is ``;"),
    "root queue": (job(queue="root"), "can not submit job to root queue;"),
    "queue with children": (
        job(queue="branch"),
        "can only submit job to leaf queue, queue `branch` has 1 child queues;",
    ),
    "missing dependency": (job(task("t1", dependsOn={"name": ["t3"]}), task("t2")), DAG),
    "dependency twice": (job(task("t1", dependsOn={"name": ["t2", "t2"]}), task("t2")), DAG),
    "own dependency": (job(task("t1", dependsOn={"name": ["t1"]})), DAG),
    "circle": (
        job(task("t1", dependsOn={"name": ["t2"]}), task("t2", dependsOn={"name": ["t1"]})),
        DAG,
    ),
    "partition size": (
        job(task(replicas=8, **partition(-1, 8))),
        "'PartitionSize' must be greater than 0 in task: task-1, job: job",
    ),
    "partition count": (
        job(task(replicas=8, **partition(8, -1))),
        "'TotalPartitions' must be greater than 0 in task: task-1, job: job",
    ),
    "partitions and replicas": (
        job(task(replicas=8, **partition(3, 2))),
        "'Replicas' are not equal to TotalPartitions*PartitionSize in task: task-1, job: job",
    ),
    "partitions and minimum": (
        job(task(replicas=8, minAvailable=4, **partition(2, 4, minPartitions=1))),
        "'MinAvailable' is not equal to MinPartitions*PartitionSize in task: task-1, job: job",
    ),
    "both tiers of the job": (
        job(task(replicas=8, **partition(4, 2)), networkTopology=BOTH_TIERS),
        TIERS,
    ),
    "both tiers of the partition": (
        job(task(replicas=8, **partition(4, 2, networkTopology=BOTH_TIERS))),
        TIERS,
    ),
    "mpi without master": (
        job(task("worker"), plugins={"mpi": ["--master=launcher"]}),
        "The specified mpi master task was not found",
    ),
    "mpi without its usual master": (
        job(task("worker"), plugins={"mpi": []}),
        "The specified mpi master task was not found",
    ),
    "half a cpu": (
        job(task(topologyPolicy="restricted", template=cpu("500m"))),
        "the cpu request isn't an integer in spec.task[0] container[0].",
    ),
    "zero cpu": (
        job(task(topologyPolicy="restricted", template=cpu("0", "requests"))),
        "the cpu request isn't an integer in spec.task[0] container[0].",
    ),
    "long job name": (
        job(name="j" * 63),
        "create pod with name " + "j" * 63 + "-task-1-0 validate failed [name part must be",
    ),
    "too long a job name": (
        job(name="j" * 64),
        "create job with name " + "j" * 64 + " validate failed [name part must be no more than 63",
    ),
    "no task name": (
        job(task("")),
        "spec.task[0].metadata.name: Required value: name or generateName is required.",
    ),
    "wrong type": (job(minAvailable="two"), "cannot read the Job: Expected `int`, got `str`"),
}


@pytest.mark.parametrize(("obj", "text"), REFUSED.values(), ids=REFUSED)
def test_refused(obj: JsonObject, text: str) -> None:
    assert text in verdict(jobs.validating(Options()), create(kinds.JOB, obj), *QUEUES)


def test_policy_faults_list_what_is_valid() -> None:
    obj = job(**policies(rule("AbortJob", event="someFakeEvent")))
    text = verdict(jobs.validating(Options()), create(kinds.JOB, obj), *QUEUES)
    assert text == (
        '1 error occurred:\n\t* spec.policies: Invalid value: "someFakeEvent": invalid policy event'
        "\n\n valid events are [* PodPending PodFailed PodEvicted Unknown TaskCompleted TaskFailed"
        " JobUpdated], valid actions are [AbortJob RestartJob RestartTask RestartPod"
        " RestartPartition TerminateJob CompleteJob ResumeJob];"
    )


def test_everything_wrong_is_told_at_once() -> None:
    obj = job(
        task("twice", dependsOn={"name": ["gone"]}),
        task("twice", 1, minAvailable=3),
        minAvailable=9,
        plugins={"what": []},
        queue="nowhere",
        **volumes({"mountPath": "/a"}),
    )
    text = verdict(jobs.validating(Options()), create(kinds.JOB, obj), *QUEUES)
    for part in (
        "duplicated task name twice;",
        "'minAvailable' is greater than 'replicas' in task: twice, job: job;",
        "should not be greater than total replicas",
        "unable to find job plugin: what;",
        NO_CLAIM,
        "unable to find job queue: ",
    ):
        assert part in text


def test_the_pod_template_is_checked_by_whoever_knows_pods() -> None:
    seen: list[JsonObject] = []

    def pod_validator(template: JsonObject) -> Sequence[str]:
        seen.append(template)
        return ["template.spec.containers[0].image: Required value"]

    obj = job(task(topologyPolicy="restricted", template=cpu("500m")))
    check = jobs.validating(Options(pod_validator=pod_validator))
    text = verdict(check, create(kinds.JOB, obj), *QUEUES)
    assert text == "spec.task[0].template.spec.containers[0].image: Required value."
    assert seen == [obj["spec"]["tasks"][0]["template"]]


def test_a_task_that_restarts_for_ever_gets_a_warning() -> None:
    obj = job(task("a"), task("b", template=pod(restartPolicy="Always")))
    review = create(kinds.JOB, obj)
    admission = jobs.validating(Options()).admit(review, Stored(*QUEUES))
    assert admission.refusal is None
    assert [warning.partition(":")[0] for warning in admission.warnings] == ['task "b"']


def test_the_object_under_review_is_left_alone() -> None:
    obj = job(task(**policies(rule("AbortJob", event="*"))), plugins={"mpi": []})
    before = copy.deepcopy(obj)
    verdict(jobs.validating(Options()), create(kinds.JOB, obj), *QUEUES)
    jobs.mutating(Options()).admit(create(kinds.JOB, obj), Stored())
    assert obj == before
