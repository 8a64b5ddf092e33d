"""THE table of extension points: what a plugin may answer, and how several answers become one.

A plugin is a class with a name, frozen arguments, and the hooks it overrides; everything else here
is the default "no opinion". The folds are the only loops over tiers and plugins in the scheduler:
actions ask the session, the session asks `Hooks`.

Per-node hooks work on a task class and rows (`rows.Rows`): a `Filter` gives each row 0 or one of
its declared reason codes, a `Scorer` gives it a number. Each says what its answer depends on:

    STATIC      class and node alone
    LOCAL       the node's own load as well
    NORMALISED  a static number per node, scaled by the extremes over the nodes in the running
    WHOLE       anything: asked again for all nodes after every placement (right, but slow)
"""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from volcano.scheduler.model.queue import Queue
from volcano.scheduler.model.task import Task, TaskClass
from volcano.scheduler.rows import Rows
from volcano.scheduler.snapshot import JobView, Snapshot

Codes = npt.NDArray[np.uint8]
Scores = npt.NDArray[np.float64]
Key = float | tuple[float, ...]
"""A sort key; smaller goes first. One hook always gives the same shape."""

A = TypeVar("A")


class Depends(enum.Enum):
    """What the answer of a per-node hook can change with."""

    STATIC = "static"
    LOCAL = "local"
    NORMALISED = "normalised"
    WHOLE = "whole"


class Vote(enum.IntEnum):
    """An opinion on a job."""

    REJECT = -1
    ABSTAIN = 0
    PERMIT = 1


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a plugin says no to a job."""

    reason: str
    message: str


class Filter:
    """One test of nodes.

    Attributes:
        reasons: text of reason code 1, 2, …
    """

    depends: Depends = Depends.WHOLE
    reasons: Sequence[str] = ()

    def applies(self, cls: TaskClass) -> bool:  # noqa: ARG002  # the hook's signature
        """Whether the test can refuse any node to this class."""
        return True

    def codes(self, cls: TaskClass, rows: Rows) -> Codes:
        """0 for each row that passes, else the code of the reason."""
        raise NotImplementedError


class Scorer:
    """One score of nodes; more is better. A NORMALISED one scores raw and scales afterwards."""

    depends: Depends = Depends.WHOLE

    def applies(self, cls: TaskClass) -> bool:  # noqa: ARG002  # the hook's signature
        """Whether it has an opinion on this class."""
        return True

    def score(self, cls: TaskClass, rows: Rows) -> Scores:
        """The score of each row; for a NORMALISED scorer the raw number, which must be static."""
        raise NotImplementedError

    def normalise(self, raw: Scores, low: float, high: float) -> Scores:
        """Scores from raw numbers, given the extremes of the nodes in the running."""
        raise NotImplementedError


class _FilterNodes(Filter):
    """A plugin's own `filter_nodes`."""

    def __init__(self, plugin: "Plugin[Any]") -> None:
        self.depends = plugin.filter_depends
        self.reasons = plugin.filter_reasons
        self.codes = plugin.filter_nodes  # type: ignore[method-assign]  # same shape, one owner


class _ScoreNodes(Scorer):
    """A plugin's own `score_nodes`."""

    def __init__(self, plugin: "Plugin[Any]") -> None:
        depends = plugin.score_depends
        self.depends = Depends.WHOLE if depends is Depends.NORMALISED else depends
        self.score = plugin.score_nodes  # type: ignore[method-assign]  # same shape, one owner


