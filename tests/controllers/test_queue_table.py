"""States of queues: every state with every action, with and without PodGroups."""

import pytest

from volcano.api.objects import JsonObject
from volcano.controllers.effects import Delete, Patch, Record
from volcano.controllers.queue import ObservedQueue, QueueAction, next_state, reconcile_queue

OPEN, CLOSE, SYNC = QueueAction.OPEN, QueueAction.CLOSE, QueueAction.SYNC


@pytest.mark.parametrize("in_use", [False, True])
@pytest.mark.parametrize(
    ("state", "action", "free", "used"),
    [
        ("", OPEN, "Open", "Open"),
        ("", CLOSE, "Closed", "Closing"),
        ("", SYNC, "Open", "Open"),
        ("Open", OPEN, "Open", "Open"),
        ("Open", CLOSE, "Closed", "Closing"),
        ("Open", SYNC, "Open", "Open"),
        ("Closed", OPEN, "Open", "Open"),
        ("Closed", CLOSE, "Closed", "Closed"),
        ("Closed", SYNC, "Closed", "Closed"),
        ("Closing", OPEN, "Open", "Open"),
        ("Closing", CLOSE, "Closed", "Closing"),
        ("Closing", SYNC, "Closed", "Closing"),
        ("Unknown", OPEN, "Open", "Open"),
        ("Unknown", CLOSE, "Closed", "Closing"),
        ("Unknown", SYNC, "Unknown", "Unknown"),
    ],
)
def test_next_state(state: str, action: QueueAction, free: str, used: str, in_use: bool) -> None:
    assert next_state(state, action, in_use=in_use) == (used if in_use else free)


def queue(name: str = "q", state: str = "Open", mark: str = "", parent: str = "p") -> JsonObject:
    annotations = {"volcano.sh/closed-by-parent": mark} if mark else {}
    return {
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"parent": parent},
        "status": {"state": state},
    }


def command(action: str) -> JsonObject:
    return {"metadata": {"name": "c", "namespace": "default", "uid": "u"}, "action": action}


def patches(o: ObservedQueue) -> list[JsonObject]:
    return [effect.patch for effect in reconcile_queue(o) if isinstance(effect, Patch)]


@pytest.mark.parametrize(
    ("own", "mark", "parent", "state", "new_mark"),
    [
        pytest.param("Open", "", "Closed", "Closed", "true", id="closed-with-its-parent"),
        pytest.param("Closed", "true", "Open", "Open", "false", id="opened-with-its-parent"),
        pytest.param("Closed", "", "Open", None, None, id="closed-by-its-user-stays"),
        pytest.param("Closed", "", "Closed", None, None, id="closed-before-stays-unmarked"),
        pytest.param("Open", "", "Open", None, None, id="nothing-to-do"),
    ],
)
def test_parent(own: str, mark: str, parent: str, state: str | None, new_mark: str | None) -> None:
    o = ObservedQueue(queue(state=own, mark=mark), queue("p", parent), in_use=False)
    found = patches(o)
    if state is None:
        assert found == []
    else:
        assert found == [
            {"metadata": {"annotations": {"volcano.sh/closed-by-parent": new_mark}}},
            {"status": {"state": state}},
        ]


def test_queue_without_parent_goes_below_root() -> None:
    o = ObservedQueue(queue(parent=""), None, in_use=False)
    assert patches(o) == [{"spec": {"parent": "root"}}]


@pytest.mark.parametrize(
    ("o", "text"),
    [
        (
            ObservedQueue(
                queue(state="Closed"), queue("p", "Closed"), False, (command("OpenQueue"),)
            ),
            "open the parent first",
        ),
        (ObservedQueue(queue("root"), None, False, (command("CloseQueue"),)), "never closed"),
        (ObservedQueue(queue(), queue("p"), False, (command("AbortJob"),)), "no action"),
    ],
    ids=["parent-is-closed", "root", "unknown-action"],
)
def test_refused_command_is_used_up_with_a_warning(o: ObservedQueue, text: str) -> None:
    effects = reconcile_queue(o)
    (note,) = [effect for effect in effects if isinstance(effect, Record)]
    assert note.type == "Warning"
    assert text in note.message
    assert [effect.name for effect in effects if isinstance(effect, Delete)] == ["c"]
    assert not [effect for effect in effects if isinstance(effect, Patch)]
