"""A plain scheduler for the default configuration: every node asked for every task, no arrays.

It reads the same objects as the real one, follows the rules one task and one node at a time, and
shares nothing with it but the order in which ties fall (given as `order`). Supported on purpose
are only the fields that the worlds of the tests use.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction

SUFFIX = {
    "m": Fraction(1, 1000),
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
}


def amount(name, text):
    text = str(text)
    for suffix in sorted(SUFFIX, key=len, reverse=True):
        if text.endswith(suffix):
            value = Fraction(text[: -len(suffix)]) * SUFFIX[suffix]
            break
    else:
        value = Fraction(text)
    return math.ceil(value) if name in ("memory", "pods") else math.ceil(value * 1000)


def amounts(listed):
    return {name: amount(name, text) for name, text in (listed or {}).items()}


def plus(a, b, times=1):
    return {k: a.get(k, 0) + times * b.get(k, 0) for k in a.keys() | b.keys()}


@dataclass
class Pod:
    obj: dict
    name: str = ""
    job: str = ""
    role: str = ""
    request: dict = field(default_factory=dict)
    scoring: tuple = (0, 0)
    status: str = "Pending"
    node: str = ""

    def __post_init__(self):
        meta, spec = self.obj["metadata"], self.obj["spec"]
        self.name = f"{meta['namespace']}/{meta['name']}"
        annotations = meta.get("annotations", {})
        group = annotations.get("scheduling.k8s.io/group-name")
        self.job = f"{meta['namespace']}/{group}" if group else ""
        self.role = annotations.get("volcano.sh/task-spec", "")
        cpu = memory = 0
        for container in spec["containers"]:
            asked = amounts(container.get("resources", {}).get("requests"))
            self.request = plus(self.request, asked)
            cpu += asked.get("cpu", 100)
            memory += asked.get("memory", 200 * 2**20)
        self.request["pods"] = 1
        self.scoring = (cpu, memory)
        self.node = spec.get("nodeName", "")
        phase = self.obj.get("status", {}).get("phase", "Pending")
        deleting = "deletionTimestamp" in meta
        if phase in ("Succeeded", "Failed"):
            self.status = phase
        elif deleting:
            self.status = "Releasing"
        elif phase == "Running":
            self.status = "Running"
        elif self.node:
            self.status = "Bound"

    @property
    def priority(self):
        return self.obj["spec"].get("priority", 1)

    @property
    def best_effort(self):
        return not any(v for k, v in self.request.items() if k != "pods")

    @property
    def order(self):
        meta = self.obj["metadata"]
        parts = meta["name"].split("-")
        index = int(parts[-1]) if len(parts) >= 3 and parts[-1].isdigit() else 1 << 62
        return (-self.priority, index, meta.get("creationTimestamp", ""), meta["uid"])

    @property
    def ports(self):
        return {p["hostPort"] for c in self.obj["spec"]["containers"] for p in c.get("ports", ())}


class Node:
    def __init__(self, obj):
        self.name = obj["metadata"]["name"]
        self.labels = obj["metadata"].get("labels", {})
        self.taints = obj.get("spec", {}).get("taints", [])
        self.cordoned = obj.get("spec", {}).get("unschedulable", False)
        self.size = amounts(obj["status"]["allocatable"])
        self.images = {
            name: image["sizeBytes"]
            for image in obj["status"].get("images", ())
            for name in image["names"]
        }
        self.pods = []

    def total(self, of, statuses=None, without=()):
        return sum(
            of(p)
            for p in self.pods
            if (statuses is None or p.status in statuses) and p.status not in without
        )

    def idle(self, name):
        used = self.total(lambda p: p.request.get(name, 0), without=("Pipelined",))
        return self.size.get(name, 0) - used

    def future(self, name):
        return (
            self.idle(name)
            + self.total(lambda p: p.request.get(name, 0), ("Releasing",))
            - self.total(lambda p: p.request.get(name, 0), ("Pipelined",))
        )


def tolerated(pod, taint):
    for t in pod.obj["spec"].get("tolerations", ()):
        if t.get("effect", "") not in ("", taint["effect"]):
            continue
        if t.get("key", "") not in ("", taint["key"]):
            continue
        if t.get("operator", "Equal") == "Exists" or t.get("value", "") == taint.get("value", ""):
            return True
    return False


def allowed(pod, node):
    spec = pod.obj["spec"]
    if node.size.get("pods", 0) <= len(node.pods):
        return False
    if node.cordoned:
        return False
    if any(node.labels.get(k) != v for k, v in spec.get("nodeSelector", {}).items()):
        return False
    for taint in node.taints:
        if taint["effect"] in ("NoSchedule", "NoExecute") and not tolerated(pod, taint):
            return False
    return not any(pod.ports & other.ports for other in node.pods)


def raw_preference(pod, node):
    preferred = (
        pod.obj["spec"]
        .get("affinity", {})
        .get("nodeAffinity", {})
        .get("preferredDuringSchedulingIgnoredDuringExecution")
    )
    if preferred is None:
        return None
    total = 0
    for entry in preferred:
        expressions = entry["preference"]["matchExpressions"]
        if all(node.labels.get(e["key"]) in e["values"] for e in expressions):
            total += entry["weight"]
    return total


def raw_taints(pod, node):
    return sum(
        1 for t in node.taints if t["effect"] == "PreferNoSchedule" and not tolerated(pod, t)
    )


def least(pod, node):
    scores = []
    for i, name in enumerate(("cpu", "memory")):
        size = node.size.get(name, 0)
        if size:
            after = node.total(lambda p, i=i: p.scoring[i]) + pod.scoring[i]
            scores.append(0 if after > size else (size - after) * 100 // size)
    return sum(scores) // len(scores) if scores else 0


def evenness(values):
    if len(values) < 2:
        spread = 0.0
    elif len(values) == 2:
        spread = abs(values[0] - values[1]) / 2
    else:
        mean = (values[0] + values[1] + values[2]) / 3
        spread = math.sqrt(sum((v - mean) ** 2 for v in values) / 3)
    return int((1 - spread) * 100)


def balanced(pod, node):
    names = ["cpu", "memory"] + (["nvidia.com/gpu"] if pod.request.get("nvidia.com/gpu") else [])
    if not any(pod.request.get(n) for n in names):
        return None
    names = [n for n in names if node.size.get(n)]
    used = {n: node.total(lambda p, n=n: p.request.get(n, 0)) for n in names}
    before = [min(1.0, used[n] / node.size[n]) for n in names]
    after = [min(1.0, (used[n] + pod.request.get(n, 0)) / node.size[n]) for n in names]
    return 50 + int((50 + evenness(after) - evenness(before)) / 2)


def locality(pod, node, nodes):
    total = 0
    containers = pod.obj["spec"]["containers"]
    for container in containers:
        name = container.get("image", "")
        name = name if ":" in name.rsplit("/", 1)[-1] else name + ":latest"
        if name in node.images:
            having = sum(1 for n in nodes if name in n.images)
            total += node.images[name] * having // len(nodes)
    low, high = 23 * 2**20, 1000 * 2**20 * len(containers)
    return (min(max(total, low), high) - low) * 100 // (high - low)


def packing(pod, node):
    score, weights = 0.0, 0
    for name in ("cpu", "memory"):
        if not pod.request.get(name):
            continue
        weights += 1
        size = node.size.get(name, 0)
        if not size:
            continue
        after = pod.request[name] + node.total(
            lambda p, n=name: p.request.get(n, 0), without=("Pipelined",)
        )
        if after > size:
            return 0.0
        score += after / size
    return score / weights * 100 if weights else 0.0


class Job:
    def __init__(self, obj, priority):
        meta, spec = obj["metadata"], obj["spec"]
        self.key = f"{meta['namespace']}/{meta['name']}"
        self.uid = meta["uid"]
        self.created = meta.get("creationTimestamp", "")
        self.queue = spec.get("queue", "default")
        self.minimum = spec.get("minMember", 0)
        self.roles = spec.get("minTaskMember", {})
        self.resources = amounts(spec["minResources"]) if "minResources" in spec else None
        self.phase = obj.get("status", {}).get("phase", "Pending")
        self.priority = priority
        self.pods = []

    def number(self, *statuses, role=None):
        return sum(
            1 for p in self.pods if p.status in statuses and (role is None or p.role == role)
        )

    ALLOCATED = ("Allocated", "Binding", "Bound", "Running")
    READY = (*ALLOCATED, "Succeeded")

    @property
    def allocated(self):
        total = {}
        for p in self.pods:
            if p.status in self.ALLOCATED:
                total = plus(total, p.request)
        return total

    @property
    def held(self):
        total = {}
        for p in self.pods:
            if p.status in (*self.ALLOCATED, "Pipelined"):
                total = plus(total, p.request)
        return total

    def roles_have(self, *statuses, waiting):
        if sum(self.roles.values()) > self.minimum:
            return True
        return all(
            self.number(*statuses, role=r) + (self.best_effort(role=r) if waiting else 0) >= m
            for r, m in self.roles.items()
        )

    def best_effort(self, role=None):
        return sum(
            1
            for p in self.pods
            if p.status == "Pending" and p.best_effort and (role is None or p.role == role)
        )

    def ready(self, *, waiting=True):
        extra = self.best_effort() if waiting else 0
        return self.number(*self.READY) + extra >= self.minimum and self.roles_have(
            *self.READY, waiting=waiting
        )

    def pipelined(self):
        statuses = (*self.READY, "Pipelined")
        return self.number(*statuses) + self.best_effort() >= self.minimum and self.roles_have(
            *statuses, waiting=True
        )

    def valid(self):
        statuses = (*self.READY, "Pipelined", "Pending")
        if sum(self.roles.values()) <= self.minimum and any(
            self.number(*statuses, role=r) < m for r, m in self.roles.items()
        ):
            return False
        return self.number(*statuses) >= self.minimum

    def promised(self):
        if self.resources is None:
            return {}
        if self.phase == "Running" and self.number(*self.ALLOCATED) < self.minimum:
            return {}
        if self.phase not in ("Running", "Inqueue"):
            return {}
        have = self.allocated
        return {k: max(0, v - have.get(k, 0)) for k, v in self.resources.items()}


def share_of(part, whole):
    return (0.0 if part == 0 else 1.0) if whole == 0 else part / whole


class Scheduler:
    """One cycle over objects; `binds` and the jobs' phases are the answer."""

    def __init__(self, *, nodes, pods, groups, queues, priorities, order, pack=False):
        by_name = {n["metadata"]["name"]: Node(n) for n in nodes}
        self.nodes = [by_name[name] for name in order]
        self.by_name = by_name
        self.queues = {q["metadata"]["name"]: q for q in queues}
        self.jobs = {}
        for group in groups:
            job = Job(group, priorities.get(group["spec"].get("priorityClassName", ""), 0))
            if job.queue in self.queues:
                self.jobs[job.key] = job
        for obj in pods:
            pod = Pod(obj)
            if pod.node in by_name and pod.status not in ("Succeeded", "Failed"):
                by_name[pod.node].pods.append(pod)
            if pod.job in self.jobs:
                self.jobs[pod.job].pods.append(pod)
        self.pack = pack
        self.binds = []
        self.total = {}
        for node in self.nodes:
            self.total = plus(self.total, node.size)
        self.divide()

    # ── queues ──

    def spec(self, name, *path):
        value = self.queues[name].get("spec", {})
        for part in path:
            value = (value or {}).get(part)
        return value

    def divide(self):
        names = sorted({job.queue for job in self.jobs.values()})
        guaranteed = {}
        for name in self.queues:
            guaranteed = plus(guaranteed, self.guarantee(name))
        self.limit = {name: self.real_capability(name, guaranteed) for name in names}
        self.deserved = {name: dict.fromkeys(self.total, 0.0) for name in names}
        request = {name: self.asked(name) for name in names}
        remaining = {k: float(v) for k, v in self.total.items()}
        unmet = list(names)
        while unmet:
            parts = {n: self.spec(n, "weight") or 0 for n in unmet}
            if not any(parts.values()):
                parts = dict.fromkeys(unmet, 1)
            weights = sum(parts.values())
            before_round = len(unmet)
            change = dict.fromkeys(remaining, 0.0)
            for name in [n for n in unmet if parts[n]]:
                before = self.deserved[name]
                after = self.next_portion(name, remaining, parts[name] / weights, request[name])
                self.deserved[name] = after
                met = all(v - after.get(k, 0) < 0.1 for k, v in request[name].items())
                if met or all(before.get(k, 0.0) == v for k, v in after.items()):
                    unmet.remove(name)
                for k in change:
                    change[k] += after.get(k, 0.0) - before.get(k, 0.0)
            left = {k: max(v - change[k], 0.0) for k, v in remaining.items()}
            still = left == remaining and len(unmet) == before_round
            if still or all(v < 0.1 for v in left.values()):
                break
            remaining = left

    def guarantee(self, name):
        return amounts(self.spec(name, "guarantee", "resource"))

    def real_capability(self, name, guaranteed):
        own = self.guarantee(name)
        limit = {k: max(v - guaranteed.get(k, 0), 0) + own.get(k, 0) for k, v in self.total.items()}
        for k, v in amounts(self.spec(name, "capability")).items():
            limit[k] = min(limit.get(k, 0), v)
        return limit

    def asked(self, name):
        total = {}
        for job in self.jobs.values():
            for pod in job.pods:
                if job.queue == name and pod.status in (*Job.ALLOCATED, "Pending"):
                    total = plus(total, pod.request)
        return total

    def next_portion(self, name, remaining, part, request):
        before, own, after = self.deserved[name], self.guarantee(name), {}
        for k in before.keys() | own.keys():
            got = before.get(k, 0.0) + remaining.get(k, 0.0) * part
            if k in self.limit[name]:
                got = min(got, self.limit[name][k])
            after[k] = max(min(got, request.get(k, 0)), own.get(k, 0))
        return after

    def held(self, name):
        total = {}
        for job in self.jobs.values():
            if job.queue == name:
                total = plus(total, job.held)
        return total

    def queue_key(self, name):
        held = self.held(name)
        share = max(
            (share_of(held.get(k, 0), v) for k, v in self.deserved[name].items() if v > 0),
            default=0.0,
        )
        return (
            -(self.spec(name, "priority") or 0),
            share,
            self.queues[name]["metadata"].get("creationTimestamp", ""),
            name,
        )

    def overused(self, name):
        held = self.held(name)
        return all(v - held.get(k, 0) < 0.1 for k, v in self.deserved[name].items())

    def may_hold(self, name, pod):
        if self.queues[name].get("status", {}).get("state", "") not in ("", "Open"):
            return False
        held = self.held(name)
        return all(
            held.get(k, 0) + v <= self.deserved[name].get(k, 0)
            for k, v in pod.request.items()
            if v and k != "pods"
        )

    def job_key(self, job):
        held = job.held
        share = max(
            (share_of(held.get(k, 0), v) for k, v in self.total.items() if v >= 0.1), default=0.0
        )
        started = job.number(*Job.READY) + job.best_effort() >= job.minimum
        return (-job.priority, started, share, job.created, job.uid, job.key)

    # ── actions ──

    def run(self):
        self.enqueue()
        self.allocate()
        self.backfill()
        return self.binds

    def enqueue(self):
        idle = {
            k: v * 1.2
            - sum(
                n.total(lambda p, k=k: p.request.get(k, 0), without=("Pipelined",))
                for n in self.nodes
            )
            for k, v in self.total.items()
        }
        waiting = [job for job in self.jobs.values() if job.phase in ("", "Pending")]
        promised = {}
        for job in self.jobs.values():
            promised = plus(promised, job.promised())
        for job in sorted(waiting, key=lambda j: (self.queue_key(j.queue), self.job_key(j))):
            asked = job.resources
            if asked is not None:
                over = any(
                    v and k != "pods" and promised.get(k, 0) + v > idle.get(k, 0)
                    for k, v in asked.items()
                )
                if over or not self.admits(job):
                    continue
                promised = plus(promised, asked)
            job.phase = "Inqueue"

    def admits(self, job):
        if self.queues[job.queue].get("status", {}).get("state", "") not in ("", "Open"):
            return False
        base = {}
        for other in self.jobs.values():
            if other.queue == job.queue:
                base = plus(plus(base, other.allocated), other.promised())
                least_needed = other.resources or {}
                for k, v in other.allocated.items():
                    base[k] = base.get(k, 0) - max(0, v - least_needed.get(k, 0))
        limit = self.limit[job.queue]
        return all(
            base.get(k, 0) + v <= limit[k]
            for k, v in job.resources.items()
            if v and k != "pods" and k in limit
        )

    def allocate(self):
        sheets = {}
        for job in self.jobs.values():
            if job.phase not in ("", "Pending") and job.valid():
                tasks = [p for p in job.pods if p.status == "Pending" and not p.best_effort]
                if tasks:
                    sheets[job.key] = sorted(tasks, key=lambda p: p.order)
        waiting = {}
        for key in sheets:
            waiting.setdefault(self.jobs[key].queue, set()).add(key)
        queues = set(waiting)
        while queues:
            name = min(queues, key=self.queue_key)
            if not waiting[name] or self.overused(name):
                queues.remove(name)
                continue
            key = min(waiting[name], key=lambda k: self.job_key(self.jobs[k]))
            if not self.visit(self.jobs[key], sheets[key]):
                waiting[name].remove(key)

    def visit(self, job, tasks):
        placed = []
        while tasks:
            pod = tasks.pop(0)
            if not self.may_hold(job.queue, pod):
                continue
            if self.place(pod, placed) and job.ready():
                break
        if job.ready():
            for pod in sorted(job.pods, key=lambda p: p.order):
                if job.ready(waiting=False):
                    break
                if pod.status == "Pending" and pod.best_effort:
                    self.place(pod, placed)
            if job.ready(waiting=False):
                self.commit(placed)
                return bool(tasks)
            self.undo(placed)
        elif not job.pipelined():
            self.undo(placed)
        return False

    def backfill(self):
        jobs = [j for j in self.jobs.values() if j.phase not in ("", "Pending") and j.valid()]
        jobs = [j for j in jobs if j.best_effort()]
        for job in sorted(jobs, key=lambda j: (self.queue_key(j.queue), self.job_key(j))):
            placed = []
            for pod in sorted(job.pods, key=lambda p: p.order):
                if pod.status == "Pending" and pod.best_effort:
                    self.place(pod, placed)
            if job.ready(waiting=False):
                self.commit([p for p in job.pods if p.status == "Allocated"])
            else:
                self.undo(placed)

    # ── nodes ──

    def place(self, pod, placed):
        feasible = [n for n in self.nodes if allowed(pod, n)]
        for status, room in (("Allocated", Node.idle), ("Pipelined", Node.future)):
            group = [n for n in feasible if all(v <= room(n, k) for k, v in pod.request.items())]
            if group:
                scores = self.scores(pod, group)
                node = group[scores.index(max(scores))]
                pod.status, pod.node = status, node.name
                node.pods.append(pod)
                placed.append(pod)
                return True
        return False

    def scores(self, pod, group):
        preference = [raw_preference(pod, n) for n in group]
        taints = [raw_taints(pod, n) for n in group]
        result = []
        for i, node in enumerate(group):
            total = float(least(pod, node))
            even = balanced(pod, node)
            total += even if even is not None else 0
            if preference[i] is not None:
                top = max(preference)
                total += 2 * (preference[i] * 100 // top if top else preference[i])
            top = max(taints)
            total += 3 * (100 - taints[i] * 100 // top if top else 100)
            total += locality(pod, node, self.nodes)
            if self.pack:
                total += packing(pod, node)
            result.append(total)
        return result

    def undo(self, placed):
        for pod in reversed(placed):
            self.by_name[pod.node].pods.remove(pod)
            pod.status, pod.node = "Pending", ""

    def commit(self, placed):
        for pod in placed:
            if pod.status == "Allocated":
                pod.status = "Binding"
                self.binds.append((pod.name, pod.node))
