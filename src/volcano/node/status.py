"""From the states of a pod's containers to `status` as the API shows it: pure.

The result is the part of `status` that a node owns. What others write stays, `PodScheduled`
of a scheduler too: the result is sent as a strategic merge patch, whose conditions merge by type.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from volcano.api.objects import JsonObject
from volcano.base.clock import timestamp
from volcano.node.plan import TERMINAL, Ended, Plan, Run
from volcano.node.pods import ContainerSpec, PodSpec, Role

IMAGE_ID_PREFIX = "process://"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the pod is: addresses as `status.hostIP` and `status.podIP` show them."""

    host_ip: str
    pod_ip: str


def pod_status(
    pod: PodSpec, runs: Mapping[str, Run], plan: Plan, now: float, place: Place
) -> JsonObject:
    """The node's part of `status`, conditions with their times of change kept from the pod."""
    stored = pod.raw.get("status") or {}
    init = [c for c in pod.containers if c.role is not Role.APP]
    status: JsonObject = {
        "phase": plan.phase,
        "startTime": stored.get("startTime") or timestamp(now),
        "hostIP": place.host_ip,
        "hostIPs": [{"ip": place.host_ip}],
        "podIP": place.pod_ip,
        "podIPs": [{"ip": place.pod_ip}],
        "conditions": _conditions(pod, runs, plan, now),
        "containerStatuses": [
            _container(pod, spec, runs.get(spec.name, Run()), plan) for spec in pod.role(Role.APP)
        ],
        "qosClass": stored.get("qosClass") or qos_class(pod),
    }
    if init:
        status["initContainerStatuses"] = [
            _container(pod, spec, runs.get(spec.name, Run()), plan) for spec in init
        ]
    if plan.reason:
        status["reason"] = plan.reason
        status["message"] = plan.message
    return status


def qos_class(pod: PodSpec) -> str:
    """Guaranteed, Burstable or BestEffort, by the cpu and memory of all containers."""
    requests_seen = False
    guaranteed = True
    for spec in pod.containers:
        resources = spec.raw.get("resources") or {}
        limits = resources.get("limits") or {}
        requests = {**limits, **(resources.get("requests") or {})}
        for name in ("cpu", "memory"):
            requests_seen |= name in requests
            guaranteed &= name in limits and requests[name] == limits[name]
    if not requests_seen:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _container(pod: PodSpec, spec: ContainerSpec, run: Run, plan: Plan) -> JsonObject:
    started = run.running and (spec.role is not Role.INIT)
    status: JsonObject = {
        "name": spec.name,
        "image": str(spec.raw.get("image") or ""),
        "imageID": "",
        "ready": run.running or (spec.role is Role.INIT and _succeeded(run)),
        "started": started,
        "restartCount": run.restarts,
        "state": _state(pod, spec, run, plan),
        "lastState": {},
    }
    if spec.role is Role.INIT:
        status["ready"] = _succeeded(run)
    last = run.ended if _waits_again(spec, run, plan) else run.last
    if last is not None:
        status["lastState"] = {"terminated": _terminated(pod, spec, last, run)}
    if run.has_started:
        status["containerID"] = f"{IMAGE_ID_PREFIX}{pod.uid}/{spec.name}/{run.restarts}"
    return status


def _succeeded(run: Run) -> bool:
    return run.ended is not None and run.ended.exit_code == 0


def _waits_again(spec: ContainerSpec, run: Run, plan: Plan) -> bool:
    """Whether an ended container is about to start again: shown as waiting, the end as last."""
    if run.ended is None or plan.phase in TERMINAL:
        return False
    return spec.name in plan.back_off or run.waiting is not None


