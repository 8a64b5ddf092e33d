"""Text of `vcctl job view`: an object and its events in, lines out (spec cli, 2.3).

Labels keep the widths of the original, so that scripts written for it still find their lines.
Kind and API version are filled in, further plugins and resources shown, where the original has
nothing; the Waiting section is ours.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from volcano.api.objects import JsonObject, metadata, name_of
from volcano.cli.ages import age_of, local_time

_EVENT_WIDTHS = (15, 40, 30, 40)
_WAITING_PHASES = ("", "Pending", "Inqueue", "Restarting", "Unknown")
_EVENTS_SHOWN_MAX = 8
_TEMPLATE_ANNOTATIONS = (
    ("Cri . Cci . Io / Container - Type:", "cri.cci.io/container-type"),
    ("Kubernetes . Io / Availablezone:", "kubernetes.io/availablezone"),
    ("Network . Alpha . Kubernetes . Io / Network:", "network.alpha.kubernetes.io/network"),
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What explains a job's state besides itself.

    Attributes:
        events: all events of the namespace.
        pod_group: of the job; None if it has none yet.
        pods: of the job.
        trouble: what could not be read, for people.
    """

    events: Sequence[JsonObject] = ()
    pod_group: JsonObject | None = None
    pods: Sequence[JsonObject] = ()
    trouble: Sequence[str] = field(default_factory=tuple)


def job_text(job: JsonObject, around: Surroundings, now: float) -> str:
    """The whole text, newline at the end.

    Args:
        now: seconds since the epoch, for ages.
    """
    lines = [
        *_head(job),
        *_spec(job.get("spec") or {}),
        *_status(job.get("status") or {}),
        *_waiting(job, around, now),
        *_events(job, around.events, now),
    ]
    return "".join(f"{line}\n" for line in lines)


def _line(level: int, label: str, value: object, width: int = 0) -> str:
    return f"{'  ' * level}{label.ljust(width)}\t{value}"


def _head(job: JsonObject) -> Iterator[str]:
    meta = metadata(job)
    for label, value in (
        ("Name:", meta.get("name", "")),
        ("Namespace:", meta.get("namespace", "")),
        ("Labels:", _compact(meta.get("labels"))),
        ("Annotations:", _compact(meta.get("annotations"))),
        ("API Version:", job.get("apiVersion", "")),
        ("Kind:", job.get("kind", "")),
    ):
        yield _line(0, label, value, 12)
    yield "Metadata:"
    for label, value in (
        ("Creation Timestamp:", local_time(meta.get("creationTimestamp"))),
        ("Generate Name:", meta.get("generateName", "")),
        ("Generation:", meta.get("generation", 0)),
        ("Resource Version:", meta.get("resourceVersion", "")),
        ("UID:", meta.get("uid", "")),
    ):
        yield _line(1, label, value, 19)


