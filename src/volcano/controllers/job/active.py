"""What a Pending or Running Job needs: claims, plugin objects, its PodGroup, its pods.

Every look wants the same things again, so whatever is missing, for whatever reason, is made.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from volcano.api.batch import JobPhase, TaskSpec
from volcano.api.kinds import JOB, PERSISTENT_VOLUME_CLAIM, POD, POD_GROUP
from volcano.api.objects import JsonObject, metadata, name_of
from volcano.api.wellknown import JOB_FORWARDING
from volcano.base.clock import parse_timestamp
from volcano.base.errors import VolcanoError
from volcano.controllers.effects import Create, CreateMany, Effect, Patch, Record, Requeue
from volcano.controllers.job import pod_group
from volcano.controllers.job.job_status import NextState, stay, without_command, write
from volcano.controllers.job.machine import STOPPED, Counts, after_counting
from volcano.controllers.job.observed import Observed, owner_reference
from volcano.controllers.job.plugins import UnknownPluginError, plugins_of
from volcano.controllers.job.plugins.base import JobPlugin
from volcano.controllers.job.pod_builder import (
    build_pods,
    claim_name,
    generated_claim_name,
    pod_name,
)
from volcano.controllers.job.pods import RUNNING, SUCCEEDED, PodFact
from volcano.controllers.job.removal import delete_group, remove_pods

PLUGIN_MARK = "plugin-"
"""Prefix in `status.controlledResources` of the plugins whose objects are there."""

_VOLUME_MARK = "volume-pvc-"
_WAIT_SECONDS = 10.0


class WaitingError(VolcanoError):
    """The job cannot go on before something outside it changes."""

    def __init__(self, reason: str, public: str) -> None:
        super().__init__(public)
        self.reason = reason


def active(o: Observed) -> tuple[list[Effect], str]:
    """Pending and Running: bring about what the job needs, then see where its pods lead."""
    try:
        plugins = plugins_of(o)
        effects: list[Effect] = [*_forwarding(o), *_claims(o), *_plugin_objects(plugins)]
        _need_queue(o)
    except (WaitingError, UnknownPluginError) as error:
        return _wait(o, error), o.told
    resources = _resources(o)
    if o.pod_group is None or pod_group.is_of_earlier_run(o, o.pod_group):
        if o.pod_group is not None:
            effects.append(delete_group(o.pod_group))
        effects.append(Create(POD_GROUP, pod_group.wanted(o), o.raw, "PodGroupError"))
        return [*write(o, _counted(o, resources)), *effects], ""
    update = pod_group.update_of(o, o.pod_group)
    if update:
        version = metadata(o.pod_group).get("resourceVersion", "")
        name = name_of(o.pod_group)
        effects.append(Patch(POD_GROUP, o.namespace, name, update, resource_version=version))
    notes, told = _tell(o)
    effects += notes
    if (o.pod_group.get("status") or {}).get("phase") in pod_group.ENQUEUED:
        effects += _pods(o, plugins)
    return [*write(o, _counted(o, resources)), *effects], told


def _need_queue(o: Observed) -> None:
    if o.phase is JobPhase.PENDING and o.queue is None:
        text = f"queue {o.spec.queue!r} (spec.queue) does not exist; create it or name another"
        raise WaitingError("PodGroupError", text)


def _wait(o: Observed, error: VolcanoError) -> list[Effect]:
    reason = error.reason if isinstance(error, WaitingError) else "PluginError"
    state = replace(stay(o), resources=without_command(o), reason=reason, message=error.public)
    written = write(o, state)
    # The Event goes out when the reason is new; the look that follows is for its going away.
    notes = [Record(o.raw, "Warning", reason, error.public)] if written else []
    return [*written, *notes, Requeue(_WAIT_SECONDS)]


def _forwarding(o: Observed) -> Iterator[Effect]:
    forwarded = ((o.queue or {}).get("spec") or {}).get("extendClusters")
    annotations = metadata(o.raw).get("annotations") or {}
    if forwarded and annotations.get(JOB_FORWARDING) != "true":
        patch = {"metadata": {"annotations": {JOB_FORWARDING: "true"}}}
        yield Patch(JOB, o.namespace, o.name, patch)


def _claims(o: Observed) -> list[Effect]:
    """Claims to create for the job's volumes, and their names written into its spec."""
    if o.phase is not JobPhase.PENDING or not o.spec.volumes:
        return []
    effects: list[Effect] = []
    volumes: list[JsonObject] = [dict(volume) for volume in o.raw["spec"]["volumes"]]
    for number, volume in enumerate(o.spec.volumes):
        name = claim_name(o, number)
        if name in o.claims:
            pass
        elif volume.volume_claim is None or name != generated_claim_name(o, number):
            raise WaitingError(
                "PVCError",
                f"Failed to create PVC, err: claim {name} (spec.volumes[{number}]) does not exist; "
                "the job waits in Pending until it does",
            )
        else:
            claim = {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {
                    "name": name,
                    "namespace": o.namespace,
                    "ownerReferences": [owner_reference(o.raw)],
                },
                "spec": volume.volume_claim,
            }
            effects.append(Create(PERSISTENT_VOLUME_CLAIM, claim, o.raw, "PVCError"))
        volumes[number]["volumeClaimName"] = name
    if volumes != o.raw["spec"]["volumes"]:
        effects.append(Patch(JOB, o.namespace, o.name, {"spec": {"volumes": volumes}}))
    return effects


