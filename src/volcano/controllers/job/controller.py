"""The Job controller: keeps the facts of all pods, looks at one job at a time, does what it needs.

What is decided is in `reconcile`; here are the informers' handlers and the memory that outlives
one look: pods by job, pods that vanished, what was said about PodGroups.
"""

from dataclasses import dataclass, field

from volcano.api.kinds import (
    COMMAND,
    JOB,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    POD_GROUP,
    PRIORITY_CLASS,
    QUEUE,
    Kind,
)
from volcano.api.objects import (
    JsonObject,
    controller_of,
    key_of,
    metadata,
    name_of,
    namespace_of,
    uid_of,
)
from volcano.base.clock import parse_timestamp
from volcano.base.errors import ApiError, VolcanoError
from volcano.base.limits import JOB_REFUSALS_MAX
from volcano.client.informer import Change
from volcano.controllers.effects import EffectsError, Record, is_refusal
from volcano.controllers.job.observed import Eviction, JobUnreadableError, Observed, decode
from volcano.controllers.job.pod_group import pod_group_name
from volcano.controllers.job.pods import JobPods, PodFact, fact_of
from volcano.controllers.job.reconcile import Plan, reconcile, terminate
from volcano.controllers.runtime import Context, Controller

_BY_TARGET = "job-target"
_BY_NAMESPACE = "job-namespace"
_SMALL_JOB_PODS = 64
_PODS_PER_SECOND = 4000
_PAUSE_SECONDS_MAX = 1.0


@dataclass(slots=True)
class _Memory:
    """What is remembered of one job between looks."""

    evictions: dict[str, Eviction] = field(default_factory=dict)
    told: str = ""


