"""Queues by themselves: scenario lists of spec admission 16.8 and 16.9."""

import copy
from typing import Any

import pytest

from tests.webhooks.world import Stored, create, delete, message, operations, queue, update, verdict
from volcano.api import kinds, wellknown
from volcano.api.admission import Review
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.webhooks import Options, queues


def new(name: str = "new", parent: str = "", **more: Any) -> JsonObject:
    return queue(name, parent, **more)[1]


def hierarchy(path: str, weights: str) -> dict[str, str]:
    return {wellknown.HIERARCHY: path, wellknown.HIERARCHY_WEIGHTS: weights}


def add(path: str, value: Any) -> JsonObject:
    return {"op": "add", "path": path, "value": value}


DEFAULTS = {
    "weight given": (new(weight=1), [add("/spec/reclaimable", True)]),
    "nothing given": (new(), [add("/spec/reclaimable", True), add("/spec/weight", 1)]),
    "weight zero": (new(weight=0, reclaimable=True), [add("/spec/weight", 1)]),
    "all given": (new(weight=5, reclaimable=False), []),
    "hierarchy": (
        new(weight=1, reclaimable=True, annotations=hierarchy("a/b/c", "2/3/4")),
        [
            add("/metadata/annotations/volcano.sh~1hierarchy", "root/a/b/c"),
            add("/metadata/annotations/volcano.sh~1hierarchy-weights", "1/2/3/4"),
        ],
    ),
    "rooted hierarchy": (
        new(weight=1, reclaimable=True, annotations=hierarchy("rootless/a", "1/2")),
        [],
    ),
    "hierarchy without weights": (
        new(weight=1, reclaimable=True, annotations={wellknown.HIERARCHY: "a"}),
        [],
    ),
    "no spec": (
        {"metadata": {"name": "a"}},
        [add("/spec", {"reclaimable": True, "weight": 1})],
    ),
}


@pytest.mark.parametrize(("obj", "expected"), DEFAULTS.values(), ids=DEFAULTS)
def test_defaults(obj: JsonObject, expected: list[JsonObject]) -> None:
    assert operations(queues.mutating(), create(kinds.QUEUE, obj)) == expected


def test_hierarchy_annotations_are_written_into_a_copy() -> None:
    obj = new(annotations=hierarchy("a", "2"))
    patched = queues.mutating().admit(create(kinds.QUEUE, obj), Stored()).patched
    assert patched is not None
    assert patched["metadata"]["annotations"] == hierarchy("root/a", "1/2")
    assert obj["metadata"]["annotations"] == hierarchy("a", "2")


