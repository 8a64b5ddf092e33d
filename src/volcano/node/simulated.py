"""Pods on simulated nodes: the same life as on process nodes, by rules (`rules`), nothing runs.

All simulated pods share one work queue and a few writers, so that thousands cost a dictionary
entry each. The API is the only record: what a pod's status says is taken up after a restart.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import structlog

from volcano.api.objects import JsonObject, key_of, metadata, uid_of
from volcano.base.clock import Clock, parse_timestamp
from volcano.base.errors import ApiError
from volcano.base.limits import NODE_WRITES_CONCURRENT_MAX
from volcano.client.workqueue import WorkQueue
from volcano.node import rules as rules_of
from volcano.node.fleet import Fleet
from volcano.node.plan import TERMINAL, Ended, Plan, Run, decide
from volcano.node.pods import PodSpec, Role, read_pod
from volcano.node.rules import Rules
from volcano.node.status import Place, pod_status
from volcano.node.writing import StatusWriter

EXIT_TERMINATED = 143
_STEPS_MAX = 1000
_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Pod:
    obj: JsonObject
    seen_at: float
    runs: dict[str, Run] = field(default_factory=dict)


class Simulator:
    """Takes the pods of simulated nodes through their phases."""

    def __init__(self, fleet: Fleet, place: Place, writer: StatusWriter, clock: Clock) -> None:
        self._defaults = fleet.simulation
        self._place = place
        self._writer = writer
        self._clock = clock
        self._pods: dict[str, _Pod] = {}
        self._queue: WorkQueue[str] = WorkQueue(clock)

    def update(self, obj: JsonObject) -> None:
        """A pod on a simulated node is new or has changed."""
        uid = uid_of(obj)
        known = self._pods.get(uid)
        if known is not None:
            before, known.obj = known.obj, obj
            if self._writer.is_echo(obj) and not _asks_more(before, obj):
                return
        elif (obj.get("status") or {}).get("phase") in TERMINAL and not _is_deleted(obj):
            return
        else:
            self._pods[uid] = _Pod(obj, self._clock.now(), restore_runs(obj))
        self._queue.add(uid)

    def forget(self, uid: str) -> None:
        """The pod is gone."""
        self._pods.pop(uid, None)
        self._writer.forget(uid)

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(NODE_WRITES_CONCURRENT_MAX):
                    group.create_task(self._work())
        finally:
            self._queue.close()

    async def _work(self) -> None:
        while True:
            uid = await self._queue.get()
            try:
                wake_at = await self._step(uid)
                if wake_at is not None:
                    self._queue.add_after(uid, max(wake_at - self._clock.now(), 0.0))
                self._queue.forget(uid)
            except ApiError as error:
                pod = self._pods.get(uid)
                name = key_of(pod.obj) if pod is not None else uid
                _log.warning("simulated_pod.not_written", pod=name, error=error.message)
                self._queue.add_rate_limited(uid)
            finally:
                self._queue.done(uid)

    async def _step(self, uid: str) -> float | None:
        """Take one pod as far as it goes now; when to look again."""
        state = self._pods.get(uid)
        if state is None:
            return None
        now = self._clock.now()
        pod = read_pod(state.obj)
        if pod.started_at is None:
            pod = replace(pod, started_at=state.seen_at)
        try:
            rules = rules_of.of_annotations(
                metadata(pod.raw).get("annotations") or {}, self._defaults
            )
        except ValueError as error:
            plan = Plan(
                phase="Failed", reason="InvalidSimulation", message=str(error), finished=True
            )
        else:
            state.runs, plan = advance(pod, state.runs, rules, now)
        if plan.finished and pod.deletion_at is not None:
            await self._writer.delete(pod)
            self.forget(uid)
            return None
        status = pod_status(pod, state.runs, plan, now, self._place)
        retry_at = await self._writer.write(state.obj, status)
        if self._writer.is_gone(retry_at) or (retry_at is None and plan.phase in TERMINAL):
            self.forget(uid)
            return None
        return min((t for t in (retry_at, plan.wake_at) if t is not None), default=None)


def advance(
    pod: PodSpec, runs: Mapping[str, Run], rules: Rules, now: float
) -> tuple[dict[str, Run], Plan]:
    """Everything that happens to a pod up to now: the states of its containers and the plan then.

    `pod.started_at` is when the node took it.
    """
    runs = dict(runs)
    taken = pod.started_at if pod.started_at is not None else now
    ready_at = taken + rules.startup
    ends: float | None = None
    for _ in range(_STEPS_MAX):
        ends = _end_runs(pod, runs, rules, now)
        plan = decide(pod, runs, now)
        for name in {*plan.stop, *plan.kill}:
            since = runs[name].running_since
            ended = Ended(EXIT_TERMINATED, "Error", since if since is not None else now, now)
            runs[name] = replace(runs[name], ended=ended)
        if now >= ready_at:
            for start in plan.start:
                before = runs.get(start.name, Run())
                runs[start.name] = Run(
                    restarts=start.restarts,
                    running_since=now,
                    level=start.level,
                    last=before.ended or before.last,
                )
        elif plan.start:
            ends = ready_at if ends is None else min(ends, ready_at)
            plan = replace(plan, start=())
        if not (plan.start or plan.stop or plan.kill):
            break
    wakes = [t for t in (plan.wake_at, ends) if t is not None]
    return runs, replace(plan, wake_at=min(wakes, default=None))


def _end_runs(pod: PodSpec, runs: dict[str, Run], rules: Rules, now: float) -> float | None:
    """End the runs whose time has come; when the next one ends."""
    coming: list[float] = []
    for spec in pod.containers:
        run = runs.get(spec.name)
        if run is None or not run.running or spec.role is Role.SIDECAR:
            continue
        assert run.running_since is not None, "a running container has a start"
        duration = 0.0 if spec.role is Role.INIT else rules.duration
        if duration is None:
            continue
        end = run.running_since + duration
        if end > now:
            coming.append(end)
            continue
        code = 0
        if spec.role is Role.APP:
            code = rules.exit_code_of(pod.uid, spec.name, run.restarts)
        reason = "Completed" if code == 0 else "Error"
        runs[spec.name] = replace(run, ended=Ended(code, reason, run.running_since, end))
    return min(coming, default=None)


def restore_runs(obj: JsonObject) -> dict[str, Run]:
    """The states of the containers as a pod's status has them (times in whole seconds)."""
    status = obj.get("status") or {}
    entries = [
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    ]
    return {entry["name"]: _restore_run(entry) for entry in entries}


