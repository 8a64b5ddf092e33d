"""vcctl queue: what is asked of the API and what is printed."""

import json

import pytest

from tests.cli.conftest import QUEUES, FakeApi, call, ok

GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/{}/podgroups"
HEADER = (
    "Name                     Weight  State   Parent  Inqueue Pending Running Unknown Completed\n"
)


def add_queue(api: FakeApi, name: str, **spec) -> None:
    api.add(
        QUEUES,
        {"metadata": {"name": name}, "spec": {"weight": 1, **spec}, "status": {"state": "Open"}},
    )


def add_group(api: FakeApi, name: str, queue: str, phase: str) -> None:
    group = {"metadata": {"name": name}, "spec": {"queue": queue}, "status": {"phase": phase}}
    api.add(GROUPS.format("ns"), group)


def test_list_counts_pod_groups_by_phase(api: FakeApi) -> None:
    add_queue(api, "gold", weight=5, parent="root")
    for index, phase in enumerate(["Running", "Running", "Pending", "Inqueue", "Completed", "?"]):
        add_group(api, f"g{index}", "gold", phase)
    add_group(api, "lost", "unknown-queue", "Running")
    row = "gold                     5       Open    root    1       1       2       0       1"
    row += " " * 7 + "\n"
    assert ok(api, "queue", "list") == HEADER + row
    assert ok(api, "queue", "get", "-n", "gold") == HEADER + row
    assert ok(api, "queue", "get", "gold") == HEADER + row


def test_no_queues(api: FakeApi) -> None:
    assert ok(api, "queue", "list") == "No resources found\n"
    assert len(api.requests) == 1


def test_documents(api: FakeApi) -> None:
    add_queue(api, "gold")
    assert json.loads(ok(api, "queue", "get", "gold", "-o", "json"))["metadata"]["name"] == "gold"
    assert json.loads(ok(api, "queue", "list", "-o", "json"))["items"]


@pytest.mark.parametrize(
    ("flags", "name", "weight"),
    [([], "test", 1), (["-n", "gold", "-w", "7"], "gold", 7)],
    ids=["defaults", "flags"],
)
def test_create(api: FakeApi, flags: list[str], name: str, weight: int) -> None:
    assert ok(api, "queue", "create", *flags) == f"create queue {name} successfully\n"
    ((path, body),) = api.created()
    assert path == QUEUES
    assert body["spec"] == {"weight": weight}


@pytest.mark.parametrize(("action", "command"), [("open", "OpenQueue"), ("close", "CloseQueue")])
def test_open_and_close(api: FakeApi, action: str, command: str) -> None:
    add_queue(api, "gold")
    assert ok(api, "queue", "operate", "-n", "gold", "-a", action)
    ((path, body),) = api.created()
    assert path == "/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands"
    assert body["metadata"]["generateName"] == f"gold-{command.lower()}-"
    assert "namespace" not in body["metadata"]
    assert body["target"]["kind"] == "Queue"
    assert body["action"] == command


def test_update_weight(api: FakeApi) -> None:
    add_queue(api, "gold")
    ok(api, "queue", "operate", "-n", "gold", "-a", "update", "-w", "9")
    assert api.objects[f"{QUEUES}/gold"]["spec"]["weight"] == 9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["get"], "get queue: name is mandatory to get the", id="get without name"),
        pytest.param(["delete"], "delete queue: queue name must be specified", id="delete"),
        pytest.param(["operate"], "operate queue: queue name must be specified", id="operate"),
        pytest.param(["operate", "-n", "q"], "action can not be null", id="no action"),
        pytest.param(
            ["operate", "-n", "q", "-a", "x"],
            "action x invalid, valid actions are open, close and update",
            id="unknown action",
        ),
        pytest.param(
            ["operate", "-n", "q", "-a", "update"],
            "when update queue q, weight must be specified, the value must be greater than 0",
            id="update without weight",
        ),
        pytest.param(
            ["delete", "-n", "q"], 'queues.scheduling.volcano.sh "q" not found', id="unknown queue"
        ),
    ],
)
def test_refusals(api: FakeApi, arguments: list[str], message: str) -> None:
    result = call(api, "queue", *arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("Failed to ")
    assert message in result.stderr
