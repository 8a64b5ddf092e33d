"""Containers of pods and pod templates."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from volcano.api.objects import JsonObject
from volcano.base.errors import Cause
from volcano.server.schema.causes import (
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from volcano.server.validation.resources import NEGATIVE, validate_requirements
from volcano.server.validation.texts import (
    Problems,
    Rule,
    config_key,
    dns_label,
    dns_subdomain,
    env_name,
    port_name,
    port_number,
    qualified_name,
    relaxed_env_name,
)

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_ENV_FIELDS = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    }
)
_RESOURCE_FIELDS = frozenset(
    {
        f"{side}.{name}"
        for side in ("limits", "requests")
        for name in ("cpu", "ephemeral-storage", "memory")
    }
)
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_NUMBERS = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")


@dataclass(frozen=True, slots=True)
class PodRules:
    """How strict to be: pods by today's rules, Volcano's job templates by its own older ones.

    Attributes:
        env_rule: what names of environment variables may look like.
        container_restart_policy: ordinary containers may have a restart policy of their own.
        is_pod: a pod, not a template.
    """

    env_rule: Rule = relaxed_env_name
    container_restart_policy: bool = True
    is_pod: bool = True


TEMPLATE_RULES = PodRules(is_pod=False)
STRICT_TEMPLATE_RULES = PodRules(env_rule=env_name, container_restart_policy=False, is_pod=False)


def validate_containers(
    spec: JsonObject, path: str, volumes: Mapping[str, Any], rules: PodRules, out: list[Cause]
) -> None:
    """All containers of a pod spec, init containers included."""
    containers = spec.get("containers") or ()
    if not containers:
        out.append(required(f"{path}.containers"))
    names: set[str] = set()
    ports: set[str] = set()
    for index, container in enumerate(containers):
        where = f"{path}.containers[{index}]"
        _common(container, where, volumes, rules, out)
        name = container.get("name", "")
        if name in names:
            out.append(duplicate(f"{where}.name", name))
        names.add(name)
        _probes(container, where, out)
        if "restartPolicy" in container and not rules.container_restart_policy:
            out.append(
                forbidden(f"{where}.restartPolicy", "may not be set for non-init containers")
            )
        if container.get("ports"):
            _host_ports(container["ports"], f"{where}.ports", ports, out)
    for index, container in enumerate(spec.get("initContainers") or ()):
        where = f"{path}.initContainers[{index}]"
        _common(container, where, volumes, rules, out)
        _init_container(container, where, names, out)


def _init_container(container: JsonObject, path: str, names: set[str], out: list[Cause]) -> None:
    policy = container.get("restartPolicy")
    if policy is not None and policy not in ("Always", "Never", "OnFailure"):
        values = ("Always", "Never", "OnFailure")
        out.append(not_supported(f"{path}.restartPolicy", policy, values))
    name = container.get("name", "")
    if name in names:
        out.append(duplicate(f"{path}.name", name))
    elif name:
        names.add(name)
    _host_ports(container.get("ports") or (), f"{path}.ports", set(), out)
    if policy == "Always":
        _probes(container, path, out)
        return
    for field in ("lifecycle", *_PROBES):
        if field in container:
            detail = "may not be set for init containers without restartPolicy=Always"
            out.append(forbidden(f"{path}.{field}", detail))


def _common(
    container: JsonObject, path: str, volumes: Mapping[str, Any], rules: PodRules, out: list[Cause]
) -> None:
    get = container.get
    name = get("name")
    if not name:
        out.append(required(f"{path}.name"))
    else:
        problems = dns_label(name)
        if problems:
            out += [invalid(f"{path}.name", name, problem) for problem in problems]
    image = get("image")
    if not image:
        out.append(required(f"{path}.image"))
    elif rules.is_pod and image != image.strip():
        detail = "must not have leading or trailing whitespace"
        out.append(invalid(f"{path}.image", image, detail))
    policy = get("terminationMessagePolicy")
    if policy not in _MESSAGE_POLICIES:
        _enumerated(policy, f"{path}.terminationMessagePolicy", _MESSAGE_POLICIES, out)
    ports, env = get("ports"), get("env")
    if ports:
        _ports(ports, f"{path}.ports", out)
    if env:
        _env(env, f"{path}.env", rules, out)
    sources = get("envFrom")
    if sources:
        _env_from(sources, f"{path}.envFrom", rules, out)
    mounts = get("volumeMounts")
    if mounts:
        _mounts(mounts, f"{path}.volumeMounts", volumes, out)
    policy = get("imagePullPolicy")
    if policy not in _PULL_POLICIES:
        _enumerated(policy, f"{path}.imagePullPolicy", _PULL_POLICIES, out)
    resources = get("resources")
    if resources:
        validate_requirements(resources, f"{path}.resources", out)


def _enumerated(value: Any, path: str, values: tuple[str, ...], out: list[Cause]) -> None:
    out.append(not_supported(path, value, values) if value else required(path))


def _all(problems: Problems, path: str, value: Any, out: list[Cause]) -> None:
    out += [invalid(path, value, problem) for problem in problems]


def _ports(ports: list[JsonObject], path: str, out: list[Cause]) -> None:
    names: set[str] = set()
    for index, port in enumerate(ports):
        name = port.get("name")
        if name:
            problems = port_name(name)
            if problems:
                _all(problems, f"{path}[{index}].name", name, out)
            elif name in names:
                out.append(duplicate(f"{path}[{index}].name", name))
            names.add(name)
        number = port.get("containerPort", 0)
        if number == 0:
            out.append(required(f"{path}[{index}].containerPort"))
        elif not 0 < number < 65_536:
            _all(port_number(number), f"{path}[{index}].containerPort", number, out)
        number = port.get("hostPort", 0)
        if number and not 0 < number < 65_536:
            _all(port_number(number), f"{path}[{index}].hostPort", number, out)
        protocol = port.get("protocol")
        if protocol not in _PROTOCOLS:
            _enumerated(protocol, f"{path}[{index}].protocol", _PROTOCOLS, out)


def _host_ports(ports: Any, path: str, seen: set[str], out: list[Cause]) -> None:
    for index, port in enumerate(ports):
        number = port.get("hostPort")
        if not number:
            continue
        key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{number}"
        if key in seen:
            out.append(duplicate(f"{path}[{index}].hostPort", key))
        seen.add(key)


def _env(env: list[JsonObject], path: str, rules: PodRules, out: list[Cause]) -> None:
    for index, variable in enumerate(env):
        name = variable.get("name")
        if not name:
            out.append(required(f"{path}[{index}].name"))
        else:
            problems = rules.env_rule(name)
            if problems:
                _all(problems, f"{path}[{index}].name", name, out)
        source = variable.get("valueFrom")
        if source is not None:
            _env_source(variable, source, f"{path}[{index}].valueFrom", out)


def _env_source(variable: JsonObject, source: JsonObject, path: str, out: list[Cause]) -> None:
    if "fieldRef" in source:
        field_selector(source["fieldRef"], _ENV_FIELDS, f"{path}.fieldRef", out)
    if "resourceFieldRef" in source:
        _resource_field(source["resourceFieldRef"], f"{path}.resourceFieldRef", out)
    for key in ("configMapKeyRef", "secretKeyRef"):
        if key in source:
            _key_selector(source[key], f"{path}.{key}", out)
    given = sum(name in source for name in _SOURCES)
    if given == 0:
        detail = (
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
            "`secretKeyRef` or `fileKeyRef`"
        )
        out.append(invalid(path, "", detail))
    elif variable.get("value"):
        out.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif given > 1:
        out.append(invalid(path, "", "may not have more than one field specified at a time"))


def field_selector(
    reference: JsonObject, allowed: frozenset[str], path: str, out: list[Cause]
) -> None:
    """A downward API reference to a field of the pod."""
    wanted = reference.get("fieldPath", "")
    if not reference.get("apiVersion"):
        out.append(required(f"{path}.apiVersion"))
        return
    if not wanted:
        out.append(required(f"{path}.fieldPath"))
        return
    head, bracket, rest = wanted.partition("[")
    if bracket and head in ("metadata.labels", "metadata.annotations"):
        key = rest.removesuffix("]").strip("'\"")
        checked = key.lower() if head == "metadata.annotations" else key
        _all(qualified_name(checked), path, checked, out)
    elif wanted not in allowed:
        if _known_field(wanted):
            out.append(not_supported(f"{path}.fieldPath", wanted, sorted(allowed)))
        else:
            detail = f"error converting fieldPath: field label not supported: {wanted}"
            out.append(invalid(f"{path}.fieldPath", wanted, detail))


def _known_field(name: str) -> bool:
    return name in ("metadata.labels", "metadata.annotations") or name in _ENV_FIELDS


def _resource_field(reference: JsonObject, path: str, out: list[Cause]) -> None:
    name = reference.get("resource", "")
    if not name:
        out.append(required(f"{path}.resource"))
    elif name not in _RESOURCE_FIELDS and not name.startswith(
        ("limits.hugepages-", "requests.hugepages-")
    ):
        out.append(not_supported(f"{path}.resource", name, sorted(_RESOURCE_FIELDS)))


def _key_selector(reference: JsonObject, path: str, out: list[Cause]) -> None:
    name, key = reference.get("name", ""), reference.get("key", "")
    _all(dns_subdomain(name), f"{path}.name", name, out)
    if not key:
        out.append(required(f"{path}.key"))
    else:
        _all(config_key(key), f"{path}.key", key, out)


def _env_from(sources: list[JsonObject], path: str, rules: PodRules, out: list[Cause]) -> None:
    for index, source in enumerate(sources):
        prefix = source.get("prefix")
        if prefix:
            _all(rules.env_rule(prefix), f"{path}[{index}].prefix", prefix, out)
        given = [name for name in ("configMapRef", "secretRef") if name in source]
        for key in given:
            name = source[key].get("name", "")
            if not name:
                out.append(required(f"{path}[{index}].{key}.name"))
            else:
                _all(dns_subdomain(name), f"{path}[{index}].{key}.name", name, out)
        if not given:
            detail = "must specify one of: `configMapRef` or `secretRef`"
            out.append(invalid(path, "", detail))
        elif len(given) > 1:
            out.append(invalid(path, "", "may not have more than one field specified at a time"))


def _mounts(
    mounts: list[JsonObject], path: str, volumes: Mapping[str, Any], out: list[Cause]
) -> None:
    seen: set[str] = set()
    for index, mount in enumerate(mounts):
        name, target = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            out.append(required(f"{path}[{index}].name"))
        if name not in volumes:
            out.append(not_found(f"{path}[{index}].name", name))
        if not target:
            out.append(required(f"{path}[{index}].mountPath"))
        if target in seen:
            out.append(invalid(f"{path}[{index}].mountPath", target, "must be unique"))
        seen.add(target)
        for key in ("subPath", "subPathExpr"):
            inner = mount.get(key)
            if inner:
                descending_path(inner, f"{path}.{key}", out)
        if mount.get("subPathExpr") and mount.get("subPath"):
            detail = "subPathExpr and subPath are mutually exclusive"
            out.append(invalid(f"{path}[{index}].subPathExpr", mount["subPathExpr"], detail))


def descending_path(value: str, path: str, out: list[Cause]) -> None:
    """A relative path that never leaves its folder."""
    if value.startswith("/"):
        out.append(invalid(path, value, "must be a relative path"))
    no_backsteps(value, path, out)


def no_backsteps(value: str, path: str, out: list[Cause]) -> None:
    """A path without `..`."""
    if ".." in value.split("/"):
        out.append(invalid(path, value, "must not contain '..'"))


def _probes(container: JsonObject, path: str, out: list[Cause]) -> None:
    for key in _PROBES:
        probe = container.get(key)
        if probe is None:
            continue
        where = f"{path}.{key}"
        _handler(probe, where, out)
        out += [
            invalid(f"{where}.{name}", probe[name], NEGATIVE)
            for name in _PROBE_NUMBERS
            if probe.get(name, 0) < 0
        ]
        grace = probe.get("terminationGracePeriodSeconds")
        if key == "readinessProbe":
            if grace is not None:
                detail = "must not be set for readinessProbes"
                out.append(invalid(f"{where}.terminationGracePeriodSeconds", grace, detail))
            continue
        if grace is not None and grace <= 0:
            detail = "must be greater than 0"
            out.append(invalid(f"{where}.terminationGracePeriodSeconds", grace, detail))
        if probe.get("successThreshold", 1) != 1:
            detail = "must be 1"
            out.append(invalid(f"{where}.successThreshold", probe["successThreshold"], detail))


def _handler(probe: JsonObject, path: str, out: list[Cause]) -> None:
    given = [name for name in _HANDLERS if name in probe]
    if not given:
        out.append(required(path, "must specify a handler type"))
    detail = "may not specify more than 1 handler type"
    out += [forbidden(f"{path}.{name}", detail) for name in given[1:]]
    if not given:
        return
    handler, where = probe[given[0]], f"{path}.{given[0]}"
    match given[0]:
        case "exec" if not handler.get("command"):
            out.append(required(f"{where}.command"))
        case "httpGet":
            if not handler.get("path"):
                out.append(required(f"{where}.path"))
            port_reference(handler.get("port", 0), f"{where}.port", out)
            scheme = handler.get("scheme", "HTTP")
            if scheme not in ("HTTP", "HTTPS"):
                out.append(not_supported(f"{where}.scheme", scheme, ("HTTP", "HTTPS")))
        case "tcpSocket":
            port_reference(handler.get("port", 0), f"{where}.port", out)
        case "grpc":
            _all(port_number(handler.get("port", 0)), f"{where}.port", handler.get("port"), out)


def port_reference(port: Any, path: str, out: list[Cause]) -> None:
    """A port given by number or by name."""
    _all(port_name(port) if isinstance(port, str) else port_number(port), path, port, out)
