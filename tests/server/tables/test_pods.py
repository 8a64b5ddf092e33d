"""READY, STATUS and RESTARTS of pods in every state people ask about."""

import pytest

from volcano.server.tables import pods

NOW = 1_767_225_900.0  # 2026-01-01T00:05:00Z
START = "2026-01-01T00:00:00Z"


def pod(phase: str, *statuses, init=(), init_statuses=(), conditions=(), **parts):
    names = [one["name"] for one in statuses] or ["main"]
    return {
        "metadata": {"name": "p", "creationTimestamp": START, **parts.pop("metadata", {})},
        "spec": {
            "containers": [{"name": name} for name in names],
            "initContainers": list(init),
            **parts.pop("spec", {}),
        },
        "status": {
            "phase": phase,
            "containerStatuses": list(statuses),
            "initContainerStatuses": list(init_statuses),
            "conditions": [{"type": type_, "status": "True"} for type_ in conditions],
            **parts.pop("status", {}),
        },
    }


def status(name: str = "main", *, ready: bool = False, restarts: int = 0, last=None, **state):
    found = {"name": name, "ready": ready, "restartCount": restarts, "state": state}
    if last:
        found["lastState"] = {"terminated": {"finishedAt": last}}
    return found


RUNNING = {"startedAt": START}


def waiting(reason: str, name: str = "main", **more):
    return status(name, waiting={"reason": reason}, **more)


def ended(code: int = 0, reason: str = "", name: str = "main", signal: int = 0, **more):
    terminated = {"exitCode": code, "reason": reason, "signal": signal}
    return status(name, terminated=terminated, **more)


