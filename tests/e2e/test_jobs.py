"""Lives of jobs on the whole system in virtual time: failing, retrying, waiting, scaled, ended."""

from pathlib import Path

import pytest

from tests.e2e.world import NAMESPACE, World, job, pod, queue, task, world
from volcano.api.kinds import JOB, POD, POD_GROUP, PRIORITY_CLASS, QUEUE
from volcano.api.objects import JsonObject
from volcano.base.errors import ApiError
from volcano.testing.cluster import simulated

pytestmark = pytest.mark.anyio
ONE_NODE = simulated(n1={"cpu": "4"})


async def test_failed_pods_are_retried_to_the_limit_and_then_the_job_fails(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        again = {"event": "PodFailed", "action": "RestartJob"}
        await w.submit(
            job("j", task(cpu="1", seconds=5, exit_code=3), maxRetry=3, policies=[again])
        )
        failed = await w.phase("j", "Failed", within=300)
        assert failed["status"]["retryCount"] == 3
        (last,) = (await w.pods("j")).values()
        ended = last["status"]["containerStatuses"][0]["state"]["terminated"]
        assert ended["exitCode"] == 3
        assert await w.bound("j") == {}


async def test_without_a_policy_a_failed_pod_fails_the_job_at_once(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        await w.submit(job("j", task(cpu="1", seconds=5, exit_code=1)))
        failed = await w.phase("j", "Failed")
        assert failed["status"].get("retryCount", 0) == 0


async def test_pods_never_restart_unless_the_job_says_always_which_is_warned_of(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as w:
        always = {"restartPolicy": "Always"}
        tasks = [task("plain", cpu="1"), task("forever", cpu="1", seconds=5, spec=always)]
        await w.submit(job("j", *tasks))
        await w.phase("j", "Running")
        pods = await w.pods("j")
        policies = {name: each["spec"]["restartPolicy"] for name, each in pods.items()}
        assert policies == {"j-plain-0": "Never", "j-forever-0": "Always"}
        stored = await w.client.get(JOB, "j", NAMESPACE)
        assert "restartPolicy" not in stored["spec"]["tasks"][0]["template"]["spec"]

        async def restarted() -> bool:
            (status,) = (await w.pods("j"))["j-forever-0"]["status"]["containerStatuses"]
            return int(status["restartCount"]) >= 2

        await w.until(restarted, within=120)
        assert await w.phase_of("j") == "Running"


async def test_finished_job_goes_with_its_pods_when_its_time_is_over(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        await w.submit(job("j", task(cpu="1", seconds=5), ttlSecondsAfterFinished=600))
        await w.phase("j", "Completed")
        await w.run_for(500)
        assert await w.phase_of("j") == "Completed"

        async def gone() -> bool:
            return await w.find(JOB, "j") is None and not await w.pods("j")

        await w.until(gone, within=110)


async def test_suspended_job_gives_its_room_to_others_and_resumes(tmp_path: Path) -> None:
    async with world(tmp_path, ONE_NODE) as w:
        await w.submit(job("first", task(replicas=2, cpu="2", seconds=100), minAvailable=2))
        await w.phase("first", "Running")
        await w.submit(job("second", task(replicas=2, cpu="2", seconds=20), minAvailable=2))
        await w.group_condition("second")
        await w.command(JOB, "first", "AbortJob")
        await w.phase("first", "Aborted", within=120)
        assert await w.bound("first") == {}
        await w.phase("second", "Running")
        await w.command(JOB, "first", "ResumeJob")
        await w.phase("second", "Completed", within=120)
        resumed = await w.phase("first", "Running")
        assert len(await w.bound("first")) == 2
        assert resumed["status"].get("retryCount", 0) == 0
        await w.phase("first", "Completed", within=200)


async def test_scaling_to_nothing_and_back(tmp_path: Path) -> None:
    """cases.md 19: phases and counts follow; no pod is left Pending in a Running job."""
    async with world(tmp_path) as w:
        await w.submit(job("j", task(replicas=2, cpu="2"), minAvailable=2))
        await w.phase("j", "Running")
        await w.scale("j", 0)

        async def empty() -> bool:
            return await w.pods("j") == {}

        await w.until(empty, within=120)
        await w.run_for(5)
        none = await w.client.get(JOB, "j", NAMESPACE)
        assert none["status"].get("running", 0) == 0
        assert none["status"].get("pending", 0) == 0
        await w.scale("j", 2)

        async def both_run() -> bool:
            status = (await w.client.get(JOB, "j", NAMESPACE))["status"]
            return status["state"]["phase"] == "Running" and status.get("running") == 2

        await w.until(both_run)
        assert {each["status"]["phase"] for each in (await w.pods("j")).values()} == {"Running"}
        assert (await w.group("j"))["spec"]["minMember"] == 2


async def test_higher_priority_goes_first_whatever_came_first(tmp_path: Path) -> None:
    async with world(tmp_path, ONE_NODE) as w:
        for name, value in (("low", 1), ("high", 1000)):
            await w.create(PRIORITY_CLASS, priority_class(name, value))
        await w.create(POD, pod("holder", cpu="4", seconds=30))
        await w.pod_phase("holder", "Running")
        for name in ("low", "high"):
            work = task(cpu="4", seconds=30)
            await w.submit(job(name, work, priorityClassName=name))
        await w.run_for(5)
        assert await w.bound("low") == {} == await w.bound("high")
        await w.phase("high", "Running")
        assert await w.bound("low") == {}
        await w.phase("low", "Running")
        assert await w.phase_of("high") == "Completed"


def priority_class(name: str, value: int) -> JsonObject:
    return {
        "apiVersion": PRIORITY_CLASS.api_version,
        "kind": PRIORITY_CLASS.kind,
        "metadata": {"name": name},
        "value": value,
    }


async def test_closing_a_queue_with_a_running_job(tmp_path: Path) -> None:
    """cases.md 16: Closing, then Closed; nothing new is let in; open again, what waits runs."""
    async with world(tmp_path) as w:
        await w.create(QUEUE, queue("q", weight=1))
        await w.queue_state("q", "Open")
        await w.submit(job("j", task(cpu="1"), queue="q"))
        await w.phase("j", "Running")
        await w.command(QUEUE, "q", "CloseQueue")
        await w.queue_state("q", "Closing")
        with pytest.raises(ApiError, match="Closing"):
            await w.submit(job("late", task(cpu="1"), queue="q"))
        await w.client.delete(JOB, "j", NAMESPACE)
        await w.queue_state("q", "Closed")
        with pytest.raises(ApiError, match="Closed"):
            await w.submit(job("late", task(cpu="1"), queue="q"))
        await refuse_bare_pod(w)
        await w.command(QUEUE, "q", "OpenQueue")
        await w.queue_state("q", "Open")
        await w.submit(job("late", task(cpu="1", seconds=1), queue="q"))
        await w.phase("late", "Completed")


async def refuse_bare_pod(w: World) -> None:
    bare = pod("bare", cpu="1")
    bare["metadata"]["annotations"]["scheduling.volcano.sh/queue-name"] = "q"
    with pytest.raises(ApiError, match="can only submit Pod to queue with state `Open`, queue `q`"):
        await w.create(POD, bare)


async def test_pod_of_a_workload_whose_group_is_refused_is_told(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        await w.create(QUEUE, queue("q", weight=1))
        await w.queue_state("q", "Open")
        await w.command(QUEUE, "q", "CloseQueue")
        await w.queue_state("q", "Closed")
        member = pod("member", cpu="1", seconds=5)
        member["metadata"]["annotations"]["scheduling.volcano.sh/queue-name"] = "q"
        owner = {"apiVersion": "example.com/v1", "kind": "Set", "name": "s", "uid": "1"}
        member["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
        await w.create(POD, member)

        async def told() -> list[JsonObject]:
            return await w.events("member", "FailedCreate")

        (event,) = await w.until(told)
        assert "queue `q` status is `Closed`" in event["message"]
        await w.command(QUEUE, "q", "OpenQueue")
        await w.pod_phase("member", "Succeeded", within=120)


async def test_jobs_that_wait_in_a_queue_when_it_closes_stay_waiting(tmp_path: Path) -> None:
    async with world(tmp_path, ONE_NODE) as w:
        await w.create(QUEUE, queue("q", weight=1))
        await w.queue_state("q", "Open")
        await w.create(POD, pod("holder", cpu="4", seconds=30))
        await w.pod_phase("holder", "Running")
        await w.submit(job("j", task(cpu="4", seconds=5), queue="q"))
        await w.group_condition("j")
        await w.command(QUEUE, "q", "CloseQueue")
        await w.queue_state("q", "Closing")
        await w.run_for(60)
        assert await w.bound("j") == {}
        condition = await w.group_condition("j")
        assert "queue q is Closing" in condition["message"]
        await w.command(QUEUE, "q", "OpenQueue")
        await w.phase("j", "Completed")


async def test_bare_pods_get_a_group_and_run(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        await w.create(POD, pod("bare", cpu="1", seconds=5))
        running = await w.pod_phase("bare", "Running")
        group = await w.find(
            POD_GROUP, running["metadata"]["annotations"]["scheduling.k8s.io/group-name"]
        )
        assert group is not None
        assert group["spec"]["minMember"] == 1
        assert group["spec"]["queue"] == "default"
        await w.pod_phase("bare", "Succeeded")
        (event,) = await w.events("bare", "Scheduled")
        assert "Successfully assigned default/bare to n" in event["message"]
