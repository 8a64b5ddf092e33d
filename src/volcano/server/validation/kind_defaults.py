"""Defaults of every core kind but pods, as kube-apiserver stores them; one table by kind."""

import base64
from collections.abc import Callable, Mapping
from typing import Any

from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.server.validation.defaults import (
    canonical_amounts,
    default_claim_spec,
    default_pod,
    default_pod_spec,
)

RBAC = "rbac.authorization.k8s.io"
_CLIENT_IP_SECONDS = 10_800
_MAX_INT32 = 2**31 - 1


def apply_defaults(kind: Kind, obj: JsonObject) -> None:
    """Complete an object of a core kind, in place; other kinds stay as they are."""
    default = _DEFAULTS.get((kind.group, kind.kind))
    if default is not None:
        default(obj)


def _namespace(obj: JsonObject) -> None:
    meta = obj.setdefault("metadata", {})
    if meta.get("name"):
        meta["labels"] = {**(meta.get("labels") or {}), "kubernetes.io/metadata.name": meta["name"]}
    obj.setdefault("spec", {})
    obj.setdefault("status", {}).setdefault("phase", "Active")


def _node(obj: JsonObject) -> None:
    obj.setdefault("spec", {})
    status = obj.setdefault("status", {})
    for key in ("capacity", "allocatable"):
        canonical_amounts(status.get(key))
    if "capacity" in status and "allocatable" not in status:
        status["allocatable"] = dict(status["capacity"])