class Plugin(Generic[A]):
    """Base of all plugins: the hooks, each with the answer of somebody who has no opinion.

    Attributes:
        Args: frozen dataclass whose fields are the documented arguments.
    """

    name: ClassVar[str] = ""
    Args: ClassVar[Any] = None
    filter_depends: Depends = Depends.WHOLE
    filter_reasons: Sequence[str] = ()
    score_depends: Depends = Depends.WHOLE
    enqueue_by_demand: ClassVar[bool] = False
    """Whether `job_enqueueable` looks at nothing of a job but its queue and minimum resources, and
    only gets stricter as jobs are let in: equal jobs behind a refused one need not be asked."""

    def __init__(self, args: A) -> None:
        self.args = args

    def open(self, snapshot: Snapshot) -> None:
        """Called first in every session."""

    def job_order(self, job: JobView) -> Key:
        """Sort key of a job."""
        raise NotImplementedError

    def queue_order(self, queue: Queue) -> Key:
        """Sort key of a queue."""
        raise NotImplementedError

    def task_order(self, task: Task) -> Key:
        """Sort key of a task within its job."""
        raise NotImplementedError

    def job_valid(self, job: JobView) -> Refusal | None:
        """Why a job cannot be scheduled at all, if so."""
        raise NotImplementedError

    def job_ready(self, job: JobView) -> bool:
        """Whether enough of a job has a place for it to start."""
        raise NotImplementedError

    def job_pipelined(self, job: JobView) -> Vote:
        """Whether a job may keep what it has been promised."""
        raise NotImplementedError

    def job_starving(self, job: JobView) -> bool:
        """Whether a job needs more to start."""
        raise NotImplementedError

    def job_enqueueable(self, job: JobView) -> Vote | Refusal:
        """Whether a job may leave phase Pending; a Refusal is a REJECT that says why."""
        raise NotImplementedError

    def job_enqueued(self, job: JobView) -> None:
        """Told that a job has left phase Pending."""
        raise NotImplementedError

    def overused(self, queue: Queue) -> bool:
        """Whether a queue gets nothing more in this session."""
        raise NotImplementedError

    def headroom(self, queue: Queue, cls: TaskClass) -> int:
        """How many more tasks of a class a queue may take (extension point `allocatable`)."""
        raise NotImplementedError

    def headroom_reason(self, queue: Queue, cls: TaskClass) -> str:
        """Why `headroom` is 0."""
        raise NotImplementedError

    def filters(self) -> Sequence[Filter]:
        """Tests of nodes, in order; by default the plugin's own `filter_nodes`."""
        return [_FilterNodes(self)] if overrides(self, "filter_nodes") else []

    def filter_nodes(self, cls: TaskClass, rows: Rows) -> Codes:
        """0 for each row that passes, else a code into `filter_reasons` (1 is the first)."""
        raise NotImplementedError

    def scorers(self) -> Sequence[Scorer]:
        """Scores of nodes, in order; by default the plugin's own `score_nodes`."""
        return [_ScoreNodes(self)] if overrides(self, "score_nodes") else []

    def score_nodes(self, cls: TaskClass, rows: Rows) -> Scores:
        """The score of each row."""
        raise NotImplementedError

    def allocated(self, job: JobView, cls: TaskClass, count: int) -> None:
        """Told that tasks of a job got (count > 0) or lost (count < 0) a place."""
        raise NotImplementedError

    def group_state(self, job: JobView) -> "GroupState | None":
        """What the PodGroup's condition should say when the session ends; None to leave it."""
        raise NotImplementedError

    def preemptable(self, preemptor: Task, candidates: Sequence["Victim"]) -> Sequence["Victim"]:
        """Which candidates the preemptor may take."""
        raise NotImplementedError

    def reclaimable(self, reclaimer: Task, candidates: Sequence["Victim"]) -> Sequence["Victim"]:
        """Which candidates another queue's task may take."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class GroupState:
    """A gang's state at the end of a session: ready, or how many members are missing."""

    ready: bool
    missing: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Victim:
    """A running task and its job."""

    task: Task
    job: JobView


def overrides(plugin: Plugin[Any], hook: str) -> bool:
    """Whether a plugin has its own answer for a hook."""
    return getattr(type(plugin), hook) is not getattr(Plugin, hook)


@dataclass(frozen=True, slots=True)
class HookSpec:
    """One row of the table.

    Attributes:
        switch: key in the configuration that turns it off for a plugin; empty if it has none.
        fold: name of the rule that makes one answer of several.
    """

    switch: str
    fold: str


