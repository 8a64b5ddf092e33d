"""PodGroup and Queue of `scheduling.volcano.sh/v1beta1` (spec api, section 3)."""

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta, field

from volcano.api.meta import (
    ATOMIC,
    STORED,
    ApiObject,
    Count,
    Int32,
    LabelSelector,
    ResourceList,
    SubdomainName,
    Time,
    Wire,
)


class PodGroupPhase(StrEnum):
    """Where a PodGroup stands."""

    PENDING = "Pending"
    INQUEUE = "Inqueue"
    RUNNING = "Running"
    UNKNOWN = "Unknown"
    COMPLETED = "Completed"


class QueueState(StrEnum):
    """Whether a queue takes new work."""

    OPEN = "Open"
    CLOSED = "Closed"
    CLOSING = "Closing"
    UNKNOWN = "Unknown"


class NetworkTopologySpec(Wire, frozen=True):
    """How far apart in the network the pods of a group may be placed."""

    mode: Annotated[
        Literal["hard", "soft"],
        STORED,
        Meta(description="hard: the limit must hold, else the group waits; soft: a preference."),
    ] = "hard"
    highest_tier_allowed: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="Largest HyperNode tier the group may span, by number."),
    ] = None
    highest_tier_name: Annotated[
        str,
        Meta(
            description="The same limit by tier name; not together with highestTierAllowed.",
            max_length=253,
        ),
    ] = ""


class SubGroupPolicySpec(Wire, frozen=True):
    """A finer gang inside a PodGroup."""

    name: Annotated[str, Meta(description="Name of the policy.", max_length=253)] = ""
    network_topology: Annotated[
        NetworkTopologySpec | None, Meta(description="Network limit of each subgroup.")
    ] = None
    sub_group_size: Annotated[
        Int32, STORED, Meta(description="Pods that make up one subgroup.", ge=1)
    ] = 1
    min_sub_groups: Annotated[
        Count,
        STORED,
        Meta(description="Subgroups that must be placeable together before any of them starts."),
    ] = 0
    label_selector: Annotated[
        LabelSelector | None, Meta(description="Which pods of the group the policy covers.")
    ] = None
    match_label_keys: Annotated[
        tuple[str, ...],
        ATOMIC,
        Meta(description="Pods with equal values of these labels form one subgroup."),
    ] = ()


class PodGroupSpec(Wire, frozen=True):
    """What a group of pods asks for."""

    min_member: Annotated[
        Count, Meta(description="Pods that must be placeable together before any of them starts.")
    ] = 0
    min_task_member: Annotated[
        dict[str, Int32], Meta(description="The same per task, by task name.")
    ] = field(default_factory=dict)
    queue: Annotated[
        SubdomainName, STORED, Meta(description="Queue whose share the group uses.")
    ] = "default"
    priority_class_name: Annotated[
        str, Meta(description="PriorityClass of the group.", max_length=253)
    ] = ""
    min_resources: Annotated[
        ResourceList | None,
        Meta(description="Resources that must be free in the queue before the group is let in."),
    ] = None
    network_topology: Annotated[
        NetworkTopologySpec | None, Meta(description="Network limit of the whole group.")
    ] = None
    sub_group_policy: Annotated[
        tuple[SubGroupPolicySpec, ...], Meta(description="Finer gangs inside the group.")
    ] = ()


class PodGroupCondition(Wire, frozen=True):
    """Why a PodGroup is, or is not, scheduled."""

    type: Annotated[str, Meta(description="Unschedulable or Scheduled.")] = ""
    status: Annotated[str, Meta(description="True, False or Unknown.")] = ""
    transition_id: Annotated[
        str, Meta(description="Identifies the scheduling cycle that wrote the condition.")
    ] = field(name="transitionID", default="")
    last_transition_time: Annotated[
        Time | None, Meta(description="When the status last changed.")
    ] = None
    reason: Annotated[str, Meta(description="One word for programs.")] = ""
    message: Annotated[str, Meta(description="Details for people.")] = ""


class PodGroupStatus(Wire, frozen=True):
    """What has become of a group of pods."""

    phase: Annotated[PodGroupPhase | None, Meta(description="Where the group stands.")] = None
    conditions: Annotated[
        tuple[PodGroupCondition, ...], Meta(description="What the scheduler last found.")
    ] = ()
    running: Annotated[Count, Meta(description="Pods that run.")] = 0
    succeeded: Annotated[Count, Meta(description="Pods that ended well.")] = 0
    failed: Annotated[Count, Meta(description="Pods that ended badly.")] = 0


