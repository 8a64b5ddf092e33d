"""bench-scheduler: how long the scheduler's core takes from session open to the decisions.

Each world is planned in fresh processes, the cache filled and no task classified beforehand, with
all nine plugins; the figure is the median. Every run checks that each pod is placed and no node
overcommitted; a 50-node version is compared, decision by decision, with the plain exhaustive
scheduler of the tests.
"""

import argparse
import gc
import importlib
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from benchmarks.result import finish
from volcano.api.objects import JsonObject
from volcano.scheduler import conf, cycle
from volcano.scheduler.model import ClusterState, CycleResult

WORLDS = Path(__file__).parent / "worlds" / "scheduler.yaml"
ALL_PLUGINS = conf.DEFAULT_CONF + "  - name: binpack\n"
RUNS = 5
_CREATED = "2026-01-02T03:04:05Z"


def objects(world: Mapping[str, Any]) -> dict[str, list[JsonObject]]:
    """The API objects of a world, by kind."""
    node, group = world["nodes"], world["groups"]
    allocatable = {key: str(node[key]) for key in ("cpu", "memory", "pods")}
    found: dict[str, list[JsonObject]] = {
        "Queue": [{"metadata": {"name": "default"}, "spec": {"weight": 1}}],
        "Node": [
            {
                "metadata": {
                    "name": f"node-{i:05}",
                    "labels": {"kubernetes.io/hostname": f"node-{i:05}"},
                },
                "status": {"allocatable": allocatable},
            }
            for i in range(node["count"])
        ],
        "PodGroup": [],
        "Pod": [],
    }
    for g in range(group["count"]):
        found["PodGroup"].append(_pod_group(f"group-{g}", group))
        found["Pod"].extend(_pod(f"group-{g}", i, group) for i in range(group["tasks"]))
    return found


def _pod_group(name: str, group: Mapping[str, Any]) -> JsonObject:
    tasks = group["tasks"]
    memory = int(str(group["memory"]).removesuffix("Gi")) * tasks
    return {
        "metadata": {
            "name": name,
            "namespace": "bench",
            "uid": name,
            "creationTimestamp": _CREATED,
        },
        "spec": {
            "minMember": tasks,
            "queue": "default",
            "minResources": {"cpu": str(group["cpu"] * tasks), "memory": f"{memory}Gi"},
        },
        "status": {"phase": "Pending"},
    }


def _pod(group: str, index: int, shape: Mapping[str, Any]) -> JsonObject:
    name = f"{group}-task-{index}"
    return {
        "metadata": {
            "name": name,
            "namespace": "bench",
            "uid": name,
            "creationTimestamp": _CREATED,
            "annotations": {
                "scheduling.k8s.io/group-name": group,
                "volcano.sh/task-spec": "task",
            },
        },
        "spec": {
            "schedulerName": "volcano",
            "containers": [
                {
                    "name": "main",
                    "image": "busybox",
                    "resources": {
                        "requests": {"cpu": str(shape["cpu"]), "memory": str(shape["memory"])}
                    },
                }
            ],
        },
        "status": {"phase": "Pending"},
    }


def fill(found: Mapping[str, list[JsonObject]]) -> tuple[ClusterState, float]:
    """A state that has seen all objects, and the seconds per pod it took."""
    state = ClusterState()
    for queue in found["Queue"]:
        state.put_queue(queue)
    for node in found["Node"]:
        state.put_node(node)
    for group in found["PodGroup"]:
        state.put_pod_group(group)
    start = time.perf_counter()
    for pod in found["Pod"]:
        state.put_pod(pod)
    return state, (time.perf_counter() - start) / len(found["Pod"])


def check(world: Mapping[str, Any], state: ClusterState, result: CycleResult) -> None:
    """Every pod placed once, no node over its allocatable (counted plainly from the decisions)."""
    group, node = world["groups"], world["nodes"]
    names = {(bind.namespace, bind.name) for bind in result.binds}
    assert len(names) == len(result.binds) == group["count"] * group["tasks"], len(result.binds)
    load: dict[str, int] = {}
    for bind in result.binds:
        assert bind.node in state.nodes
        load[bind.node] = load.get(bind.node, 0) + 1
    memory = int(str(node["memory"]).removesuffix("Gi"))
    pod_memory = int(str(group["memory"]).removesuffix("Gi"))
    most = max(load.values())
    assert most * group["cpu"] <= node["cpu"], most
    assert most * pod_memory <= memory, most
    assert most <= node["pods"], most


def measure(world: Mapping[str, Any]) -> dict[str, float]:
    """One cycle in this process."""
    state, put_seconds = fill(objects(world))
    configuration = conf.load(ALL_PLUGINS)
    gc.collect()
    gc.freeze()
    start = time.perf_counter()
    result = cycle.run(state, configuration, now=0.0, seed=1)
    seconds = time.perf_counter() - start
    check(world, state, result)
    for bind in result.binds:
        state.assume(bind.namespace, bind.name, bind.uid, bind.node)
    state.assume_written(result)
    start = time.perf_counter()
    again = cycle.run(state, configuration, now=1.0, seed=2)
    rest_seconds = time.perf_counter() - start
    assert not again.binds
    return {
        "plan_seconds": seconds,
        "rest_cycle_seconds": rest_seconds,
        "put_pod_us": put_seconds * 1e6,
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        **{f"{step}_seconds": value for step, value in result.report.seconds.items()},
    }


def compare(world: Mapping[str, Any]) -> int:
    """Decisions of the small version against the plain scheduler's; how many there are."""
    plain = importlib.import_module("tests.reference.scheduler")
    small = {
        "nodes": world["nodes"] | {"count": world["small"]["nodes"]},
        "groups": world["groups"]
        | {"count": world["small"]["groups"], "tasks": world["small"]["tasks"]},
    }
    found = objects(small)
    state, _ = fill(found)
    result = cycle.run(state, conf.load(ALL_PLUGINS), now=0.0, seed=1)
    want = plain.Scheduler(
        nodes=found["Node"],
        pods=found["Pod"],
        groups=found["PodGroup"],
        queues=found["Queue"],
        priorities={},
        order=[node.name for node in state.node_order(1)],
        pack=True,
    ).run()
    mine = [(f"{bind.namespace}/{bind.name}", bind.node) for bind in result.binds]
    assert mine == want, "the decisions are not those of the plain scheduler"
    return len(mine)


def main() -> None:
    """Measure all worlds, or one of them once (`--once`), as the parent asks its children."""
    parser = argparse.ArgumentParser(prog="bench-scheduler", description=__doc__)
    parser.add_argument("--once", metavar="WORLD", help="measure one world in this process")
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args()
    worlds = yaml.safe_load(WORLDS.read_text())
    if options.once:
        print(json.dumps(measure(worlds[options.once])))
        return
    figures: dict[str, float] = {}
    for name, world in worlds.items():
        print(f"{name}: {world['about']}: {world['nodes']['count']} nodes,", end=" ")
        print(f"{world['groups']['count']} groups of {world['groups']['tasks']}")
        runs = [_fresh(name) for _ in range(options.runs)]
        for key in runs[0]:
            figures[f"{name}_{key}"] = statistics.median(run[key] for run in runs)
        figures[f"{name}_equal_to_plain_decisions"] = compare(world)
    limits = {f"{name}_plan_seconds": world["limit_seconds"] for name, world in worlds.items()}
    finish("scheduler", figures, limits=limits, distributions=("numpy",))


def _fresh(name: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.scheduler", "--once", name]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    figures: dict[str, float] = json.loads(output)
    return figures


if __name__ == "__main__":
    main()