OWN = "requestBody.spec.deserved"
HIERARCHY = "requestBody.metadata.annotations: Invalid value"
CREATIONS = {
    "no state": (new(state=""), ""),
    "open": (new(), ""),
    "closed": (new(state="Closed"), ""),
    "wrong state": (
        new(state="wrong"),
        'requestBody.spec.state: Invalid value: "wrong": queue state must be in [Open Closed]',
    ),
    "deserved only": (new(deserved={"cpu": 1}), ""),
    "guarantee only": (
        new(guarantee={"resource": {"cpu": 1}}),
        f'{OWN}.cpu: Invalid value: "<nil>": deserved[cpu] must be >= guarantee[cpu]=1',
    ),
    "deserved over capability": (
        new(capability={"cpu": 1}, deserved={"cpu": 2}),
        f'{OWN}.cpu: Invalid value: "2": deserved[cpu]=2 must be <= capability[cpu]=1',
    ),
    "guarantee over deserved": (
        new(
            deserved={"cpu": 1, "memory": "1Gi"},
            guarantee={"resource": {"cpu": 1, "memory": "3Gi"}},
        ),
        (
            f'{OWN}.memory: Invalid value: "1Gi": deserved[memory]=1Gi must be >='
            " guarantee[memory]=3Gi"
        ),
    ),
    "guarantee over capability": (
        new(capability={"cpu": 1}, guarantee={"resource": {"cpu": 2}}),
        "must be >= guarantee[cpu]=2",
    ),
    "deserved beside capability": (
        new(capability={"cpu": 1}, deserved={"cpu": 1, "memory": "1Gi"}),
        "",
    ),
    "guarantee beside capability": (
        new(
            capability={"cpu": 1},
            deserved={"memory": "1Gi"},
            guarantee={"resource": {"memory": "1Gi"}},
        ),
        "",
    ),
    "guarantee without deserved": (
        new(deserved={"cpu": 1}, guarantee={"resource": {"memory": "1Gi"}}),
        "deserved[memory] must be >= guarantee[memory]=1Gi",
    ),
    "negative capability": (
        new(capability={"cpu": "-10"}),
        'requestBody.spec.capability.cpu: Invalid value: "-10": must be greater than or equal to 0',
    ),
    "negative deserved": (
        new(deserved={"cpu": -5}),
        'requestBody.spec.deserved.cpu: Invalid value: "-5": must be greater than or equal to 0',
    ),
    "negative guarantee": (
        new(guarantee={"resource": {"cpu": -2}}),
        (
            '[requestBody.spec.guarantee.resource.cpu: Invalid value: "-2":'
            f' must be greater than or equal to 0, {OWN}.cpu: Invalid value: "<nil>":'
            " deserved[cpu] must be >= guarantee[cpu]=-2]"
        ),
    ),
    "half a pod": (
        new(capability={"pods": "1500m"}),
        'requestBody.spec.capability.pods: Invalid value: "1500m": must be an integer',
    ),
    "half a gpu": (
        new(capability={"nvidia.com/gpu": "0.5"}),
        'capability.nvidia.com/gpu: Invalid value: "500m": must be an integer',
    ),
    "hierarchy": (new(annotations=hierarchy("root/a", "1/2.5e1")), ""),
    "hierarchy longer than weights": (
        new(annotations=hierarchy("a/b", "1/2/3")),
        (
            f'{HIERARCHY}: "a/b": volcano.sh/hierarchy must have the same length with'
            " volcano.sh/hierarchy-weights"
        ),
    ),
    "hierarchy shorter than weights": (
        new(annotations=hierarchy("root/a/b", "1/2/3/4")),
        "must have the same length",
    ),
    "negative weight": (
        new(annotations=hierarchy("root/a/b", "1/-1/3")),
        f'{HIERARCHY}: "1/-1/3": -1 in the 1/-1/3 must be larger than 0',
    ),
    "weight is a word": (
        new(annotations=hierarchy("root/a/b", "1/a/3")),
        "a in the 1/a/3 is invalid number: ",
    ),
    "hierarchy without weights": (
        new(annotations={wellknown.HIERARCHY: "a"}),
        " in the  is invalid number: ",
    ),
    "weights alone": (new(annotations={wellknown.HIERARCHY_WEIGHTS: "1"}), ""),
    "weight without end": (new(annotations=hierarchy("root/a", "NaN/Inf")), ""),
    "path through a queue": (
        new(annotations=hierarchy("root/node1", "1/2")),
        "root/node1 is not allowed to be in the sub path of root/node1/node2 of queue other",
    ),
    "path that only begins alike": (new(annotations=hierarchy("root/node", "1/2")), ""),
    "path below a queue": (new(annotations=hierarchy("root/node1/node2/node3", "1/2/3/4")), ""),
    "wrong type": (new(weight="x"), "cannot read the Queue: "),
}
OTHER = queue("other", annotations=hierarchy("root/node1/node2", "1/2/3"))


@pytest.mark.parametrize(("obj", "text"), CREATIONS.values(), ids=CREATIONS)
def test_creation(obj: JsonObject, text: str) -> None:
    found = verdict(queues.validating(Options()), create(kinds.QUEUE, obj), OTHER)
    assert (text in found) if text else found == ""