HOOKS: Mapping[str, HookSpec] = {
    "job_order": HookSpec("enableJobOrder", "concatenate"),
    "queue_order": HookSpec("enableQueueOrder", "concatenate"),
    "task_order": HookSpec("enableTaskOrder", "concatenate"),
    "job_valid": HookSpec("", "first_failure"),
    "job_ready": HookSpec("enableJobReady", "all_true"),
    "job_pipelined": HookSpec("enableJobPipelined", "vote"),
    "job_starving": HookSpec("enableJobStarving", "first_tier_all"),
    "job_enqueueable": HookSpec("enableJobEnqueued", "vote"),
    "job_enqueued": HookSpec("enableJobEnqueued", "notify"),
    "overused": HookSpec("enabledOverused", "any_true"),
    "headroom": HookSpec("enabledAllocatable", "minimum"),
    "filters": HookSpec("enablePredicate", "collect"),
    "scorers": HookSpec("enableNodeOrder", "collect"),
    "allocated": HookSpec("", "notify"),
    "group_state": HookSpec("", "first_owner"),
    "preemptable": HookSpec("enablePreemptable", "tier_intersection"),
    "reclaimable": HookSpec("enableReclaimable", "tier_intersection"),
}
"""Every extension point, its switch and its fold."""

SWITCHES: Mapping[str, bool] = {
    "enableJobOrder": True,
    "enableJobReady": True,
    "enableJobPipelined": True,
    "enableTaskOrder": True,
    "enablePreemptable": True,
    "enableReclaimable": True,
    "enablePreemptive": True,
    "enableQueueOrder": True,
    "enablePredicate": True,
    "enableBestNode": True,
    "enableNodeOrder": True,
    "enableTargetJob": True,
    "enableReservedNodes": True,
    "enableJobEnqueued": True,
    "enabledVictim": True,
    "enableJobStarving": True,
    "enabledOverused": True,
    "enabledAllocatable": True,
    "enabledHyperNodeOrder": True,
    "enabledSubJobReady": True,
    "enabledSubJobPipelined": True,
    "enabledSubJobOrder": True,
    "enabledHyperNodeGradient": True,
    "enableHierarchy": False,
    "enabledClusterOrder": False,
}
"""Every switch of a plugin entry in the configuration, and its default (spelled as upstream's)."""


class Switched(Protocol):
    """A plugin entry of the configuration: what it turns off."""

    def is_on(self, switch: str) -> bool:
        """Whether a switch is on."""
        ...


