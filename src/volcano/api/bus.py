"""Command of `bus.volcano.sh/v1alpha1`; the actions of commands and policies (spec api 4, 12)."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from volcano.api.meta import ApiObject, OwnerReference


class Action(StrEnum):
    """What can be done to a job or a queue."""

    ABORT_JOB = "AbortJob"
    RESTART_JOB = "RestartJob"
    RESTART_TASK = "RestartTask"
    RESTART_POD = "RestartPod"
    RESTART_PARTITION = "RestartPartition"
    TERMINATE_JOB = "TerminateJob"
    COMPLETE_JOB = "CompleteJob"
    RESUME_JOB = "ResumeJob"
    SYNC_JOB = "SyncJob"
    ENQUEUE_JOB = "EnqueueJob"
    SYNC_QUEUE = "SyncQueue"
    OPEN_QUEUE = "OpenQueue"
    CLOSE_QUEUE = "CloseQueue"


POLICY_ACTIONS: tuple[Action, ...] = (
    Action.ABORT_JOB,
    Action.RESTART_JOB,
    Action.RESTART_TASK,
    Action.RESTART_POD,
    Action.RESTART_PARTITION,
    Action.TERMINATE_JOB,
    Action.COMPLETE_JOB,
    Action.RESUME_JOB,
)
"""Actions that users may name in a lifecycle policy."""


class Command(ApiObject, frozen=True):
    """An order to a controller, which deletes it and then carries it out."""

    action: Annotated[
        str, Meta(description="What to do: AbortJob, ResumeJob, OpenQueue, CloseQueue …")
    ] = ""
    target: Annotated[
        OwnerReference | None,
        Meta(
            description="The object the command is for.",
            extra_json_schema={"x-kubernetes-map-type": "atomic"},
        ),
    ] = None
    reason: Annotated[str, Meta(description="One word for programs: why.")] = ""
    message: Annotated[str, Meta(description="Details for people: why.")] = ""