ROOT_FIXED = "root queue's resource attributes (capability, deserved, guarantee) cannot be modified"
UPDATES = {
    "closed": (new(), new(state="Closed"), ""),
    "opened": (new(state="Closed"), new(), ""),
    "to a wrong state": (new(), new(state="wrong"), "queue state must be in [Open Closed]"),
    "while closing": (new(state="Closing"), new(state="Closing", weight=2), ""),
    "root by weight": (new("root", weight=1), new("root", weight=2), ""),
    "root by capability": (new("root"), new("root", capability={"cpu": 1}), ROOT_FIXED),
    "root spelled otherwise": (
        new("root", deserved={"cpu": 1}),
        new("root", deserved={"cpu": "1000m"}),
        "",
    ),
}


@pytest.mark.parametrize(("before", "after", "text"), UPDATES.values(), ids=UPDATES)
def test_update(before: JsonObject, after: JsonObject, text: str) -> None:
    stored = (kinds.QUEUE, before)
    found = verdict(queues.validating(Options()), update(kinds.QUEUE, before, after), stored)
    assert (text in found) if text else found == ""


def test_the_root_queue_may_be_left_unprotected() -> None:
    before, after = new("root"), new("root", capability={"cpu": 1})
    check = queues.validating(Options(protect_root_queue=False))
    assert verdict(check, update(kinds.QUEUE, before, after), (kinds.QUEUE, before)) == ""


Stock = tuple[tuple[Kind, JsonObject], ...]
DELETIONS: dict[str, tuple[str, Stock, str]] = {
    "open": ("a", (queue("a"),), ""),
    "closed": ("a", (queue("a", state="Closed"),), ""),
    "default": ("default", (queue("default"),), "`default` queue can not be deleted"),
    "root": ("root", (queue("root"),), "`root` queue can not be deleted"),
    "unknown": ("a", (), 'queue.scheduling.volcano.sh "a" not found'),
    "one child": (
        "a",
        (queue("a"), queue("child-queue", "a")),
        "queue a can not be deleted because it has 1 child queues: child-queue",
    ),
    "two children": (
        "a",
        (queue("a"), queue("y", "a"), queue("x", "a")),
        "queue a can not be deleted because it has 2 child queues: x, y",
    ),
    "allocated pods": (
        "a",
        (queue("a", pods="1"),),
        "queue a cannot be deleted because it has allocated Pods: 1",
    ),
    "no allocated pods": ("a", (queue("a", pods="0"),), ""),
}


@pytest.mark.parametrize(("name", "stored", "text"), DELETIONS.values(), ids=DELETIONS)
def test_deletion(name: str, stored: Stock, text: str) -> None:
    check = queues.validating(Options(check_allocated_pods=True))
    assert verdict(check, delete(kinds.QUEUE, name), *stored) == text


def test_allocated_pods_are_not_looked_at_unless_asked() -> None:
    stored = queue("a", pods="1")
    assert verdict(queues.validating(Options()), delete(kinds.QUEUE, "a"), stored) == ""


def test_other_operations_are_refused() -> None:
    review = Review("CONNECT", kinds.QUEUE, "", "a", new(), None, create(kinds.QUEUE, new()).user)
    assert message(queues.mutating().admit(review, Stored())) == (
        "invalid operation `CONNECT`, expect operation to be `CREATE`"
    )
    assert message(queues.validating(Options()).admit(review, Stored())) == (
        "invalid operation `CONNECT`, expect operation to be `CREATE`, `UPDATE` or `DELETE`"
    )


def test_the_status_subresource_is_not_reviewed() -> None:
    obj = new(state="Closing")
    before = copy.deepcopy(obj)
    review = Review("UPDATE", kinds.QUEUE, "", "new", obj, before, _user(), subresource="status")
    assert queues.validating(Options()).admit(review, Stored()).refusal is None


def _user() -> Any:
    return create(kinds.QUEUE, new()).user