def _state(pod: PodSpec, spec: ContainerSpec, run: Run, plan: Plan) -> JsonObject:
    if run.running:
        assert run.running_since is not None, "a running container has a start"
        return {"running": {"startedAt": timestamp(run.running_since)}}
    if run.ended is not None and not _waits_again(spec, run, plan):
        return {"terminated": _terminated(pod, spec, run.ended, run)}
    if run.waiting is not None:
        return {"waiting": {"reason": run.waiting[0], "message": run.waiting[1]}}
    if spec.name in plan.back_off:
        pause = plan.back_off[spec.name]
        text = (
            f"back-off {_duration(pause)} restarting failed container={spec.name} "
            f"pod={pod.name}_{pod.namespace}({pod.uid})"
        )
        return {"waiting": {"reason": "CrashLoopBackOff", "message": text}}
    waits_for_init = spec.role is Role.APP and any(c.role is not Role.APP for c in pod.containers)
    return {"waiting": {"reason": "PodInitializing" if waits_for_init else "ContainerCreating"}}


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def _terminated(pod: PodSpec, spec: ContainerSpec, ended: Ended, run: Run) -> JsonObject:
    number = run.restarts if ended is run.ended else run.restarts - 1
    state: JsonObject = {
        "exitCode": ended.exit_code,
        "reason": ended.reason,
        "startedAt": timestamp(ended.started_at),
        "finishedAt": timestamp(ended.finished_at),
        "containerID": f"{IMAGE_ID_PREFIX}{pod.uid}/{spec.name}/{number}",
    }
    if ended.message:
        state["message"] = ended.message
    return state


def _conditions(pod: PodSpec, runs: Mapping[str, Run], plan: Plan, now: float) -> list[JsonObject]:
    apps = [(c, runs.get(c.name, Run())) for c in pod.role(Role.APP)]
    inits = [(c, runs.get(c.name, Run())) for c in pod.role(Role.INIT, Role.SIDECAR)]
    pending = [
        c.name
        for c, run in inits
        if not (_succeeded(run) if c.role is Role.INIT else run.has_started)
    ]
    initialised = not pending or any(run.has_started for _, run in apps)
    not_ready = [c.name for c, run in apps if not run.running]
    if plan.phase == "Succeeded":
        initialised_reason = ready_reason = "PodCompleted"
        message = ""
    elif plan.phase == "Failed":
        initialised_reason, ready_reason, message = "", "PodFailed", ""
    else:
        initialised_reason, ready_reason = "", "ContainersNotReady"
        message = f"containers with unready status: [{' '.join(not_ready)}]"
    ready = not not_ready and initialised and plan.phase == "Running"
    if not initialised:
        initialised_reason = "ContainersNotInitialized"
    init_message = f"containers with incomplete status: [{' '.join(pending)}]"
    wanted = [
        ("PodReadyToStartContainers", plan.phase not in TERMINAL, "", ""),
        (
            "Initialized",
            initialised,
            initialised_reason,
            "" if initialised else init_message,
        ),
        ("Ready", ready, "" if ready else ready_reason, "" if ready else message),
        ("ContainersReady", ready, "" if ready else ready_reason, "" if ready else message),
    ]
    stored = {c.get("type"): c for c in (pod.raw.get("status") or {}).get("conditions") or ()}
    if (stored.get("PodScheduled") or {}).get("status") != "True":
        # It names its node itself, so that no scheduler said so.
        wanted.insert(0, ("PodScheduled", True, "", ""))
    return [_condition(stored, now, *entry) for entry in wanted]


def _condition(
    stored: Mapping[str, JsonObject],
    now: float,
    type_: str,
    holds: bool,  # noqa: FBT001 - a condition's status is a truth value
    reason: str,
    message: str,
) -> JsonObject:
    text = "True" if holds else "False"
    before = stored.get(type_) or {}
    changed = before.get("lastTransitionTime") if before.get("status") == text else None
    return {
        "type": type_,
        "status": text,
        "lastProbeTime": None,
        "lastTransitionTime": changed or timestamp(now),
        "reason": reason or None,
        "message": message or None,
    }


def status_change(stored: JsonObject, wanted: JsonObject) -> JsonObject:
    """What of `wanted` differs from the stored status; empty when there is nothing to write."""
    change: JsonObject = {}
    for key, value in wanted.items():
        if key == "conditions":
            before = {c.get("type"): c for c in stored.get("conditions") or ()}
            changed = [_difference(before.get(c["type"]) or {}, c) for c in value]
            if any(changed):
                change[key] = [c for c in changed if c]
        elif stored.get(key) != value:
            change[key] = value
    return change


def _difference(stored: JsonObject, wanted: JsonObject) -> JsonObject:
    """The condition to write, nulls only for what is to be removed; empty if all is as wanted."""
    if all(stored.get(key) == value for key, value in wanted.items()):
        return {}
    return {key: value for key, value in wanted.items() if value is not None or key in stored}
