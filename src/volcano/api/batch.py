"""Job and CronJob of `batch.volcano.sh/v1alpha1` (spec api, section 2)."""

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta, field

from volcano.api.meta import (
    ATOMIC,
    DNS_LABEL_PATTERN,
    STORED,
    ApiObject,
    Count,
    Duration,
    EmbeddedMetadata,
    Int32,
    Int64,
    ObjectReference,
    PersistentVolumeClaimSpec,
    PodTemplateSpec,
    SubdomainName,
    Time,
    Wire,
)
from volcano.api.scheduling import NetworkTopologySpec


class JobPhase(StrEnum):
    """Where a job stands."""

    PENDING = "Pending"
    ABORTING = "Aborting"
    ABORTED = "Aborted"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    COMPLETING = "Completing"
    COMPLETED = "Completed"
    TERMINATING = "Terminating"
    TERMINATED = "Terminated"
    FAILED = "Failed"


class JobEvent(StrEnum):
    """What a lifecycle policy can react to."""

    ANY = "*"
    POD_PENDING = "PodPending"
    POD_RUNNING = "PodRunning"
    POD_FAILED = "PodFailed"
    POD_EVICTED = "PodEvicted"
    UNKNOWN = "Unknown"
    TASK_COMPLETED = "TaskCompleted"
    TASK_FAILED = "TaskFailed"
    OUT_OF_SYNC = "OutOfSync"
    COMMAND_ISSUED = "CommandIssued"
    JOB_UPDATED = "JobUpdated"


POLICY_EVENTS: tuple[JobEvent, ...] = (
    JobEvent.ANY,
    JobEvent.POD_PENDING,
    JobEvent.POD_FAILED,
    JobEvent.POD_EVICTED,
    JobEvent.UNKNOWN,
    JobEvent.TASK_COMPLETED,
    JobEvent.TASK_FAILED,
    JobEvent.JOB_UPDATED,
)
"""Events that users may name in a lifecycle policy; the others are internal."""


class VolumeSpec(Wire, frozen=True):
    """A volume mounted into every container of the job's pods."""

    mount_path: Annotated[
        str,
        Meta(
            description="Where it appears in the containers; no colon.",
            min_length=1,
            pattern=r"^[^:]+$",
        ),
    ]
    volume_claim_name: Annotated[
        str,
        Meta(
            description="Claim to mount; made from volumeClaim and named here when empty.",
            max_length=253,
        ),
    ] = ""
    volume_claim: Annotated[
        PersistentVolumeClaimSpec | None, Meta(description="Claim to create for the job.")
    ] = None


class LifecyclePolicy(Wire, frozen=True):
    """What to do when something happens to the job, a task or a pod."""

    action: Annotated[
        str, Meta(description="What to do: AbortJob, RestartJob, RestartTask, CompleteJob …")
    ] = ""
    event: Annotated[JobEvent | None, Meta(description="What it reacts to.")] = None
    events: Annotated[
        tuple[JobEvent, ...], Meta(description="Several things it reacts to, beside event.")
    ] = ()
    exit_code: Annotated[
        Int32 | None,
        Meta(description="Container exit code it reacts to; not together with events, never 0."),
    ] = None
    timeout: Annotated[
        Duration | None,
        Meta(description="How long to wait before acting, such as 10m; PodPending needs one."),
    ] = None


class DependsOn(Wire, frozen=True):
    """Tasks that must have started before this one."""

    name: Annotated[tuple[str, ...], Meta(description="Names of the tasks waited for.")] = ()
    iteration: Annotated[
        str, Meta(description="any: one of them is enough; all (or nothing said): each of them.")
    ] = ""


class PartitionPolicySpec(Wire, frozen=True):
    """Split of a task's pods into groups of equal size."""

    total_partitions: Annotated[Int32, Meta(description="Number of groups.", ge=1)]
    partition_size: Annotated[Int32, Meta(description="Pods in each group.", ge=1)]
    min_partitions: Annotated[
        Count, STORED, Meta(description="Groups that must be placeable together to start.")
    ] = 0
    network_topology: Annotated[
        NetworkTopologySpec | None, Meta(description="Network limit of each group.")
    ] = None


