"""What a job needs next: the effects for what is observed."""

from collections.abc import Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.controllers.builders import (
    a_command,
    a_group,
    a_task,
    fact,
    observed,
    stored_job,
)
from volcano.api.kinds import COMMAND, JOB, PERSISTENT_VOLUME_CLAIM, POD_GROUP
from volcano.api.objects import JsonObject
from volcano.controllers.effects import (
    Create,
    CreateMany,
    Delete,
    Effect,
    Patch,
    Record,
    RemovePods,
    merge_diff,
)
from volcano.controllers.job.pods import JobPods
from volcano.controllers.job.reconcile import Plan, reconcile, terminate

T = TypeVar("T")
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner)
)


def of(kind: type[T], effects: Sequence[Effect]) -> list[T]:
    return [effect for effect in effects if isinstance(effect, kind)]


def status_written(plan: Plan) -> JsonObject:
    writes = [e for e in of(Patch, plan.effects) if e.kind == JOB and e.subresource == "status"]
    return dict(writes[0].patch["status"]) if writes else {}


def phase_written(plan: Plan) -> str | None:
    return (status_written(plan).get("state") or {}).get("phase")


def created_pods(plan: Plan) -> list[JsonObject]:
    return [pod for effect in of(CreateMany, plan.effects) for pod in effect.objects]


def names(pods: list[JsonObject]) -> list[str]:
    return [pod["metadata"]["name"] for pod in pods]


def test_new_job_gets_a_phase_and_a_group_but_no_pods() -> None:
    plan = reconcile(observed(stored_job(a_task(replicas=2), minAvailable=2), pod_group=None))
    assert phase_written(plan) == "Pending"
    assert status_written(plan)["minAvailable"] == 2
    (create,) = of(Create, plan.effects)
    assert create.kind == POD_GROUP
    assert create.obj["metadata"]["name"] == "j-uid-j"
    assert not created_pods(plan)


def test_group_that_waits_holds_back_the_pods() -> None:
    job = stored_job(phase="Pending", minAvailable=1)
    assert not created_pods(reconcile(observed(job, pod_group=a_group(job, "Pending"))))


def test_missing_pods_are_made_under_their_own_names() -> None:
    job = stored_job(a_task(replicas=4), phase="Pending", minAvailable=4)
    plan = reconcile(observed(job, fact(0, "Pending"), fact(2, "Pending", terminating=True)))
    assert names(created_pods(plan)) == ["j-work-1", "j-work-3"]


def test_surplus_pods_are_removed_on_purpose() -> None:
    job = stored_job(a_task(replicas=1), phase="Running", minAvailable=1)
    (remove,) = of(RemovePods, reconcile(observed(job, fact(0), fact(1))).effects)
    assert remove.pods == (("j-work-1", "uid-j-work-1"),)


def test_looking_twice_at_a_settled_job_changes_nothing() -> None:
    job = stored_job(a_task(replicas=1), phase="Running", minAvailable=1)
    first = reconcile(observed(job, fact(0)))
    job["status"] |= status_written(first)
    group = a_group(job)
    group["spec"] = of(Patch, first.effects)[-1].patch["spec"]
    assert reconcile(observed(job, fact(0), pod_group=group)).effects == ()


@pytest.mark.parametrize("phase", ["Completed", "Failed", "Aborted", "Terminating"])
def test_stopped_job_keeps_only_pods_that_ended(phase: str) -> None:
    job = stored_job(a_task(replicas=3), phase=phase)
    plan = reconcile(observed(job, fact(0, "Succeeded"), fact(1), fact(2, "Failed")))
    (remove,) = of(RemovePods, plan.effects)
    assert [name for name, _ in remove.pods] == ["j-work-1"]
    assert [effect.kind for effect in of(Delete, plan.effects)] == [POD_GROUP]
    assert not created_pods(plan)


@pytest.mark.parametrize(
    ("phase", "pods", "to"),
    [
        ("Aborting", [fact(0, "Failed")], "Aborted"),
        ("Completing", [fact(0, "Succeeded")], "Completed"),
        ("Terminating", [], "Terminated"),
        ("Terminating", [fact(0, terminating=True)], None),
        ("Aborting", [fact(0)], None),
    ],
)
def test_ending_waits_for_the_last_pod(phase: str, pods: list[Any], to: str | None) -> None:
    assert phase_written(reconcile(observed(stored_job(phase=phase), *pods))) == to