class JobController(Controller):
    """Runs the Jobs of `batch.volcano.sh`."""

    name = "job-controller"
    workers = 4

    def __init__(self, context: Context, *, refusals_max: int = JOB_REFUSALS_MAX) -> None:
        needs: tuple[Kind, ...] = (JOB, POD, POD_GROUP, QUEUE, COMMAND, PRIORITY_CLASS)
        super().__init__(context, (*needs, PERSISTENT_VOLUME_CLAIM))
        self._refusals_max = refusals_max
        informers = context.informers
        self._jobs = informers.of(JOB)
        self._groups = informers.of(POD_GROUP)
        self._queues = informers.of(QUEUE)
        self._commands = informers.of(COMMAND)
        self._classes = informers.of(PRIORITY_CLASS)
        self._claims = informers.of(PERSISTENT_VOLUME_CLAIM)
        self._pods: dict[str, JobPods] = {}
        self._facts: dict[str, PodFact] = {}
        self._memory: dict[str, _Memory] = {}
        self._commands.add_index(_BY_TARGET, _target_keys)
        self._claims.add_index(_BY_NAMESPACE, lambda claim: (namespace_of(claim),))
        self._jobs.add_handler(self._job_changed)
        self._groups.add_handler(self._group_changed)
        self._queues.add_handler(self._queue_changed)
        self._commands.add_handler(self._command_changed)
        informers.of(POD).add_handler(self._pod_changed)

    async def reconcile(self, key: str) -> None:
        """Look at one job and do the next step."""
        raw = self._jobs.get(key)
        if raw is None:
            await self._drop_commands(key)
            return
        try:
            observed = self._observe(key, raw)
            plan = reconcile(observed)
        except JobUnreadableError as error:
            await self.apply(key, [Record(raw, "Warning", "JobStatusError", error.public)])
            return
        await self._carry_out(key, observed, plan)

    async def _carry_out(self, key: str, observed: Observed, plan: Plan) -> None:
        seen = dict(self._memory[key].evictions) if key in self._memory else {}
        await self.apply(key, plan.effects)
        if plan.told != observed.told:
            self._memory.setdefault(key, _Memory()).told = plan.told
        memory = self._memory.get(key)
        if memory is None:
            return
        for name, eviction in seen.items():
            if name not in plan.kept and memory.evictions.get(name) == eviction:
                del memory.evictions[name]

    async def failed(self, key: str, error: VolcanoError) -> None:
        """Try again later; what is refused for good too often ends the job."""
        await super().failed(key, error)
        refused = (isinstance(error, EffectsError) and error.refused) or (
            isinstance(error, ApiError) and is_refusal(error)
        )
        raw = self._jobs.get(key)
        if not refused or raw is None or self._refusals_max < 0:
            return
        if self.queue.failures(key) > self._refusals_max:
            why = f"given up after {self._refusals_max} retries: {error.public}"
            text = "Job failed on action SyncJob for retry limit reached"
            observed = self._observe(key, raw)
            try:
                await self.apply(key, [Record(raw, "Normal", "ExecuteAction", text)])
                await self.apply(key, terminate(observed, why).effects)
            except VolcanoError as again:
                await super().failed(key, again)

    async def _drop_commands(self, key: str) -> None:
        """Commands for a job that does not exist are used up."""
        for command in self._commands.by_index(_BY_TARGET, key):
            try:
                await self.context.client.delete(
                    COMMAND, name_of(command), namespace_of(command), uid=uid_of(command)
                )
            except ApiError as error:
                if error.reason != "NotFound":
                    raise

    def _observe(self, key: str, raw: JsonObject) -> Observed:
        job = decode(raw)
        uid, namespace = uid_of(raw), namespace_of(raw)
        memory = self._memory.get(key) or _Memory()
        claims = self._claims.by_index(_BY_NAMESPACE, namespace) if job.spec.volumes else []
        commands = sorted(self._commands.by_index(_BY_TARGET, key), key=_age)
        return Observed(
            raw=raw,
            job=job,
            pods=self._pods.get(uid) or JobPods(),
            now=self.context.clock.now(),
            pod_group=self._group_of(raw),
            queue=self._queues.get(job.spec.queue),
            commands=tuple(commands),
            evictions=tuple(memory.evictions.values()),
            priorities={name_of(c): int(c.get("value") or 0) for c in self._classes.items()},
            claims=frozenset(name_of(claim) for claim in claims),
            told=memory.told,
        )

    def _group_of(self, raw: JsonObject) -> JsonObject | None:
        namespace, name, uid = namespace_of(raw), name_of(raw), uid_of(raw)
        group = self._groups.get(f"{namespace}/{pod_group_name(name, uid)}")
        if group is None:
            # Versions before this naming called it like the job.
            older = self._groups.get(f"{namespace}/{name}")
            if older is not None and (controller_of(older) or {}).get("uid") == uid:
                group = older
        return group

    def _job_changed(self, change: Change) -> None:
        key = key_of(change.either)
        if change.new is None:
            self._memory.pop(key, None)
            self.applier.forget_owned_by(uid_of(change.either))
        self.queue.add(key)

    def _group_changed(self, change: Change) -> None:
        owner = controller_of(change.either)
        if owner is not None and owner.get("apiVersion") == JOB.api_version:
            self.queue.add(f"{namespace_of(change.either)}/{owner['name']}")

    def _queue_changed(self, change: Change) -> None:
        if change.old is None:
            for job in self._jobs.items():
                if (job.get("spec") or {}).get("queue") == name_of(change.either):
                    self.queue.add(key_of(job))

    def _command_changed(self, change: Change) -> None:
        if change.new is not None:
            for key in _target_keys(change.new):
                self.queue.add(key)

    def _pod_changed(self, change: Change) -> None:
        pod_key = key_of(change.either)
        old = self._facts.get(pod_key)
        new = fact_of(change.new) if change.new is not None else None
        # The last state of a removed pod may say more than was seen of it before.
        fact = new or (fact_of(change.old) if old and change.old else None)
        if fact is None or old == new:
            return
        pods = self._pods.setdefault(fact.job_uid, JobPods())
        if new is not None:
            self._facts[pod_key] = new
            pods.put(new)
        else:
            self._facts.pop(pod_key, None)
            pods.remove(fact)
            if not pods.tasks:
                del self._pods[fact.job_uid]
        key = f"{namespace_of(change.either)}/{fact.job}"
        if new is None:
            self._note_eviction(key, fact)
        size = len(pods)
        if size <= _SMALL_JOB_PODS:
            self.queue.add(key)
        else:
            # Changes of a large gang come in floods; its job is looked at a few times a second.
            self.queue.add_after(key, min(size / _PODS_PER_SECOND, _PAUSE_SECONDS_MAX))

    def _note_eviction(self, key: str, fact: PodFact) -> None:
        job = self._jobs.get(key)
        if fact.out_of_sync or job is None or uid_of(job) != fact.job_uid:
            return
        memory = self._memory.setdefault(key, _Memory())
        memory.evictions[fact.name] = Eviction(fact, self.context.clock.now())


def _target_keys(command: JsonObject) -> tuple[str, ...]:
    target = command.get("target") or {}
    if target.get("apiVersion") != JOB.api_version or target.get("kind") != JOB.kind:
        return ()
    return (f"{namespace_of(command)}/{target.get('name', '')}",)


def _age(obj: JsonObject) -> tuple[float, int, str]:
    """Sorts objects by age; within one second by resourceVersion."""
    meta = metadata(obj)
    created = meta.get("creationTimestamp")
    version = str(meta.get("resourceVersion", ""))
    number = int(version) if version.isdigit() else 0
    return (parse_timestamp(created) if created else 0.0, number, name_of(obj))
