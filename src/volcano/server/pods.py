"""Pod sub-resources decided on plain data: binding, eviction, and the options of a log request."""

from collections.abc import Iterable, Mapping

from volcano.api.objects import JsonObject, name_of
from volcano.api.pod_logs import LogOptions
from volcano.base.clock import parse_timestamp, timestamp
from volcano.base.errors import ApiError, Cause, ErrorDetails
from volcano.server.refusals import bad_request
from volcano.server.routes import is_true
from volcano.server.selectors import match_label_selector

_ENDED = ("Succeeded", "Failed")


def bound(pod: JsonObject, binding: JsonObject, now: float) -> JsonObject:
    """A copy of a pod assigned to the node that a Binding names.

    Raises:
        ApiError: BadRequest for a wrong Binding, Conflict for a pod that cannot be bound.
    """
    target = binding.get("target") or {}
    node = target.get("name")
    if target.get("kind", "Node") not in ("", "Node"):
        raise _binding_invalid(
            "target.kind",
            f'Unsupported value: "{target["kind"]}": supported values: "Node", "<empty>"',
        )
    if not node or not isinstance(node, str):
        raise _binding_invalid("target.name", "Required value")
    spec, meta = dict(pod.get("spec") or {}), dict(pod["metadata"])
    name = name_of(pod)
    given = binding.get("metadata") or {}
    uid = given.get("uid")
    if uid and uid != meta.get("uid"):
        raise _cannot_bind(
            name,
            f"Precondition failed: UID in precondition: {uid}, UID in object meta:"
            f" {meta.get('uid')}",
        )
    if "deletionTimestamp" in meta:
        raise _cannot_bind(name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise _cannot_bind(name, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise _cannot_bind(name, f"pod {name} has non-empty .spec.schedulingGates")
    spec["nodeName"] = node
    for field in ("annotations", "labels"):
        if given.get(field):
            meta[field] = {**(meta.get(field) or {}), **given[field]}
    status = dict(pod.get("status") or {})
    status["conditions"] = _scheduled(status.get("conditions") or (), now)
    return {**pod, "metadata": meta, "spec": spec, "status": status}


def _scheduled(conditions: Iterable[JsonObject], now: float) -> list[JsonObject]:
    kept = [one for one in conditions if one.get("type") != "PodScheduled"]
    condition = {
        "type": "PodScheduled",
        "status": "True",
        "lastTransitionTime": timestamp(now),
    }
    return [*kept, condition]


def _cannot_bind(name: str, why: str) -> ApiError:
    return ApiError(
        "Conflict",
        f'Operation cannot be fulfilled on pods/binding "{name}": {why}',
        details=ErrorDetails(name=name, kind="pods/binding"),
    )


def _binding_invalid(field: str, message: str) -> ApiError:
    reason = "FieldValueRequired" if message.startswith("Required") else "FieldValueNotSupported"
    return ApiError(
        "Invalid",
        f'Binding "" is invalid: {field}: {message}',
        details=ErrorDetails(kind="Binding", causes=(Cause(reason, message, field),)),
    )


def check_eviction(pod: JsonObject, budgets: Iterable[JsonObject]) -> JsonObject | None:
    """The budget that an eviction is charged to, None when none is concerned.

    Raises:
        ApiError: TooManyRequests when the budget allows no disruption now.
    """
    if (pod.get("status") or {}).get("phase") in (*_ENDED, "Pending"):
        return None
    if "deletionTimestamp" in pod["metadata"]:
        return None
    labels = pod["metadata"].get("labels") or {}
    concerned = [
        budget
        for budget in budgets
        if match_label_selector((budget.get("spec") or {}).get("selector"), labels)
    ]
    if not concerned:
        return None
    if len(concerned) > 1:
        raise ApiError(
            "InternalError",
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does"
            " not support.",
        )
    budget = concerned[0]
    _check_budget(budget)
    return budget


def _check_budget(budget: JsonObject) -> None:
    name, status = name_of(budget), budget.get("status") or {}
    generation = budget["metadata"].get("generation", 1)
    if status.get("observedGeneration", 0) < generation:
        raise _too_many(
            f"Cannot evict pod as it would violate the pod's disruption budget. The disruption"
            f" budget {name} is still being processed by the server.",
            retry_seconds=10,
        )
    if status.get("disruptionsAllowed", 0) <= 0:
        message = "Cannot evict pod as it would violate the pod's disruption budget."
        healthy = (
            f"The disruption budget {name} needs {status.get('desiredHealthy', 0)} healthy pods"
            f" and has {status.get('currentHealthy', 0)} currently"
        )
        raise _too_many(message, cause=Cause("DisruptionBudget", healthy))


def _too_many(message: str, *, retry_seconds: int = 0, cause: Cause | None = None) -> ApiError:
    return ApiError(
        "TooManyRequests",
        message,
        details=ErrorDetails(causes=(cause,) if cause else (), retry_after_seconds=retry_seconds),
    )


def disrupted(budget: JsonObject, pod_name: str, now: float) -> JsonObject:
    """A copy of a budget with one disruption less, the pod noted as being disrupted."""
    status = dict(budget.get("status") or {})
    status["disruptionsAllowed"] = status.get("disruptionsAllowed", 0) - 1
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod_name: timestamp(now)}
    return {**budget, "metadata": dict(budget["metadata"]), "status": status}


def log_options(pod: JsonObject, query: Mapping[str, str]) -> LogOptions:
    """What a log request asks for.

    Raises:
        ApiError: BadRequest, naming the containers to choose from or the wrong option.
    """
    try:
        since_time = parse_timestamp(query["sinceTime"]) if query.get("sinceTime") else None
        return LogOptions(
            container=_container(pod, query.get("container", "")),
            follow=is_true(query.get("follow")),
            previous=is_true(query.get("previous")),
            since_seconds=_number(query, "sinceSeconds"),
            since_time=since_time,
            timestamps=is_true(query.get("timestamps")),
            tail_lines=_number(query, "tailLines"),
            limit_bytes=_number(query, "limitBytes"),
        )
    except ValueError as error:
        raise bad_request(f"log option: {error}") from error


def _number(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name, "")
    if not text:
        return None
    value = int(text)
    if value < 0:
        raise ValueError(f"{name}: {value} must be greater than or equal to 0")
    return value


def _container(pod: JsonObject, name: str) -> str:
    spec, pod_name = pod.get("spec") or {}, name_of(pod)
    containers = [one["name"] for one in spec.get("containers") or ()]
    first = [one["name"] for one in spec.get("initContainers") or ()]
    if name:
        if name not in (*containers, *first):
            raise bad_request(f"container {name} is not valid for pod {pod_name}")
        return name
    if len(containers) == 1 and not first:
        return str(containers[0])
    listed = f"choose one of: [{' '.join(containers)}]"
    if first:
        listed += f" or one of the init containers: [{' '.join(first)}]"
    if len(containers) == 1:
        return str(containers[0])
    raise bad_request(f"a container name must be specified for pod {pod_name}, {listed}")
