"""A container's environment, command and working directory: pure, from the pod and what it names.

A container sees what its image rule and its pod give it, and of `volcano up` only PATH, HOME and
LANG. configMaps and secrets come in as already-read objects, so that nothing here asks anybody.
"""

import base64
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from volcano.api.objects import JsonObject, metadata
from volcano.base.errors import NodeError
from volcano.node.fleet import ImageRule, NodeSpec
from volcano.node.pods import ContainerSpec, PodSpec
from volcano.node.status import Place
from volcano.resources.quantity import parse_quantity

INHERITED = ("PATH", "HOME", "LANG")
PATH_DEFAULT = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_REFERENCE = re.compile(r"\$(\$|\(([-._a-zA-Z0-9]+)\))")
_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")

Source = Callable[[str, str], JsonObject | None]
"""(`ConfigMap` or `Secret`, name) → the object in the pod's namespace, None if there is none."""


class CannotStartError(NodeError):
    """A container cannot be started as things are; `reason` is what its waiting state shows."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the node adds to every container.

    Attributes:
        inherited: the environment of `volcano up`; only PATH, HOME and LANG are taken.
        api_url: address of the API server, for KUBERNETES_SERVICE_HOST and _PORT.
    """

    node: NodeSpec
    place: Place
    rule: ImageRule | None
    inherited: Mapping[str, str]
    api_url: str


def build_environment(
    pod: PodSpec, spec: ContainerSpec, around: Surroundings, source: Source
) -> dict[str, str]:
    """The environment of a container, in the order of precedence of Kubernetes.

    Raises:
        CannotStartError: a configMap, secret or key that it needs is not there.
    """
    env = {name: around.inherited[name] for name in INHERITED if name in around.inherited}
    env.setdefault("PATH", PATH_DEFAULT)
    env["HOSTNAME"] = host_name(pod)
    env.update(_api_variables(around.api_url))
    if around.rule is not None:
        env.update(around.rule.env)
        if around.rule.path:
            env["PATH"] = ":".join([*around.rule.path, env["PATH"]])
    for entry in spec.raw.get("envFrom") or ():
        env.update(_env_from(entry, source))
    for entry in spec.raw.get("env") or ():
        value = _env_value(pod, spec, around, entry, source, env)
        if value is not None:
            env[entry["name"]] = value
    return env


def host_name(pod: PodSpec) -> str:
    """The name of the pod's host: its own, `spec.hostname`, or the pod's."""
    return str((pod.raw.get("spec") or {}).get("hostname") or pod.name)


def build_command(spec: ContainerSpec, rule: ImageRule | None, env: Mapping[str, str]) -> list[str]:
    """Command and arguments with `$(NAME)` put in.

    Raises:
        CannotStartError: neither the container nor an image rule has a command.
    """
    command = [str(part) for part in spec.raw.get("command") or ()]
    args = [str(part) for part in spec.raw.get("args") or ()]
    if command:
        return [expand(part, env) for part in command + args]
    if rule is not None and rule.command:
        return [*rule.command, *(expand(part, env) for part in args)]
    image = spec.raw.get("image") or ""
    raise CannotStartError(
        "CreateContainerError",
        f"container {spec.name} has no command, and images are not pulled here, so the default "
        f"command of image {image!r} is not known: set command in the pod, or add a rule for this "
        f"image with a command to the fleet file (volcano up --nodes FILE, section images)",
    )


def expand(text: str, env: Mapping[str, str]) -> str:
    """Put in `$(NAME)` for known names; `$$` gives `$`, unknown references stay as written."""

    def replace(match: re.Match[str]) -> str:
        if match.group(1) == "$":
            return "$"
        return env.get(match.group(2), match.group(0))

    return _REFERENCE.sub(replace, text)


def device_variables(node: NodeSpec, indices: Sequence[int]) -> dict[str, str]:
    """The variables that tell a container its GPUs; without one they are hidden from it."""
    listed = ",".join(str(index) for index in indices)
    variables = {"NVIDIA_VISIBLE_DEVICES": listed or "void"}
    if node.gpus is not None and node.gpus.real:
        variables["CUDA_VISIBLE_DEVICES"] = listed
    return variables