class TaskSpec(Wire, frozen=True):
    """One role of a job: pods made from one template."""

    name: Annotated[
        str,
        Meta(
            description="Name of the task, part of its pods' names.",
            max_length=63,
            pattern=DNS_LABEL_PATTERN,
        ),
    ] = ""
    replicas: Annotated[Count, Meta(description="Pods of this task.")] = 0
    min_available: Annotated[
        Count | None,
        Meta(description="Pods of this task that must be placeable together."),
    ] = None
    template: Annotated[PodTemplateSpec, Meta(description="What its pods are made from.")] = field(
        default_factory=dict
    )
    policies: Annotated[
        tuple[LifecyclePolicy, ...],
        Meta(description="Reactions of this task; they win over the job's."),
    ] = ()
    topology_policy: Annotated[
        Literal["none", "best-effort", "restricted", "single-numa-node"] | None,
        Meta(description="NUMA placement the pods need."),
    ] = None
    max_retry: Annotated[
        Count, Meta(description="Failures of its pods that are forgiven before the task failed.")
    ] = 0
    depends_on: Annotated[
        DependsOn | None, Meta(description="Tasks that must have started before.")
    ] = None
    partition_policy: Annotated[
        PartitionPolicySpec | None, Meta(description="Split of the pods into equal groups.")
    ] = None


class JobSpec(Wire, frozen=True):
    """What a job runs and how."""

    scheduler_name: Annotated[
        str,
        Meta(description="Scheduler of the pods whose template names none.", max_length=63),
    ] = ""
    min_available: Annotated[
        Count, Meta(description="Gang size: pods that must be placeable together to start.")
    ] = 0
    volumes: Annotated[
        tuple[VolumeSpec, ...], Meta(description="Volumes mounted into every container.")
    ] = ()
    tasks: Annotated[
        tuple[TaskSpec, ...], Meta(description="The roles of the job.", min_length=1)
    ] = ()
    policies: Annotated[
        tuple[LifecyclePolicy, ...],
        Meta(description="Reactions to events, where the task has none of its own."),
    ] = ()
    plugins: Annotated[
        dict[str, tuple[str, ...]],
        Meta(description="Job plugins to use (svc, env, ssh, pytorch …), each with arguments."),
    ] = field(default_factory=dict)
    running_estimate: Annotated[
        Duration | None, Meta(description="The user's guess of the run time; informational.")
    ] = None
    queue: Annotated[
        SubdomainName, STORED, Meta(description="Queue the job waits and runs in.")
    ] = "default"
    max_retry: Annotated[
        Count, STORED, Meta(description="Restarts of the whole job before it is Failed.")
    ] = 3
    ttl_seconds_after_finished: Annotated[
        Count | None,
        Meta(description="Seconds after its end that the job is deleted; kept if unset."),
    ] = None
    priority_class_name: Annotated[
        SubdomainName | None,
        Meta(description="PriorityClass of the job and of pods that name none."),
    ] = None
    min_success: Annotated[
        Annotated[Int32, Meta(ge=1)] | None,
        Meta(description="Succeeded pods that make the job Completed."),
    ] = None
    network_topology: Annotated[
        NetworkTopologySpec | None, Meta(description="Network limit of the whole job.")
    ] = None


class JobState(Wire, frozen=True):
    """The phase of a job and since when."""

    phase: Annotated[JobPhase | None, Meta(description="Where the job stands.")] = None
    reason: Annotated[str, Meta(description="One word for programs: why.")] = ""
    message: Annotated[str, Meta(description="Details for people: why.")] = ""
    last_transition_time: Annotated[
        Time | None, Meta(description="When the state was last written.")
    ] = None


class JobCondition(Wire, frozen=True):
    """One step in the history of a job's phases."""

    status: Annotated[str, Meta(description="The phase.")]
    last_transition_time: Annotated[Time | None, Meta(description="When the job entered it.")] = (
        None
    )


class TaskState(Wire, frozen=True):
    """Pods of a task by phase."""

    phase: Annotated[dict[str, Int32], Meta(description="Number of pods per pod phase.")] = field(
        default_factory=dict
    )


