"""THE table of kinds: names, scope and sub-resources of everything we serve or read.

Paths, discovery, the REST mapping of the client and the admission table are derived from it.
Kinds that a CRD adds at run time are further `Kind` values, made by the server.
"""

from collections.abc import Iterable
from typing import NamedTuple


class Kind(NamedTuple):
    """One served kind.

    Attributes:
        group: API group; empty for the core group.
        subresources: served below an object, e.g. `status`, `scale`, `log`.
        verbs: what discovery lists; review kinds have only `create`.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = (
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
    )

    @property
    def api_version(self) -> str:
        """`group/version`, or the bare version of the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def list_kind(self) -> str:
        """Kind of a list of these."""
        return f"{self.kind}List"

    @property
    def resource(self) -> str:
        """`plural.group`: how errors and RBAC name the resource; the bare plural in core."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def root(self) -> str:
        """Path of the group and version, e.g. `/api/v1` or `/apis/apps/v1`."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Path of the collection or, with a name, of one object or its sub-resource."""
        parts = [self.root]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        if name:
            parts.append(name)
            if subresource:
                parts.append(subresource)
        return "/".join(parts)


CREATE_ONLY = ("create",)


def _core(kind: str, plural: str, *short: str, scoped: bool = True, sub: str = "") -> Kind:
    return _kind("", "v1", kind, plural, *short, scoped=scoped, sub=sub)


def _kind(
    group: str,
    version: str,
    kind: str,
    plural: str,
    *short: str,
    scoped: bool = True,
    sub: str = "",
    categories: tuple[str, ...] = (),
) -> Kind:
    return Kind(
        group=group,
        version=version,
        kind=kind,
        plural=plural,
        namespaced=scoped,
        singular=kind.lower(),
        short_names=short,
        categories=categories,
        subresources=tuple(sub.split()),
    )


