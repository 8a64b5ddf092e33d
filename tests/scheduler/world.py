"""Worlds of one line per object, and what a cycle decides about them."""

from dataclasses import dataclass, field

from volcano.scheduler import conf, cycle
from volcano.scheduler.model import ClusterState, CycleResult

PACKING = conf.load(conf.DEFAULT_CONF + "  - name: binpack\n")
_TIMES = "2026-01-02T03:{:02d}:{:02d}Z"


def when(second):
    return _TIMES.format(second // 60, second % 60)


def node(
    name,
    cpu=4,
    memory="16Gi",
    pods=110,
    *,
    labels=None,
    taints=(),
    images=None,
    ready=None,
    cordoned=False,
    **extended,
):
    allocatable = {"cpu": str(cpu), "memory": memory, "pods": str(pods)}
    allocatable |= {key.replace("gpu", "nvidia.com/gpu"): str(n) for key, n in extended.items()}
    status = {"allocatable": allocatable}
    if images:
        status["images"] = [{"names": [n], "sizeBytes": size} for n, size in images.items()]
    if ready is not None:
        status["conditions"] = [{"type": "Ready", "status": ready}]
    spec = {}
    if taints:
        spec["taints"] = [taint(text) for text in taints]
    if cordoned:
        spec["unschedulable"] = True
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": spec,
        "status": status,
    }


def taint(text):
    pair, _, effect = text.partition(":")
    key, _, value = pair.partition("=")
    return {"key": key, "value": value, "effect": effect}


def pod(
    name,
    group="",
    cpu=None,
    memory=None,
    *,
    role="",
    at="",
    phase=None,
    priority=None,
    namespace="ns",
    created=0,
    deleting=False,
    scheduler="volcano",
    gates=(),
    extra=None,
    **more,
):
    requests = {}
    if cpu:
        requests["cpu"] = str(cpu)
    if memory:
        requests["memory"] = memory
    if gpu := more.pop("gpu", None):
        requests["nvidia.com/gpu"] = str(gpu)
    requests |= {key: str(more.pop(key)) for key in list(more) if "/" in key}
    meta = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{namespace}-{name}",
        "creationTimestamp": when(created),
        "annotations": {},
    }
    if group:
        meta["annotations"]["scheduling.k8s.io/group-name"] = group
    if role:
        meta["annotations"]["volcano.sh/task-spec"] = role
    if deleting:
        meta["deletionTimestamp"] = when(59)
    container = {
        "name": "main",
        "image": more.pop("image", "busybox"),
        "resources": {"requests": requests},
    }
    if ports := more.pop("ports", ()):
        container["ports"] = [{"containerPort": p, "hostPort": p} for p in ports]
    spec = {"schedulerName": scheduler, "containers": [container]}
    if select := more.pop("select", None):
        spec["nodeSelector"] = select
    if at:
        spec["nodeName"] = at
    if priority is not None:
        spec["priority"] = priority
    if gates:
        spec["schedulingGates"] = [{"name": gate} for gate in gates]
    spec |= extra or {}
    assert not more, f"unknown: {sorted(more)}"
    status = {"phase": phase or ("Running" if at else "Pending")}
    return {"kind": "Pod", "metadata": meta, "spec": spec, "status": status}


def group(
    name,
    minimum=1,
    queue="default",
    *,
    phase="Inqueue",
    roles=None,
    resources=None,
    priority="",
    namespace="ns",
    created=0,
    **spec,
):
    body = {"minMember": minimum, "queue": queue, **spec}
    if roles:
        body["minTaskMember"] = roles
    if resources is not None:
        body["minResources"] = resources
    if priority:
        body["priorityClassName"] = priority
    return {
        "kind": "PodGroup",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "creationTimestamp": when(created),
        },
        "spec": body,
        "status": {"phase": phase} if phase else {},
    }


def queue(name="default", weight=1, *, state="Open", created=0, **spec):
    return {
        "kind": "Queue",
        "metadata": {"name": name, "creationTimestamp": when(created)},
        "spec": {"weight": weight, **spec},
        "status": {"state": state},
    }


def priority_class(name, value, *, default=False):
    return {
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "globalDefault": default,
    }


@dataclass
class World:
    """Objects, and cycles over them."""

    objects: list
    conf: object = field(default_factory=conf.default)
    now: float = 1_767_323_045.0
    state: ClusterState = field(default_factory=ClusterState)

    def __post_init__(self):
        if not any(o["kind"] == "Queue" for o in self.objects):
            self.objects = [queue(), *self.objects]
        for obj in self.objects:
            self.put(obj)

    def put(self, obj):
        puts = {
            "Node": self.state.put_node,
            "Pod": self.state.put_pod,
            "PodGroup": self.state.put_pod_group,
            "Queue": self.state.put_queue,
            "PriorityClass": self.state.put_priority_class,
        }
        puts[obj["kind"]](obj)

    def cycle(self, seed=1) -> CycleResult:
        result = cycle.run(self.state, self.conf, self.now, seed)
        check_invariants(self.state, result)
        return result

    def apply(self, result):
        """What the edge does, as if all of it succeeded."""
        for bind in result.binds:
            self.state.assume(bind.namespace, bind.name, bind.uid, bind.node)
        self.state.assume_written(result)


def binds(result):
    return {bind.name: bind.node for bind in result.binds}


def phases(state, result):
    found = {k.split("/")[1]: j.group.phase for k, j in state.jobs.items() if j.group}
    return found | {u.name: u.status.get("phase", "") for u in result.pod_groups}


def condition(result, name):
    """The newest condition of a PodGroup."""
    update = next(u for u in result.pod_groups if u.name == name)
    return update.status["conditions"][-1]


def waits(result, name):
    """Why a pod waits: (reason, message)."""
    update = next(u for u in result.pod_conditions if u.name == name)
    return update.condition["reason"], update.condition["message"]


def check_invariants(state, result):
    """No node above its allocatable, no pod bound twice, gangs whole or not at all."""
    names = [f"{b.namespace}/{b.name}" for b in result.binds]
    assert len(names) == len(set(names)), "a pod is bound twice"
    load = {}
    for bind in result.binds:
        task = state.tasks[f"{bind.namespace}/{bind.name}"]
        assert not task.node, f"{task.key} is on a node already"
        for axis, amount in task.spec.request:
            load[bind.node, axis] = load.get((bind.node, axis), 0) + amount
    for (name, axis), amount in load.items():
        row = state.nodes[name].row
        free = int(state.allocatable.axis(axis)[row] - state.used.axis(axis)[row])
        assert amount <= free, f"node {name}: {amount} of {state.axes.names[axis]}, {free} free"
    by_job = {}
    for bind in result.binds:
        job = state.tasks[f"{bind.namespace}/{bind.name}"].job
        by_job[job] = by_job.get(job, 0) + 1
    for key, count in by_job.items():
        job = state.jobs[key]
        ready = sum(job.counts[s] for s in (1, 3, 4, 5, 7))
        assert ready + count >= job.group.min_member, f"gang {key} is bound in part"