class JobStatus(Wire, frozen=True):
    """What has become of a job."""

    state: Annotated[JobState, Meta(description="Where the job stands.")] = JobState()
    min_available: Annotated[Count, Meta(description="Gang size the counts refer to.")] = 0
    task_status_count: Annotated[
        dict[str, TaskState], Meta(description="Pods per task and phase.")
    ] = field(default_factory=dict)
    pending: Annotated[Count, Meta(description="Pods that wait.")] = 0
    running: Annotated[Count, Meta(description="Pods that run.")] = 0
    succeeded: Annotated[Count, Meta(description="Pods that ended well.")] = 0
    failed: Annotated[Count, Meta(description="Pods that ended badly.")] = 0
    terminating: Annotated[Count, Meta(description="Pods that are being ended.")] = 0
    unknown: Annotated[Count, Meta(description="Pods whose phase is not known.")] = 0
    version: Annotated[
        Count, Meta(description="Raised whenever all pods are killed; pods carry it.")
    ] = 0
    retry_count: Annotated[Count, Meta(description="Restarts so far.")] = 0
    running_duration: Annotated[
        Duration | None, Meta(description="From creation to the last transition.")
    ] = None
    controlled_resources: Annotated[
        dict[str, str], Meta(description="What the controller made for the job besides pods.")
    ] = field(default_factory=dict)
    conditions: Annotated[
        tuple[JobCondition, ...], Meta(description="The phases the job went through.")
    ] = ()


class Job(ApiObject, frozen=True):
    """A batch job: tasks whose pods are scheduled together and run to completion."""

    spec: Annotated[JobSpec, Meta(description="What the job runs and how.")] = JobSpec()
    status: Annotated[JobStatus, Meta(description="What has become of it.")] = JobStatus()


class JobTemplateSpec(Wire, frozen=True):
    """The job that a CronJob creates."""

    metadata: Annotated[
        EmbeddedMetadata, Meta(description="Labels and annotations of the jobs.")
    ] = field(default_factory=dict)
    spec: Annotated[JobSpec, Meta(description="What the jobs run and how.")] = JobSpec()


class CronJobSpec(Wire, frozen=True, kw_only=True):
    """What is run when."""

    schedule: Annotated[
        str, Meta(description="Five cron fields, or a descriptor such as @hourly or @every 10m.")
    ]
    time_zone: Annotated[
        str | None, Meta(description="IANA zone of the schedule; the controller's own if unset.")
    ] = None
    starting_deadline_seconds: Annotated[
        Annotated[Int64, Meta(ge=0)] | None,
        Meta(description="A run later than this, in seconds, is skipped."),
    ] = None
    concurrency_policy: Annotated[
        Literal["Allow", "Forbid", "Replace"],
        STORED,
        Meta(description="While a run still goes on: start another, skip, or replace it."),
    ] = "Allow"
    suspend: Annotated[bool, STORED, Meta(description="Whether no new run is started.")] = False
    job_template: Annotated[JobTemplateSpec, Meta(description="The job of each run.")]
    successful_jobs_history_limit: Annotated[
        Count, STORED, Meta(description="Finished good jobs that are kept.")
    ] = 3
    failed_jobs_history_limit: Annotated[
        Count, STORED, Meta(description="Finished bad jobs that are kept.")
    ] = 1


class CronJobStatus(Wire, frozen=True):
    """What a CronJob has done."""

    active: Annotated[
        tuple[ObjectReference, ...], ATOMIC, Meta(description="Jobs that run now.")
    ] = ()
    last_schedule_time: Annotated[
        Time | None, Meta(description="Scheduled time of the last run.")
    ] = None
    last_successful_time: Annotated[
        Time | None, Meta(description="When a run last ended well.")
    ] = None


class CronJob(ApiObject, frozen=True):
    """Jobs that are started by the clock."""

    spec: Annotated[CronJobSpec | None, Meta(description="What is run when.")] = None
    status: Annotated[CronJobStatus, Meta(description="What has been done.")] = CronJobStatus()
