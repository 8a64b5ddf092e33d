"""Jobs from creation to their end, on a real API server in this process."""

from pathlib import Path

import pytest

from tests.controllers.harness import Cluster, cluster, job, policy, state_of, task
from tests.waiting import eventually
from volcano.api.kinds import COMMAND, CONFIG_MAP, JOB, POD, POD_GROUP, SERVICE
from volcano.api.objects import metadata, uid_of

pytestmark = pytest.mark.anyio


async def test_pods_wait_for_the_group_then_run_to_completed(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        await c.create(JOB, job("j", task(replicas=2)))
        await c.phase("j", "Pending")
        group = await c.group("j")
        assert group["spec"]["minMember"] == 2
        assert await c.pods("j") == {}
        await c.admit("j")
        pods = await c.pods("j", 2)
        assert sorted(pods) == ["j-work-0", "j-work-1"]
        assert pods["j-work-0"]["spec"]["restartPolicy"] == "Never"
        for name in pods:
            await c.run_pod(name)
        running = await c.phase("j", "Running")
        assert running["status"]["minAvailable"] == 2
        for name in pods:
            await c.end_pod(name)
        done = await c.phase("j", "Completed")
        status = done["status"]
        assert status["succeeded"] == 2
        assert status["taskStatusCount"] == {"work": {"phase": {"Succeeded": 2}}}
        assert [entry["status"] for entry in status["conditions"]] == [
            "Pending",
            "Running",
            "Completed",
        ]

        async def group_gone() -> bool:
            return await c.find(POD_GROUP, group["metadata"]["name"]) is None

        await eventually(group_gone)


async def test_failed_pod_without_policy_fails_the_job(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        await started(c, job("j", task(replicas=2)))
        await c.end_pod("j-work-0", 3)
        await c.end_pod("j-work-1")
        failed = await c.phase("j", "Failed")
        assert "1 of 2 pods succeeded" in state_of(failed)["message"]


async def started(c: Cluster, manifest: dict[str, object]) -> None:
    """Create a job and run all its pods."""
    created = await c.create(JOB, manifest)
    name = metadata(created)["name"]
    count = sum(entry["replicas"] for entry in created["spec"]["tasks"])
    await c.admit(name)
    for pod in await c.pods(name, count):
        await c.run_pod(pod)
    await c.phase(name, "Running")


async def restarted(c: Cluster, name: str, old_uid: str) -> None:
    """Wait for a pod that was made anew."""

    async def probe() -> bool:
        pod = await c.find(POD, name)
        return pod is not None and uid_of(pod) != old_uid and "deletionTimestamp" not in pod

    await eventually(probe, about=f"{name} is new")


async def test_restart_job_starts_over_and_gives_up_after_max_retry(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        manifest = job(
            "j", task(replicas=2), policies=[policy("RestartJob", "PodFailed")], maxRetry=2
        )
        await started(c, manifest)
        first = await c.pods("j", 2)
        await c.end_pod("j-work-0", 1)
        await restart_group(c, "j", 1)
        await restarted(c, "j-work-1", uid_of(first["j-work-1"]))
        second = await c.pods("j", 2)
        assert all(
            pod["metadata"]["annotations"]["volcano.sh/job-version"] == "1"
            for pod in second.values()
        )
        for name in second:
            await c.run_pod(name)
        running = await c.phase("j", "Running")
        assert running["status"]["retryCount"] == 1
        await c.end_pod("j-work-0", 1)
        failed = await c.phase("j", "Failed")
        assert failed["status"]["retryCount"] == 2
        left = await c.pods("j", 1)
        assert left["j-work-0"]["status"]["phase"] == "Failed"


async def restart_group(c: Cluster, name: str, version: int) -> None:
    """Wait for the PodGroup of a later run and let its pods be made."""

    async def probe() -> bool:
        group = await c.group(name)
        return metadata(group)["annotations"]["volcano.sh/job-version"] == str(version)

    await eventually(probe, about=f"PodGroup of run {version}")
    await c.admit(name)


async def test_restart_pod_replaces_only_that_pod(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        policies = [
            policy("RestartPod", "PodFailed"),
            policy("TerminateJob", "PodEvicted", timeout="5m"),
        ]
        await started(c, job("j", task(replicas=2), policies=policies))
        before = await c.pods("j", 2)
        await c.end_pod("j-work-0", 1)
        await restarted(c, "j-work-0", uid_of(before["j-work-0"]))
        await c.run_pod("j-work-0")
        running = await c.phase("j", "Running")
        after = await c.pods("j", 2)
        assert uid_of(after["j-work-1"]) == uid_of(before["j-work-1"])
        assert running["status"]["retryCount"] == 1
        assert running["status"].get("version", 0) == 0


async def test_deleted_pod_is_an_eviction(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        await started(c, job("j", task(replicas=2), policies=[policy("AbortJob", "PodEvicted")]))
        await c.client.delete(POD, "j-work-1", "default")
        aborted = await c.phase("j", "Aborted")
        assert state_of(aborted)["message"] == "pod j-work-1 was removed"
        await c.pods("j", 0)


async def test_task_completed_completes_the_job(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        tasks = [
            task("short", 1, policies=[policy("CompleteJob", "TaskCompleted")]),
            task("long", 1),
        ]
        await started(c, job("j", *tasks, maxRetry=1))
        await c.end_pod("j-short-0")
        done = await c.phase("j", "Completed")
        assert done["status"].get("retryCount", 0) == 0
        left = await c.pods("j", 1)
        assert list(left) == ["j-short-0"]
        assert done["status"]["succeeded"] == 1


async def test_suspend_and_resume(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        await started(c, job("j", task(replicas=2)))
        await c.end_pod("j-work-0")
        await c.command("j", "AbortJob")
        await c.phase("j", "Aborted")
        assert list(await c.pods("j", 1)) == ["j-work-0"]
        await c.command("j", "ResumeJob")
        await c.phase("j", "Pending")
        await restart_group(c, "j", 2)
        await c.pods("j", 2)
        await c.run_pod("j-work-1")
        resumed = await c.phase("j", "Running")
        assert resumed["status"].get("retryCount", 0) == 0
        assert (await c.client.list(COMMAND, "default"))["items"] == []
        assert await c.events("j", "CommandIssued")


async def test_scaling_to_zero_and_back(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        await started(c, job("j", task(replicas=2), plugins={"svc": []}))
        await scale(c, 0)
        await c.pods("j", 0)
        empty = await c.find(CONFIG_MAP, "j-svc")
        assert empty is not None
        assert state_of(await c.job("j"))["phase"] == "Running"
        await scale(c, 2)
        await c.pods("j", 2)

        async def hosts() -> bool:
            config = await c.find(CONFIG_MAP, "j-svc")
            return config is not None and config["data"]["work.host"] == "j-work-0.j\nj-work-1.j"

        await eventually(hosts)


async def scale(c: Cluster, replicas: int) -> None:
    """Change the replicas of job j's only task."""
    manifest = await c.job("j")
    tasks = [{**manifest["spec"]["tasks"][0], "replicas": replicas, "minAvailable": replicas}]
    patch = {"spec": {"minAvailable": replicas, "tasks": tasks}}
    await c.client.patch(JOB, "j", patch, "default")


async def test_svc_and_env_reach_the_pods_and_go_with_the_job(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        await started(c, job("j", task(replicas=2), plugins={"svc": [], "env": []}))
        pod = (await c.pods("j", 2))["j-work-1"]
        assert pod["spec"]["hostname"] == "j-work-1"
        assert pod["spec"]["subdomain"] == "j"
        env = {entry["name"]: entry for entry in pod["spec"]["containers"][0]["env"]}
        assert env["VC_TASK_INDEX"]["value"] == "1"
        reference = env["VC_WORK_HOSTS"]["valueFrom"]["configMapKeyRef"]
        assert reference == {"name": "j-svc", "key": "VC_WORK_HOSTS"}
        service = await c.find(SERVICE, "j")
        assert service is not None
        assert service["spec"]["clusterIP"] == "None"
        await c.command("j", "TerminateJob")
        await c.phase("j", "Terminated")

        async def gone() -> bool:
            return await c.find(SERVICE, "j") is None and await c.find(CONFIG_MAP, "j-svc") is None

        await eventually(gone)


async def test_dependent_task_starts_after_the_one_it_needs(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        tasks = [task("master"), task("work", 2, dependsOn={"name": ["master"]})]
        await c.create(JOB, job("j", *tasks, minAvailable=1))
        await c.admit("j")
        assert list(await c.pods("j", 1)) == ["j-master-0"]
        await c.run_pod("j-master-0")
        await c.pods("j", 3)


async def test_finished_job_is_deleted_after_its_time_with_all_it_owns(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        await started(c, job("j", ttlSecondsAfterFinished=0))
        await c.end_pod("j-work-0")

        async def gone() -> bool:
            return await c.find(JOB, "j") is None and not await c.pods("j")

        await eventually(gone)


async def test_unknown_exit_codes_and_task_level_policies(tmp_path: Path) -> None:
    async with cluster(tmp_path) as c:
        by_task = [policy("TerminateJob", exitCode=3) | {"events": []}]
        manifest = job(
            "j", task(replicas=2, policies=by_task), policies=[policy("AbortJob", "PodFailed")]
        )
        await started(c, manifest)
        await c.end_pod("j-work-0", 3)
        await c.phase("j", "Terminated")
