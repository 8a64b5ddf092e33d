"""Checks of a new Job: tasks, policies, plugins, volumes, queue, dependencies.

All that is wrong is told at once; only without tasks, or without the master task of the mpi
plugin, there is nothing more to say.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from volcano.api import wellknown
from volcano.api.admission import Lookup
from volcano.api.names import dns_subdomain_errors, qualified_name_errors
from volcano.api.objects import JsonObject
from volcano.api.scheduling import QueueState
from volcano.resources.quantity import parse_quantity
from volcano.webhooks import graph
from volcano.webhooks.check import Options
from volcano.webhooks.flags import flag_value
from volcano.webhooks.policies import policy_errors
from volcano.webhooks.queue_view import children_of, find_queue, queue_not_found, state_of
from volcano.webhooks.shapes import JobShape, TaskShape, TopologyShape, VolumeShape

BOTH_TIER_LIMITS = (
    "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously;"
)

_MPI_FLAGS = ("master", "worker", "port")


@dataclass(frozen=True, slots=True)
class NewJob:
    """A Job under review."""

    name: str
    spec: JobShape


def creation_errors(job: NewJob, lookup: Lookup, options: Options) -> str:
    """What is wrong with a new Job, or an empty text."""
    spec = job.spec
    if not spec.tasks:
        return "No task specified in job spec"
    if spec.plugins is not None and "mpi" in spec.plugins:
        master = flag_value(spec.plugins["mpi"], "master", "master", _MPI_FLAGS)
        if master not in {task.name for task in spec.tasks}:
            return "The specified mpi master task was not found"
    return " ".join(error.strip() for error in _all_errors(job, lookup, options) if error)


def _all_errors(job: NewJob, lookup: Lookup, options: Options) -> Iterator[str]:
    spec = job.spec
    yield from topology_errors(spec.network_topology)
    names = Counter(task.name for task in spec.tasks)
    for name, count in names.items():
        if count > 1:
            yield f"duplicated task name {name};"
    for index, task in enumerate(spec.tasks):
        yield from _task_errors(index, task, job, options)
    wrong = qualified_name_errors(job.name)
    if wrong:
        yield f"create job with name {job.name} validate failed [{' '.join(wrong)}];"
    if spec.min_available > sum(task.replicas for task in spec.tasks):
        yield "job 'minAvailable' should not be greater than total replicas in tasks;"
    yield policy_errors(spec.policies, "spec.policies")
    for plugin in spec.plugins or ():
        if plugin not in wellknown.JOB_PLUGINS:
            yield f"unable to find job plugin: {plugin};"
    yield _first_volume_error(spec.volumes)
    yield _queue_error(spec.queue, lookup)
    if len(names) == len(spec.tasks) and not _is_ordered(spec.tasks):
        yield (
            "job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG);"
        )


def topology_errors(topology: TopologyShape | None) -> Iterator[str]:
    """A tier is limited by number or by name, not both."""
    if topology is not None and topology.has_both_limits:
        yield BOTH_TIER_LIMITS


def _task_errors(index: int, task: TaskShape, job: NewJob, options: Options) -> Iterator[str]:
    if task.min_available is not None and task.min_available > task.replicas:
        yield f"'minAvailable' is greater than 'replicas' in task: {task.name}, job: {job.name};"
    yield policy_errors(task.policies, "spec.tasks.policies")
    pod = f"{job.name}-{task.name}-{index}"
    wrong = qualified_name_errors(pod)
    if wrong:
        yield f"create pod with name {pod} validate failed [{' '.join(wrong)}];"
    wrong_template = _template_errors(task, options)
    yield " ".join(f"spec.task[{index}].{error}." for error in wrong_template)
    if task.topology_policy not in ("", "none") and not wrong_template:
        yield _cpu_error(index, task.template)
    yield from partition_errors(task, job.name)


def _template_errors(task: TaskShape, options: Options) -> Sequence[str]:
    errors = (
        [] if task.name else ["metadata.name: Required value: name or generateName is required"]
    )
    if options.pod_validator is not None:
        errors += options.pod_validator(task.template)
    return errors


def _cpu_error(index: int, template: JsonObject) -> str:
    """NUMA policies place whole CPUs: a request for a part of one cannot be honoured."""
    spec = template.get("spec") or {}
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    for position, container in enumerate(containers):
        resources = container.get("resources") or {}
        amounts = resources.get("requests") or resources.get("limits") or {}
        if "cpu" in amounts:
            cores = Fraction(parse_quantity(amounts["cpu"]).nano, 10**9)
            if cores == 0 or cores.denominator != 1:
                return (
                    f"the cpu request isn't an integer in spec.task[{index}] container[{position}]."
                )
    return ""


def partition_errors(task: TaskShape, job_name: str) -> Iterator[str]:
    """A partitioned task consists of whole partitions."""
    policy = task.partition_policy
    if policy is None:
        return
    where = f"in task: {task.name}, job: {job_name};"
    least = policy.min_partitions * policy.partition_size
    if policy.total_partitions <= 0:
        yield f"'TotalPartitions' must be greater than 0 {where}"
    elif policy.partition_size <= 0:
        yield f"'PartitionSize' must be greater than 0 {where}"
    elif task.replicas != policy.total_partitions * policy.partition_size:
        yield f"'Replicas' are not equal to TotalPartitions*PartitionSize {where}"
    elif task.min_available is not None and least > 0 and least != task.min_available:
        yield f"'MinAvailable' is not equal to MinPartitions*PartitionSize {where}"
    yield from topology_errors(policy.network_topology)


def _first_volume_error(volumes: Sequence[VolumeShape]) -> str:
    seen: set[str] = set()
    for volume in volumes:
        path, name = volume.mount_path, volume.volume_claim_name
        if not path:
            return "mountPath is required;"
        if path in seen:
            return f"duplicated mountPath: {path};"
        seen.add(path)
        if volume.volume_claim is None and not name:
            return "either VolumeClaim or VolumeClaimName must be specified;"
        if volume.volume_claim is not None and name:
            return (
                "conflict: If you want to use an existing PVC, just specify VolumeClaimName."
                " If you want to create a new PVC, you do not need to specify VolumeClaimName;"
            )
        wrong = dns_subdomain_errors(name) if name else []
        if wrong:
            return f"invalid VolumeClaimName {name} : {'; '.join(wrong)};"
    return ""


def _queue_error(name: str, lookup: Lookup) -> str:
    queue = find_queue(lookup, name)
    if queue is None:
        return f"unable to find job queue: {queue_not_found(name)};"
    state = state_of(queue)
    if state != QueueState.OPEN:
        return (
            f"can only submit job to queue with state `Open`, queue `{name}` status is `{state}`;"
        )
    if name == wellknown.ROOT_QUEUE:
        return "can not submit job to root queue;"
    children = len(children_of(lookup, name))
    if children:
        return f"can only submit job to leaf queue, queue `{name}` has {children} child queues;"
    return ""


def _is_ordered(tasks: Sequence[TaskShape]) -> bool:
    """Whether the tasks can be started so that each comes after what it depends on."""
    if not any(task.depends_on for task in tasks):
        return True
    edges = {task.name: task.depends_on.name if task.depends_on else () for task in tasks}
    if any(len(set(names)) != len(names) for names in edges.values()):
        return False
    return graph.order(edges) is not None


def restart_warnings(tasks: Sequence[TaskShape]) -> list[str]:
    """Warnings for tasks whose pods are told to start again for ever."""
    return [
        f'task "{task.name}": restartPolicy Always restarts its containers whenever they end, so'
        " the job cannot complete; leave it out, or use OnFailure or Never"
        for task in tasks
        if (task.template.get("spec") or {}).get("restartPolicy") == "Always"
    ]
