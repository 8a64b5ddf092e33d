"""The kinds of the core group but pods: services, config, secrets, nodes, volumes, quotas."""

import base64
import json
from typing import Any

from volcano.api.objects import JsonObject
from volcano.base.errors import Cause
from volcano.resources.quantity import Quantity, parse_quantity
from volcano.server.schema.causes import (
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from volcano.server.validation.containers import port_reference
from volcano.server.validation.metadata import dns_name, validate_labels, validate_selector
from volcano.server.validation.resources import amount, may_overcommit, quota_resource
from volcano.server.validation.texts import (
    config_key,
    dns_subdomain,
    label_value,
    port_number,
    qualified_name,
)

_DATA_BYTES_MAX = 1024 * 1024
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES = ("Block", "Filesystem")
_SERVICE_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_LIMIT_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
IMMUTABLE = "field is immutable"
_FROZEN = "field is immutable when `immutable` is set"


def validate_config_map(obj: JsonObject, out: list[Cause]) -> None:
    """Keys and size of a ConfigMap."""
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    size = 0
    for key, value in data.items():
        _key(key, f"data[{key}]", out)
        if key in binary:
            detail = "duplicate of key present in binaryData"
            out.append(invalid(f"data[{key}]", key, detail))
        size += len(value.encode())
    for key, value in binary.items():
        _key(key, f"binaryData[{key}]", out)
        size += len(value) * 3 // 4
    if size > _DATA_BYTES_MAX:
        out.append(too_long("[]", _DATA_BYTES_MAX))


def _key(key: str, path: str, out: list[Cause]) -> None:
    problems = config_key(key)
    if problems:
        out += [invalid(path, key, problem) for problem in problems]


def validate_secret(obj: JsonObject, out: list[Cause]) -> None:
    """Keys and size of a Secret, and what its type asks for."""
    data = obj.get("data") or {}
    for key in data:
        _key(key, f"data[{key}]", out)
    if sum(len(value) * 3 // 4 for value in data.values()) > _DATA_BYTES_MAX:
        out.append(too_long("data", _DATA_BYTES_MAX))
    needed: tuple[str, ...] = ()
    match obj.get("type"):
        case "kubernetes.io/service-account-token":
            name = "kubernetes.io/service-account.name"
            if not ((obj.get("metadata") or {}).get("annotations") or {}).get(name):
                out.append(required(f"metadata.annotations[{name}]"))
        case "kubernetes.io/dockercfg":
            needed = (".dockercfg",)
        case "kubernetes.io/dockerconfigjson":
            needed = (".dockerconfigjson",)
        case "kubernetes.io/basic-auth":
            if "username" not in data and "password" not in data:
                needed = ("username", "password")
        case "kubernetes.io/ssh-auth":
            needed = ("ssh-privatekey",)
        case "kubernetes.io/tls":
            needed = ("tls.crt", "tls.key")
    out += [required(f"data[{key}]") for key in needed if key not in data]
    for key in needed:
        if key.startswith(".docker") and key in data:
            _docker_config(data[key], f"data[{key}]", out)


def _docker_config(value: str, path: str, out: list[Cause]) -> None:
    try:
        json.loads(base64.b64decode(value))
    except ValueError as error:
        out.append(invalid(path, "<secret contents redacted>", str(error)))


def frozen_update(new: JsonObject, old: JsonObject, out: list[Cause]) -> None:
    """ConfigMaps and Secrets marked immutable keep their data."""
    if "type" in old and new.get("type") != old.get("type"):
        out.append(invalid("type", new.get("type"), IMMUTABLE))
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        out.append(forbidden("immutable", _FROZEN))
    out += [
        forbidden(key, _FROZEN)
        for key in ("data", "binaryData")
        if (new.get(key) or {}) != (old.get(key) or {})
    ]


def validate_service(obj: JsonObject, out: list[Cause]) -> None:
    """A Service's type, ports and selector."""
    spec = obj.get("spec") or {}
    kind, ports = spec.get("type", ""), spec.get("ports") or []
    headless = spec.get("clusterIP") == "None"
    if not ports and not headless and kind != "ExternalName":
        out.append(required("spec.ports"))
    if kind in ("LoadBalancer", "NodePort") and headless:
        detail = f"may not be set to 'None' for {kind} services"
        out.append(invalid("spec.clusterIPs[0]", "None", detail))
    if kind == "ExternalName":
        _external_name(spec, out)
    names: set[str] = set()
    for index, port in enumerate(ports):
        _service_port(port, f"spec.ports[{index}]", len(ports) > 1, names, out)
    validate_labels(spec.get("selector") or {}, "spec.selector", out)
    affinity = spec.get("sessionAffinity", "")
    if affinity not in ("ClientIP", "None"):
        out.append(not_supported("spec.sessionAffinity", affinity, ("ClientIP", "None")))
    if kind not in _SERVICE_TYPES:
        out.append(not_supported("spec.type", kind, _SERVICE_TYPES))
    _port_clashes(kind, ports, out)


def _external_name(spec: JsonObject, out: list[Cause]) -> None:
    if spec.get("clusterIPs") or spec.get("clusterIP"):
        out.append(forbidden("spec.clusterIPs", "may not be set for ExternalName services"))
    name = (spec.get("externalName") or "").removesuffix(".")
    if not name:
        out.append(required("spec.externalName"))
    else:
        dns_name("spec.externalName", name, out, dns_subdomain)


def _service_port(
    port: JsonObject,
    path: str,
    needs_name: bool,  # noqa: FBT001 - one of two callers' plain facts, read once
    names: set[str],
    out: list[Cause],
) -> None:
    name = port.get("name", "")
    if not name:
        if needs_name:
            out.append(required(f"{path}.name"))
    else:
        dns_name(f"{path}.name", name, out)
        if name in names:
            out.append(duplicate(f"{path}.name", name))
        names.add(name)
    number = port.get("port", 0)
    out += [invalid(f"{path}.port", number, problem) for problem in port_number(number)]
    protocol = port.get("protocol", "")
    if protocol not in _PROTOCOLS:
        out.append(not_supported(f"{path}.protocol", protocol, _PROTOCOLS))
    port_reference(port.get("targetPort", number), f"{path}.targetPort", out)


def _port_clashes(kind: str, ports: list[JsonObject], out: list[Cause]) -> None:
    seen: set[tuple[str, str, int]] = set()
    for index, port in enumerate(ports):
        node_port = port.get("nodePort")
        if node_port and kind == "ClusterIP":
            detail = "may not be used when `type` is 'ClusterIP'"
            out.append(forbidden(f"spec.ports[{index}].nodePort", detail))
        protocol = port.get("protocol", "")
        if node_port and ("node", protocol, node_port) in seen:
            out.append(duplicate(f"spec.ports[{index}].nodePort", node_port))
        if ("port", protocol, port.get("port", 0)) in seen:
            value = {"protocol": protocol, "port": port.get("port", 0)}
            out.append(duplicate(f"spec.ports[{index}]", value))
        seen.add(("node", protocol, node_port or 0))
        seen.add(("port", protocol, port.get("port", 0)))


def validate_service_update(new: JsonObject, old: JsonObject, out: list[Cause]) -> None:
    """The cluster IP of a Service stays."""
    address, before = (one.get("spec", {}).get("clusterIP") for one in (new, old))
    external = "ExternalName" in (new["spec"].get("type"), old["spec"].get("type"))
    if before and address != before and not external:
        detail = "may not change once set"
        out.append(invalid("spec.clusterIPs[0]", address, detail))


def validate_namespace(obj: JsonObject, out: list[Cause]) -> None:
    """Finalizers of a Namespace's spec."""
    for name in (obj.get("spec") or {}).get("finalizers") or ():
        out += [invalid("spec.finalizers", name, problem) for problem in qualified_name(name)]


def validate_node(obj: JsonObject, out: list[Cause]) -> None:
    """Taints of a Node."""
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate((obj.get("spec") or {}).get("taints") or ()):
        path = f"metadata.taints[{index}]"
        key, effect = taint.get("key", ""), taint.get("effect", "")
        dns_name(f"{path}.key", key, out, qualified_name)
        problems = label_value(taint.get("value", ""))
        if problems:
            out.append(invalid(f"{path}.value", taint.get("value"), ";".join(problems)))
        if not effect:
            out.append(required(f"{path}.effect"))
        elif effect not in _EFFECTS:
            out.append(not_supported(f"{path}.effect", effect, _EFFECTS))
        if (key, effect) in seen:
            out.append(duplicate(path, taint))
        seen.add((key, effect))


def validate_claim(spec: JsonObject, path: str, out: list[Cause]) -> None:
    """The spec of a PersistentVolumeClaim."""
    modes = spec.get("accessModes") or ()
    if not modes:
        detail = "at least 1 access mode is required"
        out.append(required(f"{path}.accessModes", detail))
    validate_selector(spec.get("selector"), f"{path}.selector", out)
    _access_modes(modes, path, out)
    where = f"{path}.resources[storage]"
    wanted = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if wanted is None:
        out.append(required(where))
    elif parse_quantity(wanted).nano <= 0:
        out.append(invalid(where, str(parse_quantity(wanted)), "must be greater than zero"))
    name = spec.get("storageClassName")
    if name:
        dns_name(f"{path}.storageClassName", name, out, dns_subdomain)
    _volume_mode(spec, path, out)


def _access_modes(modes: Any, path: str, out: list[Cause]) -> None:
    out += [
        not_supported(f"{path}.accessModes", mode, _ACCESS_MODES)
        for mode in modes
        if mode not in _ACCESS_MODES
    ]
    if "ReadWriteOncePod" in modes and any(mode != "ReadWriteOncePod" for mode in modes):
        detail = "may not use ReadWriteOncePod with other access modes"
        out.append(forbidden(f"{path}.accessModes", detail))


def _volume_mode(spec: JsonObject, path: str, out: list[Cause]) -> None:
    mode = spec.get("volumeMode")
    if mode is not None and mode not in _VOLUME_MODES:
        out.append(not_supported(f"{path}.volumeMode", mode, _VOLUME_MODES))


def validate_persistent_volume_claim(obj: JsonObject, out: list[Cause]) -> None:
    """A PersistentVolumeClaim."""
    validate_claim(obj.get("spec") or {}, "spec", out)


def validate_claim_update(new: JsonObject, old: JsonObject, out: list[Cause]) -> None:
    """A claim's spec stays, but for the volume it is bound to and the size it asks for."""
    bound = (old.get("status") or {}).get("phase") == "Bound"

    def fixed(obj: JsonObject) -> JsonObject:
        spec = dict(obj.get("spec") or {})
        if not (old.get("spec") or {}).get("volumeName"):
            spec.pop("volumeName", None)
        if bound:
            spec.pop("resources", None)
            spec.pop("volumeAttributesClassName", None)
        return spec

    if fixed(new) != fixed(old):
        detail = (
            "spec is immutable after creation except resources.requests and "
            "volumeAttributesClassName for bound claims"
        )
        out.append(forbidden("spec", detail))
    if _storage(new).nano < _storage(old).nano:
        detail = "field can not be less than status.capacity"
        out.append(forbidden("spec.resources.requests.storage", detail))


def _storage(obj: JsonObject) -> Quantity:
    resources = (obj.get("spec") or {}).get("resources") or {}
    return parse_quantity((resources.get("requests") or {}).get("storage", 0))


def validate_persistent_volume(obj: JsonObject, out: list[Cause]) -> None:
    """A PersistentVolume's capacity, modes and source."""
    spec = obj.get("spec") or {}
    modes, capacity = spec.get("accessModes") or (), spec.get("capacity") or {}
    if not modes:
        out.append(required("spec.accessModes"))
    _access_modes(modes, "spec", out)
    if not capacity:
        out.append(required("spec.capacity"))
    if "storage" not in capacity or len(capacity) > 1:
        out.append(not_supported("spec.capacity", capacity, ("storage",)))
    for name, value in capacity.items():
        if parse_quantity(value).nano <= 0:
            detail = "must be greater than zero"
            out.append(invalid(f"spec.capacity[{name}]", str(parse_quantity(value)), detail))
    policies = ("Delete", "Recycle", "Retain")
    policy = spec.get("persistentVolumeReclaimPolicy", "Retain")
    if policy not in policies:
        out.append(not_supported("spec.persistentVolumeReclaimPolicy", policy, policies))
    _volume_mode(spec, "spec", out)
    if not (spec.keys() & _VOLUME_SOURCES):
        out.append(required("spec", "must specify a volume type"))


_VOLUME_SOURCES = frozenset(
    {
        *("awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "csi", "fc"),
        *("flexVolume", "flocker", "gcePersistentDisk", "glusterfs", "hostPath", "iscsi"),
        *("local", "nfs", "photonPersistentDisk", "portworxVolume", "quobyte", "rbd"),
        *("scaleIO", "storageos", "vsphereVolume"),
    }
)


def validate_quota(obj: JsonObject, out: list[Cause]) -> None:
    """Names and amounts of a ResourceQuota."""
    for name, value in ((obj.get("spec") or {}).get("hard") or {}).items():
        path = f"spec.hard[{name}]"
        problems = quota_resource(name)
        out += [invalid(path, name, problem) for problem in problems]
        amount(name, value, path, out)


def validate_limit_range(obj: JsonObject, out: list[Cause]) -> None:
    """A LimitRange: bounds and defaults that do not contradict each other."""
    seen: set[str] = set()
    for index, limit in enumerate((obj.get("spec") or {}).get("limits") or ()):
        path = f"spec.limits[{index}]"
        kind = limit.get("type", "")
        problems = qualified_name(kind)
        if not problems and "/" not in kind and kind not in _LIMIT_TYPES:
            problems = ("must be a standard limit type or fully qualified",)
        out += [invalid(f"{path}.type", kind, problem) for problem in problems]
        if kind in seen:
            out.append(duplicate(f"{path}.type", kind))
        seen.add(kind)
        if kind == "Pod":
            out += [
                forbidden(f"{path}.{key}", "may not be specified when `type` is 'Pod'")
                for key in ("default", "defaultRequest")
                if limit.get(key)
            ]
        _limit_amounts(limit, path, out)


def _limit_amounts(limit: JsonObject, path: str, out: list[Cause]) -> None:
    names = {
        name for key in ("min", "max", "default", "defaultRequest") for name in limit.get(key, {})
    }
    for name in sorted(names):
        low, high, default, request = (
            parse_quantity(limit[key][name]) if name in limit.get(key, {}) else None
            for key in ("min", "max", "default", "defaultRequest")
        )
        for small, large, key, shown, what in (
            (low, high, "min", low, ("min value", "max value")),
            (low, request, "defaultRequest", request, ("min value", "default request value")),
            (request, high, "defaultRequest", request, ("default request value", "max value")),
            (
                *(request, default, "defaultRequest", request),
                ("default request value", "default limit value"),
            ),
            (low, default, "default", low, ("min value", "default value")),
            (default, high, "default", high, ("default value", "max value")),
        ):
            if small is not None and large is not None and small.nano > large.nano:
                detail = f"{what[0]} {small} is greater than {what[1]} {large}"
                out.append(invalid(f"{path}.{key}[{name}]", str(shown), detail))
        if None not in (default, request) and default != request and not may_overcommit(name):
            detail = (
                f"default value {default} must equal to defaultRequest value {request} in {name}"
            )
            out.append(invalid(f"{path}.defaultRequest[{name}]", str(request), detail))
