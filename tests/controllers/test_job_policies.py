"""Which action is due: commands, events, exit codes, delays, versions."""

from typing import Any

import pytest

from tests.controllers.builders import a_command, a_group, a_task, fact, observed, stored_job
from volcano.api.objects import JsonObject
from volcano.controllers.job.machine import Action
from volcano.controllers.job.policies import decide


def on(*events: str, action: str = "RestartJob", **more: Any) -> JsonObject:
    return {"action": action, "events": list(events), **more}


def running(*policies: JsonObject, tasks: list[JsonObject] | None = None) -> JsonObject:
    listed = tasks or [a_task(replicas=3)]
    return stored_job(*listed, phase="Running", policies=list(policies))


FAILED = fact(0, "Failed")
EXIT_3 = [{"action": "TerminateJob", "exitCode": 3}]


@pytest.mark.parametrize(
    ("job", "pods", "action"),
    [
        pytest.param(running(on("PodFailed")), [FAILED], "RestartJob", id="failed"),
        pytest.param(running(on("*")), [FAILED], "RestartJob", id="any"),
        pytest.param(running(on("*")), [fact(0, "Pending")], "SyncJob", id="any-but-pending"),
        pytest.param(running(on("PodEvicted")), [FAILED], "SyncJob", id="another-event"),
        pytest.param(
            running({"event": "PodFailed", "action": "AbortJob"}), [FAILED], "AbortJob", id="event"
        ),
        pytest.param(
            running(*EXIT_3), [fact(0, "Failed", exit_code=3)], "TerminateJob", id="exit-code"
        ),
        pytest.param(
            running(*EXIT_3), [fact(0, "Failed", exit_code=4)], "SyncJob", id="other-exit-code"
        ),
        pytest.param(
            running(on("PodFailed", action="AbortJob"), on("PodFailed")),
            [FAILED],
            "AbortJob",
            id="first-match-wins",
        ),
        pytest.param(
            running(
                on("PodFailed", action="AbortJob"),
                tasks=[a_task(replicas=2, policies=[on("PodFailed")])],
            ),
            [FAILED],
            "RestartJob",
            id="task-before-job",
        ),
        pytest.param(
            running(on("PodFailed")),
            [fact(0, "Failed", out_of_sync=True)],
            "SyncJob",
            id="own-deed",
        ),
        pytest.param(
            running(on("PodFailed")),
            [fact(0, "Failed", terminating=True)],
            "SyncJob",
            id="on-its-way-out",
        ),
        pytest.param(
            running(on("PodPending", action="AbortJob", timeout="30s")),
            [fact(0, "Pending")],
            "AbortJob",
            id="pending-too-long",
        ),
        pytest.param(
            running(on("PodPending", action="AbortJob", timeout="1h")),
            [fact(0, "Pending")],
            "SyncJob",
            id="pending-not-long-enough",
        ),
        pytest.param(
            running(on("PodPending", action="AbortJob")),
            [fact(0, "Pending")],
            "SyncJob",
            id="pending-without-timeout-never-fires",
        ),
        pytest.param(
            running(on("TaskCompleted", action="CompleteJob")),
            [fact(i, "Succeeded") for i in range(3)],
            "CompleteJob",
            id="task-completed",
        ),
        pytest.param(
            running(on("TaskCompleted", action="CompleteJob")),
            [fact(i, "Succeeded") for i in range(2)],
            "SyncJob",
            id="task-not-completed",
        ),
        pytest.param(
            running(
                on("TaskFailed", action="TerminateJob"), tasks=[a_task(replicas=3, maxRetry=3)]
            ),
            [fact(0, restarts=2), fact(1, restarts=2)],
            "TerminateJob",
            id="task-failed",
        ),
    ],
)
def test_event(job: JsonObject, pods: list[Any], action: str) -> None:
    assert decide(observed(job, *pods)).action == action


