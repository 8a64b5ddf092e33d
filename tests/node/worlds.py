"""Builders of pods and container states for the node's tables: defaults sane, one line each."""

from volcano.node.plan import Ended, Run
from volcano.node.pods import PodSpec, read_pod

NOW = 1_800_000_000.0


def container(name="main", **fields):
    return {"name": name, "image": "busybox", "command": ["true"], **fields}


def sidecar(name="side", **fields):
    return container(name, restartPolicy="Always", **fields)


def pod_object(*, name="a", uid="uid-a", node="node-1", status=None, meta=None, **spec):
    spec.setdefault("containers", [container()])
    spec.setdefault("restartPolicy", "Never")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": uid, **(meta or {})},
        "spec": {"nodeName": node, **spec},
        "status": status or {"phase": "Pending"},
    }


def pod(**fields) -> PodSpec:
    return read_pod(pod_object(**fields))


def running(since=NOW - 5, **fields) -> Run:
    return Run(running_since=since, **fields)


def ended(code=0, *, at=NOW - 1, ran=4.0, **fields) -> Run:
    reason = "Completed" if code == 0 else "Error"
    return Run(running_since=at - ran, ended=Ended(code, reason, at - ran, at), **fields)