def field_value(pod: PodSpec, node: NodeSpec, place: Place, path: str) -> str | None:
    """The text of a `fieldRef`; None for a path that the downward API does not have."""
    meta = metadata(pod.raw)
    spec = pod.raw.get("spec") or {}
    subscript = _SUBSCRIPT.fullmatch(path)
    if subscript:
        return str((meta.get(subscript.group(1)) or {}).get(subscript.group(2), ""))
    if path in {"metadata.labels", "metadata.annotations"}:
        pairs = meta.get(path.split(".")[1]) or {}
        return "\n".join(f"{key}={_quoted(str(pairs[key]))}" for key in sorted(pairs))
    values = {
        "metadata.name": pod.name,
        "metadata.namespace": pod.namespace,
        "metadata.uid": pod.uid,
        "spec.nodeName": node.name,
        "spec.serviceAccountName": spec.get("serviceAccountName") or "default",
        "status.hostIP": place.host_ip,
        "status.hostIPs": place.host_ip,
        "status.podIP": place.pod_ip,
        "status.podIPs": place.pod_ip,
    }
    return values.get(path)


def resource_value(pod: PodSpec, own: str, node: NodeSpec, reference: JsonObject) -> str:
    """The text of a `resourceFieldRef`: in units of its divisor, rounded up.

    A limit that is not set is the node's capacity, a request that is not set is 0 or the limit.
    """
    name = str(reference.get("containerName") or own)
    spec = pod.container(name)
    kind, _, resource = str(reference.get("resource") or "").partition(".")
    resources = (spec.raw.get("resources") or {}) if spec is not None else {}
    limit = (resources.get("limits") or {}).get(resource)
    amount = (resources.get("requests") or {}).get(resource, limit)
    if kind == "limits":
        amount = limit if limit is not None else node.capacity.get(resource)
    nano = parse_quantity(amount if amount is not None else "0").nano
    divisor = parse_quantity(reference.get("divisor") or "1").nano or 10**9
    return str(-(-nano // divisor))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _api_variables(api_url: str) -> dict[str, str]:
    url = urlsplit(api_url)
    if not url.hostname:
        return {}
    port = str(url.port or (443 if url.scheme == "https" else 80))
    return {
        "KUBERNETES_SERVICE_HOST": url.hostname,
        "KUBERNETES_SERVICE_PORT": port,
        "KUBERNETES_SERVICE_PORT_HTTPS": port,
    }


def _env_from(entry: JsonObject, source: Source) -> Iterator[tuple[str, str]]:
    prefix = str(entry.get("prefix") or "")
    for field, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
        reference = entry.get(field)
        if reference is None:
            continue
        obj = source(kind, reference["name"])
        if obj is None and not reference.get("optional"):
            raise missing_object(kind, reference["name"])
        for key, value in sorted(contents_of(kind, obj).items()):
            yield prefix + key, value.decode(errors="surrogateescape")


def _env_value(
    pod: PodSpec,
    spec: ContainerSpec,
    around: Surroundings,
    entry: JsonObject,
    source: Source,
    env: Mapping[str, str],
) -> str | None:
    """The value of one `env` entry; None when an optional source is not there."""
    origin = entry.get("valueFrom")
    if not origin:
        return expand(str(entry.get("value") or ""), env)
    if "fieldRef" in origin:
        path = origin["fieldRef"]["fieldPath"]
        value = field_value(pod, around.node, around.place, path)
        if value is None:
            raise CannotStartError(
                "CreateContainerConfigError", f"env {entry['name']}: no field {path!r} in pods"
            )
        return value
    if "resourceFieldRef" in origin:
        return resource_value(pod, spec.name, around.node, origin["resourceFieldRef"])
    for field, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
        if field in origin:
            return _key_value(kind, origin[field], source)
    raise CannotStartError(
        "CreateContainerConfigError",
        f"env {entry['name']}: valueFrom has {', '.join(origin)}, which process nodes do not know",
    )


def _key_value(kind: str, reference: JsonObject, source: Source) -> str | None:
    name, key = reference["name"], reference["key"]
    obj = source(kind, name)
    contents = contents_of(kind, obj)
    if key in contents:
        return contents[key].decode(errors="surrogateescape")
    if reference.get("optional"):
        return None
    if obj is None:
        raise missing_object(kind, name)
    raise CannotStartError(
        "CreateContainerConfigError", f"couldn't find key {key} in {kind} {name}"
    )


def missing_object(kind: str, name: str) -> CannotStartError:
    """The complaint about a configMap or secret that is not there, as the kubelet words it."""
    return CannotStartError("CreateContainerConfigError", f'{kind.lower()} "{name}" not found')


def contents_of(kind: str, obj: JsonObject | None) -> dict[str, bytes]:
    """The keys of a configMap or secret with their bytes."""
    if obj is None:
        return {}
    if kind == "Secret":
        return {key: base64.b64decode(value) for key, value in (obj.get("data") or {}).items()}
    contents = {key: str(value).encode() for key, value in (obj.get("data") or {}).items()}
    for key, value in (obj.get("binaryData") or {}).items():
        contents[key] = base64.b64decode(value)
    return contents
