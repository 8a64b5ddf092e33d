"""The mirror of the cluster: fed by events with raw API objects, read by cycles. No I/O, no clock.

Call `put_…` and `delete_…` as events come, in any order; what refers to something unknown waits
for it. After a cycle the edge calls `assume` for each bind it starts, so that the next cycle
counts it before the watch brings it back, and `forget` if the bind fails.

    usage of a node = requests of its tasks that have not ended
        used        all of them
        releasing   those being deleted or evicted
"""

import zlib
from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject, key_of, metadata, name_of
from volcano.resources.vector import Axes
from volcano.scheduler.core.columns import Columns
from volcano.scheduler.model.decisions import CycleResult
from volcano.scheduler.model.job import JobState, read_pod_group
from volcano.scheduler.model.node import Node, read_node
from volcano.scheduler.model.pod_spec import class_key, compile_class, pod_index
from volcano.scheduler.model.queue import Queue, creation_of, read_queue
from volcano.scheduler.model.task import (
    TERMINATED_STATUSES,
    HostPort,
    Task,
    TaskClass,
    TaskStatus,
)

GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
ROLE_KEY = "volcano.sh/task-spec"
TASK_PRIORITY_ANNOTATION = "volcano.sh/task-priority"
_SCHEDULED = "PodScheduled"
_INT32 = range(-(2**31), 2**31)
_SINGLE_STATUS = {"Succeeded": TaskStatus.SUCCEEDED, "Failed": TaskStatus.FAILED}


