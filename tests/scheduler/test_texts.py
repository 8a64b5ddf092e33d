"""Texts that say why a job waits name the same node in every cycle, and what is left of what."""

import pytest

from volcano.api import kinds
from volcano.scheduler import conf, cycle
from volcano.scheduler.model.state import ClusterState

POD_SPEC = {
    "schedulerName": "volcano",
    "containers": [{"name": "c", "resources": {"requests": {"cpu": "10"}}}],
}


def cluster(minimum: str, *, phase: str) -> ClusterState:
    state = ClusterState()
    for name in ("b", "c", "a", "d"):
        allocatable = {"cpu": "8", "memory": "16Gi", "pods": "110"}
        status = {
            "allocatable": allocatable,
            "capacity": allocatable,
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        state.put(kinds.NODE, {"metadata": {"name": name}, "status": status})
    state.put(kinds.QUEUE, {"metadata": {"name": "default"}, "spec": {"weight": 1}})
    group = {
        "metadata": {"namespace": "n", "name": "g", "uid": "g"},
        "spec": {"minMember": 1, "queue": "default", "minResources": {"cpu": minimum}},
        "status": {"phase": phase},
    }
    state.put(kinds.POD_GROUP, group)
    annotations = {"scheduling.k8s.io/group-name": "g"}
    meta = {"namespace": "n", "name": "p", "uid": "p", "annotations": annotations}
    state.put(kinds.POD, {"metadata": meta, "spec": POD_SPEC, "status": {"phase": "Pending"}})
    return state


@pytest.mark.parametrize(
    ("minimum", "phase", "expected"),
    [
        pytest.param("10", "Inqueue", "the largest, a, has 8", id="no node is large enough"),
        pytest.param(
            "40",
            "Pending",
            "overused cpu. The job needs cpu 40 at least; 38400m is left to promise"
            " (largest node: a with 8).",
            id="the cluster is too small",
        ),
    ],
)
def test_equal_nodes_are_named_alike_in_every_cycle(minimum, phase, expected):
    texts = set()
    for seed in range(12):
        result = cycle.run(cluster(minimum, phase=phase), conf.default(), now=0.0, seed=seed)
        (update,) = result.pod_groups
        texts.add(update.status["conditions"][0]["message"])
    assert len(texts) == 1
    assert expected in texts.pop()
