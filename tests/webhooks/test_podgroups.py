"""PodGroups: scenario list of spec admission 16.7."""

from typing import Any

import pytest

from tests.webhooks.world import create, namespace, operations, queue, verdict
from volcano.api import kinds, wellknown
from volcano.api.objects import JsonObject
from volcano.webhooks import podgroups

BOTH = {"highestTierAllowed": 1, "highestTierName": "tier"}
TIERS = "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology"


def group(in_namespace: str = "test", **spec: Any) -> JsonObject:
    return {"metadata": {"name": "a", "namespace": in_namespace}, "spec": spec}


def with_queue(name: str, value: str) -> Any:
    return namespace(name, **{wellknown.QUEUE_NAME: value})


DEFAULTS = {
    "own queue": (group(queue="custom"), None),
    "queue of the namespace": (group(queue="default"), "ns-queue"),
    "empty queue of the namespace": (group("empty", queue="default"), ""),
    "namespace says nothing": (group("plain", queue="default"), None),
    "namespace is not there": (group("gone", queue="default"), None),
    "no queue": (group(), None),
}


@pytest.mark.parametrize(("obj", "value"), DEFAULTS.values(), ids=DEFAULTS)
def test_queue_of_the_namespace(obj: JsonObject, value: str | None) -> None:
    stored = (with_queue("test", "ns-queue"), with_queue("empty", ""), namespace("plain"))
    found = operations(podgroups.mutating(), create(kinds.POD_GROUP, obj), *stored)
    expected = [{"op": "add", "path": "/spec/queue", "value": value}]
    assert found == ([] if value is None else expected)


CHECKS = {
    "open queue": (group(queue="open"), []),
    "root queue": (group(queue="root"), []),
    "no queue": (group(), []),
    "subgroup by name": (group(subGroupPolicy=[{"networkTopology": {"highestTierName": "a"}}]), []),
    "subgroup by number": (
        group(subGroupPolicy=[{"networkTopology": {"highestTierAllowed": 0}}]),
        [],
    ),
    "closed queue": (
        group(queue="closed"),
        ["can only submit PodGroup to queue with state `Open`, queue `closed` status is `Closed`."],
    ),
    "unknown queue": (
        group(queue="gone"),
        ['unable to find queue: queue.scheduling.volcano.sh "gone" not found'],
    ),
    "subgroup by both": (
        group(subGroupPolicy=[{"name": "s", "networkTopology": BOTH}]),
        [f"in subGroupPolicy 's': {TIERS}"],
    ),
    "group by both": (group(networkTopology=BOTH), [TIERS]),
    "two faults": (
        group(queue="gone", networkTopology=BOTH),
        ["unable to find queue", "; ", TIERS],
    ),
}


@pytest.mark.parametrize(("obj", "parts"), CHECKS.values(), ids=CHECKS)
def test_checks(obj: JsonObject, parts: list[str]) -> None:
    stored = (queue("open"), queue("closed", state="Closed"), queue("root"), queue("child", "root"))
    found = verdict(podgroups.validating(), create(kinds.POD_GROUP, obj), *stored)
    assert bool(found) == bool(parts)
    for part in parts:
        assert part in found
