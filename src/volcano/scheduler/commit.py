"""Applies what a cycle decided: binds, evictions, statuses, conditions and events.

Bounded in concurrency, one write at a time for an object, and deduplicated: of two waiting statuses
of one PodGroup only the newer is written, and no older one after it. Nothing here decides; what is
given up is told back to the state, so that the next cycle sees the world as it is. A pod whose bind
was refused counts as bound a little longer each time, so that it is not tried in every cycle.
"""

import asyncio
import enum
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from volcano.api.kinds import POD, POD_GROUP, QUEUE, Kind
from volcano.api.objects import JsonObject
from volcano.base import limits
from volcano.base.clock import Clock, timestamp
from volcano.base.errors import ApiError
from volcano.base.waiting import first_of
from volcano.client.client import Client, PatchType
from volcano.client.events import EventRecorder
from volcano.scheduler.model.decisions import (
    Bind,
    CycleResult,
    Eviction,
    PodConditionUpdate,
    PodGroupUpdate,
    QueueUpdate,
)
from volcano.scheduler.model.state import ClusterState

log = structlog.get_logger(__name__)

_GONE = frozenset({"NotFound", "Conflict"})

Work = Bind | Eviction | PodGroupUpdate | QueueUpdate | PodConditionUpdate


class _Urgency(enum.IntEnum):
    """Order of writing: the few that let jobs in, what starts pods, then what explains."""

    GROUP = 0
    BIND = 1
    EVICT = 2
    QUEUE = 3
    CONDITION = 4


@dataclass(slots=True)
class CommitCounts:
    """What was written since the start, for metrics and tests."""

    bound: int = 0
    bind_failures: int = 0
    evicted: int = 0
    patched: int = 0
    failures: int = 0


_Key = tuple[_Urgency, str]


@dataclass(slots=True)
class _Queues:
    """Work by urgency, then in order of arrival; one entry per object, and one write at a time."""

    by_urgency: tuple[OrderedDict[str, Work], ...] = field(
        default_factory=lambda: tuple(OrderedDict() for _ in _Urgency)
    )
    busy: set[_Key] = field(default_factory=set)
    newer: dict[_Key, Work] = field(default_factory=dict)

    def put(self, urgency: _Urgency, work: Work) -> bool:
        """Queue work in place of older work on the same object; whether there is more to take."""
        if (urgency, work.uid) in self.busy:
            self.newer[urgency, work.uid] = work
            return False
        queue = self.by_urgency[urgency]
        is_more = work.uid not in queue
        queue[work.uid] = work
        return is_more

    def take(self) -> tuple[_Urgency, Work]:
        """The most urgent work; its object is busy until `done`."""
        urgency = next(urgency for urgency in _Urgency if self.by_urgency[urgency])
        work = self.by_urgency[urgency].popitem(last=False)[1]
        self.busy.add((urgency, work.uid))
        return urgency, work

    def done(self, urgency: _Urgency, work: Work) -> bool:
        """Let go of an object; whether newer work on it can be taken now."""
        self.busy.discard((urgency, work.uid))
        newer = self.newer.pop((urgency, work.uid), None)
        return newer is not None and self.put(urgency, newer)

    def is_superseded(self, urgency: _Urgency, work: Work) -> bool:
        """Whether newer work on the object waits."""
        return (urgency, work.uid) in self.newer

    def __len__(self) -> int:
        return sum(map(len, self.by_urgency)) + len(self.busy) + len(self.newer)


