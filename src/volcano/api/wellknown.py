"""Well-known names: annotations, labels, environment variables, conditions, reasons, objects.

Clients, manifests and operators match on these texts, so they are written once, here. `A` in a
comment says annotation, `L` label; where nothing is said it is an annotation (spec api, 12-14).
"""

from typing import Final

# Pods of a Job, written by the job controller when it creates them.
GROUP_NAME: Final = "scheduling.k8s.io/group-name"
"""Annotation: the PodGroup of a pod. The link between the two."""
JOB_NAME: Final = "volcano.sh/job-name"  # A, L
JOB_NAMESPACE: Final = "volcano.sh/job-namespace"  # L
TASK_SPEC: Final = "volcano.sh/task-spec"  # A, L
TASK_INDEX: Final = "volcano.sh/task-index"  # A, L
JOB_QUEUE_NAME: Final = "volcano.sh/queue-name"  # A, L
JOB_VERSION: Final = "volcano.sh/job-version"
JOB_RETRY_COUNT: Final = "volcano.sh/job-retry-count"
TEMPLATE_UID: Final = "volcano.sh/template-uid"
PARTITION_ID: Final = "volcano.sh/partition-id"  # L
NUMA_TOPOLOGY_POLICY: Final = "volcano.sh/numa-topology-policy"
JOB_FORWARDING: Final = "volcano.sh/job-forwarding"  # A, L
CONTROLLER_OUT_OF_SYNC: Final = "volcano.sh/controller-out-of-sync"
RANK_INDEX: Final = "hccl/rankIndex"

# Set by users on pods, templates, workloads, Jobs or PodGroups.
VOLCANO_PREFIX: Final = "volcano.sh/"
QUEUE_NAME: Final = "scheduling.volcano.sh/queue-name"
"""Annotation of a pod: its queue; of a namespace: the queue of its PodGroups."""
VGPU_GROUP_NAME: Final = "scheduling.volcano.sh/group-name"
GROUP_MIN_MEMBER: Final = "scheduling.volcano.sh/group-min-member"
GROUP_MIN_RESOURCES: Final = "scheduling.volcano.sh/group-min-resources"
QUEUE_ALLOCATION_GATE: Final = "scheduling.volcano.sh/queue-allocation-gate"
"""Annotation (value `true`) that asks for it, and name of the scheduling gate itself."""
PREEMPTABLE: Final = "volcano.sh/preemptable"  # A, L
COOLDOWN_TIME: Final = "volcano.sh/cooldown-time"  # L, A
REVOCABLE_ZONE: Final = "volcano.sh/revocable-zone"  # A of pods, L of nodes
JDB_MIN_AVAILABLE: Final = "volcano.sh/jdb-min-available"
JDB_MAX_UNAVAILABLE: Final = "volcano.sh/jdb-max-unavailable"
SLA_WAITING_TIME: Final = "volcano.sh/sla-waiting-time"
SLA_WAITING_TIME_LEGACY: Final = "sla-waiting-time"
TASK_PRIORITY: Final = "volcano.sh/task-priority"
TASK_TOPOLOGY_AFFINITY: Final = "volcano.sh/task-topology-affinity"
TASK_TOPOLOGY_ANTI_AFFINITY: Final = "volcano.sh/task-topology-anti-affinity"
TASK_TOPOLOGY_TASK_ORDER: Final = "volcano.sh/task-topology-task-order"
NETWORK_TOPOLOGY_MODE: Final = "volcano.sh/network-topology-mode"
NETWORK_TOPOLOGY_HIGHEST_TIER: Final = "volcano.sh/network-topology-highest-tier"
STRATEGY_SCORING_TYPE: Final = "volcano.sh/resource-strategy-scoring-type"
STRATEGY_WEIGHT: Final = "volcano.sh/resource-strategy-weight"
QOS_LEVEL: Final = "volcano.sh/qos-level"
ENABLE_QUOTA_BURST: Final = "volcano.sh/enable-quota-burst"
QUOTA_BURST_TIME: Final = "volcano.sh/quota-burst-time"
JOB_TYPE: Final = "volcano.sh/job-type"  # L
RESOURCE_GROUP: Final = "volcano.sh/resource-group"
NODE_GROUP: Final = "volcano.sh/node-group"  # L
CONFIG_MIRROR: Final = "kubernetes.io/config.mirror"

# Written by controllers and the scheduler.
CREATED_BY_JOB_TEMPLATE: Final = "volcano.sh/createdByJobTemplate"  # A, L
CREATED_BY_JOB_FLOW: Final = "volcano.sh/createdByJobFlow"  # A, L
CRON_SCHEDULED_TIMESTAMP: Final = "volcano.sh/cronjob-scheduled-timestamp"
JOB_ALLOCATED_HYPERNODE: Final = "volcano.sh/job-allocated-hypernode"
TOPOLOGY_DECISION: Final = "volcano.sh/topology-decision"
FORWARD_CLUSTER: Final = "volcano.sh/forward-cluster"
CLOSED_BY_PARENT: Final = "volcano.sh/closed-by-parent"
NETWORK_TOPOLOGY_SOURCE: Final = "volcano.sh/network-topology-source"  # L
COLOCATION_CONFIG_NAME: Final = "volcano.sh/colocation-config-name"
COLOCATION_CONFIG: Final = "volcano.sh/colocation-config"
SCHEDULING_PRIORITY: Final = "volcano.sh/scheduling-priority"
SCHEDULING_PRIORITY_REASON: Final = "volcano.sh/scheduling-priority-reason"
SCHEDULING_PRIORITY_TIMESTAMP: Final = "volcano.sh/scheduling-priority-timestamp"

