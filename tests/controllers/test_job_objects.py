"""The objects a job makes: pods, PodGroup, what the svc and env plugins add."""

from typing import Any

import pytest

from tests.controllers.builders import a_task, observed, stored_job
from volcano.api.objects import JsonObject
from volcano.controllers.job import pod_group
from volcano.controllers.job.plugins import plugins_of
from volcano.controllers.job.plugins.base import read_flags
from volcano.controllers.job.pod_builder import build_pods
from volcano.controllers.pod_usage import pod_usage


def one_pod(job: JsonObject, index: int = 0, task: int = 0, **look: Any) -> JsonObject:
    o = observed(job, **look)
    return next(build_pods(o, o.spec.tasks[task], [index], plugins_of(o)))


def template(**spec: Any) -> JsonObject:
    return {"spec": {"containers": [{"name": "main", "image": "i"}], **spec}}


def test_keys_of_a_pod() -> None:
    job = stored_job(status={"version": 2, "retryCount": 1})
    job["metadata"]["annotations"] = {
        "volcano.sh/preemptable": "true",
        "volcano.sh/jdb-min-available": "1",
        "volcano.sh/jdb-max-unavailable": "2",
    }
    meta = one_pod(job, 4)["metadata"]
    assert meta["name"] == "j-work-4"
    assert meta["annotations"] == {
        "volcano.sh/task-index": "4",
        "volcano.sh/task-spec": "work",
        "volcano.sh/job-name": "j",
        "volcano.sh/queue-name": "default",
        "volcano.sh/job-version": "2",
        "volcano.sh/job-retry-count": "1",
        "volcano.sh/template-uid": "j-work",
        "scheduling.k8s.io/group-name": "j-uid-j",
        "volcano.sh/preemptable": "true",
        "volcano.sh/jdb-min-available": "1",
    }
    assert meta["labels"] == {
        "volcano.sh/task-index": "4",
        "volcano.sh/task-spec": "work",
        "volcano.sh/job-name": "j",
        "volcano.sh/job-namespace": "d",
        "volcano.sh/queue-name": "default",
    }
    (owner,) = meta["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Job", "uid-j", True)


@pytest.mark.parametrize(
    ("given_", "field", "value"),
    [
        ({}, "schedulerName", "volcano"),
        ({"schedulerName": "mine"}, "schedulerName", "mine"),
        ({}, "priorityClassName", "high"),
        ({"priorityClassName": "low"}, "priorityClassName", "low"),
        ({}, "restartPolicy", "Never"),
        ({"restartPolicy": "Always"}, "restartPolicy", "Always"),
    ],
)
def test_template_wins_over_the_job(given_: JsonObject, field: str, value: str) -> None:
    task = a_task(template=template(**given_))
    job = stored_job(task, schedulerName="volcano", priorityClassName="high")
    assert one_pod(job)["spec"][field] == value
    assert task["template"] == template(**given_)


@pytest.mark.parametrize(
    ("size", "index", "partition"), [(2, 0, "0"), (2, 1, "0"), (2, 2, "1"), (5, 10, "2")]
)
def test_partition(size: int, index: int, partition: str) -> None:
    policy = {"totalPartitions": 3, "partitionSize": size}
    job = stored_job(a_task(replicas=6, partitionPolicy=policy))
    assert one_pod(job, index)["metadata"]["labels"]["volcano.sh/partition-id"] == partition


@pytest.mark.parametrize(("claims", "volumes"), [(["a", "b"], 2), (["a", "a"], 1)])
def test_each_claim_is_mounted_once(claims: list[str], volumes: int) -> None:
    listed = [{"mountPath": f"/{i}", "volumeClaimName": n} for i, n in enumerate(claims)]
    spec = one_pod(stored_job(volumes=listed))["spec"]
    assert len(spec["volumes"]) == len(spec["containers"][0]["volumeMounts"]) == volumes


def test_forwarded_job_says_so_on_its_pods() -> None:
    queue = {"metadata": {"name": "default"}, "spec": {"extendClusters": [{"name": "c"}]}}
    meta = one_pod(stored_job(), queue=queue)["metadata"]
    assert meta["labels"]["volcano.sh/job-forwarding"] == "true"
    assert meta["annotations"]["volcano.sh/job-forwarding"] == "true"


def sized(name: str, replicas: int, cpu: str, minimum: int | None, cls: str = "") -> JsonObject:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    spec: JsonObject = {"containers": [container]}
    if cls:
        spec["priorityClassName"] = cls
    task: JsonObject = {"name": name, "replicas": replicas, "template": {"spec": spec}}
    return task if minimum is None else {**task, "minAvailable": minimum}


@pytest.mark.parametrize(
    ("gang", "master", "worker", "first", "cpu"),
    [
        (2, 1, 1, "", "150m"),
        (3, 2, 1, "", "200m"),
        (3, 1, 2, "", "250m"),
        (3, 1, 1, "master", "200m"),
        (3, 1, 1, "worker", "250m"),
        (3, 0, 1, "worker", "250m"),
        (4, 2, 1, "", "300m"),
        (2, 1, 2, "", "100m"),
        (2, 2, 1, "", "100m"),
        (3, 2, 2, "", "200m"),
        (3, 1, None, "", "200m"),
        # Case 8: a gang smaller than its roles counts one pod of each.
        (1, 1, 1, "", "150m"),
    ],
)
def test_min_resources(
    gang: int, master: int | None, worker: int | None, first: str, cpu: str
) -> None:
    tasks = [
        sized(name, 2, amount, minimum, "high" if name == first else "")
        for name, amount, minimum in (("master", "50m", master), ("worker", "100m", worker))
    ]
    o = observed(stored_job(*tasks, minAvailable=gang), priorities={"high": 10})
    found = pod_group.min_resources(o.spec, o.priorities)
    assert found["cpu"] == found["requests.cpu"] == cpu
    assert found["pods"] == found["count/pods"]