def test_pods_of_an_older_run_or_another_job_trigger_nothing() -> None:
    job = running(on("PodFailed", "PodEvicted"))
    job["status"]["version"] = 2
    assert decide(observed(job, fact(0, "Failed", version=1))).action is Action.SYNC
    other = fact(1, version=2, job_uid="another")
    assert decide(observed(job, evicted=[other])).action is Action.SYNC
    assert decide(observed(job, evicted=[fact(1, version=2)])).action is Action.RESTART_JOB


def test_unknown_group_triggers_and_a_targeted_action_on_it_does_nothing() -> None:
    for action, due in (("AbortJob", Action.ABORT_JOB), ("RestartPod", Action.SYNC)):
        job = running(on("Unknown", action=action))
        assert decide(observed(job, pod_group=a_group(job, "Unknown"))).action is due


@pytest.mark.parametrize(
    ("action", "targets"),
    [
        ("RestartPod", {"j-work-0"}),
        ("RestartTask", {"j-work-0", "j-work-1", "j-work-2"}),
        ("RestartPartition", {"j-work-0", "j-work-1"}),
    ],
)
def test_targets(action: str, targets: set[str]) -> None:
    job = running(on("PodFailed", action=action), tasks=[a_task(replicas=3), a_task("other")])
    pods = [
        fact(0, "Failed", partition="0"),
        fact(1, partition="0"),
        fact(2, partition="1"),
        fact(0, task="other"),
    ]
    assert {pod.name for pod in decide(observed(job, *pods)).targets} == targets


def test_failed_pods_at_once_are_one_restart_of_each() -> None:
    job = running(on("PodFailed", action="RestartPod"))
    decision = decide(observed(job, FAILED, fact(1, "Failed"), fact(2)))
    assert {pod.name for pod in decision.targets} == {"j-work-0", "j-work-1"}


def test_whole_job_action_wins_over_targeted_ones() -> None:
    tasks = [
        a_task("a", policies=[on("PodFailed", action="RestartPod")]),
        a_task("b", policies=[on("PodFailed", action="AbortJob")]),
    ]
    job = running(tasks=tasks)
    pods = (fact(0, "Failed", task="a"), fact(0, "Failed", task="b"))
    assert decide(observed(job, *pods)).action is Action.ABORT_JOB


def test_delay_counts_from_what_happened_and_keeps_the_eviction() -> None:
    job = running(on("PodEvicted", action="AbortJob", timeout="10s"))
    decision = decide(observed(job, evicted=[fact(1)]))
    assert decision.action is Action.SYNC
    assert decision.again_in == pytest.approx(9)
    assert decision.kept == {"j-work-1"}


def test_delayed_reaction_is_called_off_when_the_replacement_runs() -> None:
    job = running(on("PodEvicted", action="AbortJob", timeout="10s"))
    decision = decide(observed(job, fact(1, uid="new"), evicted=[fact(1)]))
    assert decision.again_in is None
    assert not decision.kept


def test_command_goes_before_policies_and_waits_for_nothing() -> None:
    job = running(on("PodFailed"))
    decision = decide(observed(job, FAILED, commands=(a_command("AbortJob"),)))
    assert decision.action is Action.ABORT_JOB
    assert decision.command is not None


@pytest.mark.parametrize("why", ["done-already", "for-an-earlier-job"])
def test_spent_command_is_removed_without_acting(why: str) -> None:
    job = running()
    command = a_command("AbortJob", target="uid-j" if why == "done-already" else "older")
    if why == "done-already":
        job["status"]["controlledResources"] = {"command": "uid-command"}
    decision = decide(observed(job, commands=(command,)))
    assert decision.action is Action.SYNC
    assert decision.spent == (command,)


@pytest.mark.parametrize("phase", ["Aborted", "Completed", "Failed", "Terminating"])
def test_stopped_job_reacts_to_commands_only(phase: str) -> None:
    job = stored_job(phase=phase, policies=[on("*")])
    assert decide(observed(job, FAILED, evicted=[fact(1)])).action is Action.SYNC
