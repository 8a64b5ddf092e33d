"""Validation by kind: one table of what a new object must fulfil and one of what may change."""

from collections.abc import Callable, Mapping, Sequence

from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.base.errors import ApiError, Cause, ErrorDetails
from volcano.server.schema.causes import sentence
from volcano.server.validation import cluster, core, workloads
from volcano.server.validation.metadata import validate_metadata, validate_metadata_update
from volcano.server.validation.pods import validate_pod, validate_pod_update

_Create = Callable[[JsonObject, list[Cause]], None]
_Update = Callable[[JsonObject, JsonObject, list[Cause]], None]

_CREATE: Mapping[tuple[str, str], _Create] = {
    ("", "Pod"): validate_pod,
    ("", "Namespace"): core.validate_namespace,
    ("", "Node"): core.validate_node,
    ("", "Service"): core.validate_service,
    ("", "ConfigMap"): core.validate_config_map,
    ("", "Secret"): core.validate_secret,
    ("", "PersistentVolumeClaim"): core.validate_persistent_volume_claim,
    ("", "PersistentVolume"): core.validate_persistent_volume,
    ("", "ResourceQuota"): core.validate_quota,
    ("", "LimitRange"): core.validate_limit_range,
    ("", "ReplicationController"): workloads.validate_replication_controller,
    ("apps", "Deployment"): workloads.validate_deployment,
    ("apps", "ReplicaSet"): workloads.validate_replica_set,
    ("apps", "StatefulSet"): workloads.validate_stateful_set,
    ("apps", "DaemonSet"): workloads.validate_daemon_set,
    ("batch", "Job"): workloads.validate_job,
    ("batch", "CronJob"): workloads.validate_cron_job,
    ("scheduling.k8s.io", "PriorityClass"): cluster.validate_priority_class,
    ("policy", "PodDisruptionBudget"): cluster.validate_budget,
    ("coordination.k8s.io", "Lease"): cluster.validate_lease,
    ("storage.k8s.io", "StorageClass"): cluster.validate_storage_class,
    (cluster.RBAC, "Role"): cluster.validate_role,
    (cluster.RBAC, "ClusterRole"): cluster.validate_cluster_role,
    (cluster.RBAC, "RoleBinding"): cluster.validate_role_binding,
    (cluster.RBAC, "ClusterRoleBinding"): cluster.validate_cluster_role_binding,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): cluster.validate_definition,
}

_UPDATE: Mapping[tuple[str, str], _Update] = {
    ("", "Pod"): validate_pod_update,
    ("", "Service"): core.validate_service_update,
    ("", "ConfigMap"): core.frozen_update,
    ("", "Secret"): core.frozen_update,
    ("", "PersistentVolumeClaim"): core.validate_claim_update,
    ("apps", "Deployment"): workloads.selector_update,
    ("apps", "ReplicaSet"): workloads.selector_update,
    ("apps", "DaemonSet"): workloads.selector_update,
    ("apps", "StatefulSet"): workloads.stateful_set_update,
    ("batch", "Job"): workloads.job_update,
    ("scheduling.k8s.io", "PriorityClass"): cluster.priority_class_update,
    ("storage.k8s.io", "StorageClass"): cluster.storage_class_update,
    (cluster.RBAC, "RoleBinding"): cluster.binding_update,
    (cluster.RBAC, "ClusterRoleBinding"): cluster.binding_update,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): cluster.definition_update,
}


def validate_create(kind: Kind, obj: JsonObject) -> list[Cause]:
    """What is wrong with a new object, defaulted, its name generated; of custom kinds only
    metadata.
    """
    out: list[Cause] = []
    validate_metadata(kind, obj.get("metadata") or {}, out)
    rule = _CREATE.get((kind.group, kind.kind))
    if rule is not None:
        rule(obj, out)
    return out


def validate_update(
    kind: Kind, new: JsonObject, old: JsonObject, subresource: str = ""
) -> list[Cause]:
    """What is wrong with an object that replaces `old`, defaulted, its status isolated.

    Writes to a sub-resource leave the spec as it is, so only metadata is checked then.
    """
    out: list[Cause] = []
    validate_metadata_update(new.get("metadata") or {}, old.get("metadata") or {}, out)
    if subresource:
        return out
    key = (kind.group, kind.kind)
    update = _UPDATE.get(key)
    if update is not None:
        update(new, old, out)
    # A pod's own rule looks at its spec only where it changed.
    rule = _CREATE.get(key) if kind.kind != "Pod" else None
    if rule is not None:
        rule(new, out)
    return out


def invalid(kind: Kind, name: str, causes: Sequence[Cause]) -> ApiError:
    """The 422 answer: one cause inline, several in brackets, each told once."""
    sentences = list(dict.fromkeys(sentence(cause) for cause in causes))
    text = sentences[0] if len(sentences) == 1 else f"[{', '.join(sentences)}]"
    named = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    message = f'{named} "{name}" is invalid'
    return ApiError(
        "Invalid",
        f"{message}: {text}" if sentences else message,
        details=ErrorDetails(name=name, group=kind.group, kind=kind.kind, causes=tuple(causes)),
    )