def test_action_writes_the_phase_and_leaves_the_killing_to_it() -> None:
    policies = [{"action": "RestartJob", "event": "PodFailed"}]
    job = stored_job(a_task(replicas=2), phase="Running", policies=policies)
    plan = reconcile(observed(job, fact(0, "Failed"), fact(1)))
    status = status_written(plan)
    assert status["state"]["phase"] == "Restarting"
    assert status["state"]["message"] == "pod j-work-0 failed with exit code 1"
    assert (status["version"], status["retryCount"]) == (1, 1)
    assert not of(RemovePods, plan.effects)
    assert of(Record, plan.effects)[0].message == "Start to execute action RestartJob "


@pytest.mark.parametrize(
    ("reason", "removed"), [("RestartJob", [0, 1]), ("ResumeJob", [1]), ("RestartPod", [])]
)
def test_restarting_removes_the_pods_of_the_past(reason: str, removed: list[int]) -> None:
    job = stored_job(a_task(replicas=2), phase="Restarting", status={"version": 1})
    job["status"]["state"]["reason"] = reason
    plan = reconcile(observed(job, fact(0, "Failed"), fact(1)))
    gone = [name for effect in of(RemovePods, plan.effects) for name, _ in effect.pods]
    assert gone == [f"j-work-{index}" for index in removed]
    assert [e.kind for e in of(Delete, plan.effects)] == [POD_GROUP]


def test_group_of_an_earlier_run_is_replaced() -> None:
    job = stored_job(phase="Pending", status={"version": 2})
    plan = reconcile(observed(job, pod_group=a_group(job, version=1)))
    assert [e.kind for e in of(Delete, plan.effects)] == [POD_GROUP]
    (create,) = of(Create, plan.effects)
    assert create.obj["metadata"]["annotations"]["volcano.sh/job-version"] == "2"


def test_command_is_marked_in_the_status_it_leads_to_and_removed() -> None:
    plan = reconcile(observed(stored_job(phase="Running"), commands=(a_command("AbortJob"),)))
    assert status_written(plan)["controlledResources"] == {"command": "uid-command"}
    kinds = [type(effect) for effect in plan.effects]
    assert kinds.index(Patch) < kinds.index(Delete)


def test_command_without_effect_says_so_and_is_removed() -> None:
    job = stored_job(phase="Completed")
    plan = reconcile(observed(job, commands=(a_command("ResumeJob"),)))
    assert [e.kind for e in of(Delete, plan.effects)] == [COMMAND]
    assert "no effect" in of(Record, plan.effects)[0].message


def test_job_on_its_way_out_is_left_alone() -> None:
    job = stored_job(phase="Running")
    job["metadata"]["deletionTimestamp"] = "2023-11-14T22:13:20Z"
    assert reconcile(observed(job)).effects == ()


@pytest.mark.parametrize(
    ("job", "look", "reason", "text"),
    [
        (stored_job(plugins={"mpi": []}), {}, "PluginError", "failed to get plugin mpi"),
        (stored_job(queue="q"), {"queue": None}, "PodGroupError", "queue 'q'"),
        (
            stored_job(volumes=[{"mountPath": "/d", "volumeClaimName": "data"}]),
            {},
            "PVCError",
            "claim data (spec.volumes[0]) does not exist",
        ),
    ],
)
def test_what_a_job_waits_for_is_told_once(
    job: JsonObject, look: dict[str, Any], reason: str, text: str
) -> None:
    plan = reconcile(observed(job, **look))
    (note,) = of(Record, plan.effects)
    assert (note.type, note.reason) == ("Warning", reason)
    assert text in note.message
    assert phase_written(plan) == "Pending"
    job["status"] |= status_written(plan)
    assert not of(Record, reconcile(observed(job, **look)).effects)