def _compact(pairs: Any) -> str:
    if not pairs:
        return "<none>"
    text = json.dumps(pairs, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _spec(spec: JsonObject) -> Iterator[str]:
    yield "Spec:"
    yield _line(1, "Min Available:", spec.get("minAvailable", 0), 19)
    plugins = spec.get("plugins") or {}
    yield "  Plugins:"
    for name in ("env", "ssh", *sorted(set(plugins) - {"env", "ssh"})):
        arguments = " ".join(plugins.get(name) or ())
        yield _line(2, f"{name.capitalize()}:", f"[{arguments}]")
    yield _line(1, "Scheduler Name:", spec.get("schedulerName", ""), 19)
    yield "  Tasks:"
    for task in spec.get("tasks") or ():
        yield from _task(task)


def _task(task: JsonObject) -> Iterator[str]:
    template = task.get("template") or {}
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    pod = template.get("spec") or {}
    yield _line(2, "Name:", task.get("name", ""))
    yield _line(2, "Replicas:", task.get("replicas", 0))
    yield "    Template:"
    yield "      Metadata:"
    yield "        Annotations:"
    for label, key in _TEMPLATE_ANNOTATIONS:
        yield _line(5, label, annotations.get(key, ""), 44)
    yield _line(4, "Creation Timestamp:", local_time(None))
    yield "      Spec:"
    yield "        Containers:"
    for container in pod.get("containers") or ():
        yield from _container(container)
    yield "        Image Pull Secrets:"
    for secret in pod.get("imagePullSecrets") or ():
        yield _line(5, "Name:", secret.get("name", ""), 10)
    yield _line(4, "Restart Policy:", pod.get("restartPolicy", ""), 18)


def _container(container: JsonObject) -> Iterator[str]:
    yield "          Command:"
    for word in container.get("command") or ():
        yield f"            {word}"
    yield _line(5, "Image:", container.get("image", ""))
    yield _line(5, "Name: ", container.get("name", ""))
    yield "          Ports:"
    for port in container.get("ports") or ():
        yield _line(6, "Container Port:", port.get("containerPort", ""), 15)
        yield _line(6, "Name:", port.get("name", ""), 15)
    yield "          Resources:"
    resources = container.get("resources") or {}
    for label, key in (("Limits:", "limits"), ("Requests:", "requests")):
        amounts = dict(resources.get(key) or {})
        yield f"            {label}"
        yield _line(7, "Cpu:", amounts.pop("cpu", 0), 7)
        yield _line(7, "Memory:", amounts.pop("memory", 0), 7)
        for name in sorted(amounts):
            yield _line(7, f"{name}:", amounts[name], 7)
    yield _line(6, "Working Dir:", container.get("workingDir", ""))


def _status(status: JsonObject) -> Iterator[str]:
    yield "Status:"
    for label, key in (
        ("Succeeded:", "succeeded"),
        ("Pending:", "pending"),
        ("Running:", "running"),
        ("Failed:", "failed"),
        ("Terminating:", "terminating"),
        ("Unknown:", "unknown"),
        ("RetryCount:", "retryCount"),
        ("Min Available:", "minAvailable"),
        ("Version:", "version"),
    ):
        if (status.get(key) or 0) > 0:
            yield _line(1, label, status[key], 14)
    state = status.get("state") or {}
    yield "  State:"
    yield _line(2, "Phase:", state.get("phase", ""))
    for label, key in (("Reason:", "reason"), ("Message:", "message")):
        if state.get(key):
            yield _line(2, label, state[key])
    controlled = status.get("controlledResources") or {}
    if controlled:
        yield "  Controlled Resources:"
        for key in sorted(controlled):
            yield _line(2, f"{key}: ", controlled[key])
    conditions = status.get("conditions") or ()
    if conditions:
        yield "  Conditions:"
        yield "    Status\tTransitionTime"
        for condition in conditions:
            moment = condition.get("lastTransitionTime")
            when = local_time(moment) if moment else "<nil>"
            yield f"    {condition.get('status', '')} \t{when} "


def _waiting(job: JsonObject, around: Surroundings, now: float) -> Iterator[str]:
    """Why the job does not run: only while something of it waits."""
    status = job.get("status") or {}
    phase = (status.get("state") or {}).get("phase", "")
    if phase not in _WAITING_PHASES and not status.get("pending"):
        return
    yield "Waiting:"
    for text in around.trouble:
        yield f"  <{text}>"
    retries = status.get("retryCount") or 0
    if retries:
        limit = (job.get("spec") or {}).get("maxRetry", 3)
        yield _line(1, "Retries:", f"{retries} of {limit}", 12)
    yield from _pod_group(around.pod_group, now)
    yield from _pods(around.pods)
    yield from _related_events(around, now)


def _pod_group(group: JsonObject | None, now: float) -> Iterator[str]:
    if group is None:
        yield _line(1, "PodGroup:", "<none yet: the job controller has not made it>", 12)
        return
    spec, status = group.get("spec") or {}, group.get("status") or {}
    phase = status.get("phase") or "no phase yet"
    members = f"{spec.get('minMember', 0)} members needed"
    yield _line(1, "PodGroup:", f"{name_of(group)} ({phase}, {members})", 12)
    yield _line(1, "Queue:", spec.get("queue", ""), 12)
    for condition in status.get("conditions") or ():
        if condition.get("status") == "True" and condition.get("type") == "Scheduled":
            continue
        reason, message = condition.get("reason", ""), condition.get("message", "")
        age = age_of(condition.get("lastTransitionTime"), now)
        yield f"    {condition.get('type', '')} ({reason}, {age}): {message}"


def _pods(pods: Sequence[JsonObject]) -> Iterator[str]:
    waiting = [pod for pod in pods if (pod.get("status") or {}).get("phase") == "Pending"]
    if not waiting:
        return
    yield "  Pods:"
    for pod in waiting:
        yield f"    {name_of(pod)}: {pod_reason(pod)}"


def pod_reason(pod: JsonObject) -> str:
    """Why a pod waits: its scheduling condition, or what its containers wait for."""
    status = pod.get("status") or {}
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return f"{condition.get('reason', '')}: {condition.get('message', '')}"
    for container in status.get("containerStatuses") or ():
        waiting = (container.get("state") or {}).get("waiting")
        if waiting:
            return f"{waiting.get('reason', '')}: {waiting.get('message', '')}".rstrip(": ")
    node = (pod.get("spec") or {}).get("nodeName")
    return f"starting on node {node}" if node else "not looked at by the scheduler yet"


def _related_events(around: Surroundings, now: float) -> Iterator[str]:
    """The last warnings about the PodGroup and the pods."""
    names = {("Pod", name_of(pod)) for pod in around.pods}
    if around.pod_group is not None:
        names.add(("PodGroup", name_of(around.pod_group)))
    warnings = [
        event
        for event in around.events
        if event.get("type") == "Warning"
        and (_object_of(event).get("kind"), _object_of(event).get("name")) in names
    ]
    if not warnings:
        return
    yield "  Warnings:"
    for event in warnings[-_EVENTS_SHOWN_MAX:]:
        source = _object_of(event)
        about = f"{str(source.get('kind', '')).lower()}/{source.get('name', '')}"
        message = str(event.get("message", "")).strip()
        yield f"    {event_age(event, now)} {about} {event.get('reason', '')}: {message}"


def _object_of(event: JsonObject) -> JsonObject:
    target = event.get("involvedObject")
    return target if isinstance(target, dict) else {}


def _events(job: JsonObject, events: Sequence[JsonObject], now: float) -> Iterator[str]:
    name = name_of(job)
    own = [
        event
        for event in events
        if name_of(event).startswith(f"{name}.")
        and _object_of(event).get("kind", "Job") == "Job"
        and _object_of(event).get("name", name) == name
    ]
    if not own:
        yield "Events: \t<none>"
        return
    yield "Events:"
    yield _event_row(("Type", "Reason", "Age", "Form"), "Message")
    yield _event_row(("-------",) * 4, "-------")
    for event in own:
        source = event.get("source") or {}
        parts = [source.get("component", ""), source.get("host", "")]
        origin = ", ".join(part for part in parts if part)
        cells = (event.get("type", ""), event.get("reason", ""), event_age(event, now), origin)
        yield _event_row(cells, str(event.get("message", "")).strip())


def _event_row(cells: Sequence[str], message: str) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, _EVENT_WIDTHS, strict=True))
    return "\t".join([*padded, message])


def event_age(event: JsonObject, now: float) -> str:
    """Age of an event; of a repeated one also how often over which time."""
    count = event.get("count") or 0
    first = event.get("firstTimestamp") or event.get("eventTime")
    if count > 1:
        last = age_of(event.get("lastTimestamp"), now)
        return f"{last} (x{count} over {age_of(first, now)})"
    return age_of(first, now)