class ClusterState:
    """Everything the scheduler knows about the cluster.

    Attributes:
        generation: grows with every change that a cycle could care about.
        troubles: object key → why it (or a part of it) could not be read.
    """

    def __init__(
        self,
        *,
        scheduler_names: Collection[str] = ("volcano",),
        default_queue: str = "default",
    ) -> None:
        self.scheduler_names = frozenset(scheduler_names)
        self.default_queue = default_queue
        self.axes = Axes()
        self.generation = 0
        self.troubles: dict[str, str] = {}
        self.nodes: dict[str, Node] = {}
        self.jobs: dict[str, JobState] = {}
        self.queues: dict[str, Queue] = {}
        self.tasks: dict[str, Task] = {}
        self.allocatable = Columns()
        self.raw_allocatable = Columns()
        self.used = Columns()
        self.releasing = Columns()
        self.scoring_used = Columns()
        self.ports: dict[int, dict[HostPort, int]] = {}
        self.topology_generation = 0
        self._by_name: list[Node] = []
        self._name_hash = np.zeros(0, np.uint64)
        self._free_rows: list[int] = []
        self._row_count = 0
        self._on_node: dict[str, dict[str, Task]] = {}
        self._assumed: dict[str, Task] = {}
        self._classes: dict[bytes, TaskClass] = {}
        self._class_count = 0
        self._priority_classes: dict[str, tuple[int, bool]] = {}

    # ── by kind ────────────────────────────────────────────────────────────────────────────────

    def put(self, kind: Kind, obj: JsonObject) -> bool:
        """Take in a new or changed object; whether a cycle could now decide differently."""
        before = self.generation
        match kind.kind:
            case "Pod":
                self.put_pod(obj)
            case "Node":
                self.put_node(obj)
            case "PodGroup":
                self.put_pod_group(obj)
            case "Queue":
                self.put_queue(obj)
            case "PriorityClass":
                self.put_priority_class(obj)
            case other:
                raise ValueError(f"the scheduler does not follow {other} objects")
        return self.generation != before

    def delete(self, kind: Kind, obj: JsonObject) -> bool:
        """Take out an object that is gone; whether a cycle could now decide differently."""
        before = self.generation
        match kind.kind:
            case "Pod":
                self.delete_pod(key_of(obj))
            case "Node":
                self.delete_node(name_of(obj))
            case "PodGroup":
                self.delete_pod_group(key_of(obj))
            case "Queue":
                self.delete_queue(name_of(obj))
            case "PriorityClass":
                self.delete_priority_class(name_of(obj))
            case other:
                raise ValueError(f"the scheduler does not follow {other} objects")
        return self.generation != before

    # ── nodes ──────────────────────────────────────────────────────────────────────────────────

    def put_node(self, obj: JsonObject) -> None:
        """Add or replace a node."""
        name = name_of(obj)
        old = self.nodes.get(name)
        row = old.row if old is not None else self._new_row()
        try:
            node = read_node(obj, row, self.axes)
        except (ValueError, TypeError, AttributeError) as error:
            self.troubles[f"Node/{name}"] = str(error)
            if old is None:
                self._free_rows.append(row)
            return
        self.troubles.pop(f"Node/{name}", None)
        if old == node:
            return
        self.generation += 1
        self.nodes[name] = node
        self._by_name = []
        self.allocatable.clear(row)
        self.allocatable.add(row, node.allocatable.items())
        self.raw_allocatable.clear(row)
        self.raw_allocatable.add(row, node.raw_allocatable.items())
        if old is None:
            self.topology_generation += 1
            for task in self._on_node.get(name, {}).values():
                self._charge(row, task, 1)
        elif (old.labels, old.taints, old.images) != (node.labels, node.taints, node.images):
            self.topology_generation += 1

    def delete_node(self, name: str) -> None:
        """Forget a node; its tasks are remembered in case it returns."""
        node = self.nodes.pop(name, None)
        self.troubles.pop(f"Node/{name}", None)
        if node is None:
            return
        self._by_name = []
        for columns in (self.allocatable, self.raw_allocatable, self.used, self.releasing):
            columns.clear(node.row)
        self.scoring_used.clear(node.row)
        self.ports.pop(node.row, None)
        self._free_rows.append(node.row)
        self.generation += 1
        self.topology_generation += 1

    def _new_row(self) -> int:
        if self._free_rows:
            return self._free_rows.pop()
        row = self._row_count
        self._row_count += 1
        if row >= self.used.capacity:
            for columns in (
                self.allocatable,
                self.raw_allocatable,
                self.used,
                self.releasing,
                self.scoring_used,
            ):
                columns.grow(2 * columns.capacity)
        return row

    def node_order(self, seed: int) -> list[Node]:
        """All nodes in the order in which ties fall, from the seed and their names alone."""
        if len(self._by_name) != len(self.nodes):
            names = sorted(self.nodes)
            self._by_name = [self.nodes[name] for name in names]
            self._name_hash = np.fromiter(
                (zlib.crc32(name.encode()) for name in names), np.uint64, len(names)
            )
        order: npt.NDArray[np.intp] = np.argsort(_mix(self._name_hash, seed), kind="stable")
        by_name = self._by_name
        return [by_name[position] for position in order.tolist()]

    # ── pods ───────────────────────────────────────────────────────────────────────────────────

    def put_pod(self, obj: JsonObject) -> None:
        """Add or replace a pod. Pods of other schedulers matter only once they are on a node."""
        spec = obj.get("spec") or {}
        if not spec.get("nodeName") and spec.get("schedulerName") not in self.scheduler_names:
            self.delete_pod(key_of(obj))
            return
        task = self._read_task(obj, spec)
        old = self.tasks.get(task.key)
        if old is not None and task.key in self._assumed:
            if _is_older_news(old, task):
                self._assumed[task.key] = task
                return
            del self._assumed[task.key]
        if old is not None:
            if old.same_for_scheduling(task):
                old.pod = task.pod
                return
            self._detach(old)
        self._attach(task)
        self.generation += 1

    def delete_pod(self, key: str) -> None:
        """Forget a pod by `namespace/name`."""
        task = self.tasks.get(key)
        self._assumed.pop(key, None)
        if task is not None:
            self._detach(task)
            self._drop_empty_job(task.job)
            self.generation += 1

    def assume(self, namespace: str, name: str, uid: str, node: str) -> None:
        """Count a pod as being bound to `node` from now on, if it still waits."""
        key = f"{namespace}/{name}"
        task = self.tasks.get(key)
        if task is None or task.uid != uid or task.status is not TaskStatus.PENDING:
            return
        self._assumed[key] = task
        self._detach(task)
        self._attach(task.with_status(TaskStatus.BINDING, node))

    def assume_evicted(self, namespace: str, name: str, uid: str) -> None:
        """Count a pod as being released from now on, if it is on a node."""
        key = f"{namespace}/{name}"
        task = self.tasks.get(key)
        if task is None or task.uid != uid or not task.node or task.status in TERMINATED_STATUSES:
            return
        self._assumed[key] = task
        self._detach(task)
        self._attach(task.with_status(TaskStatus.RELEASING, task.node))

    def forget(self, namespace: str, name: str, uid: str) -> None:
        """Take an assumption back: the pod counts as last seen. Nothing if there is none."""
        key = f"{namespace}/{name}"
        task = self.tasks.get(key)
        if task is None or task.uid != uid or key not in self._assumed:
            return
        before = self._assumed.pop(key)
        self._detach(task)
        self._attach(before)
        self.generation += 1

    def _read_task(self, obj: JsonObject, spec: JsonObject) -> Task:
        meta = metadata(obj)
        namespace, name = str(meta.get("namespace", "")), str(meta.get("name", ""))
        annotations = meta.get("annotations") or {}
        group = annotations.get(GROUP_ANNOTATION)
        role = annotations.get(ROLE_KEY) or (meta.get("labels") or {}).get(ROLE_KEY) or ""
        priority = spec.get("priority")
        wanted = annotations.get(TASK_PRIORITY_ANNOTATION)
        if wanted is not None and (number := _int32(wanted)) is not None:
            priority = number
        gates = spec.get("schedulingGates")
        node = str(spec.get("nodeName") or "")
        return Task(
            key=f"{namespace}/{name}",
            uid=str(meta.get("uid", "")) or f"{namespace}/{name}",
            namespace=namespace,
            name=name,
            job=f"{namespace}/{group}" if group else "",
            role=str(role),
            index=pod_index(name),
            status=_status(obj, meta, node),
            node=node,
            priority=1 if priority is None else int(priority),
            creation=creation_of(obj),
            gates=tuple(str(gate.get("name")) for gate in gates) if gates else (),
            pod=obj,
        )

    def _attach(self, task: Task) -> None:
        self.tasks[task.key] = task
        occupies = task.node and task.status not in TERMINATED_STATUSES
        if occupies or task.status is not TaskStatus.PENDING:
            self.classify(task)
        if task.job:
            self._job(task.job).add(task)
        if occupies:
            self._on_node.setdefault(task.node, {})[task.key] = task
            node = self.nodes.get(task.node)
            if node is not None:
                self._charge(node.row, task, 1)

    def _detach(self, task: Task) -> None:
        del self.tasks[task.key]
        if task.job:
            self.jobs[task.job].remove(task)
        if task.node and task.status not in TERMINATED_STATUSES:
            here = self._on_node[task.node]
            del here[task.key]
            if not here:
                del self._on_node[task.node]
            node = self.nodes.get(task.node)
            if node is not None:
                self._charge(node.row, task, -1)

    def _charge(self, row: int, task: Task, sign: int) -> None:
        cls = task.spec
        self.used.add(row, cls.request, sign)
        self.scoring_used.add(row, enumerate(cls.scoring_request), sign)
        if task.status is TaskStatus.RELEASING:
            self.releasing.add(row, cls.request, sign)
        if cls.host_ports:
            ports = self.ports.setdefault(row, {})
            for port in cls.host_ports:
                ports[port] = ports.get(port, 0) + sign
                if not ports[port]:
                    del ports[port]
            if not ports:
                del self.ports[row]

    def classify(self, task: Task) -> TaskClass:
        """The class of a task, found or made."""
        if task.cls is None:
            spec = task.pod.get("spec") or {}
            key = class_key(spec)
            cls = self._classes.get(key)
            if cls is None:
                cls = compile_class(self._class_count, spec, self.axes)
                self._class_count += 1
                self._classes[key] = cls
            task.cls = cls
        return task.cls

    def drop_unused_classes(self, limit: int) -> None:
        """Forget classes that no task has, once there are more than `limit`."""
        if len(self._classes) > limit:
            live = {task.cls.id for task in self.tasks.values() if task.cls is not None}
            self._classes = {k: cls for k, cls in self._classes.items() if cls.id in live}

    # ── pod groups, queues, priorities ─────────────────────────────────────────────────────────

    def put_pod_group(self, obj: JsonObject) -> None:
        """Add or replace a PodGroup."""
        key = key_of(obj)
        try:
            group = read_pod_group(key, obj, self.axes, self.default_queue)
        except (ValueError, TypeError, AttributeError) as error:
            self.troubles[f"PodGroup/{key}"] = str(error)
            return
        self.troubles.pop(f"PodGroup/{key}", None)
        job = self._job(key)
        before, job.group = job.group, group
        if (
            before is None
            or (before.uid, before.phase) != (group.uid, group.phase)
            or before.obj.get("spec") != group.obj.get("spec")
        ):
            self.generation += 1

    def assume_pod_group(self, key: str, status: JsonObject) -> None:
        """Count a status as written until the next `put_pod_group` brings what really is."""
        job = self.jobs.get(key)
        if job is not None and job.group is not None:
            obj = {**job.group.obj, "status": status}
            job.group = read_pod_group(key, obj, self.axes, self.default_queue)

    def assume_written(self, result: CycleResult) -> None:
        """Count a cycle's statuses and conditions as written until the watch brings what really is.

        Without it the next cycle may come first, and say all of it once more.
        """
        for update in result.pod_groups:
            self.assume_pod_group(f"{update.namespace}/{update.name}", update.status)
        for held in result.queues:
            queue = self.queues.get(held.name)
            if queue is not None and queue.uid == held.uid:
                self.queues[held.name] = replace(queue, allocated=held.allocated)
        for told in result.pod_conditions:
            task = self.tasks.get(f"{told.namespace}/{told.name}")
            if task is not None and task.uid == told.uid:
                status = task.pod.get("status") or {}
                others = [c for c in status.get("conditions") or () if c.get("type") != _SCHEDULED]
                conditions = [*others, told.condition]
                task.pod = {**task.pod, "status": {**status, "conditions": conditions}}

    def delete_pod_group(self, key: str) -> None:
        """Forget a PodGroup; its pods are remembered."""
        self.troubles.pop(f"PodGroup/{key}", None)
        job = self.jobs.get(key)
        if job is not None:
            job.group = None
            self._drop_empty_job(key)
            self.generation += 1

    def put_queue(self, obj: JsonObject) -> None:
        """Add or replace a queue."""
        name = name_of(obj)
        try:
            queue = read_queue(obj, self.axes)
        except (ValueError, TypeError, AttributeError) as error:
            self.troubles[f"Queue/{name}"] = str(error)
            return
        self.troubles.pop(f"Queue/{name}", None)
        if queue.trouble:
            self.troubles[f"Queue/{name}"] = queue.trouble
        if self.queues.get(name) != queue:
            self.queues[name] = queue
            self.generation += 1

    def delete_queue(self, name: str) -> None:
        """Forget a queue; its jobs wait."""
        self.troubles.pop(f"Queue/{name}", None)
        if self.queues.pop(name, None) is not None:
            self.generation += 1

    def put_priority_class(self, obj: JsonObject) -> None:
        """Add or replace a PriorityClass."""
        value, is_default = int(obj.get("value") or 0), bool(obj.get("globalDefault"))
        self._priority_classes[name_of(obj)] = (value, is_default)
        self.generation += 1

    def delete_priority_class(self, name: str) -> None:
        """Forget a PriorityClass."""
        if self._priority_classes.pop(name, None) is not None:
            self.generation += 1

    def priority_of(self, class_name: str) -> int:
        """Value of a priority class; if unknown that of the global default; else 0."""
        found = self._priority_classes.get(class_name)
        if found is not None:
            return found[0]
        defaults = [value for value, is_default in self._priority_classes.values() if is_default]
        return min(defaults, default=0)

    def _job(self, key: str) -> JobState:
        job = self.jobs.get(key)
        if job is None:
            job = self.jobs[key] = JobState(key)
        return job

    def _drop_empty_job(self, key: str) -> None:
        job = self.jobs.get(key)
        if job is not None and job.is_empty:
            del self.jobs[key]