def _service(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    obj.setdefault("status", {}).setdefault("loadBalancer", {})
    if not spec.get("sessionAffinity"):
        spec["sessionAffinity"] = "None"
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        config = spec.setdefault("sessionAffinityConfig", {})
        config.setdefault("clientIP", {}).setdefault("timeoutSeconds", _CLIENT_IP_SECONDS)
    if not spec.get("type"):
        spec["type"] = "ClusterIP"
    for port in spec.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if spec["type"] in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
        if spec.get("clusterIP"):
            spec.setdefault("clusterIPs", [spec["clusterIP"]])
        elif spec.get("clusterIPs"):
            spec["clusterIP"] = spec["clusterIPs"][0]


def _secret(obj: JsonObject) -> None:
    if not obj.get("type"):
        obj["type"] = "Opaque"
    plain = obj.pop("stringData", None)
    if plain:
        data = obj.setdefault("data", {})
        for key, text in plain.items():
            data[key] = base64.b64encode(text.encode()).decode()


def _claim(obj: JsonObject) -> None:
    default_claim_spec(obj.setdefault("spec", {}))
    obj.setdefault("status", {}).setdefault("phase", "Pending")


def _volume(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    canonical_amounts(spec.get("capacity"))
    if "hostPath" in spec:
        spec["hostPath"].setdefault("type", "")
    obj.setdefault("status", {}).setdefault("phase", "Pending")


def _quota(obj: JsonObject) -> None:
    canonical_amounts(obj.setdefault("spec", {}).get("hard"))
    status = obj.setdefault("status", {})
    canonical_amounts(status.get("hard"))
    canonical_amounts(status.get("used"))


def _limit_range(obj: JsonObject) -> None:
    for limit in obj.setdefault("spec", {}).get("limits") or ():
        for key in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
            canonical_amounts(limit.get(key))
        if limit.get("type") != "Container":
            continue
        default = {**limit.get("max", {}), **limit.get("default", {})}
        request = {**limit.get("min", {}), **default, **limit.get("defaultRequest", {})}
        if default:
            limit["default"] = default
        if request:
            limit["defaultRequest"] = request


def _endpoints(obj: JsonObject) -> None:
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def _endpoint_slice(obj: JsonObject) -> None:
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def _template(spec: JsonObject) -> None:
    template = spec.setdefault("template", {})
    template.setdefault("metadata", {})
    default_pod_spec(template.setdefault("spec", {}))


def _workload(obj: JsonObject) -> JsonObject:
    spec: JsonObject = obj.setdefault("spec", {})
    obj.setdefault("status", {})
    _template(spec)
    return spec


def _rolling(spec: JsonObject, key: str, **defaults: Any) -> None:
    strategy = spec.setdefault(key, {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        for name, value in defaults.items():
            rolling.setdefault(name, value)


def _deployment(obj: JsonObject) -> None:
    spec = _workload(obj)
    spec.setdefault("replicas", 1)
    _rolling(spec, "strategy", maxUnavailable="25%", maxSurge="25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)


def _replica_set(obj: JsonObject) -> None:
    _workload(obj).setdefault("replicas", 1)


def _replication_controller(obj: JsonObject) -> None:
    spec = _workload(obj)
    spec.setdefault("replicas", 1)
    labels = spec["template"]["metadata"].get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        meta = obj.setdefault("metadata", {})
        if not meta.get("labels"):
            meta["labels"] = dict(labels)


def _stateful_set(obj: JsonObject) -> None:
    spec = _workload(obj)
    if not spec.get("podManagementPolicy"):
        spec["podManagementPolicy"] = "OrderedReady"
    _rolling(spec, "updateStrategy", partition=0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("serviceName", "")
    for claim in spec.get("volumeClaimTemplates") or ():
        claim.setdefault("apiVersion", "v1")
        claim.setdefault("kind", "PersistentVolumeClaim")
        _claim(claim)


def _daemon_set(obj: JsonObject) -> None:
    spec = _workload(obj)
    _rolling(spec, "updateStrategy", maxUnavailable=1, maxSurge=0)
    spec.setdefault("revisionHistoryLimit", 10)


def _job(obj: JsonObject) -> None:
    spec = _workload(obj)
    _job_spec(spec)
    labels = spec["template"]["metadata"].get("labels")
    meta = obj.setdefault("metadata", {})
    if labels and not meta.get("labels"):
        meta["labels"] = dict(labels)


def _job_spec(spec: JsonObject) -> None:
    if "parallelism" not in spec:
        spec.setdefault("completions", 1)
        spec["parallelism"] = 1
    spec.setdefault("backoffLimit", _MAX_INT32 if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    replaced = "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed"
    spec.setdefault("podReplacementPolicy", replaced)


def _cron_job(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    obj.setdefault("status", {})
    for key, value in (
        ("concurrencyPolicy", "Allow"),
        ("suspend", False),
        ("successfulJobsHistoryLimit", 3),
        ("failedJobsHistoryLimit", 1),
    ):
        spec.setdefault(key, value)
    template = spec.setdefault("jobTemplate", {}).setdefault("spec", {})
    spec["jobTemplate"].setdefault("metadata", {})
    _template(template)


def _priority_class(obj: JsonObject) -> None:
    obj.setdefault("value", 0)
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _storage_class(obj: JsonObject) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


def _network_policy(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for key in ("ingress", "egress"):
        for rule in spec.get(key) or ():
            for port in rule.get("ports") or ():
                port.setdefault("protocol", "TCP")


def _with_status(obj: JsonObject) -> None:
    obj.setdefault("spec", {})
    obj.setdefault("status", {})


def _binding(obj: JsonObject) -> None:
    reference = obj.setdefault("roleRef", {})
    if not reference.get("apiGroup"):
        reference["apiGroup"] = RBAC
    for subject in obj.get("subjects") or ():
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = RBAC


def _role(obj: JsonObject) -> None:
    obj.setdefault("rules", [])


def _definition(obj: JsonObject) -> None:
    spec = obj.setdefault("spec", {})
    names = spec.setdefault("names", {})
    kind = names.get("kind") or ""
    if not names.get("singular") and kind:
        names["singular"] = kind.lower()
    if not names.get("listKind") and kind:
        names["listKind"] = f"{kind}List"
    spec.setdefault("conversion", {"strategy": "None"})
    status = obj.setdefault("status", {})
    if not status.get("storedVersions"):
        stored = [one.get("name") for one in spec.get("versions") or () if one.get("storage")]
        status["storedVersions"] = stored[:1]


def _webhooks(obj: JsonObject, *, mutating: bool) -> None:
    for hook in obj.get("webhooks") or ():
        hook.setdefault("failurePolicy", "Fail")
        hook.setdefault("matchPolicy", "Equivalent")
        hook.setdefault("namespaceSelector", {})
        hook.setdefault("objectSelector", {})
        hook.setdefault("timeoutSeconds", 10)
        if mutating:
            hook.setdefault("reinvocationPolicy", "Never")
        service = (hook.get("clientConfig") or {}).get("service")
        if service is not None:
            service.setdefault("port", 443)
        for rule in hook.get("rules") or ():
            rule.setdefault("scope", "*")


_Default = Callable[[JsonObject], None]

_DEFAULTS: Mapping[tuple[str, str], _Default] = {
    ("", "Pod"): default_pod,
    ("", "Namespace"): _namespace,
    ("", "Node"): _node,
    ("", "Service"): _service,
    ("", "Secret"): _secret,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "PersistentVolume"): _volume,
    ("", "ResourceQuota"): _quota,
    ("", "LimitRange"): _limit_range,
    ("", "Endpoints"): _endpoints,
    ("", "ReplicationController"): _replication_controller,
    ("discovery.k8s.io", "EndpointSlice"): _endpoint_slice,
    ("apps", "Deployment"): _deployment,
    ("apps", "ReplicaSet"): _replica_set,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _cron_job,
    ("scheduling.k8s.io", "PriorityClass"): _priority_class,
    ("storage.k8s.io", "StorageClass"): _storage_class,
    ("networking.k8s.io", "NetworkPolicy"): _network_policy,
    ("policy", "PodDisruptionBudget"): _with_status,
    (RBAC, "RoleBinding"): _binding,
    (RBAC, "ClusterRoleBinding"): _binding,
    (RBAC, "Role"): _role,
    (RBAC, "ClusterRole"): _role,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): lambda obj: _webhooks(
        obj, mutating=True
    ),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): lambda obj: _webhooks(
        obj, mutating=False
    ),
}
