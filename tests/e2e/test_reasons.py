"""Pods that cannot be placed stay Pending and say why; no wish is taken as absent."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.world import job, pod, task, world
from volcano.api.kinds import NODE, POD
from volcano.testing.cluster import simulated

pytestmark = pytest.mark.anyio
ANTI_AFFINITY = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "labelSelector": {"matchLabels": {"app": "x"}},
                    "topologyKey": "kubernetes.io/hostname",
                }
            ]
        }
    }
}
SPREAD = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "x"}},
        }
    ]
}
CLAIM = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
SELECTOR = {"nodeSelector": {"zone": "mars"}}
LARGEST = "The pod asks for {}, more than any node has: the largest, large, has {}."


@pytest.mark.parametrize(
    ("ask", "spec", "texts"),
    [
        pytest.param({"cpu": "1"}, ANTI_AFFINITY, ["affinity"], id="pod anti-affinity"),
        pytest.param({"cpu": "1"}, SPREAD, ["topology"], id="spread"),
        pytest.param({"cpu": "1"}, CLAIM, ["olume"], id="volume claim"),
        pytest.param(
            {"cpu": "1"}, SELECTOR, ["0/2 nodes are unavailable", "selector"], id="node selector"
        ),
    ],
)
async def test_pod_stays_pending_with_a_reason(
    tmp_path: Path, ask: dict[str, str], spec: dict[str, Any], texts: list[str]
) -> None:
    async with world(tmp_path) as w:
        await w.create(POD, pod("p", spec=spec, **ask))
        message = await w.why_pending("p")
        assert all(text in message for text in texts), message
        await w.run_for(60)
        assert await w.why_pending("p") == message
        events = await w.events("p", "FailedScheduling")
        assert len(events) == 1


@pytest.mark.parametrize(
    ("ask", "lacking", "largest"),
    [
        pytest.param({"cpu": "5"}, "cpu 5", "4", id="cpu"),
        pytest.param({"memory": "100Gi"}, "memory 100Gi", "96Gi", id="memory"),
    ],
)
async def test_pod_larger_than_any_node_names_the_resource_and_the_largest_node(
    tmp_path: Path, ask: dict[str, str], lacking: str, largest: str
) -> None:
    fleet = simulated(small={"cpu": "2"}, large={"cpu": "4", "memory": "96Gi"})
    async with world(tmp_path, fleet) as w:
        await w.create(POD, pod("p", **ask))
        message = await w.why_pending("p")
        assert LARGEST.format(lacking, largest) in message


async def test_member_larger_than_any_node_is_named_on_the_group(tmp_path: Path) -> None:
    fleet = simulated(small={"cpu": "2"}, large={"cpu": "4"})
    async with world(tmp_path, fleet) as w:
        await w.submit(job("j", task(cpu="5"), minAvailable=1))
        condition = await w.group_condition("j")
        assert LARGEST.format("cpu 5", "4") in condition["message"]


async def test_no_node_offers_the_resource(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        await w.create(POD, pod("p", cpu="1", gpu="1"))
        message = await w.why_pending("p")
        assert "The job needs nvidia.com/gpu 1 at least" in message
        assert "no node offers it" in message


async def test_waiting_pod_runs_when_a_node_that_suits_it_comes(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        await w.create(POD, pod("p", spec={"nodeSelector": {"zone": "mars"}}, cpu="1", seconds=5))
        await w.why_pending("p")
        await w.client.patch(NODE, "n1", {"metadata": {"labels": {"zone": "mars"}}})
        await w.pod_phase("p", "Succeeded")
