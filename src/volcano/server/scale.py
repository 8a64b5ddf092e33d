"""The scale sub-resource: replicas of a kind seen as autoscaling/v1 Scale. Pure."""

from dataclasses import dataclass

from volcano.api.objects import JsonObject
from volcano.server.refusals import bad_request
from volcano.server.resources import Resource

API_VERSION = "autoscaling/v1"


@dataclass(frozen=True, slots=True)
class Paths:
    """Where a kind keeps its replicas and selector, as dotted paths; an empty one is not there."""

    replicas: str = "spec.replicas"
    observed: str = "status.replicas"
    selector: str = ""


def paths_of(resource: Resource) -> Paths:
    """The paths of a built-in kind, or those that its CRD declares."""
    crd = resource.entry.crd
    if crd is None:
        return Paths()
    for version in crd["spec"]["versions"]:
        if version["name"] == resource.kind.version:
            scale = (version.get("subresources") or {}).get("scale") or {}
            return Paths(
                scale.get("specReplicasPath", "").lstrip("."),
                scale.get("statusReplicasPath", "").lstrip("."),
                scale.get("labelSelectorPath", "").lstrip("."),
            )
    return Paths()


def to_scale(resource: Resource, obj: JsonObject) -> JsonObject:
    """The Scale of an object."""
    paths = paths_of(resource)
    meta = obj["metadata"]
    selector = _get(obj, paths.selector) if paths.selector else _selector_text(obj)
    status: JsonObject = {"replicas": _get(obj, paths.observed) or 0}
    if selector:
        status["selector"] = selector
    replicas = _get(obj, paths.replicas)
    return {
        "kind": "Scale",
        "apiVersion": API_VERSION,
        "metadata": {
            name: meta[name]
            for name in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
            if name in meta
        },
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def scaled(resource: Resource, obj: JsonObject, scale: JsonObject) -> JsonObject:
    """A copy of an object with the replicas that a Scale asks for.

    Raises:
        ApiError: BadRequest.
    """
    spec = scale.get("spec") or {}
    replicas = spec.get("replicas", 0) if isinstance(spec, dict) else None
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise bad_request("spec.replicas of a Scale must be a whole number")
    if replicas < 0:
        raise bad_request(
            f"spec.replicas: Invalid value: {replicas}: must be greater than or equal to 0"
        )
    new = dict(obj)
    place = new
    *parents, last = paths_of(resource).replicas.split(".")
    for name in parents:
        place[name] = dict(place.get(name) or {})
        place = place[name]
    place[last] = replicas
    meta = dict(obj["metadata"])
    asked = (scale.get("metadata") or {}).get("resourceVersion")
    if asked:
        meta["resourceVersion"] = asked
    new["metadata"] = meta
    return new


def _get(obj: JsonObject, path: str) -> object:
    value: object = obj
    for name in path.split(".") if path else ():
        value = value.get(name) if isinstance(value, dict) else None
    return value if path else None


def _selector_text(obj: JsonObject) -> str:
    """A label selector as text, e.g. `app=web,tier in (a,b)`."""
    selector = (obj.get("spec") or {}).get("selector") or {}
    labels = selector.get("matchLabels")
    if labels is None and "matchExpressions" not in selector:
        labels = selector  # a ReplicationController's selector is the map itself
    parts = [f"{key}={value}" for key, value in sorted((labels or {}).items())]
    for term in selector.get("matchExpressions") or ():
        key, values = term["key"], ",".join(sorted(term.get("values") or ()))
        match term["operator"]:
            case "In":
                parts.append(f"{key} in ({values})")
            case "NotIn":
                parts.append(f"{key} notin ({values})")
            case "Exists":
                parts.append(key)
            case "DoesNotExist":
                parts.append(f"!{key}")
    return ",".join(parts)
