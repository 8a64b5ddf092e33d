"""What the API shows for the states of a pod's containers."""

import pytest

from tests.node.worlds import NOW, container, ended, pod, running, sidecar
from volcano.base.clock import timestamp
from volcano.node.plan import Run, decide
from volcano.node.status import Place, pod_status, qos_class, status_change

PLACE = Place("192.0.2.1", "192.0.2.9")


def status_of(world, runs):
    made = pod(**world)
    return pod_status(made, runs, decide(made, runs, NOW), NOW, PLACE)


def conditions_of(status):
    return {c["type"]: (c["status"], c["reason"]) for c in status["conditions"]}


def test_running():
    status = status_of({}, {"main": running(NOW - 5)})
    assert (status["phase"], status["podIP"], status["hostIP"]) == (
        "Running",
        "192.0.2.9",
        "192.0.2.1",
    )
    assert conditions_of(status) == {
        "PodScheduled": ("True", None),
        "PodReadyToStartContainers": ("True", None),
        "Initialized": ("True", None),
        "Ready": ("True", None),
        "ContainersReady": ("True", None),
    }
    (shown,) = status["containerStatuses"]
    assert shown["ready"]
    assert shown["state"] == {"running": {"startedAt": timestamp(NOW - 5)}}


@pytest.mark.parametrize(
    ("code", "phase", "reason", "ready_reason"),
    [(0, "Succeeded", "Completed", "PodCompleted"), (3, "Failed", "Error", "PodFailed")],
    ids=["well", "badly"],
)
def test_ended(code, phase, reason, ready_reason):
    status = status_of({}, {"main": ended(code)})
    assert status["phase"] == phase
    state = status["containerStatuses"][0]["state"]["terminated"]
    assert (state["exitCode"], state["reason"]) == (code, reason)
    assert conditions_of(status)["Ready"] == ("False", ready_reason)


def test_back_off_shows_the_last_end():
    status = status_of({"restartPolicy": "Always"}, {"main": ended(7, level=2, restarts=2)})
    (shown,) = status["containerStatuses"]
    assert shown["restartCount"] == 2
    assert shown["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert shown["state"]["waiting"]["message"].startswith("back-off 20s restarting failed")
    assert shown["lastState"]["terminated"]["exitCode"] == 7


def test_waiting_says_why():
    runs = {"main": Run(waiting=("CreateContainerConfigError", "no map"), retry_at=NOW + 1)}
    (shown,) = status_of({}, runs)["containerStatuses"]
    assert shown["state"] == {
        "waiting": {"reason": "CreateContainerConfigError", "message": "no map"}
    }


def test_init_containers_have_their_own_list():
    world = {"initContainers": [container("first"), sidecar()]}
    status = status_of(world, {"first": ended(0), "side": running()})
    assert [s["name"] for s in status["initContainerStatuses"]] == ["first", "side"]
    assert status["containerStatuses"][0]["state"]["waiting"]["reason"] == "PodInitializing"
    pending = status_of(world, {"first": running()})
    assert conditions_of(pending)["Initialized"] == ("False", "ContainersNotInitialized")


def test_only_differences_are_written():
    wanted = status_of({}, {"main": running()})
    assert status_change({}, wanted).keys() == wanted.keys()
    stored = {
        **wanted,
        "conditions": [
            {"type": "PodScheduled", "status": "True"},
            *({k: v for k, v in c.items() if v is not None} for c in wanted["conditions"]),
        ],
    }
    assert status_change(stored, wanted) == {}
    stored["conditions"][-1]["status"] = "False"
    assert [c["type"] for c in status_change(stored, wanted)["conditions"]] == ["ContainersReady"]


def test_a_condition_keeps_its_time_while_it_holds():
    since = timestamp(NOW - 500)
    world = {
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": since}],
        }
    }
    times = {
        c["type"]: c["lastTransitionTime"]
        for c in status_of(world, {"main": running()})["conditions"]
    }
    assert times["Ready"] == since
    assert times["ContainersReady"] == timestamp(NOW)


@pytest.mark.parametrize(
    ("resources", "qos"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"nvidia.com/gpu": 1}}, "BestEffort"),
    ],
    ids=["nothing", "request", "cpu only", "both", "gpu only"],
)
def test_qos(resources, qos):
    assert qos_class(pod(containers=[container(resources=resources)])) == qos