def _status(obj: JsonObject, meta: Mapping[str, object], node: str) -> TaskStatus:
    phase = (obj.get("status") or {}).get("phase") or "Pending"
    single = _SINGLE_STATUS.get(phase)
    if single is not None:
        return single
    if phase not in ("Running", "Pending"):
        return TaskStatus.UNKNOWN
    if meta.get("deletionTimestamp"):
        return TaskStatus.RELEASING
    if phase == "Running":
        return TaskStatus.RUNNING
    return TaskStatus.BOUND if node else TaskStatus.PENDING


def _is_older_news(assumed: Task, seen: Task) -> bool:
    """Whether what was seen does not know yet of the bind or eviction that is assumed."""
    if assumed.uid != seen.uid:
        return False
    if assumed.status is TaskStatus.BINDING:
        return seen.status is TaskStatus.PENDING
    return seen.status in (TaskStatus.BOUND, TaskStatus.RUNNING)


def _int32(text: object) -> int | None:
    try:
        number = int(str(text))
    except ValueError:
        return None
    return number if number in _INT32 else None


def _mix(values: npt.NDArray[np.uint64], seed: int) -> npt.NDArray[np.uint64]:
    """Scatter 64-bit values by a seed (the finaliser of splitmix64)."""
    with np.errstate(over="ignore"):
        mixed = (values + np.uint64(seed % 2**64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(30)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(27)
        mixed *= np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return mixed