# On queues and nodes.
HIERARCHY: Final = "volcano.sh/hierarchy"
HIERARCHY_WEIGHTS: Final = "volcano.sh/hierarchy-weights"
NODEGROUP_RESOURCE_LIMITS: Final = "volcano.sh/nodegroup-resource-limits"
NODEGROUP_NAME: Final = "volcano.sh/nodegroup-name"  # L
OVERSUBSCRIPTION: Final = "volcano.sh/oversubscription"  # L
OVERSUBSCRIPTION_CPU: Final = "volcano.sh/oversubscription-cpu"
OVERSUBSCRIPTION_MEMORY: Final = "volcano.sh/oversubscription-memory"
OVERSUBSCRIPTION_TYPES: Final = "volcano.sh/oversubscription-types"
OFFLINE_JOB_EVICTING: Final = "volcano.sh/offline-job-evicting"
COLOCATION: Final = "volcano.sh/colocation"  # L
COLOCATION_POLICY: Final = "colocation-policy"  # L
NETWORK_BANDWIDTH_RATE: Final = "volcano.sh/network-bandwidth-rate"
NODE_WARMUP: Final = "node.volcano.sh/warmup"  # L
HOSTNAME: Final = "kubernetes.io/hostname"  # L
CONTROLLER_REVISION_HASH: Final = "controller-revision-hash"  # L
NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"  # L

# Resource names.
NVIDIA_GPU: Final = "nvidia.com/gpu"
GPU_MEMORY: Final = "volcano.sh/gpu-memory"
GPU_NUMBER: Final = "volcano.sh/gpu-number"
VGPU_NUMBER: Final = "volcano.sh/vgpu-number"
VGPU_MEMORY: Final = "volcano.sh/vgpu-memory"
VGPU_MEMORY_PERCENTAGE: Final = "volcano.sh/vgpu-memory-percentage"
VGPU_CORES: Final = "volcano.sh/vgpu-cores"
BATCH_CPU: Final = "kubernetes.io/batch-cpu"
BATCH_MEMORY: Final = "kubernetes.io/batch-memory"
COUNT_PREFIX: Final = "count/"
"""Resources with this prefix are left out of queue and resource arithmetic."""

# Environment variables that job plugins inject.
ENV_TASK_INDEX: Final = "VC_TASK_INDEX"
ENV_TASK_INDEX_LEGACY: Final = "VK_TASK_INDEX"
ENV_TASK_HOSTS_FORMAT: Final = "VC_{task}_HOSTS"
ENV_TASK_COUNT_FORMAT: Final = "VC_{task}_NUM"
ENV_MPI_HOST: Final = "MPI_HOST"
ENV_MASTER_ADDR: Final = "MASTER_ADDR"
ENV_MASTER_PORT: Final = "MASTER_PORT"
ENV_WORLD_SIZE: Final = "WORLD_SIZE"
ENV_RANK: Final = "RANK"
ENV_TF_CONFIG: Final = "TF_CONFIG"

# Names.
ROOT_QUEUE: Final = "root"
DEFAULT_QUEUE: Final = "default"
DEFAULT_SCHEDULER: Final = "volcano"
KUBE_SCHEDULER: Final = "default-scheduler"
"""The scheduler of pods that name none: the API fills it in."""
AGENT_SCHEDULER: Final = "agent-scheduler"
SYSTEM_NAMESPACE: Final = "volcano-system"
DEFAULT_TASK_NAME: Final = "default"
DEFAULT_MAX_RETRY: Final = 3
JOB_PLUGINS: Final = ("ssh", "env", "svc", "tensorflow", "mpi", "pytorch", "hcclrank", "ray")
"""Names that `spec.plugins` of a Job accepts."""
SVC_MOUNT_PATH: Final = "/etc/volcano"
SSH_MOUNT_PATH: Final = "/root/.ssh"

# PodGroup conditions: types, reasons, messages.
UNSCHEDULABLE: Final = "Unschedulable"
SCHEDULED: Final = "Scheduled"
REASON_POD_FAILED: Final = "PodFailed"
REASON_POD_DELETED: Final = "PodDeleted"
REASON_NOT_ENOUGH_RESOURCES: Final = "NotEnoughResources"
REASON_NOT_ENOUGH_TASKS: Final = "NotEnoughTasks"
REASON_NOT_ENOUGH_PODS_OF_TASK: Final = "NotEnoughPodsOfTask"
POD_GROUP_READY: Final = "pod group is ready"
POD_GROUP_NOT_READY: Final = "pod group is not ready"

# Reasons of events on Jobs.
EVENT_COMMAND_ISSUED: Final = "CommandIssued"
EVENT_PLUGIN_ERROR: Final = "PluginError"
EVENT_PVC_ERROR: Final = "PVCError"
EVENT_POD_GROUP_ERROR: Final = "PodGroupError"
EVENT_EXECUTE_ACTION: Final = "ExecuteAction"
EVENT_JOB_STATUS_ERROR: Final = "JobStatusError"
EVENT_POD_GROUP_PENDING: Final = "PodGroupPending"
EVENT_FAILED_CREATE: Final = "FailedCreate"
EVENT_FAILED_DELETE: Final = "FailedDelete"