NAMESPACE = _core("Namespace", "namespaces", "ns", scoped=False, sub="status finalize")
NODE = _core("Node", "nodes", "no", scoped=False, sub="status")
POD = Kind(
    "",
    "v1",
    "Pod",
    "pods",
    singular="pod",
    short_names=("po",),
    categories=("all",),
    subresources=(
        "status",
        "binding",
        "eviction",
        "log",
        "exec",
        "attach",
        "portforward",
        "ephemeralcontainers",
    ),
)
SERVICE = Kind(
    "",
    "v1",
    "Service",
    "services",
    singular="service",
    short_names=("svc",),
    categories=("all",),
    subresources=("status",),
)
CONFIG_MAP = _core("ConfigMap", "configmaps", "cm")
SECRET = _core("Secret", "secrets")
SERVICE_ACCOUNT = _core("ServiceAccount", "serviceaccounts", "sa", sub="token")
EVENT = _core("Event", "events", "ev")
EVENTS_EVENT = _kind("events.k8s.io", "v1", "Event", "events", "ev")
PERSISTENT_VOLUME = _core("PersistentVolume", "persistentvolumes", "pv", scoped=False, sub="status")
PERSISTENT_VOLUME_CLAIM = _core(
    "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", sub="status"
)
RESOURCE_QUOTA = _core("ResourceQuota", "resourcequotas", "quota", sub="status")
LIMIT_RANGE = _core("LimitRange", "limitranges", "limits")
ENDPOINTS = _core("Endpoints", "endpoints", "ep")
REPLICATION_CONTROLLER = _core(
    "ReplicationController", "replicationcontrollers", "rc", sub="status scale"
)
PRIORITY_CLASS = _kind(
    "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "pc", scoped=False
)
STORAGE_CLASS = _kind("storage.k8s.io", "v1", "StorageClass", "storageclasses", "sc", scoped=False)
LEASE = _kind("coordination.k8s.io", "v1", "Lease", "leases")
POD_DISRUPTION_BUDGET = _kind(
    "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "pdb", sub="status"
)
NETWORK_POLICY = _kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", "netpol")
ENDPOINT_SLICE = _kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
REPLICA_SET = _kind(
    "apps", "v1", "ReplicaSet", "replicasets", "rs", sub="status scale", categories=("all",)
)
DEPLOYMENT = _kind(
    "apps", "v1", "Deployment", "deployments", "deploy", sub="status scale", categories=("all",)
)
STATEFUL_SET = _kind(
    "apps", "v1", "StatefulSet", "statefulsets", "sts", sub="status scale", categories=("all",)
)
DAEMON_SET = _kind("apps", "v1", "DaemonSet", "daemonsets", "ds", sub="status", categories=("all",))
BATCH_JOB = _kind("batch", "v1", "Job", "jobs", sub="status", categories=("all",))
BATCH_CRON_JOB = _kind(
    "batch", "v1", "CronJob", "cronjobs", "cj", sub="status", categories=("all",)
)
CUSTOM_RESOURCE_DEFINITION = _kind(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    "crd",
    "crds",
    scoped=False,
    sub="status",
    categories=("api-extensions",),
)
MUTATING_WEBHOOK = _kind(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    scoped=False,
    categories=("api-extensions",),
)
VALIDATING_WEBHOOK = _kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    scoped=False,
    categories=("api-extensions",),
)
RBAC = "rbac.authorization.k8s.io"
ROLE = _kind(RBAC, "v1", "Role", "roles")
ROLE_BINDING = _kind(RBAC, "v1", "RoleBinding", "rolebindings")
CLUSTER_ROLE = _kind(RBAC, "v1", "ClusterRole", "clusterroles", scoped=False)
CLUSTER_ROLE_BINDING = _kind(RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", scoped=False)


def _review(group: str, kind: str, plural: str, *, scoped: bool = False) -> Kind:
    return Kind(group, "v1", kind, plural, scoped, kind.lower(), verbs=CREATE_ONLY)


TOKEN_REVIEW = _review("authentication.k8s.io", "TokenReview", "tokenreviews")
SELF_SUBJECT_REVIEW = _review("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews")
SUBJECT_ACCESS_REVIEW = _review(
    "authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews"
)
SELF_SUBJECT_ACCESS_REVIEW = _review(
    "authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews"
)
SELF_SUBJECT_RULES_REVIEW = _review(
    "authorization.k8s.io", "SelfSubjectRulesReview", "selfsubjectrulesreviews"
)
LOCAL_SUBJECT_ACCESS_REVIEW = _review(
    "authorization.k8s.io", "LocalSubjectAccessReview", "localsubjectaccessreviews", scoped=True
)

CORE_KINDS: tuple[Kind, ...] = (
    NAMESPACE,
    NODE,
    POD,
    SERVICE,
    CONFIG_MAP,
    SECRET,
    SERVICE_ACCOUNT,
    EVENT,
    EVENTS_EVENT,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    RESOURCE_QUOTA,
    LIMIT_RANGE,
    ENDPOINTS,
    REPLICATION_CONTROLLER,
    PRIORITY_CLASS,
    STORAGE_CLASS,
    LEASE,
    POD_DISRUPTION_BUDGET,
    NETWORK_POLICY,
    ENDPOINT_SLICE,
    REPLICA_SET,
    DEPLOYMENT,
    STATEFUL_SET,
    DAEMON_SET,
    BATCH_JOB,
    BATCH_CRON_JOB,
    CUSTOM_RESOURCE_DEFINITION,
    MUTATING_WEBHOOK,
    VALIDATING_WEBHOOK,
    ROLE,
    ROLE_BINDING,
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    TOKEN_REVIEW,
    SELF_SUBJECT_REVIEW,
    SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_RULES_REVIEW,
    LOCAL_SUBJECT_ACCESS_REVIEW,
)
"""Kinds built into the server."""

JOB = _kind("batch.volcano.sh", "v1alpha1", "Job", "jobs", "vcjob", "vj", sub="status")
CRON_JOB = _kind(
    "batch.volcano.sh", "v1alpha1", "CronJob", "cronjobs", "cronvcjob", "cronvj", sub="status"
)
POD_GROUP = _kind(
    "scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups", "pg", "podgroup-v1beta1"
)
QUEUE = _kind(
    "scheduling.volcano.sh",
    "v1beta1",
    "Queue",
    "queues",
    "q",
    "queue-v1beta1",
    scoped=False,
    sub="status",
)
COMMAND = _kind("bus.volcano.sh", "v1alpha1", "Command", "commands")
JOB_FLOW = _kind("flow.volcano.sh", "v1alpha1", "JobFlow", "jobflows", "jf", sub="status")
JOB_TEMPLATE = _kind(
    "flow.volcano.sh", "v1alpha1", "JobTemplate", "jobtemplates", "jt", sub="status"
)
HYPER_NODE = _kind(
    "topology.volcano.sh", "v1alpha1", "HyperNode", "hypernodes", "hn", scoped=False, sub="status"
)
NUMATOPOLOGY = _kind(
    "nodeinfo.volcano.sh", "v1alpha1", "Numatopology", "numatopologies", "numatopo", scoped=False
)
COLOCATION_CONFIGURATION = _kind(
    "config.volcano.sh",
    "v1alpha1",
    "ColocationConfiguration",
    "colocationconfigurations",
    sub="status",
)
NODE_SHARD = _kind(
    "shard.volcano.sh", "v1alpha1", "NodeShard", "nodeshards", "nsh", scoped=False, sub="status"
)

VOLCANO_KINDS: tuple[Kind, ...] = (
    JOB,
    CRON_JOB,
    POD_GROUP,
    QUEUE,
    COMMAND,
    JOB_FLOW,
    JOB_TEMPLATE,
    HYPER_NODE,
    NUMATOPOLOGY,
    COLOCATION_CONFIGURATION,
    NODE_SHARD,
)
"""Kinds that come as CRDs (spec api, section 1)."""

ALL_KINDS: tuple[Kind, ...] = CORE_KINDS + VOLCANO_KINDS


def by_resource(kinds: Iterable[Kind]) -> dict[tuple[str, str, str], Kind]:
    """Index by (group, version, plural): how a URL names a kind."""
    return {(kind.group, kind.version, kind.plural): kind for kind in kinds}
