"""The table of phases and where counting pods leads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.controllers.builders import a_spec
from volcano.api.batch import JobPhase, JobSpec
from volcano.controllers.job.machine import (
    ENDING,
    FINISHED,
    STOPPED,
    TABLE,
    Action,
    Counts,
    after_counting,
    after_restarting,
)

P = JobPhase


@pytest.mark.parametrize("phase", [P.PENDING, P.RUNNING, P.RESTARTING])
@pytest.mark.parametrize(
    ("action", "to"),
    [
        (Action.ABORT_JOB, P.ABORTING),
        (Action.TERMINATE_JOB, P.TERMINATING),
        (Action.COMPLETE_JOB, P.COMPLETING),
        (Action.RESTART_JOB, P.RESTARTING),
        (Action.RESTART_POD, P.RESTARTING),
    ],
)
def test_action_on_a_job_that_lives(phase: JobPhase, action: Action, to: JobPhase) -> None:
    enter = TABLE[phase][action]
    assert enter.phase is to
    assert enter.retry == (to is P.RESTARTING and phase is not P.RESTARTING)
    assert enter.full == (action is not Action.RESTART_POD)


@pytest.mark.parametrize("phase", [P.ABORTING, P.ABORTED])
def test_only_an_aborted_job_can_be_resumed_and_that_is_no_retry(phase: JobPhase) -> None:
    assert list(TABLE[phase]) == [Action.RESUME_JOB]
    assert not TABLE[phase][Action.RESUME_JOB].retry


@pytest.mark.parametrize("phase", sorted(FINISHED))
def test_finished_is_for_good(phase: JobPhase) -> None:
    assert not TABLE[phase]


def test_every_phase_is_in_the_table_and_no_sync_is() -> None:
    assert set(TABLE) == set(JobPhase)
    assert all(Action.SYNC not in row for row in TABLE.values())
    assert set(ENDING.values()) <= STOPPED


TWO = a_spec((2, None), min_available=2)
FIVE = a_spec((5, None), min_available=3)
MIN_SUCCESS = a_spec((5, None), min_available=5, min_success=2)
ROLES = a_spec((2, 2), (3, 1), min_available=3)


@pytest.mark.parametrize(
    ("phase", "spec", "counts", "to"),
    [
        pytest.param(P.PENDING, TWO, Counts(pending=1, running=1), P.PENDING, id="too-few"),
        pytest.param(P.PENDING, TWO, Counts(running=2), P.RUNNING, id="gang-runs"),
        pytest.param(P.PENDING, TWO, Counts(succeeded=1, failed=1), P.RUNNING, id="ended-counts"),
        pytest.param(P.PENDING, a_spec((1, 0)), Counts(), P.RUNNING, id="gang-of-none"),
        pytest.param(P.RUNNING, a_spec(), Counts(), P.RUNNING, id="scaled-to-zero-stays"),
        pytest.param(P.RUNNING, TWO, Counts(succeeded=2), P.COMPLETED, id="all-succeeded"),
        pytest.param(P.RUNNING, TWO, Counts(succeeded=1, failed=1), P.FAILED, id="one-failed"),
        pytest.param(P.RUNNING, FIVE, Counts(succeeded=3, failed=2), P.COMPLETED, id="enough"),
        pytest.param(P.RUNNING, FIVE, Counts(pending=3, running=2), P.PENDING, id="3-of-5-wait"),
        pytest.param(P.RUNNING, FIVE, Counts(pending=2, running=3), P.RUNNING, id="2-of-5-wait"),
        pytest.param(
            P.RUNNING, MIN_SUCCESS, Counts(succeeded=2, running=3), P.COMPLETED, id="min-success"
        ),
        pytest.param(
            P.RUNNING,
            a_spec((2, None), min_available=0, min_success=2),
            Counts(succeeded=1, failed=1),
            P.FAILED,
            id="min-success-missed",
        ),
    ],
)
def test_counting(phase: JobPhase, spec: JobSpec, counts: Counts, to: JobPhase) -> None:
    assert after_counting(phase, spec, counts, {}) is to


@pytest.mark.parametrize(
    ("by_task", "to"), [({"t0": 1, "t1": 3}, P.FAILED), ({"t0": 2, "t1": 1}, P.COMPLETED)]
)
def test_each_role_needs_its_own_minimum(by_task: dict[str, int], to: JobPhase) -> None:
    good = sum(by_task.values())
    counts = Counts(succeeded=good, failed=5 - good)
    assert after_counting(P.RUNNING, ROLES, counts, by_task) is to


@pytest.mark.parametrize(
    ("retries", "terminating", "resumed", "to"),
    [
        pytest.param(1, 0, False, P.PENDING, id="starts-over"),
        pytest.param(1, 2, False, P.RESTARTING, id="waits-for-its-pods-to-go"),
        pytest.param(3, 2, False, P.FAILED, id="retries-used-up"),
        pytest.param(3, 0, True, P.PENDING, id="a-resume-is-no-retry"),
    ],
)
def test_restarting(retries: int, terminating: int, resumed: bool, to: JobPhase) -> None:
    found = after_restarting(
        a_spec((2, None), min_available=2, max_retry=3),
        retry_count=retries,
        min_available=2,
        terminating=terminating,
        resumed=resumed,
    )
    assert found is to


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5) | st.none()), max_size=3),
    st.integers(0, 6),
    st.lists(st.integers(0, 4), min_size=6, max_size=6),
)
def test_a_job_ends_only_when_its_pods_did(
    tasks: list[tuple[int, int | None]], gang: int, numbers: list[int]
) -> None:
    counts = Counts(*numbers)
    phase = after_counting(P.RUNNING, a_spec(*tasks, min_available=gang), counts, {})
    if phase in FINISHED:
        assert counts.succeeded + counts.failed == sum(replicas for replicas, _ in tasks)