class PodGroup(ApiObject, frozen=True):
    """Pods that are scheduled together: none of them starts until enough of them fit."""

    spec: Annotated[PodGroupSpec, Meta(description="What the group asks for.")] = PodGroupSpec()
    status: Annotated[PodGroupStatus, Meta(description="What has become of it.")] = PodGroupStatus()


class Cluster(Wire, frozen=True):
    """A cluster that jobs of a queue may be forwarded to."""

    name: Annotated[str, Meta(description="Name of the cluster.")] = ""
    weight: Annotated[Int32, Meta(description="Share of the jobs that goes there.")] = 0
    capacity: Annotated[
        ResourceList | None, Meta(description="What the cluster offers to the queue.")
    ] = None


class Guarantee(Wire, frozen=True):
    """What is kept for a queue even while it is idle."""

    resource: Annotated[ResourceList | None, Meta(description="The reserved minimum.")] = None


class NodeGroupTerms(Wire, frozen=True):
    """Node groups a queue must or would rather use (or avoid)."""

    required: Annotated[tuple[str, ...], Meta(description="Node groups that must be heeded.")] = (
        field(name="requiredDuringSchedulingIgnoredDuringExecution", default=())
    )
    preferred: Annotated[tuple[str, ...], Meta(description="Node groups heeded if possible.")] = (
        field(name="preferredDuringSchedulingIgnoredDuringExecution", default=())
    )


class QueueAffinity(Wire, frozen=True):
    """Node groups (label volcano.sh/nodegroup-name) of a queue."""

    node_group_affinity: Annotated[
        NodeGroupTerms | None, Meta(description="Node groups to use.")
    ] = None
    node_group_anti_affinity: Annotated[
        NodeGroupTerms | None, Meta(description="Node groups to avoid.")
    ] = None


class QueueSpec(Wire, frozen=True):
    """A queue's share and its place among the queues."""

    weight: Annotated[
        Int32, STORED, Meta(description="Share relative to the other queues.", ge=1, le=65535)
    ] = 1
    capability: Annotated[
        ResourceList | None, Meta(description="Hard upper limit of what the queue may use.")
    ] = None
    reclaimable: Annotated[
        bool | None, Meta(description="Whether other queues may take back what this one borrowed.")
    ] = None
    extend_clusters: Annotated[
        tuple[Cluster, ...], Meta(description="Clusters that jobs may be forwarded to.")
    ] = ()
    guarantee: Annotated[
        Guarantee | None, Meta(description="What is kept for the queue even while it is idle.")
    ] = None
    affinity: Annotated[
        QueueAffinity | None, Meta(description="Node groups the queue uses or avoids.")
    ] = None
    type: Annotated[str, Meta(description="Free classification.", max_length=253)] = ""
    parent: Annotated[
        SubdomainName | None,
        Meta(description="Queue above this one; root where nothing is said."),
    ] = None
    deserved: Annotated[
        ResourceList | None,
        Meta(description="Share the queue has a right to; unused parts are lent to others."),
    ] = None
    priority: Annotated[
        Count, Meta(description="Higher ones schedule first and are reclaimed from last.")
    ] = 0
    dequeue_strategy: Annotated[
        Literal["fifo", "traverse"],
        STORED,
        Meta(description="fifo: a blocked first job blocks the queue; traverse: it is passed by."),
    ] = "traverse"


class Reservation(Wire, frozen=True):
    """Nodes locked for a queue."""

    nodes: Annotated[tuple[str, ...], Meta(description="Names of the nodes.")] = ()
    resource: Annotated[ResourceList | None, Meta(description="What they hold.")] = None


class QueueStatus(Wire, frozen=True):
    """What goes on in a queue."""

    state: Annotated[QueueState | None, Meta(description="Whether it takes new work.")] = None
    unknown: Annotated[Count, Meta(description="PodGroups in phase Unknown.")] = 0
    pending: Annotated[Count, Meta(description="PodGroups in phase Pending.")] = 0
    running: Annotated[Count, Meta(description="PodGroups in phase Running.")] = 0
    inqueue: Annotated[Count, Meta(description="PodGroups in phase Inqueue.")] = 0
    completed: Annotated[Count, Meta(description="PodGroups in phase Completed.")] = 0
    reservation: Annotated[Reservation | None, Meta(description="Nodes locked for the queue.")] = (
        None
    )
    allocated: Annotated[
        ResourceList | None, Meta(description="What the queue's pods use now.")
    ] = None


class Queue(ApiObject, frozen=True):
    """A share of the cluster that jobs wait and run in."""

    spec: Annotated[QueueSpec, Meta(description="The share and its limits.")] = QueueSpec()
    status: Annotated[QueueStatus, Meta(description="What goes on in the queue.")] = QueueStatus()