def sidecar(name: str):
    return {"name": name, "restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("shown", "obj"),
    [
        pytest.param("0/1 Pending 0", pod("Pending"), id="pending"),
        pytest.param(
            "0/1 ContainerCreating 0",
            pod("Pending", waiting("ContainerCreating")),
            id="creating",
        ),
        pytest.param(
            "1/1 Running 0", pod("Running", status(ready=True, running=RUNNING)), id="running"
        ),
        pytest.param(
            "1/2 Running 0",
            pod(
                "Running",
                status("a", ready=True, running=RUNNING),
                status("b", running=RUNNING),
            ),
            id="one_not_ready",
        ),
        pytest.param(
            "0/1 CrashLoopBackOff 3 (2m ago)",
            pod(
                "Running",
                waiting("CrashLoopBackOff", restarts=3, last="2026-01-01T00:03:00Z"),
            ),
            id="crash_loop",
        ),
        pytest.param(
            "0/2 Error 3 (60s ago)",
            pod(
                "Running",
                ended(1, "Error", "a", restarts=1, last="2026-01-01T00:04:00Z"),
                ended(1, "Error", "b", restarts=2, last="2026-01-01T00:01:00Z"),
            ),
            id="restarts_add_up_and_the_last_counts",
        ),
        pytest.param("0/1 Completed 0", pod("Succeeded", ended(0, "Completed")), id="completed"),
        pytest.param("0/1 OOMKilled 0", pod("Failed", ended(137, "OOMKilled")), id="oom"),
        pytest.param("0/1 ExitCode:3 0", pod("Failed", ended(3)), id="exit_code"),
        pytest.param("0/1 Signal:9 0", pod("Failed", ended(137, signal=9)), id="signal"),
        pytest.param(
            "0/1 Evicted 0", pod("Failed", status={"reason": "Evicted"}), id="reason_of_the_pod"
        ),
        pytest.param(
            "1/2 NotReady 0",
            pod(
                "Running",
                ended(0, "Completed", "a"),
                status("b", ready=True, running=RUNNING),
            ),
            id="one_completed",
        ),
        pytest.param(
            "1/2 Running 0",
            pod(
                "Running",
                ended(0, "Completed", "a"),
                status("b", ready=True, running=RUNNING),
                conditions=["Ready"],
            ),
            id="one_completed_but_ready",
        ),
        pytest.param(
            "0/1 SchedulingGated 0",
            pod(
                "Pending",
                status={"conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]},
            ),
            id="gated",
        ),
        pytest.param(
            "0/1 Init:1/2 0",
            pod(
                "Pending",
                init=[{"name": "i0"}, {"name": "i1"}],
                init_statuses=[ended(0, "Completed", "i0"), status("i1", running=RUNNING)],
            ),
            id="init_running",
        ),
        pytest.param(
            "0/1 Init:0/1 0",
            pod(
                "Pending",
                init=[{"name": "i0"}],
                init_statuses=[waiting("PodInitializing", "i0")],
            ),
            id="init_waiting",
        ),
        pytest.param(
            "0/1 Init:CrashLoopBackOff 2",
            pod(
                "Pending",
                init=[{"name": "i0"}],
                init_statuses=[waiting("CrashLoopBackOff", "i0", restarts=2)],
            ),
            id="init_crash_loop",
        ),
        pytest.param(
            "0/1 Init:Error 0",
            pod("Pending", init=[{"name": "i"}], init_statuses=[ended(1, "Error", "i")]),
            id="init_error",
        ),
        pytest.param(
            "0/1 Init:ExitCode:2 0",
            pod("Pending", init=[{"name": "i"}], init_statuses=[ended(2, "", "i")]),
            id="init_exit_code",
        ),
        pytest.param(
            "0/1 PodInitializing 0",
            pod(
                "Pending",
                waiting("PodInitializing"),
                init=[{"name": "i"}],
                init_statuses=[ended(0, "Completed", "i")],
            ),
            id="init_done",
        ),
        pytest.param(
            "2/2 Running 1",
            pod(
                "Running",
                status(ready=True, running=RUNNING),
                init=[sidecar("s"), {"name": "i"}],
                init_statuses=[
                    {**status("s", ready=True, restarts=1, running=RUNNING), "started": True},
                    ended(0, "Completed", "i", restarts=5),
                ],
                conditions=["Initialized"],
            ),
            id="sidecar_counts_plain_init_does_not",
        ),
        pytest.param(
            "1/1 Terminating 0",
            pod(
                "Running",
                status(ready=True, running=RUNNING),
                metadata={"deletionTimestamp": START},
            ),
            id="terminating",
        ),
        pytest.param(
            "0/1 Completed 0",
            pod("Succeeded", ended(0, "Completed"), metadata={"deletionTimestamp": START}),
            id="deleted_after_its_end",
        ),
        pytest.param(
            "0/1 Unknown 0",
            pod(
                "Running",
                metadata={"deletionTimestamp": START},
                status={"reason": "NodeLost"},
            ),
            id="node_lost",
        ),
        pytest.param("0/0  0", {"metadata": {"name": "p"}}, id="empty"),
    ],
)
def test_ready_status_restarts(shown: str, obj) -> None:
    assert " ".join(str(cell) for cell in pods.cells(obj, NOW)[1:4]) == shown


def test_wide_columns() -> None:
    obj = pod(
        "Running",
        spec={"nodeName": "n1", "readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}]},
        status={
            "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd::1"}],
            "nominatedNodeName": "n2",
            "conditions": [{"type": "a", "status": "True"}],
        },
    )
    assert pods.cells(obj, NOW)[4:] == ["5m", "10.0.0.1", "n1", "n2", "1/2"]
    assert pods.cells(pod("Pending"), NOW)[5:] == ["<none>"] * 4


@pytest.mark.parametrize(
    ("phase", "reasons"), [("Running", []), ("Succeeded", ["Succeeded"]), ("Failed", ["Failed"])]
)
def test_row_conditions_mark_finished_pods(phase: str, reasons: list[str]) -> None:
    assert [one["reason"] for one in pods.row_conditions(pod(phase))] == reasons
