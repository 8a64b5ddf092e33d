"""What one cycle decides: plain data that the edge applies to the API, and the report about it.

Nothing here does anything; `commit` turns it into binds, evictions, patches and events.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from volcano.api.objects import JsonObject


@dataclass(frozen=True, slots=True)
class Bind:
    """Put a pod on a node."""

    namespace: str
    name: str
    uid: str
    node: str


@dataclass(frozen=True, slots=True)
class Eviction:
    """Take a running pod off its node, and why (the action's name)."""

    namespace: str
    name: str
    uid: str
    reason: str


@dataclass(frozen=True, slots=True)
class PodGroupUpdate:
    """New status of a PodGroup (whole `status`, to be patched on the object itself: PodGroup has
    no status sub-resource)."""

    namespace: str
    name: str
    uid: str
    status: JsonObject


@dataclass(frozen=True, slots=True)
class QueueUpdate:
    """What the pods of a queue and of its descendants hold: its new `status.allocated`.

    Attributes:
        dropped: resource names to take out of what is written now.
        namespace: empty, queues have none.
    """

    name: str
    uid: str
    allocated: Mapping[str, str]
    dropped: tuple[str, ...] = ()
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class PodConditionUpdate:
    """`PodScheduled` condition of a pod that waits; `nominated_node` is empty unless set."""

    namespace: str
    name: str
    uid: str
    condition: JsonObject
    nominated_node: str = ""


@dataclass(frozen=True, slots=True)
class EventNote:
    """One event to record.

    Attributes:
        regarding: object reference (apiVersion, kind, namespace, name, uid).
        type: `Normal` or `Warning`.
    """

    regarding: JsonObject
    type: str
    reason: str
    message: str


@dataclass(slots=True)
class CycleReport:
    """What a cycle did, for the log line, metrics and tests.

    Attributes:
        seconds: wall time per step: `open`, each action by name, `close`.
        waiting: job key → why it waits (the text of its condition).
    """

    seconds: dict[str, float] = field(default_factory=dict)
    nodes: int = 0
    jobs: int = 0
    tasks_pending: int = 0
    enqueued: int = 0
    bound: int = 0
    discarded: int = 0
    waiting: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class CycleResult:
    """Everything one cycle wants done, in the order to do it.

    Attributes:
        again_in_seconds: plan again after so long even if nothing changes; None for no need.
    """

    binds: list[Bind] = field(default_factory=list)
    evictions: list[Eviction] = field(default_factory=list)
    pod_groups: list[PodGroupUpdate] = field(default_factory=list)
    queues: list[QueueUpdate] = field(default_factory=list)
    pod_conditions: list[PodConditionUpdate] = field(default_factory=list)
    events: list[EventNote] = field(default_factory=list)
    report: CycleReport = field(default_factory=CycleReport)
    again_in_seconds: float | None = None

    def look_again_in(self, seconds: float) -> None:
        """Ask for another cycle after so long at the latest."""
        asked = self.again_in_seconds
        self.again_in_seconds = seconds if asked is None else min(asked, seconds)
