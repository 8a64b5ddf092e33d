"""JobFlows: scenario list of spec admission 16.10."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webhooks.world import create, verdict
from volcano.api import kinds
from volcano.webhooks import graph, jobflows

UNDEFINED = "jobflow Flow is not DAG: vertex is not defined: a"
NO_DAG = "jobflow Flow is not DAG"
Flows = list[tuple[str, str]]
CASES: dict[str, tuple[Flows, str]] = {
    "five steps": ([("a", ""), ("b", "a"), ("c", "ab"), ("d", "b"), ("e", "cd")], ""),
    "a step twice": ([("a", ""), ("a", ""), ("b", "a")], ""),
    "undefined": ([("b", "a"), ("c", "ab")], UNDEFINED),
    "circle": ([("a", "b"), ("b", "a")], NO_DAG),
    "the later of two counts": ([("a", ""), ("b", "a"), ("c", "a"), ("c", "b")], ""),
    "none": ([], ""),
    "one": ([("a", "")], ""),
    "chain": ([("a", ""), ("b", "a"), ("c", "b")], ""),
    "diamond": ([("a", ""), ("b", "a"), ("c", "a"), ("d", "bc")], ""),
    "itself": ([("x", "x")], NO_DAG),
}


@pytest.mark.parametrize(("flows", "text"), CASES.values(), ids=CASES)
def test_flows(flows: Flows, text: str) -> None:
    spec = {
        "flows": [
            {"name": name, "dependsOn": {"targets": list(targets)}} if targets else {"name": name}
            for name, targets in flows
        ]
    }
    obj = {"metadata": {"name": "flow", "namespace": "test"}, "spec": spec}
    assert verdict(jobflows.validating(), create(kinds.JOB_FLOW, obj)) == text


GRAPHS: dict[str, tuple[dict[str, str], str | None]] = {
    "undefined": ({"1": "2", "2": "13"}, None),
    "circle of three": ({"1": "2", "2": "3", "3": "1"}, None),
    "circle of two": ({"1": "2", "2": "13", "3": ""}, None),
    "chain": ({"1": "23", "2": "3", "3": "4", "4": ""}, "4321"),
    "tree": ({"1": "23", "2": "45", "3": "", "4": "", "5": ""}, "34521"),
    "many ways": ({"1": "234", "2": "35", "3": "5", "4": "35", "5": ""}, "53241"),
    "circle behind many ways": ({"1": "234", "2": "35", "3": "5", "4": "35", "5": "53"}, None),
    "two waits": ({"1": "23", "2": "3", "3": ""}, "321"),
    "two waits the other way": ({"1": "23", "2": "", "3": "2"}, "231"),
}


@pytest.mark.parametrize(("edges", "expected"), GRAPHS.values(), ids=GRAPHS)
def test_order(edges: dict[str, str], expected: str | None) -> None:
    found = graph.order(edges)
    assert (None if found is None else "".join(found)) == expected


@given(st.dictionaries(st.sampled_from("abcdef"), st.text("abcdef", max_size=4), max_size=6))
def test_an_order_puts_dependencies_first(edges: dict[str, str]) -> None:
    found = graph.order(edges)
    if found is not None:
        assert sorted(found) == sorted(edges)
        for vertex, targets in edges.items():
            for target in targets:
                assert found.index(target) < found.index(vertex)
