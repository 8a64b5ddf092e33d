"""What a Job needs next: observed objects in, effects out.

One look does one thing: enter a phase because of an action, or do what the present phase asks
for (`active` for Pending and Running). A phase that was entered is written before its
consequences, so that dying in between loses nothing: the next look sees the phase and goes on.
"""

from dataclasses import dataclass, replace

from volcano.api.batch import JobPhase
from volcano.api.kinds import COMMAND
from volcano.api.objects import JsonObject, metadata, name_of, namespace_of, uid_of
from volcano.controllers.effects import Delete, Effect, Record, Requeue
from volcano.controllers.job import pod_group
from volcano.controllers.job.active import PLUGIN_MARK, active
from volcano.controllers.job.job_status import (
    COMMAND_MARK,
    NextState,
    status_patch,
    stay,
    without_command,
    write,
)
from volcano.controllers.job.machine import (
    ENDING,
    STOPPED,
    TABLE,
    TARGETED,
    Action,
    Enter,
    after_restarting,
)
from volcano.controllers.job.observed import Observed
from volcano.controllers.job.plugins import UnknownPluginError, plugins_of
from volcano.controllers.job.pods import PodFact
from volcano.controllers.job.policies import Decision, decide
from volcano.controllers.job.removal import delete_group, remove_pods


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do for a job.

    Attributes:
        effects: in order.
        kept: pods whose eviction still waits for a delayed action, by name; others are dealt with.
        told: what the Events of this plan say about the PodGroup.
    """

    effects: tuple[Effect, ...] = ()
    kept: frozenset[str] = frozenset()
    told: str = ""


def reconcile(o: Observed) -> Plan:
    """The next step for one job."""
    if metadata(o.raw).get("deletionTimestamp"):
        return Plan(tuple(_delete_command(command) for command in o.commands))
    decision = decide(o)
    spent = [_delete_command(command) for command in decision.spent]
    enter = TABLE[o.phase].get(decision.action)
    if enter is not None:
        effects = [*spent, *_enter(o, decision, enter)]
        return Plan(tuple(effects), kept=decision.kept, told=o.told)
    effects = [*spent, *_refuse_command(o, decision)]
    if decision.command is not None:
        # The status is looked at again without the command.
        return Plan(tuple(effects), kept=decision.kept, told=o.told)
    told = o.told
    if o.phase in STOPPED:
        effects += _stopped(o)
    elif o.phase is JobPhase.RESTARTING:
        effects += _restarting(o)
    else:
        more, told = active(o)
        effects += more
    if decision.again_in is not None:
        effects.append(Requeue(decision.again_in))
    return Plan(tuple(effects), kept=decision.kept, told=told)


def _delete_command(command: JsonObject) -> Delete:
    return Delete(COMMAND, namespace_of(command), name_of(command), uid=uid_of(command))


def _refuse_command(o: Observed, decision: Decision) -> list[Effect]:
    """A Command that means nothing in the present phase is used up, and says so."""
    if decision.command is None:
        return []
    text = f"{decision.command.get('action')} has no effect on a job that is {o.phase}"
    return [
        Record(o.raw, "Normal", "CommandIssued", text),
        _delete_command(decision.command),
        Requeue(0),
    ]


def _enter(o: Observed, decision: Decision, enter: Enter) -> list[Effect]:
    """Go to a phase because of an action, and kill the pods of a targeted one."""
    resources = dict(o.status.controlled_resources)
    effects: list[Effect] = []
    if decision.command is not None:
        resources[COMMAND_MARK] = uid_of(decision.command)
        text = f"Start to execute command {decision.action}; it is removed so that it runs once"
        effects.append(Record(o.raw, "Normal", "CommandIssued", text))
    state = NextState(
        enter.phase,
        o.status.version + enter.full,
        o.status.retry_count + enter.retry,
        resources,
        reason=decision.action.value,
        message=decision.why,
    )
    text = f"Start to execute action {decision.action} "
    effects.append(Record(o.raw, "Normal", "ExecuteAction", text))
    patch = status_patch(o, state)
    if patch is not None:
        effects.append(patch)
    if decision.command is not None:
        effects.append(_delete_command(decision.command))
    if decision.action in TARGETED:
        effects += remove_pods(o, [pod for pod in decision.targets if not pod.terminating])
    return effects


def _stopped(o: Observed) -> list[Effect]:
    """No pod may be alive: end those that are, remove what was made beside them, move on."""
    effects = remove_pods(o, [pod for pod in o.pods if pod.alive])
    if o.pod_group is not None:
        effects.append(delete_group(o.pod_group))
    resources, leftovers = _without_plugins(o)
    effects += leftovers
    state = replace(stay(o), resources=without_command(o, resources))
    final = ENDING.get(o.phase)
    if final is not None and o.pods.counts().alive == 0:
        reason, message = o.status.state.reason, o.status.state.message
        state = replace(state, phase=final, reason=reason, message=message)
    return [*effects, *write(o, state)]


def _restarting(o: Observed) -> list[Effect]:
    """Kill the pods of the past, then start over as Pending, or give up."""
    resumed = o.status.state.reason == Action.RESUME_JOB
    if not resumed and o.status.retry_count >= o.spec.max_retry:
        message = f"restarted {o.status.retry_count} times, spec.maxRetry is {o.spec.max_retry}"
        why = o.status.state.message
        message += f"; last: {why}" if why else ""
        return write(
            o, replace(_kept(o), phase=JobPhase.FAILED, reason="MaxRetry", message=message)
        )
    past = [pod for pod in o.pods if not pod.terminating and _is_past(o, pod)]
    effects = remove_pods(o, past)
    if o.pod_group is not None and pod_group.is_of_earlier_run(o, o.pod_group):
        effects.append(delete_group(o.pod_group))
    if effects:
        return [*effects, *write(o, _kept(o))]
    phase = after_restarting(
        o.spec,
        retry_count=o.status.retry_count,
        min_available=o.status.min_available,
        terminating=o.pods.counts().terminating,
        resumed=resumed,
    )
    return write(o, replace(_kept(o), phase=phase))


def _is_past(o: Observed, pod: PodFact) -> bool:
    """Whether a pod of a restarting job has to go before the job starts over.

    A resumed job keeps the pods that had ended; they count in the new run.
    """
    if pod.out_of_sync:
        return True
    reason = o.status.state.reason
    whole = reason == Action.RESTART_JOB or (reason == Action.RESUME_JOB and pod.alive)
    return whole and pod.version < o.status.version


def _without_plugins(o: Observed) -> tuple[dict[str, str], list[Effect]]:
    """The bookkeeping without plugins, and the deletion of what those listed had made."""
    resources = dict(o.status.controlled_resources)
    marks = [key for key in resources if key.startswith(PLUGIN_MARK)]
    if not marks:
        return resources, []
    for mark in marks:
        del resources[mark]
    try:
        plugins = plugins_of(o)
    except UnknownPluginError:
        # Such a job never got as far as making anything.
        return resources, []
    return resources, [effect for plugin in plugins for effect in plugin.leftovers()]


def _kept(o: Observed) -> NextState:
    return replace(stay(o), resources=without_command(o))


def terminate(o: Observed, why: str) -> Plan:
    """Give a job up: its requests are refused, however often they are made."""
    enter = TABLE[o.phase].get(Action.TERMINATE_JOB)
    if enter is None:
        return Plan()
    decision = Decision(Action.TERMINATE_JOB, why)
    return Plan(tuple(_enter(o, decision, enter)), told=o.told)
