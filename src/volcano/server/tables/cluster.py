"""How nodes, namespaces, storage, network, policy and the small kinds of a cluster are shown."""

from collections.abc import Callable

from volcano.api import kinds
from volcano.api.objects import JsonObject
from volcano.server.tables.cells import (
    NONE,
    UNKNOWN,
    UNSET,
    Cells,
    Printer,
    columns,
    condition,
    created,
    items,
    joined,
    labels,
    name_of,
    part,
    selector,
    some,
)

ROLE_LABEL = "node-role.kubernetes.io/"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _node(obj: JsonObject, now: float) -> Cells:
    status = part(obj, "status")
    info = part(status, "nodeInfo")
    return [
        name_of(obj),
        _node_state(obj),
        _node_roles(obj),
        created(obj, now),
        info.get("kubeletVersion", ""),
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        info.get("kernelVersion") or UNKNOWN,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _node_state(obj: JsonObject) -> str:
    ready = condition(obj, "Ready").get("status")
    states = ["Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"]
    if part(obj, "spec").get("unschedulable"):
        states.append("SchedulingDisabled")
    return ",".join(states)


def _node_roles(obj: JsonObject) -> str:
    roles = set()
    for key, value in (part(obj, "metadata").get("labels") or {}).items():
        if key.startswith(ROLE_LABEL):
            roles.add(key.removeprefix(ROLE_LABEL))
        elif key == "kubernetes.io/role":
            roles.add(value)
    return joined(sorted(role for role in roles if role))


def _address(status: JsonObject, type_: str) -> str:
    for address in items(status, "addresses"):
        if address.get("type") == type_:
            return str(address.get("address", ""))
    return NONE


def _namespace(obj: JsonObject, now: float) -> Cells:
    return [name_of(obj), part(obj, "status").get("phase", ""), created(obj, now)]


def _config_map(obj: JsonObject, now: float) -> Cells:
    count = len(part(obj, "data")) + len(part(obj, "binaryData"))
    return [name_of(obj), count, created(obj, now)]


def _secret(obj: JsonObject, now: float) -> Cells:
    return [name_of(obj), obj.get("type", ""), len(part(obj, "data")), created(obj, now)]


def _service_account(obj: JsonObject, now: float) -> Cells:
    return [name_of(obj), len(items(obj, "secrets")), created(obj, now)]


def _modes(modes: list[str]) -> str:
    return ",".join(ACCESS_MODES.get(mode, mode) for mode in modes)


def _persistent_volume(obj: JsonObject, now: float) -> Cells:
    spec, status = part(obj, "spec"), part(obj, "status")
    claim = part(spec, "claimRef")
    phase = status.get("phase", "")
    return [
        name_of(obj),
        part(spec, "capacity").get("storage", ""),
        _modes(items(spec, "accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        "Terminating" if part(obj, "metadata").get("deletionTimestamp") else phase,
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName") or UNSET,
        status.get("reason", ""),
        created(obj, now),
        spec.get("volumeMode") or UNSET,
    ]


def _persistent_volume_claim(obj: JsonObject, now: float) -> Cells:
    spec, status = part(obj, "spec"), part(obj, "status")
    bound = bool(spec.get("volumeName"))
    phase = status.get("phase", "")
    return [
        name_of(obj),
        "Terminating" if part(obj, "metadata").get("deletionTimestamp") else phase,
        spec.get("volumeName", ""),
        part(status, "capacity").get("storage", "") if bound else "",
        _modes(items(status, "accessModes")) if bound else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName") or UNSET,
        created(obj, now),
        spec.get("volumeMode") or UNSET,
    ]


def _storage_class(obj: JsonObject, now: float) -> Cells:
    annotations = part(obj, "metadata").get("annotations") or {}
    name = name_of(obj)
    return [
        f"{name} (default)" if annotations.get(DEFAULT_CLASS) == "true" else name,
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy", "Delete"),
        obj.get("volumeBindingMode") or UNSET,
        bool(obj.get("allowVolumeExpansion")),
        created(obj, now),
    ]


def _priority_class(obj: JsonObject, now: float) -> Cells:
    return [
        name_of(obj),
        obj.get("value", 0),
        bool(obj.get("globalDefault")),
        created(obj, now),
        obj.get("preemptionPolicy") or UNSET,
    ]


def _lease(obj: JsonObject, now: float) -> Cells:
    return [name_of(obj), part(obj, "spec").get("holderIdentity", ""), created(obj, now)]


def _disruption_budget(obj: JsonObject, now: float) -> Cells:
    spec = part(obj, "spec")
    return [
        name_of(obj),
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        part(obj, "status").get("disruptionsAllowed", 0),
        created(obj, now),
    ]


def _network_policy(obj: JsonObject, now: float) -> Cells:
    return [name_of(obj), selector(part(obj, "spec").get("podSelector")), created(obj, now)]


def _resource_quota(obj: JsonObject, now: float) -> Cells:
    status = part(obj, "status")
    used = part(status, "used")
    texts: tuple[list[str], list[str]] = ([], [])
    for name, hard in sorted(part(status, "hard").items()):
        is_limit = name.startswith("limits.")
        texts[is_limit].append(f"{name}: {used.get(name, '0')}/{hard}")
    requests, limits = (", ".join(text) for text in texts)
    return [name_of(obj), requests, limits, created(obj, now)]


def _service(obj: JsonObject, now: float) -> Cells:
    spec = part(obj, "spec")
    return [
        name_of(obj),
        spec.get("type", "ClusterIP"),
        spec.get("clusterIP") or NONE,
        _external(spec, part(obj, "status")),
        joined(_service_port(port) for port in items(spec, "ports")),
        created(obj, now),
        labels(spec.get("selector")),
    ]


def _service_port(port: JsonObject) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{node_port}/{port.get('protocol', 'TCP')}"


def _external(spec: JsonObject, status: JsonObject) -> str:
    addresses = items(spec, "externalIPs")
    match spec.get("type", "ClusterIP"):
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case "LoadBalancer":
            ingress = items(part(status, "loadBalancer"), "ingress")
            given = [one.get("ip") or one.get("hostname", "") for one in ingress]
            return joined([*given, *addresses], empty="<pending>")
        case _:
            return joined(addresses)


def _endpoints(obj: JsonObject, now: float) -> Cells:
    texts = []
    for subset in items(obj, "subsets"):
        addresses = items(subset, "addresses")
        ports = items(subset, "ports")
        for port in ports:
            texts += [f"{address.get('ip')}:{port.get('port')}" for address in addresses]
        if not ports:
            texts += [str(address.get("ip")) for address in addresses]
    return [name_of(obj), some(texts), created(obj, now)]


def _endpoint_slice(obj: JsonObject, now: float) -> Cells:
    ports = [str(port.get("port") or "*") for port in items(obj, "ports")]
    addresses = [
        address for endpoint in items(obj, "endpoints") for address in items(endpoint, "addresses")
    ]
    return [
        name_of(obj),
        obj.get("addressType", ""),
        some(ports, empty=UNSET),
        some(addresses, empty=UNSET),
        created(obj, now),
    ]


def created_at(obj: JsonObject, _now: float) -> Cells:
    """The cells of kinds that are shown with their time of creation."""
    return [name_of(obj), part(obj, "metadata").get("creationTimestamp", "")]


def _webhooks(obj: JsonObject, now: float) -> Cells:
    return [name_of(obj), len(items(obj, "webhooks")), created(obj, now)]


def _binding(obj: JsonObject, now: float) -> Cells:
    reference = part(obj, "roleRef")
    named: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in items(obj, "subjects"):
        kind, name = subject.get("kind"), str(subject.get("name", ""))
        if kind == "ServiceAccount":
            name = f"{subject.get('namespace', '')}/{name}"
        named.setdefault(str(kind), []).append(name)
    return [
        name_of(obj),
        f"{reference.get('kind', '')}/{reference.get('name', '')}",
        created(obj, now),
        *(", ".join(named[kind]) for kind in ("User", "Group", "ServiceAccount")),
    ]


def _printer(
    cells: Callable[[JsonObject, float], Cells], *names: str, wide: tuple[str, ...] = ()
) -> Printer:
    return Printer(columns(*names, wide=wide), cells)


_CREATED = _printer(created_at, "Name", "Created At")
_HOOKS = _printer(_webhooks, "Name", "Webhooks:integer", "Age")
_SUBJECTS = _printer(_binding, "Name", "Role", "Age", wide=("Users", "Groups", "ServiceAccounts"))

PRINTERS = {
    kinds.NODE: _printer(
        _node,
        *("Name", "Status", "Roles", "Age", "Version"),
        wide=("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
    ),
    kinds.NAMESPACE: _printer(_namespace, "Name", "Status", "Age"),
    kinds.CONFIG_MAP: _printer(_config_map, "Name", "Data", "Age"),
    kinds.SECRET: _printer(_secret, "Name", "Type", "Data", "Age"),
    kinds.SERVICE_ACCOUNT: _printer(_service_account, "Name", "Secrets", "Age"),
    kinds.PERSISTENT_VOLUME: _printer(
        _persistent_volume,
        *("Name", "Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim"),
        *("StorageClass", "VolumeAttributesClass", "Reason", "Age"),
        wide=("VolumeMode",),
    ),
    kinds.PERSISTENT_VOLUME_CLAIM: _printer(
        _persistent_volume_claim,
        *("Name", "Status", "Volume", "Capacity", "Access Modes"),
        *("StorageClass", "VolumeAttributesClass", "Age"),
        wide=("VolumeMode",),
    ),
    kinds.STORAGE_CLASS: _printer(
        _storage_class,
        *("Name", "Provisioner", "ReclaimPolicy", "VolumeBindingMode"),
        *("AllowVolumeExpansion", "Age"),
    ),
    kinds.PRIORITY_CLASS: _printer(
        _priority_class,
        *("Name", "Value:integer", "Global-Default:boolean", "Age", "PreemptionPolicy"),
    ),
    kinds.LEASE: _printer(_lease, "Name", "Holder", "Age"),
    kinds.POD_DISRUPTION_BUDGET: _printer(
        _disruption_budget,
        *("Name", "Min Available", "Max Unavailable", "Allowed Disruptions:integer", "Age"),
    ),
    kinds.NETWORK_POLICY: _printer(_network_policy, "Name", "Pod-Selector", "Age"),
    kinds.RESOURCE_QUOTA: _printer(_resource_quota, "Name", "Request", "Limit", "Age"),
    kinds.LIMIT_RANGE: _CREATED,
    kinds.SERVICE: _printer(
        _service,
        *("Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age"),
        wide=("Selector",),
    ),
    kinds.ENDPOINTS: _printer(_endpoints, "Name", "Endpoints", "Age"),
    kinds.ENDPOINT_SLICE: _printer(
        _endpoint_slice, "Name", "AddressType", "Ports", "Endpoints", "Age"
    ),
    kinds.CUSTOM_RESOURCE_DEFINITION: _CREATED,
    kinds.ROLE: _CREATED,
    kinds.CLUSTER_ROLE: _CREATED,
    kinds.ROLE_BINDING: _SUBJECTS,
    kinds.CLUSTER_ROLE_BINDING: _SUBJECTS,
    kinds.MUTATING_WEBHOOK: _HOOKS,
    kinds.VALIDATING_WEBHOOK: _HOOKS,
}