def _plugin_objects(plugins: Sequence[JobPlugin]) -> Iterator[Effect]:
    for plugin in plugins:
        yield from plugin.objects()


def _resources(o: Observed) -> dict[str, str]:
    """The bookkeeping of what was made beside the pods."""
    resources = dict(without_command(o))
    resources |= {f"{PLUGIN_MARK}{name}": name for name in o.spec.plugins}
    names = [claim_name(o, number) for number in range(len(o.spec.volumes))]
    return resources | {f"{_VOLUME_MARK}{name}": name for name in names}


def _pods(o: Observed, plugins: Sequence[JobPlugin]) -> list[Effect]:
    """Create the pods that are missing, remove those too many and those being replaced."""
    effects: list[Effect] = []
    surplus: list[PodFact] = []
    for task in o.spec.tasks:
        have = o.pods.of_task(task.name).pods
        surplus += [
            pod
            for pod in have.values()
            if not pod.terminating and (pod.out_of_sync or pod.index >= task.replicas)
        ]
        missing = _missing(o, task)
        if missing and _may_start(o, task):
            effects.append(CreateMany(POD, build_pods(o, task, missing, plugins), about=o.raw))
    return [*effects, *remove_pods(o, surplus)]


def _missing(o: Observed, task: TaskSpec) -> list[int]:
    have = o.pods.of_task(task.name).pods
    if len(have) == task.replicas and all(pod.index < task.replicas for pod in have.values()):
        return []
    return [
        index for index in range(task.replicas) if pod_name(o.name, task.name, index) not in have
    ]


def _may_start(o: Observed, task: TaskSpec) -> bool:
    """Whether the tasks that this one depends on are far enough."""
    if task.depends_on is None or not task.depends_on.name:
        return True
    ready = [_is_ready(o, name) for name in task.depends_on.name]
    if task.depends_on.iteration == "any" and len(ready) > 1:
        return any(ready)
    return all(ready)


def _is_ready(o: Observed, name: str) -> bool:
    task = next((task for task in o.spec.tasks if task.name == name), None)
    if task is None or task.min_available is None:
        return True
    good = sum(
        1
        for pod in o.pods.of_task(name).pods.values()
        if pod.index < task.replicas
        and not pod.terminating
        and (pod.phase == SUCCEEDED or (pod.phase == RUNNING and pod.ready))
    )
    return good >= task.min_available


def _tell(o: Observed) -> tuple[list[Effect], str]:
    """A Warning when the newest condition of the PodGroup says that it waits; once per text."""
    conditions = [
        condition
        for condition in ((o.pod_group or {}).get("status") or {}).get("conditions") or ()
        if condition.get("status") == "True"
    ]
    newest = max(conditions, key=_condition_time, default=None)
    if newest is None or newest.get("type") == "Scheduled":
        return [], ""
    kind, text = str(newest.get("type", "")).lower(), newest.get("message", "")
    message = f"PodGroup {o.namespace}:{o.name} {kind}, reason: {text}"
    if message == o.told:
        return [], message
    return [Record(o.raw, "Warning", "PodGroupPending", message)], message


def _condition_time(condition: JsonObject) -> float:
    text = condition.get("lastTransitionTime")
    return parse_timestamp(text) if text else 0.0


def _counted(o: Observed, resources: dict[str, str]) -> NextState:
    """The state that the pods lead to."""
    counts = o.pods.counts()
    succeeded = {name: phases.get(SUCCEEDED, 0) for name, phases in o.pods.by_task().items()}
    phase = after_counting(o.phase, o.spec, counts, succeeded)
    state = replace(stay(o), phase=phase, resources=resources)
    if phase in STOPPED:
        return replace(state, reason=_REASONS[phase], message=_summary(o, counts))
    return replace(state, reason="", message="")


_REASONS = {JobPhase.COMPLETED: "PodsSucceeded", JobPhase.FAILED: "PodsFailed"}


def _summary(o: Observed, counts: Counts) -> str:
    total = sum(task.replicas for task in o.spec.tasks)
    need = o.spec.min_success or o.spec.min_available
    return f"{counts.succeeded} of {total} pods succeeded, {counts.failed} failed; {need} needed"