def test_elastic_job_needs_only_its_gang() -> None:
    o = observed(stored_job(sized("w", 10, "1", 10), minAvailable=1))
    assert pod_group.min_resources(o.spec, {})["cpu"] == "1"


def test_usage_of_requests_limits_and_extended_resources() -> None:
    amounts = {"cpu": "1", "memory": "1000Mi", "nvidia.com/gpu": 1}
    container = {"name": "c", "resources": {"limits": amounts}}
    usage = pod_usage({"containers": [container]}).to_json()
    assert usage["requests.cpu"] == usage["limits.cpu"] == "1"
    assert usage["memory"] == usage["requests.memory"] == usage["limits.memory"] == "1000Mi"
    assert usage["nvidia.com/gpu"] == usage["requests.nvidia.com/gpu"] == "1"
    assert "limits.nvidia.com/gpu" not in usage


def test_usage_counts_sidecars_with_the_containers_and_the_greediest_init_container() -> None:
    def cpu(amount: str, **more: str) -> JsonObject:
        return {"name": "c", "resources": {"requests": {"cpu": amount}}, **more}

    spec = {
        "containers": [cpu("1")],
        "initContainers": [cpu("500m", restartPolicy="Always"), cpu("3")],
    }
    assert pod_usage(spec).to_json()["cpu"] == "3500m"


@pytest.mark.parametrize(("partitions", "members"), [(None, 6), (1, 3), (0, 6)])
def test_members_and_sub_groups_of_a_partitioned_task(partitions: int | None, members: int) -> None:
    policy = {"totalPartitions": 2, "partitionSize": 3}
    if partitions is not None:
        policy["minPartitions"] = partitions
    group = pod_group.wanted(observed(stored_job(a_task(replicas=6, partitionPolicy=policy))))
    assert group["spec"]["minTaskMember"] == {"work": members}
    assert group["spec"]["subGroupPolicy"] == [
        {
            "name": "work",
            "subGroupSize": 3,
            "minSubGroups": partitions or 0,
            "labelSelector": {"matchLabels": {"volcano.sh/task-spec": "work"}},
            "matchLabelKeys": ["volcano.sh/partition-id"],
        }
    ]


def test_group_is_updated_in_what_may_change_and_only_there() -> None:
    job = stored_job(a_task(replicas=2), minAvailable=2)
    stored = pod_group.wanted(observed(job))
    assert pod_group.update_of(observed(job), stored) == {}
    scaled = stored_job(a_task(replicas=3), minAvailable=3, queue="other", priorityClassName="p")
    spec = pod_group.update_of(observed(scaled), stored)["spec"]
    assert spec["minMember"] == 3
    assert spec["minTaskMember"] == {"work": 3}
    assert spec["priorityClassName"] == "p"
    assert "queue" not in spec


def test_svc_publishes_every_task_to_all_containers() -> None:
    inits = template(initContainers=[{"name": "init", "image": "i"}])
    tasks = [a_task("my-work", 2, template=inits), a_task("none", 0)]
    job = stored_job(*tasks, plugins={"svc": [], "env": []})
    o = observed(job)
    made = [effect.obj for plugin in plugins_of(o) for effect in plugin.objects()]
    assert [obj["kind"] for obj in made] == ["ConfigMap", "Service", "NetworkPolicy"]
    assert made[0]["data"] == {
        "my_work.host": "j-my-work-0.j\nj-my-work-1.j",
        "VC_MY_WORK_HOSTS": "j-my-work-0.j,j-my-work-1.j",
        "VC_MY_WORK_NUM": "2",
        "none.host": "",
        "VC_NONE_HOSTS": "",
        "VC_NONE_NUM": "0",
    }
    spec = one_pod(job, 1)["spec"]
    for container in (*spec["initContainers"], *spec["containers"]):
        assert [entry["name"] for entry in container["env"]] == [
            "VC_MY_WORK_HOSTS",
            "VC_MY_WORK_NUM",
            "VC_NONE_HOSTS",
            "VC_NONE_NUM",
            "VK_TASK_INDEX",
            "VC_TASK_INDEX",
        ]
        assert container["volumeMounts"] == [{"name": "j-svc", "mountPath": "/etc/volcano"}]


def test_svc_arguments() -> None:
    arguments = ["--disable-network-policy=true", "--inject-hosts-env=false"]
    job = stored_job(plugins={"svc": [*arguments, "--publish-not-ready-addresses"]})
    made = [e for p in plugins_of(observed(job)) for e in p.objects()]
    assert [effect.obj["kind"] for effect in made] == ["ConfigMap", "Service"]
    assert made[1].obj["spec"]["publishNotReadyAddresses"] is True
    assert "env" not in one_pod(job)["spec"]["containers"][0]


@pytest.mark.parametrize(
    ("arguments", "name", "on"),
    [
        (["-name", "a", "--on"], "a", "true"),
        (["--name=a", "--on=false"], "a", "false"),
        (["--other", "--name=a"], "x", "true"),
        (["--name=a", "rest", "--on=false"], "a", "true"),
        (["--on=maybe", "--name=a"], "x", "true"),
        (["--name"], "x", "true"),
    ],
)
def test_flags_as_go_reads_them(arguments: list[str], name: str, on: str) -> None:
    assert read_flags(arguments, {"name": "x", "on": True}) == {"name": name, "on": on}