class Committer:
    """Writes the results of cycles.

    Args:
        restore: puts an object into the state as it was last seen, after a status was given up.
        failed: called after a bind was taken back, so that a new cycle is planned.
    """

    def __init__(
        self,
        client: Client,
        state: ClusterState,
        recorder: EventRecorder,
        *,
        clock: Clock,
        restore: Callable[[Kind, str], None],
        failed: Callable[[], None],
    ) -> None:
        self.counts = CommitCounts()
        self._client = client
        self._state = state
        self._recorder = recorder
        self._clock = clock
        self._restore = restore
        self._failed = failed
        self._queues = _Queues()
        self._refusals: OrderedDict[str, int] = OrderedDict()
        self._group: asyncio.TaskGroup | None = None
        self._work = asyncio.Semaphore(0)
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def waiting(self) -> int:
        """Writes decided and not yet answered."""
        return len(self._queues)

    def submit(self, result: CycleResult) -> None:
        """Take over a cycle's decisions; they count as done for the next cycle from here on."""
        self._state.assume_written(result)
        for bind in result.binds:
            self._state.assume(bind.namespace, bind.name, bind.uid, bind.node)
            self._put(_Urgency.BIND, bind)
        for group in result.pod_groups:
            self._put(_Urgency.GROUP, group)
        for eviction in result.evictions:
            self._state.assume_evicted(eviction.namespace, eviction.name, eviction.uid)
            self._put(_Urgency.EVICT, eviction)
        for queue in result.queues:
            self._put(_Urgency.QUEUE, queue)
        for condition in result.pod_conditions:
            self._put(_Urgency.CONDITION, condition)
        for note in result.events:
            self._recorder.event(_involved(note.regarding), note.type, note.reason, note.message)

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            for _ in range(limits.COMMIT_WRITES_IN_FLIGHT_MAX):
                group.create_task(self._worker())

    async def drained(self) -> None:
        """Return once nothing is waiting or on its way."""
        await self._idle.wait()

    async def drained_or_late(self) -> None:
        """Return once nothing is waiting, or after `limits.RECORDER_GIVES_WAY_SECONDS_MAX`."""
        if self._idle.is_set():
            return
        late = self._clock.sleep(limits.RECORDER_GIVES_WAY_SECONDS_MAX)
        await first_of(self._idle.wait(), late)

    def _put(self, urgency: _Urgency, work: Work) -> None:
        self._idle.clear()
        if self._queues.put(urgency, work):
            self._work.release()

    async def _worker(self) -> None:
        while True:
            await self._work.acquire()
            urgency, work = self._queues.take()
            try:
                await self._carry_out(urgency, work)
            finally:
                if self._queues.done(urgency, work):
                    self._work.release()
                if not self._queues:
                    self._idle.set()

    async def _carry_out(self, urgency: _Urgency, work: Work) -> None:
        """Write, with tries again after trouble that may pass, until newer work takes its place."""
        for attempt in range(1, limits.COMMIT_ATTEMPTS_MAX + 1):
            try:
                await self._write(work)
            except (ApiError, OSError, TimeoutError) as error:
                if _is_final(error) or attempt == limits.COMMIT_ATTEMPTS_MAX:
                    self._give_up(work, error)
                    return
            else:
                self._refusals.pop(work.uid, None)
                return
            await self._clock.sleep(limits.COMMIT_BACKOFF_SECONDS * 2**attempt)
            if self._queues.is_superseded(urgency, work):
                return

    def _give_up(self, work: Work, error: Exception) -> None:
        gone = isinstance(error, ApiError) and error.reason in _GONE
        level = log.info if gone else log.warning
        level(
            "commit.refused",
            what=type(work).__name__,
            object=f"{work.namespace}/{work.name}",
            error=str(error),
        )
        if isinstance(work, Bind | Eviction):
            if isinstance(work, Eviction):
                self.counts.failures += 1
            else:
                self.counts.bind_failures += 1
                if not gone:
                    text = f"Binding to node {work.node} was refused: {error}"
                    self._recorder.event(_pod_reference(work), "Warning", "FailedBinding", text)
            assert self._group is not None, "only workers give up, and `run` starts them"
            self._group.create_task(self._take_back(work))
        else:
            self.counts.failures += 1
            self._restore_as_seen(work)

    def _restore_as_seen(self, work: PodGroupUpdate | QueueUpdate | PodConditionUpdate) -> None:
        match work:
            case QueueUpdate():
                self._restore(QUEUE, work.name)
            case PodGroupUpdate():
                self._restore(POD_GROUP, f"{work.namespace}/{work.name}")
            case PodConditionUpdate():
                self._restore(POD, f"{work.namespace}/{work.name}")

    async def _take_back(self, work: Bind | Eviction) -> None:
        """Let the pod be planned again, the later the more often it was refused."""
        refusals = self._refusals.pop(work.uid, 0)
        self._refusals[work.uid] = refusals + 1
        if len(self._refusals) > limits.COMMIT_REFUSALS_KNOWN_MAX:
            self._refusals.popitem(last=False)
        pause = limits.COMMIT_BACKOFF_SECONDS * 2.0 ** min(refusals, 30)
        await self._clock.sleep(min(pause, limits.COMMIT_REFUSED_SECONDS_MAX))
        self._state.forget(work.namespace, work.name, work.uid)
        self._failed()

    async def _write(self, work: Work) -> None:
        match work:
            case Bind() as bind:
                await self._bind(bind)
            case Eviction() as eviction:
                await self._evict(eviction)
            case PodGroupUpdate() as update:
                await self._patch_group(update)
            case QueueUpdate() as update:
                await self._patch_queue(update)
            case PodConditionUpdate() as update:
                await self._patch_condition(update)

    async def _bind(self, bind: Bind) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": bind.name, "namespace": bind.namespace, "uid": bind.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": bind.node},
        }
        await self._client.create_subresource(POD, bind.name, "binding", body, bind.namespace)
        self.counts.bound += 1
        text = f"Successfully assigned {bind.namespace}/{bind.name} to {bind.node}"
        self._recorder.event(_pod_reference(bind), "Normal", "Scheduled", text)

    async def _evict(self, eviction: Eviction) -> None:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": f"evicted by the action {eviction.reason}",
            "lastTransitionTime": timestamp(self._clock.now()),
        }
        await self._patch_pod(eviction, {"status": {"conditions": [condition]}})
        await self._client.delete(POD, eviction.name, eviction.namespace, uid=eviction.uid)
        self.counts.evicted += 1
        self._recorder.event(_pod_reference(eviction), "Warning", "Evict", condition["message"])

    async def _patch_group(self, update: PodGroupUpdate) -> None:
        # PodGroup has no status sub-resource; the uid test keeps a namesake's status untouched.
        operations: list[JsonObject] = [
            {"op": "test", "path": "/metadata/uid", "value": update.uid},
            {"op": "add", "path": "/status", "value": update.status},
        ]
        await self._client.patch(
            POD_GROUP, update.name, operations, update.namespace, patch_type=PatchType.JSON
        )
        self.counts.patched += 1

    async def _patch_queue(self, update: QueueUpdate) -> None:
        allocated = {**update.allocated, **dict.fromkeys(update.dropped)}
        patch = {"metadata": {"uid": update.uid}, "status": {"allocated": allocated}}
        await self._client.patch(QUEUE, update.name, patch, subresource="status")
        self.counts.patched += 1

    async def _patch_condition(self, update: PodConditionUpdate) -> None:
        status: JsonObject = {"conditions": [update.condition]}
        if update.nominated_node:
            status["nominatedNodeName"] = update.nominated_node
        await self._patch_pod(update, {"status": status})
        self.counts.patched += 1

    async def _patch_pod(self, work: Eviction | PodConditionUpdate, patch: JsonObject) -> None:
        await self._client.patch(
            POD,
            work.name,
            {"metadata": {"uid": work.uid}, **patch},
            work.namespace,
            subresource="status",
            patch_type=PatchType.STRATEGIC,
        )


def _is_final(error: Exception) -> bool:
    """Whether the same write would be refused again."""
    return isinstance(error, ApiError) and error.code < 500 and error.code != 429


def _pod_reference(work: Bind | Eviction) -> JsonObject:
    return {
        "apiVersion": POD.api_version,
        "kind": POD.kind,
        "metadata": {"namespace": work.namespace, "name": work.name, "uid": work.uid},
    }


def _involved(reference: JsonObject) -> JsonObject:
    """An object as the recorder takes it, from an object reference."""
    return {
        "apiVersion": reference.get("apiVersion", ""),
        "kind": reference.get("kind", ""),
        "metadata": {
            key: reference[key] for key in ("namespace", "name", "uid") if reference.get(key)
        },
    }