def _restore_run(entry: JsonObject) -> Run:
    state = entry.get("state") or {}
    restarts = int(entry.get("restartCount") or 0)
    last = _restore_end((entry.get("lastState") or {}).get("terminated"))
    if "running" in state:
        since = parse_timestamp(state["running"]["startedAt"])
        return Run(restarts=restarts, running_since=since, last=last, level=restarts)
    ended = _restore_end(state.get("terminated"))
    if ended is None and last is not None:
        ended, last = last, None
    since_end = ended.started_at if ended is not None else None
    return Run(restarts=restarts, running_since=since_end, ended=ended, last=last, level=restarts)


def _restore_end(terminated: JsonObject | None) -> Ended | None:
    if not terminated:
        return None
    return Ended(
        int(terminated.get("exitCode") or 0),
        str(terminated.get("reason") or ""),
        parse_timestamp(terminated["startedAt"]),
        parse_timestamp(terminated["finishedAt"]),
    )


def _asks_more(before: JsonObject, after: JsonObject) -> bool:
    """Whether a pod has changed in more than its status."""
    old, new = metadata(before), metadata(after)
    return (
        old.get("deletionTimestamp") != new.get("deletionTimestamp")
        or old.get("annotations") != new.get("annotations")
        or before.get("spec") != after.get("spec")
    )


def _is_deleted(obj: JsonObject) -> bool:
    return bool(metadata(obj).get("deletionTimestamp"))
