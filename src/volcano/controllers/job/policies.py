"""Which action a Job is due: from its Commands, or from what happened and its lifecycle policies.

What happened is read from the state of the pods, not from a stream of events: a failed pod of the
current version that nobody has acted upon is as good as the moment it failed, and better after a
restart of the controller. Only a vanished pod has to be remembered (`Observed.evictions`).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from volcano.api.batch import JobEvent, LifecyclePolicy, TaskSpec
from volcano.api.kinds import POD_GROUP
from volcano.api.objects import JsonObject, metadata, uid_of
from volcano.base.clock import parse_timestamp
from volcano.base.durations import parse_duration
from volcano.controllers.job.job_status import COMMAND_MARK
from volcano.controllers.job.machine import STOPPED, TARGETED, Action
from volcano.controllers.job.observed import JobUnreadableError, Observed
from volcano.controllers.job.pods import FAILED, PENDING, SUCCEEDED, PodFact, TaskPods

_TASK_RETRIES_DEFAULT = 3
_JOB_ACTIONS = frozenset(Action) - TARGETED - {Action.SYNC}


@dataclass(frozen=True, slots=True)
class Happening:
    """Something a policy may react to."""

    event: JobEvent
    since: float
    text: str
    task: str = ""
    pod: PodFact | None = None
    evicted: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do with a job now.

    Attributes:
        why: a sentence for people.
        targets: pods that a targeted action is about.
        command: the Command that asked for it.
        spent: Commands to be deleted without acting.
        kept: evictions that still wait for the delay of their policy, by pod name.
        again_in: seconds until the next delayed action is due; None if there is none.
    """

    action: Action = Action.SYNC
    why: str = ""
    targets: tuple[PodFact, ...] = ()
    command: JsonObject | None = None
    spent: tuple[JsonObject, ...] = ()
    kept: frozenset[str] = frozenset()
    again_in: float | None = None


@dataclass(frozen=True, slots=True)
class _Due:
    """A happening, the action its policy wants, and when."""

    happening: Happening
    action: Action
    at: float


def decide(o: Observed) -> Decision:
    """The action that is due now."""
    spent = tuple(command for command in o.commands if _is_spent(o, command))
    waiting = [command for command in o.commands if command not in spent]
    if waiting:
        command = waiting[0]
        action = _action_of(str(command.get("action", "")))
        name = metadata(command).get("name", "")
        kept = frozenset(eviction.fact.name for eviction in o.evictions)
        why = str(command.get("message") or f"command {name}")
        return Decision(action, why, command=command, spent=spent, kept=kept)
    due = [entry for happening in _happenings(o) if (entry := _react(o, happening))]
    ripe = sorted((entry for entry in due if entry.at <= o.now), key=_order)
    later = [entry for entry in due if entry.at > o.now]
    kept = frozenset(
        entry.happening.pod.name
        for entry in later
        if entry.happening.evicted and entry.happening.pod
    )
    again_in = min((entry.at - o.now for entry in later), default=None)
    if not ripe:
        return Decision(spent=spent, kept=kept, again_in=again_in)
    first = ripe[0]
    if first.action in _JOB_ACTIONS:
        return Decision(first.action, first.happening.text, spent=spent)
    targets = {pod.name: pod for entry in ripe for pod in _targets(o, entry)}
    return Decision(
        first.action,
        first.happening.text,
        targets=tuple(targets.values()),
        spent=spent,
        kept=kept,
        again_in=again_in,
    )


def _order(entry: _Due) -> tuple[bool, float, str]:
    pod = entry.happening.pod
    return (entry.action in TARGETED, entry.at, pod.name if pod else "")


def _is_spent(o: Observed, command: JsonObject) -> bool:
    """Whether a Command was carried out already, or meant an earlier job of this name."""
    target_uid = (command.get("target") or {}).get("uid")
    if target_uid and target_uid != o.uid:
        return True
    return o.status.controlled_resources.get(COMMAND_MARK) == uid_of(command)


def _action_of(text: str) -> Action:
    try:
        return Action(text)
    except ValueError:
        return Action.SYNC


def _react(o: Observed, happening: Happening) -> _Due | None:
    """What the first policy that matches wants; the task's come before the job's."""
    task = next((task for task in o.spec.tasks if task.name == happening.task), None)
    for policy in (*(task.policies if task else ()), *o.spec.policies):
        if not _matches(policy, happening):
            continue
        action = _action_of(policy.action)
        if action is Action.SYNC or (action in TARGETED and not happening.task):
            # Different: a targeted action on something without a task has nothing to restart.
            return None
        delay = _delay_of(policy)
        return _Due(happening, action, happening.since + delay if delay else 0.0)
    return None


def _delay_of(policy: LifecyclePolicy) -> float:
    if not policy.timeout:
        return 0.0
    try:
        return parse_duration(policy.timeout)
    except ValueError as error:
        raise JobUnreadableError(f"policies[].timeout: {error}") from error


