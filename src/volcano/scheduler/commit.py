"""Applies what a cycle decided: binds, evictions, statuses, conditions and events.

Bounded in concurrency and deduplicated by object: of two waiting statuses of one PodGroup only the
newer is written. Nothing here decides; a refused bind is told back to the state, so that the next
cycle sees the pod as pending again.
"""

import asyncio
import enum
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from volcano.api.kinds import POD, POD_GROUP
from volcano.api.objects import JsonObject
from volcano.base import limits
from volcano.base.clock import Clock, timestamp
from volcano.base.errors import ApiError
from volcano.client.client import Client, PatchType
from volcano.client.events import EventRecorder
from volcano.scheduler.model.decisions import (
    Bind,
    CycleResult,
    Eviction,
    PodConditionUpdate,
    PodGroupUpdate,
)
from volcano.scheduler.model.state import ClusterState

log = structlog.get_logger(__name__)

_GONE = frozenset({"NotFound", "Conflict"})

Work = Bind | Eviction | PodGroupUpdate | PodConditionUpdate


class _Urgency(enum.IntEnum):
    """Order of writing: what starts pods goes before what explains."""

    BIND = 0
    GROUP = 1
    EVICT = 2
    CONDITION = 3


@dataclass(slots=True)
class CommitCounts:
    """What was written since the start, for metrics and tests."""

    bound: int = 0
    bind_failures: int = 0
    evicted: int = 0
    patched: int = 0
    failures: int = 0


@dataclass(slots=True)
class _Item:
    work: Work
    attempts: int = 0


@dataclass(slots=True)
class _Queues:
    """Work waiting, by urgency, then in order of arrival; one entry per object."""

    by_urgency: tuple[OrderedDict[str, _Item], ...] = field(
        default_factory=lambda: tuple(OrderedDict() for _ in _Urgency)
    )

    def put(self, urgency: _Urgency, uid: str, item: _Item) -> None:
        self.by_urgency[urgency][uid] = item

    def pop(self) -> tuple[_Urgency, _Item] | None:
        for urgency in _Urgency:
            queue = self.by_urgency[urgency]
            if queue:
                return urgency, queue.popitem(last=False)[1]
        return None

    def __len__(self) -> int:
        return sum(len(queue) for queue in self.by_urgency)


class Committer:
    """Writes the results of cycles.

    Args:
        failed: called after a bind was refused, so that a new cycle is planned.
    """

    def __init__(
        self,
        client: Client,
        state: ClusterState,
        recorder: EventRecorder,
        *,
        clock: Clock,
        failed: Callable[[], None],
    ) -> None:
        self.counts = CommitCounts()
        self._client = client
        self._state = state
        self._recorder = recorder
        self._clock = clock
        self._failed = failed
        self._queues = _Queues()
        self._work = asyncio.Semaphore(0)
        self._open = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def waiting(self) -> int:
        """Writes decided and not yet answered."""
        return self._open

    def submit(self, result: CycleResult) -> None:
        """Take over a cycle's decisions; binds count as done for the next cycle from here on."""
        for bind in result.binds:
            self._state.assume(bind.namespace, bind.name, bind.uid, bind.node)
            self._put(_Urgency.BIND, bind.uid, _Item(bind))
        for group in result.pod_groups:
            self._state.assume_pod_group(f"{group.namespace}/{group.name}", group.status)
            self._put(_Urgency.GROUP, group.uid, _Item(group))
        for eviction in result.evictions:
            self._state.assume_evicted(eviction.namespace, eviction.name, eviction.uid)
            self._put(_Urgency.EVICT, eviction.uid, _Item(eviction))
        for condition in result.pod_conditions:
            self._put(_Urgency.CONDITION, condition.uid, _Item(condition))
        for note in result.events:
            self._recorder.event(_involved(note.regarding), note.type, note.reason, note.message)

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(limits.COMMIT_WRITES_IN_FLIGHT_MAX):
                group.create_task(self._worker())

    async def drained(self) -> None:
        """Return once nothing is waiting or on its way."""
        await self._idle.wait()

    def _put(self, urgency: _Urgency, uid: str, item: _Item) -> None:
        before = len(self._queues)
        self._queues.put(urgency, uid, item)
        if len(self._queues) > before:
            self._open += 1
            self._idle.clear()
            self._work.release()

    async def _worker(self) -> None:
        while True:
            await self._work.acquire()
            entry = self._queues.pop()
            assert entry is not None, "the semaphore counts the queued items"
            urgency, item = entry
            try:
                await self._write(item)
            except (ApiError, OSError, TimeoutError) as error:
                await self._trouble(urgency, item, error)
            finally:
                self._open -= 1
                if self._open == 0:
                    self._idle.set()

    async def _trouble(self, urgency: _Urgency, item: _Item, error: Exception) -> None:
        """Give up or try again later, with back-off and a bound."""
        item.attempts += 1
        work = item.work
        refused = isinstance(error, ApiError) and error.code < 500 and error.code != 429
        if refused or item.attempts >= limits.COMMIT_ATTEMPTS_MAX:
            self._give_up(work, error)
            return
        await self._clock.sleep(limits.COMMIT_BACKOFF_SECONDS * 2**item.attempts)
        if work.uid not in self._queues.by_urgency[urgency]:
            self._put(urgency, work.uid, item)

    def _give_up(self, work: Work, error: Exception) -> None:
        gone = isinstance(error, ApiError) and error.reason in _GONE
        level = log.info if gone else log.warning
        level(
            "commit.refused",
            what=type(work).__name__,
            object=f"{work.namespace}/{work.name}",
            error=str(error),
        )
        if isinstance(work, Bind):
            self.counts.bind_failures += 1
            self._state.forget(work.namespace, work.name, work.uid)
            if not gone:
                text = f"Binding to node {work.node} was refused: {error}"
                self._recorder.event(_pod_reference(work), "Warning", "FailedBinding", text)
            self._failed()
        elif isinstance(work, Eviction):
            self.counts.failures += 1
            self._state.forget(work.namespace, work.name, work.uid)
            self._failed()
        else:
            self.counts.failures += 1

    async def _write(self, item: _Item) -> None:
        match item.work:
            case Bind() as bind:
                await self._bind(bind)
            case Eviction() as eviction:
                await self._evict(eviction)
            case PodGroupUpdate() as update:
                await self._patch_group(update)
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
