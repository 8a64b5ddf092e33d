"""JobFlow and JobTemplate of `flow.volcano.sh/v1alpha1` (spec api, section 5)."""

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta, field

from volcano.api.batch import JobSpec, TaskState
from volcano.api.meta import ApiObject, Count, Duration, Time, Wire


class JobFlowPhase(StrEnum):
    """Where a flow stands; success is written `Succeed`."""

    SUCCEED = "Succeed"
    TERMINATING = "Terminating"
    FAILED = "Failed"
    RUNNING = "Running"
    PENDING = "Pending"


TaskName = Annotated[str, Meta(description="Task of the job that is waited for.", max_length=253)]


class HttpHeader(Wire, frozen=True):
    """A header sent with a probe."""

    name: Annotated[str, Meta(description="Name of the header.")]
    value: Annotated[str, Meta(description="Value of the header.")]


class HttpGet(Wire, frozen=True):
    """Ready once an HTTP GET succeeds."""

    task_name: TaskName = ""
    path: Annotated[str, Meta(description="Path to ask for.")] = ""
    port: Annotated[int, Meta(description="Port to ask at.", ge=0, le=65535)] = 0
    http_header: Annotated[HttpHeader | None, Meta(description="A header to send.")] = None


class TcpSocket(Wire, frozen=True, kw_only=True):
    """Ready once a TCP connection succeeds."""

    task_name: TaskName = ""
    port: Annotated[int, Meta(description="Port to connect to.", ge=0, le=65535)]


class TaskStatus(Wire, frozen=True):
    """Ready once a task is in a phase."""

    task_name: TaskName = ""
    phase: Annotated[str, Meta(description="Phase that is waited for.", max_length=63)] = ""


class Probe(Wire, frozen=True):
    """Conditions on running jobs that let the next flow start."""

    http_get_list: Annotated[tuple[HttpGet, ...], Meta(description="HTTP conditions.")] = ()
    tcp_socket_list: Annotated[tuple[TcpSocket, ...], Meta(description="TCP conditions.")] = ()
    task_status_list: Annotated[tuple[TaskStatus, ...], Meta(description="Task conditions.")] = ()


class FlowDependsOn(Wire, frozen=True):
    """What a flow waits for."""

    targets: Annotated[tuple[str, ...], Meta(description="Flows that must be done first.")] = ()
    probe: Annotated[
        Probe | None, Meta(description="What being done means, if not the job's completion.")
    ] = None


class FlowPatch(Wire, frozen=True):
    """Changes to the template's job."""

    job_spec: Annotated[JobSpec | None, Meta(description="Fields that replace the template's.")] = (
        None
    )


class Flow(Wire, frozen=True):
    """One step: a job made from a template."""

    name: Annotated[
        str, Meta(description="JobTemplate to use; also the name of the step.", min_length=1)
    ]
    depends_on: Annotated[FlowDependsOn | None, Meta(description="What the step waits for.")] = None
    patch: Annotated[
        FlowPatch | None, Meta(description="Changes to the template; not applied yet.")
    ] = None


class JobFlowSpec(Wire, frozen=True):
    """The steps of a flow."""

    flows: Annotated[tuple[Flow, ...], Meta(description="The steps; no cycles.")] = ()
    job_retain_policy: Annotated[
        Literal["retain", "delete"] | None,
        Meta(description="What becomes of the jobs once the flow has succeeded."),
    ] = None


class RunningHistory(Wire, frozen=True):
    """A stretch of time that a job spent in one state."""

    start_timestamp: Annotated[Time | None, Meta(description="Its beginning.")] = None
    end_timestamp: Annotated[Time | None, Meta(description="Its end.")] = None
    state: Annotated[str, Meta(description="The state.")] = ""


class FlowJobStatus(Wire, frozen=True):
    """What has become of one job of a flow."""

    name: Annotated[str, Meta(description="Name of the job.")] = ""
    state: Annotated[str, Meta(description="Its phase.")] = ""
    start_timestamp: Annotated[Time | None, Meta(description="When it started.")] = None
    end_timestamp: Annotated[Time | None, Meta(description="When it ended.")] = None
    restart_count: Annotated[Count, Meta(description="Restarts so far.")] = 0
    running_histories: Annotated[
        tuple[RunningHistory, ...], Meta(description="The states it went through.")
    ] = ()


class FlowCondition(Wire, frozen=True):
    """Where one job of a flow stands."""

    phase: Annotated[str, Meta(description="Its phase.")] = ""
    create_time: Annotated[Time | None, Meta(description="When it was created.")] = None
    running_duration: Annotated[Duration | None, Meta(description="How long it has run.")] = None
    task_status_count: Annotated[
        dict[str, TaskState], Meta(description="Its pods per task and phase.")
    ] = field(default_factory=dict)


class FlowState(Wire, frozen=True):
    """Where a flow stands."""

    phase: Annotated[JobFlowPhase | None, Meta(description="The phase.")] = None


Jobs = tuple[str, ...]


class JobFlowStatus(Wire, frozen=True):
    """What has become of a flow."""

    pending_jobs: Annotated[Jobs, Meta(description="Jobs that wait.")] = ()
    running_jobs: Annotated[Jobs, Meta(description="Jobs that run.")] = ()
    failed_jobs: Annotated[Jobs, Meta(description="Jobs that failed.")] = ()
    completed_jobs: Annotated[Jobs, Meta(description="Jobs that ended well.")] = ()
    terminated_jobs: Annotated[Jobs, Meta(description="Jobs that were ended.")] = ()
    un_know_jobs: Annotated[Jobs, Meta(description="Jobs whose phase is not known.")] = ()
    job_status_list: Annotated[
        tuple[FlowJobStatus, ...], Meta(description="Each job in detail.")
    ] = ()
    conditions: Annotated[
        dict[str, FlowCondition], Meta(description="Where each job stands, by its name.")
    ] = field(default_factory=dict)
    state: Annotated[FlowState, Meta(description="Where the flow stands.")] = FlowState()


class JobFlow(ApiObject, frozen=True):
    """Jobs that run one after another, as their dependencies say."""

    spec: Annotated[JobFlowSpec, Meta(description="The steps.")] = JobFlowSpec()
    status: Annotated[JobFlowStatus, Meta(description="What has become of them.")] = JobFlowStatus()


class JobTemplateStatus(Wire, frozen=True):
    """Which jobs came from a template."""

    job_depends_on_list: Annotated[
        Jobs, Meta(description="Jobs that were made from the template.")
    ] = ()


class JobTemplate(ApiObject, frozen=True):
    """A job to be made later, by a JobFlow."""

    spec: Annotated[JobSpec, Meta(description="The job's spec.")] = JobSpec()
    status: Annotated[JobTemplateStatus, Meta(description="Which jobs came from it.")] = (
        JobTemplateStatus()
    )
