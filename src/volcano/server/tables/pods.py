"""How a pod is shown: the READY, STATUS and RESTARTS that people read first.

STATUS is the phase, made more precise by what the containers say: a failing init container
(`Init:…`), the reason a container waits or ended, or that the pod is being deleted.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from volcano.api.objects import JsonObject
from volcano.server.tables.ages import human_duration, moment
from volcano.server.tables.cells import (
    NONE,
    Cells,
    Printer,
    columns,
    condition,
    created,
    items,
    name_of,
    part,
)


@dataclass(slots=True)
class _Count:
    """Restarts of some containers, and when the last one ended (seconds since the epoch)."""

    restarts: int = 0
    last_end: float | None = None

    def add(self, status: JsonObject) -> None:
        self.restarts += int(status.get("restartCount", 0))
        end = moment(part(part(status, "lastState"), "terminated").get("finishedAt"))
        if end is not None:
            self.last_end = end if self.last_end is None else max(self.last_end, end)

    def text(self, now: float) -> str:
        if not self.restarts or self.last_end is None:
            return str(self.restarts)
        return f"{self.restarts} ({human_duration(now - self.last_end)} ago)"


@dataclass(slots=True)
class _Seen:
    """What the containers add up to."""

    reason: str
    ready: int
    count: _Count


def cells(pod: JsonObject, now: float) -> Cells:
    """NAME READY STATUS RESTARTS AGE, and IP NODE NOMINATED NODE READINESS GATES."""
    spec, status = part(pod, "spec"), part(pod, "status")
    seen = _look(spec, status, pod)
    sidecars = sum(1 for container in items(spec, "initContainers") if _is_sidecar(container))
    total = len(items(spec, "containers")) + sidecars
    addresses = items(status, "podIPs")
    address = addresses[0].get("ip") if addresses else status.get("podIP")
    return [
        name_of(pod),
        f"{seen.ready}/{total}",
        _deletion(pod, status) or seen.reason,
        seen.count.text(now),
        created(pod, now),
        address or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(pod, spec),
    ]


PODS = Printer(
    columns(
        "Name",
        "Ready",
        "Status",
        "Restarts",
        "Age",
        wide=("IP", "Node", "Nominated Node", "Readiness Gates"),
    ),
    cells,
)


def row_conditions(pod: JsonObject) -> list[JsonObject]:
    """Row conditions by which clients may leave finished pods out."""
    phase = part(pod, "status").get("phase")
    if phase not in ("Succeeded", "Failed"):
        return []
    text = "completed successfully" if phase == "Succeeded" else "failed"
    message = f"The pod has {text}."
    return [{"type": "Completed", "status": "True", "reason": phase, "message": message}]


def _look(spec: JsonObject, status: JsonObject, pod: JsonObject) -> _Seen:
    reason = status.get("reason") or status.get("phase") or ""
    if condition(pod, "PodScheduled").get("reason") == "SchedulingGated":
        reason = "SchedulingGated"
    sidecars = {
        container.get("name")
        for container in items(spec, "initContainers")
        if _is_sidecar(container)
    }
    seen = _Seen(str(reason), 0, _Count())
    sidecar_count = _Count()
    failing = _look_at_init(spec, status, sidecars, seen, sidecar_count)
    if not failing or condition(pod, "Initialized").get("status") == "True":
        seen.count = sidecar_count
        _look_at_containers(pod, items(status, "containerStatuses"), seen)
    return seen


def _look_at_init(
    spec: JsonObject,
    status: JsonObject,
    sidecars: set[str | None],
    seen: _Seen,
    sidecar_count: _Count,
) -> bool:
    """Whether an init container has still to end; `seen` then says which or why."""
    total = len(items(spec, "initContainers"))
    for position, one in enumerate(items(status, "initContainerStatuses")):
        seen.count.add(one)
        is_sidecar = one.get("name") in sidecars
        if is_sidecar:
            sidecar_count.add(one)
        state = part(one, "state")
        ended, waiting = state.get("terminated"), part(state, "waiting").get("reason")
        if ended is not None and ended.get("exitCode", 0) == 0:
            continue
        if is_sidecar and one.get("started"):
            seen.ready += bool(one.get("ready"))
            continue
        if ended is not None:
            seen.reason = f"Init:{_end(ended)}"
        elif waiting and waiting != "PodInitializing":
            seen.reason = f"Init:{waiting}"
        else:
            seen.reason = f"Init:{position}/{total}"
        return True
    return False


def _look_at_containers(pod: JsonObject, statuses: Iterable[JsonObject], seen: _Seen) -> None:
    running = False
    for one in reversed(list(statuses)):
        seen.count.add(one)
        state = part(one, "state")
        waiting, ended = part(state, "waiting").get("reason"), state.get("terminated")
        if waiting:
            seen.reason = waiting
        elif ended is not None:
            seen.reason = _end(ended)
        elif one.get("ready") and state.get("running") is not None:
            running = True
            seen.ready += 1
    if seen.reason == "Completed" and running:
        is_ready = condition(pod, "Ready").get("status") == "True"
        seen.reason = "Running" if is_ready else "NotReady"


def _end(ended: JsonObject) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _deletion(pod: JsonObject, status: JsonObject) -> str:
    if not part(pod, "metadata").get("deletionTimestamp"):
        return ""
    if status.get("reason") == "NodeLost":
        return "Unknown"
    return "" if status.get("phase") in ("Succeeded", "Failed") else "Terminating"


def _gates(pod: JsonObject, spec: JsonObject) -> str:
    gates = items(spec, "readinessGates")
    if not gates:
        return NONE
    open_gates = sum(
        1
        for gate in gates
        if condition(pod, str(gate.get("conditionType"))).get("status") == "True"
    )
    return f"{open_gates}/{len(gates)}"


def _is_sidecar(container: JsonObject) -> bool:
    return container.get("restartPolicy") == "Always"
