"""Queues among queues: the tree scenarios of spec admission 16.9."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webhooks.world import create, queue, update, verdict
from volcano.api import kinds
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.webhooks import Options, queues
from volcano.webhooks.queue_tree import queue_amounts

Stock = tuple[tuple[Kind, JsonObject], ...]


def new(name: str, parent: str = "", **spec: Any) -> JsonObject:
    return queue(name, parent, **spec)[1]


def guarantee(**resources: Any) -> dict[str, Any]:
    return {"guarantee": {"resource": resources}, "deserved": resources}


CHAIN = (queue("q1", "root"), queue("q2", "q1"))
STRUCTURE: dict[str, tuple[JsonObject, Stock, str]] = {
    "own parent": (new("a", "a"), (), "queue a cannot use itself as parent"),
    "unknown parent": (
        new("a", "gone"),
        (),
        'failed to get parent queue gone of queue a: queue.scheduling.volcano.sh "gone" not found',
    ),
    "unknown grandparent": (
        new("a", "p"),
        (queue("p", "gone"),),
        "failed to get parent queue gone of queue a",
    ),
    "leaf with pods": (
        new("a", "p"),
        (queue("p", pods="1"),),
        "queue p cannot be the parent queue of queue a because it has allocated Pods: 1",
    ),
    "leaf without pods": (new("a", "p"), (queue("p", pods="0"),), ""),
    "branch with pods": (new("a", "p"), (queue("p", pods="1"), queue("b", "p")), ""),
    "under root": (new("a", "root"), (), ""),
    "closed parent": (new("a", "p"), (queue("p", state="Closed"),), ""),
}


@pytest.mark.parametrize(("obj", "stored", "text"), STRUCTURE.values(), ids=STRUCTURE)
def test_structure(obj: JsonObject, stored: Stock, text: str) -> None:
    found = verdict(queues.validating(Options()), create(kinds.QUEUE, obj), *stored)
    assert (text in found) if text else found == ""


@pytest.mark.parametrize(("most", "text"), [(5, ""), (3, ""), (2, "depth of 2")])
def test_depth(most: int, text: str) -> None:
    check = queues.validating(Options(queue_depth_max=most))
    found = verdict(check, create(kinds.QUEUE, new("q3", "q2")), *CHAIN)
    assert (text in found) if text else found == ""


def test_a_queue_cannot_be_moved_below_itself() -> None:
    found = verdict(
        queues.validating(Options()),
        update(kinds.QUEUE, CHAIN[0][1], new("q1", "q2")),
        *CHAIN,
    )
    assert found == "queue q1 cannot use its descendant q2 as parent"


def test_a_circle_of_stored_queues_ends_the_walk() -> None:
    stored = (queue("x", "y"), queue("y", "x"))
    found = verdict(queues.validating(Options()), create(kinds.QUEUE, new("a", "x")), *stored)
    assert found == "queue a exceeds the maximum allowed depth of 5"


FAMILY = (
    queue("grand", capability={"cpu": 100, "memory": "100Gi", "nvidia.com/gpu": 8}),
    queue("parent", "grand", capability={"cpu": 50, "memory": "50Gi"}),
    queue("open", "grand"),
)
ANCESTORS = {
    "cpu": (
        new("a", "parent", capability={"cpu": 60}),
        "capability[cpu]=60 exceeds its ancestor's",
    ),
    "memory": (
        new("a", "parent", capability={"memory": "55Gi"}),
        "capability[memory]=55Gi exceeds its ancestor's capability=50Gi",
    ),
    "gpu of the grandparent": (
        new("a", "parent", capability={"nvidia.com/gpu": 10}),
        "capability[nvidia.com/gpu]=10000.00 exceeds its ancestor's capability=8000.00",
    ),
    "within": (
        new("a", "parent", capability={"cpu": 40, "memory": "40Gi", "nvidia.com/gpu": 4}),
        "",
    ),
    "none": (new("a", "parent"), ""),
    "beyond a parent without": (
        new("a", "open", capability={"cpu": 200}),
        "queue a capability[cpu]=200 exceeds its ancestor's capability=100",
    ),
    "within a parent without": (new("a", "open", capability={"cpu": 80}), ""),
}


@pytest.mark.parametrize(("obj", "text"), ANCESTORS.values(), ids=ANCESTORS)
def test_capability_of_ancestors(obj: JsonObject, text: str) -> None:
    found = verdict(queues.validating(Options()), create(kinds.QUEUE, obj), *FAMILY)
    assert (text in found) if text else found == ""


SMALLER = "is smaller than its descendants' max capability"
DESCENDANTS: dict[str, tuple[JsonObject, Stock, str]] = {
    "grandchild": (
        new("p", capability={"cpu": 20}),
        (queue("c", "p"), queue("g", "c", capability={"cpu": 25})),
        SMALLER,
    ),
    "children": (
        new("p", capability={"cpu": 50}),
        (queue("c", "p", capability={"cpu": 30}), queue("d", "p", capability={"cpu": 20})),
        "",
    ),
    "own without": (new("p"), (queue("c", "p", capability={"cpu": 100}),), ""),
    "no children": (new("p", capability={"cpu": 1}), (), ""),
    "gpu": (
        new("p", capability={"nvidia.com/gpu": 4}),
        (queue("c", "p", capability={"nvidia.com/gpu": 3}),),
        "",
    ),
    "more gpu": (
        new("p", capability={"nvidia.com/gpu": 4}),
        (queue("c", "p", capability={"nvidia.com/gpu": 5}),),
        SMALLER,
    ),
    "in a circle": (
        new("p", capability={"cpu": 1}),
        (queue("c", "p"), queue("d", "c"), queue("c2", "d")),
        "",
    ),
}


@pytest.mark.parametrize(("obj", "stored", "text"), DESCENDANTS.values(), ids=DESCENDANTS)
def test_capability_of_descendants(obj: JsonObject, stored: Stock, text: str) -> None:
    before = new("p", capability={"cpu": 1000})
    found = verdict(queues.validating(Options()), update(kinds.QUEUE, before, obj), *stored)
    assert (text in found) if text else found == ""


UPDATES: dict[str, tuple[JsonObject, JsonObject, Stock, str]] = {
    "capability under a child's": (
        new("p", capability={"cpu": 20}),
        new("p", capability={"cpu": 10}),
        (queue("c", "p", capability={"cpu": 12}),),
        "queue p capability[cpu]=10 is smaller than its descendants' max capability=12",
    ),
    "capability under a child's, no parent": (
        new("p", capability={"cpu": 100}),
        new("p", capability={"cpu": 30}),
        (queue("c", "p", capability={"cpu": 50}),),
        "capability[cpu]=30 is smaller than its descendants' max capability=50",
    ),
    "guarantee under the children's": (
        new("p", **guarantee(cpu=15, memory="30Gi")),
        new("p", **guarantee(cpu=10, memory="20Gi")),
        (
            queue("c", "p", **guarantee(cpu=8, memory="16Gi")),
            queue("d", "p", **guarantee(cpu=5, memory="10Gi")),
        ),
        (
            "queue p validation failed: sum of children's guarantee"
            " (cpu 13000.00, memory 27917287424.00) exceeds parent's guarantee limit"
            " (cpu 10000.00, memory 21474836480.00)"
        ),
    ),
}


@pytest.mark.parametrize(("before", "after", "stored", "text"), UPDATES.values(), ids=UPDATES)
def test_update_of_a_parent(
    before: JsonObject, after: JsonObject, stored: Stock, text: str
) -> None:
    review = update(kinds.QUEUE, before, after)
    assert text in verdict(queues.validating(Options()), review, *stored)


SUMS: dict[str, tuple[JsonObject, Stock, str]] = {
    "over the parent's": (
        new("a", "p", **guarantee(cpu=7, memory="14Gi")),
        (
            queue("p", **guarantee(cpu=8, memory="16Gi")),
            queue("b", "p", **guarantee(cpu=2, memory="4Gi")),
        ),
        (
            "parent queue p validation failed: sum of children's guarantee"
            " (cpu 9000.00, memory 19327352832.00) exceeds parent's guarantee limit"
            " (cpu 8000.00, memory 17179869184.00)"
        ),
    ),
    "capability over the parent's": (
        new("a", "p", capability={"cpu": 20}),
        (queue("p", capability={"cpu": 10}),),
        "queue a capability[cpu]=20 exceeds its ancestor's capability=10",
    ),
    "deserved where the parent has none": (
        new("a", "p", deserved={"cpu": 1}),
        (queue("p"),),
        (
            "sum of children's deserved (cpu 1000.00, memory 0.00) exceeds parent's deserved limit"
            " (cpu 0.00, memory 0.00)"
        ),
    ),
    "gpu where the parent has none": (
        new("a", "p", deserved={"nvidia.com/gpu": 4}),
        (queue("p", deserved={"cpu": 1}),),
        "(cpu 0.00, memory 0.00, nvidia.com/gpu 4000.00) exceeds",
    ),
    "as much as the parent": (
        new("a", "p", **guarantee(cpu=6)),
        (queue("p", **guarantee(cpu=8)), queue("b", "p", **guarantee(cpu=2))),
        "",
    ),
    "what arithmetic does not know": (
        new("a", "p", deserved={"count/jobs": 1, "bananas": 1}),
        (queue("p"),),
        "",
    ),
    "children of root": (new("a", "root", deserved={"cpu": 9}), (queue("root"),), ""),
}


@pytest.mark.parametrize(("obj", "stored", "text"), SUMS.values(), ids=SUMS)
def test_sums(obj: JsonObject, stored: Stock, text: str) -> None:
    found = verdict(queues.validating(Options()), create(kinds.QUEUE, obj), *stored)
    assert (text in found) if text else found == ""


def test_units_of_queue_arithmetic() -> None:
    given_: JsonObject = {
        "cpu": "1500m",
        "memory": "1Ki",
        "pods": 3,
        "ephemeral-storage": 2,
        "a.b/c": 1,
    }
    assert queue_amounts({**given_, "count/x": 1, "services": 1}) == {
        "cpu": 1500,
        "memory": 1024,
        "pods": 3,
        "ephemeral-storage": 2000,
        "a.b/c": 1000,
    }


@given(st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("abcdef"), max_size=6))
def test_no_tree_keeps_a_check_busy(parents: dict[str, str]) -> None:
    stored = tuple(queue(name, parent) for name, parent in parents.items())
    obj = new("a", "b", capability={"cpu": 1})
    check = queues.validating(Options())
    verdict(check, create(kinds.QUEUE, obj), *stored)
    verdict(check, update(kinds.QUEUE, new("a"), obj), *stored)