def test_claim_is_made_once_under_a_name_that_follows_from_the_job() -> None:
    volume = {"mountPath": "/d", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}
    job = stored_job(phase="Pending", volumes=[volume])
    first, again = (reconcile(observed(job)) for _ in range(2))
    claims = [
        [e.obj["metadata"]["name"] for e in of(Create, plan.effects)] for plan in (first, again)
    ]
    assert claims[0] == claims[1]
    assert claims[0][0].startswith("j-pvc-")
    written = [e.patch for e in of(Patch, first.effects) if "volumes" in e.patch.get("spec", {})]
    assert written[0]["spec"]["volumes"][0]["volumeClaimName"] == claims[0][0]
    settled = reconcile(observed(job, claims=frozenset(claims[0])))
    assert not [e for e in of(Create, settled.effects) if e.kind == PERSISTENT_VOLUME_CLAIM]


@pytest.mark.parametrize(
    ("iteration", "pods", "starts"),
    [
        ("", [fact(0, task="a"), fact(0, task="b", phase="Pending")], False),
        ("any", [fact(0, task="a"), fact(0, task="b", phase="Pending")], True),
        ("", [fact(0, task="a", phase="Succeeded"), fact(0, task="b")], True),
        ("", [fact(0, task="a", ready=False), fact(0, task="b")], False),
    ],
)
def test_dependencies_hold_back_creation(iteration: str, pods: list[Any], starts: bool) -> None:
    needs = {"name": ["a", "b"], "iteration": iteration}
    tasks = [a_task(name, minAvailable=1) for name in ("a", "b")]
    job = stored_job(*tasks, a_task("work", dependsOn=needs), phase="Running")
    assert names(created_pods(reconcile(observed(job, *pods)))) == ["j-work-0"] * starts


def test_waiting_group_is_told_once_per_text() -> None:
    job = stored_job(phase="Pending", minAvailable=1)
    group = a_group(job, "Pending")
    group["status"]["conditions"] = [
        {"type": "Unschedulable", "status": "True", "message": "no room"},
    ]
    first = reconcile(observed(job, pod_group=group))
    assert of(Record, first.effects)[0].message == "PodGroup d:j unschedulable, reason: no room"
    assert not of(Record, reconcile(observed(job, pod_group=group, told=first.told)).effects)


def test_giving_up_terminates_with_the_reason() -> None:
    plan = terminate(observed(stored_job(phase="Pending")), "refused")
    assert status_written(plan)["state"]["phase"] == "Terminating"
    assert status_written(plan)["state"]["message"] == "refused"


@given(JSON, JSON)
def test_merge_diff_leads_from_one_object_to_the_other(one: Any, two: Any) -> None:
    old, new = {"x": one, "same": 1}, {"x": _without_nulls(two), "same": 1}
    old = _without_nulls(old)
    assert _merged(old, merge_diff(old, new)) == new


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    return "none" if value is None else value


def _merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result


FACTS = st.lists(
    st.builds(
        fact,
        st.integers(0, 3),
        st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
        terminating=st.booleans(),
        restarts=st.integers(0, 2),
    ),
    max_size=12,
)


@given(FACTS)
def test_totals_are_those_of_the_newest_facts_in_any_order_and_repetition(facts: list[Any]) -> None:
    newest = {found.name: found for found in facts}
    running = JobPods.of([*facts, *newest.values(), *newest.values()])
    assert running.counts() == JobPods.of(newest.values()).counts()
    assert running.by_task() == JobPods.of(reversed(newest.values())).by_task()
    for found in newest.values():
        running.remove(found)
    assert not running.tasks


@given(FACTS, st.sampled_from(["", "Pending", "Running", "Restarting", "Aborting", "Completed"]))
def test_no_pod_is_made_twice_or_made_and_removed(facts: list[Any], phase: str) -> None:
    newest = {found.name: found for found in facts}
    plan = reconcile(observed(stored_job(a_task(replicas=3), phase=phase), *newest.values()))
    made = names(created_pods(plan))
    removed = {name for effect in of(RemovePods, plan.effects) for name, _ in effect.pods}
    assert len(made) == len(set(made))
    assert not set(made) & (set(newest) | removed)
    assert removed <= set(newest)
