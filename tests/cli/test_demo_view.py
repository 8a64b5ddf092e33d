"""What the demo says, from states: no server, no terminal."""

import io
from dataclasses import replace

import pytest

from volcano.cli.demo import wants_picture
from volcano.cli.demo_view import (
    DemoState,
    PodState,
    changes,
    failure_reason,
    gpu_models,
    picture,
    progress_of,
    result_line,
    state_of,
)

WAITING = PodState("j-a-0", "a", "Pending", reason="Unschedulable: no GPU is free")
RUNNING = PodState("j-a-0", "a", "Running", "node-t4", "Tesla-T4")
START = DemoState(queue="default", queue_state="Open", job="j", job_phase="Pending")


@pytest.mark.parametrize(
    ("before", "now", "want"),
    [
        pytest.param(
            DemoState(), START, ["queue default: Open", "job j: Pending"], id="first look"
        ),
        pytest.param(START, START, [], id="nothing new"),
        pytest.param(
            START,
            replace(START, group_phase="Inqueue", members_needed=2),
            ["pod group: Inqueue, 2 members needed"],
            id="pod group",
        ),
        pytest.param(
            START,
            replace(START, pods=(WAITING,)),
            ["pod j-a-0: Pending", "pod j-a-0 waits: Unschedulable: no GPU is free"],
            id="waiting pod",
        ),
        pytest.param(
            replace(START, pods=(WAITING,)),
            replace(START, pods=(RUNNING,)),
            ["pod j-a-0: Running on node node-t4 (GPU Tesla-T4)"],
            id="pod starts",
        ),
        pytest.param(
            replace(START, log=("one",)),
            replace(START, log=("one", "two"), job_phase="Completed"),
            ["two", "job j: Completed"],
            id="log before the end",
        ),
    ],
)
def test_changes(before: DemoState, now: DemoState, want: list[str]) -> None:
    assert changes(before, now) == want


@pytest.mark.parametrize(
    ("log", "want"),
    [
        ([], 0.0),
        (["epoch 1/4", "epoch 2/4 loss 1", "other"], 0.5),
        (["9/3"], 1.0),
        (["1/0"], 0.0),
    ],
)
def test_progress(log: list[str], want: float) -> None:
    assert progress_of(log) == want


def test_state_from_objects() -> None:
    node = {"metadata": {"name": "n", "labels": {"nvidia.com/gpu.product": "Tesla-V100"}}}
    pod = {
        "metadata": {"name": "j-a-0", "labels": {"volcano.sh/task-spec": "a"}},
        "spec": {"nodeName": "n"},
        "status": {"phase": "Running"},
    }
    models = gpu_models([node, {"metadata": {"name": "plain"}}])
    state = state_of(
        {"metadata": {"name": "j"}, "spec": {}, "status": {"state": {"phase": "Running"}}},
        {"metadata": {"name": "g"}, "spec": {"minMember": 2}, "status": {"phase": "Running"}},
        {"metadata": {"name": "default"}, "status": {"state": "Open"}},
        [pod],
        models,
        ["epoch 1/2"],
    )
    assert state.pods == (PodState("j-a-0", "a", "Running", "n", "Tesla-V100"),)
    assert (state.queue, state.queue_state, state.group_phase) == ("default", "Open", "Running")
    assert (state.members_needed, state.progress, state.ended) == (2, 0.5, False)


def test_state_before_anything_has_a_status() -> None:
    state = state_of({"metadata": {"name": "j"}, "spec": {}}, None, None, [], {}, [])
    assert state == DemoState(job="j")


@pytest.mark.parametrize(
    ("state", "want"),
    [
        pytest.param(
            replace(START, pods=(replace(RUNNING, phase="Failed"),)),
            "pod j-a-0 failed on node node-t4 (GPU Tesla-T4)",
            id="failed pod",
        ),
        pytest.param(
            replace(START, pods=(WAITING,)),
            "j-a-0: Unschedulable: no GPU is free",
            id="waiting pod",
        ),
        pytest.param(replace(START, job_phase="Aborted"), "the job is Aborted", id="phase"),
        pytest.param(DemoState(), "the job is without a phase", id="nothing"),
    ],
)
def test_failure_reason(state: DemoState, want: str) -> None:
    assert failure_reason(state) == want


def test_result_line() -> None:
    assert result_line(["accuracy 1", "accuracy 2", "end"]) == "accuracy 2"
    assert result_line([]) == ""


def test_picture_shows_everything() -> None:
    from rich.console import Console

    console = Console(width=100, file=io.StringIO(), force_terminal=False)
    state = replace(START, pods=(RUNNING, replace(WAITING, name="j-b-0")), log=("hello",))
    console.print(picture(state, 1.25, 100))
    text = console.file.getvalue()
    for part in ("job j", "queue default", "node-t4", "Tesla-T4", "no GPU is free", "hello"):
        assert part in text


@pytest.mark.parametrize(
    ("terminal", "environ", "want"),
    [
        pytest.param(True, {}, True, id="terminal"),
        pytest.param(False, {}, False, id="pipe"),
        pytest.param(True, {"CI": "true"}, False, id="CI"),
        pytest.param(True, {"NO_COLOR": "1"}, False, id="NO_COLOR"),
        pytest.param(True, {"TERM": "dumb"}, False, id="dumb"),
    ],
)
def test_picture_only_on_a_terminal(terminal: bool, environ: dict[str, str], want: bool) -> None:
    out = io.StringIO()
    out.isatty = lambda: terminal  # type: ignore[method-assign]
    assert wants_picture(out, environ) is want