def _matches(policy: LifecyclePolicy, happening: Happening) -> bool:
    events = {*policy.events, *((policy.event,) if policy.event else ())}
    if happening.event in events or JobEvent.ANY in events:
        return happening.event is not JobEvent.POD_PENDING or bool(policy.timeout)
    code = happening.pod.exit_code if happening.pod else 0
    return (
        policy.exit_code is not None
        and happening.event is JobEvent.POD_FAILED
        and policy.exit_code == code
    )


def _targets(o: Observed, entry: _Due) -> Iterable[PodFact]:
    """Pods that a targeted action kills; an evicted pod is gone, only its siblings are left."""
    happening = entry.happening
    siblings = o.pods.of_task(happening.task).pods
    if entry.action is Action.RESTART_TASK:
        return siblings.values()
    if happening.pod is None:
        return ()
    if entry.action is Action.RESTART_PARTITION and happening.pod.partition:
        return [pod for pod in siblings.values() if pod.partition == happening.pod.partition]
    found = siblings.get(happening.pod.name)
    return (found,) if found is not None and found.uid == happening.pod.uid else ()


def _happenings(o: Observed) -> Iterator[Happening]:
    """Everything the job's policies could react to now."""
    if o.phase in STOPPED or not (o.spec.policies or any(t.policies for t in o.spec.tasks)):
        return
    version = o.status.version
    yield from _evictions(o)
    for task in o.spec.tasks:
        pods = o.pods.of_task(task.name)
        if pods.phases[FAILED]:
            yield from _failures(pods.pods.values(), version)
        if pods.phases[PENDING] and _waits_for_pending(o, task):
            yield from _pending(pods.pods.values(), version)
        yield from _task_events(o, task)
    group = o.pod_group or {}
    if (group.get("status") or {}).get("phase") == "Unknown":
        text = f"{POD_GROUP.kind} is Unknown: part of the gang cannot run"
        yield Happening(JobEvent.UNKNOWN, _unknown_since(group), text)


def _evictions(o: Observed) -> Iterator[Happening]:
    for eviction in o.evictions:
        fact = eviction.fact
        if fact.job_uid != o.uid or fact.version < o.status.version:
            continue
        again = o.pods.find(fact.task, fact.name)
        if again is not None and again.phase not in {PENDING, FAILED}:
            # Its replacement runs already, so a delayed reaction would hit a healthy pod. One
            # without delay was decided on before the replacement could be made.
            continue
        text = f"pod {fact.name} was removed"
        yield Happening(JobEvent.POD_EVICTED, eviction.at, text, fact.task, fact, evicted=True)


def _failures(facts: Iterable[PodFact], version: int) -> Iterator[Happening]:
    for fact in facts:
        if fact.phase == FAILED and _current(fact, version):
            text = f"pod {fact.name} failed with exit code {fact.exit_code}"
            yield Happening(JobEvent.POD_FAILED, fact.since, text, fact.task, fact)


def _pending(facts: Iterable[PodFact], version: int) -> Iterator[Happening]:
    for fact in facts:
        if fact.phase == PENDING and _current(fact, version):
            text = f"pod {fact.name} is pending for too long"
            yield Happening(JobEvent.POD_PENDING, fact.since, text, fact.task, fact)


def _task_events(o: Observed, task: TaskSpec) -> Iterator[Happening]:
    pods = o.pods.of_task(task.name)
    if task.replicas == 0 or not pods.pods:
        return
    if pods.phases[SUCCEEDED] >= task.replicas:
        done = _newest(o, pods, lambda fact: fact.phase == SUCCEEDED)
        if done is not None:
            text = f"all {task.replicas} pods of task {task.name} succeeded"
            yield Happening(JobEvent.TASK_COMPLETED, done.since, text, task.name, done)
    limit = task.max_retry or _TASK_RETRIES_DEFAULT
    if 0 <= limit <= pods.restarts:
        restarted = _newest(o, pods, lambda fact: fact.alive and fact.restarts > 0)
        if restarted is not None:
            text = f"containers of task {task.name} were restarted {pods.restarts} times"
            yield Happening(JobEvent.TASK_FAILED, restarted.since, text, task.name, restarted)


def _newest(o: Observed, pods: TaskPods, wanted: Callable[[PodFact], bool]) -> PodFact | None:
    """The newest pod of the current version that is wanted."""
    version = o.status.version
    found = [fact for fact in pods.pods.values() if _current(fact, version) and wanted(fact)]
    return max(found, key=_age, default=None)


def _age(fact: PodFact) -> tuple[float, str]:
    return (fact.since, fact.name)


def _current(fact: PodFact, version: int) -> bool:
    return fact.version >= version and not fact.terminating and not fact.out_of_sync


def _waits_for_pending(o: Observed, task: TaskSpec) -> bool:
    return any(
        policy.timeout
        and {JobEvent.POD_PENDING, JobEvent.ANY} & {*policy.events, policy.event or ""}
        for policy in (*task.policies, *o.spec.policies)
    )


def _unknown_since(group: JsonObject) -> float:
    times = [
        parse_timestamp(condition["lastTransitionTime"])
        for condition in (group.get("status") or {}).get("conditions") or ()
        if condition.get("lastTransitionTime")
    ]
    return max(times, default=0.0)