class Hooks:
    """The hooks of one session's plugins, folded.

    Args:
        tiers: plugins with the entry that configured them, tier by tier.
    """

    def __init__(self, tiers: Sequence[Sequence[tuple[Plugin[Any], Switched]]]) -> None:
        self._tiers = tiers
        self._job_order = self._flat("job_order")
        self._queue_order = self._flat("queue_order")
        self._task_order = self._flat("task_order")
        self._job_valid = self._flat("job_valid")
        self._job_ready = self._flat("job_ready")
        self._job_pipelined = self._by_tier("job_pipelined")
        self._job_starving = self._by_tier("job_starving")
        self._job_enqueueable = self._by_tier("job_enqueueable")
        self._job_enqueued = self._flat("job_enqueued")
        self._overused = self._flat("overused")
        self._headroom = self._owners("headroom")
        self._allocated = self._flat("allocated")
        self._group_state = self._flat("group_state")
        self._preemptable = self._by_tier("preemptable")
        self._reclaimable = self._by_tier("reclaimable")
        self.filters: list[Filter] = [f for call in self._calls("filters") for f in call()]
        self.scorers: list[Scorer] = [s for call in self._calls("scorers") for s in call()]
        self.enqueue_by_demand = all(
            plugin.enqueue_by_demand for plugin in self._owners("job_enqueueable")
        )

    def _owners(self, hook: str) -> list[Plugin[Any]]:
        return [
            plugin for tier in self._enabled(hook) for plugin in tier if overrides(plugin, hook)
        ]

    def _enabled(self, hook: str) -> list[list[Plugin[Any]]]:
        switch = HOOKS[hook].switch
        return [
            [plugin for plugin, entry in tier if not switch or entry.is_on(switch)]
            for tier in self._tiers
        ]

    def _flat(self, hook: str) -> list[Callable[..., Any]]:
        return [getattr(plugin, hook) for plugin in self._owners(hook)]

    def _calls(self, hook: str) -> list[Callable[..., Any]]:
        return [getattr(plugin, hook) for tier in self._enabled(hook) for plugin in tier]

    def _by_tier(self, hook: str) -> list[list[Callable[..., Any]]]:
        tiers = [
            [getattr(plugin, hook) for plugin in tier if overrides(plugin, hook)]
            for tier in self._enabled(hook)
        ]
        return [tier for tier in tiers if tier]

    def job_key(self, job: JobView) -> tuple[Any, ...]:
        """Order of jobs: the plugins' keys, then creation time, then uid."""
        return (
            *(call(job) for call in self._job_order),
            job.group.creation,
            job.group.uid,
            job.key,
        )

    def queue_key(self, queue: Queue) -> tuple[Any, ...]:
        """Order of queues: the plugins' keys, then creation time, then name."""
        return (*(call(queue) for call in self._queue_order), queue.creation, queue.name)

    def task_key(self, task: Task) -> tuple[Any, ...]:
        """Order of tasks within a job: the plugins' keys, then the default order."""
        return (*(call(task) for call in self._task_order), *task.order)

    def job_valid(self, job: JobView) -> Refusal | None:
        """The first refusal, if any."""
        for call in self._job_valid:
            refusal: Refusal | None = call(job)
            if refusal is not None:
                return refusal
        return None

    def job_ready(self, job: JobView) -> bool:
        """Whether all agree (nobody asked: yes)."""
        return all(call(job) for call in self._job_ready)

    def job_pipelined(self, job: JobView) -> bool:
        """The vote on keeping promises."""
        return not isinstance(_vote(self._job_pipelined, job), list)

    def job_starving(self, job: JobView) -> bool:
        """The first tier with an opinion decides, all of it must agree (nobody: no)."""
        for tier in self._job_starving:
            return all(call(job) for call in tier)
        return False

    def job_enqueueable(self, job: JobView) -> Refusal | None:
        """The vote on leaving phase Pending: None is yes."""
        outcome = _vote(self._job_enqueueable, job)
        if not isinstance(outcome, list):
            return None
        return (
            outcome[0] if outcome else Refusal("NotEnqueueable", "a plugin refused the pod group")
        )

    def job_enqueued(self, job: JobView) -> None:
        """Tell everybody."""
        for call in self._job_enqueued:
            call(job)

    def overused(self, queue: Queue) -> bool:
        """Whether anybody says so."""
        return any(call(queue) for call in self._overused)

    def headroom(self, queue: Queue, cls: TaskClass, limit: int) -> int:
        """The smallest headroom, at most `limit`."""
        for plugin in self._headroom:
            limit = min(limit, plugin.headroom(queue, cls))
        return limit

    def headroom_reason(self, queue: Queue, cls: TaskClass) -> str:
        """What the first plugin without headroom says."""
        for plugin in self._headroom:
            if plugin.headroom(queue, cls) <= 0:
                return plugin.headroom_reason(queue, cls)
        return ""

    def allocated(self, job: JobView, cls: TaskClass, count: int) -> None:
        """Tell everybody."""
        for call in self._allocated:
            call(job, cls, count)

    def group_state(self, job: JobView) -> GroupState | None:
        """What the first owner says."""
        for call in self._group_state:
            state: GroupState | None = call(job)
            return state
        return None

    def preemptable(self, preemptor: Task, candidates: Sequence[Victim]) -> list[Victim]:
        """Victims within a queue."""
        return _tier_intersection(self._preemptable, preemptor, candidates)

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Victim]) -> list[Victim]:
        """Victims in other queues."""
        return _tier_intersection(self._reclaimable, reclaimer, candidates)


def _vote(tiers: Sequence[Sequence[Callable[..., Any]]], job: JobView) -> list[Refusal] | None:
    """A rejection ends it (its reasons are returned); a tier with a permit ends it with yes."""
    for tier in tiers:
        permitted = False
        for call in tier:
            answer = call(job)
            if isinstance(answer, Refusal):
                return [answer]
            if answer is Vote.REJECT:
                return []
            permitted = permitted or answer is Vote.PERMIT
        if permitted:
            return None
    return None


def _tier_intersection(
    tiers: Sequence[Sequence[Callable[..., Any]]], taker: Task, candidates: Sequence[Victim]
) -> list[Victim]:
    """Within a tier only what all allow; the first tier that allows somebody decides.

    A tier that allows nobody is passed over. An intersection that becomes empty stays empty.
    """
    for tier in tiers:
        allowed = list(candidates)
        for call in tier:
            chosen = {victim.task.uid for victim in call(taker, candidates)}
            allowed = [victim for victim in allowed if victim.task.uid in chosen]
            if not allowed:
                break
        if allowed:
            return allowed
    return []
