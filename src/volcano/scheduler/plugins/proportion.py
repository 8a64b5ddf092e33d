"""proportion: queues share the cluster by weight; what one does not ask for goes to the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from volcano.resources.vector import CPU, MEMORY, PODS, add_to
from volcano.scheduler.conf import Arguments
from volcano.scheduler.core.share import Claimant, dominant_share, fill, within
from volcano.scheduler.demand import elastic, exceeding, promised, without_gated
from volcano.scheduler.hooks import Key, Plugin, Refusal, Victim, Vote
from volcano.scheduler.model.queue import Queue
from volcano.scheduler.model.task import Task, TaskClass
from volcano.scheduler.snapshot import JobView, Snapshot

_ENOUGH = 1 << 30


@dataclass(frozen=True, slots=True)
class Args:
    """No arguments."""

    @classmethod
    def read(cls, _: Arguments) -> "Args":
        """The arguments of a plugin entry."""
        return cls()


@dataclass(slots=True)
class _Account:
    """One queue's books, by axis.

    Attributes:
        limit: real capability: what the queue may ever hold; an axis it does not name is free.
    """

    queue: Queue
    limit: Mapping[int, float]
    allocated: dict[int, float] = field(default_factory=dict)
    request: dict[int, float] = field(default_factory=dict)
    promised: dict[int, float] = field(default_factory=dict)
    elastic: dict[int, float] = field(default_factory=dict)
    deserved: Mapping[int, float] = field(default_factory=dict)
    share: float = 0.0

    def update_share(self) -> None:
        """The largest fraction of any deserved resource that is held."""
        self.share = dominant_share(self.allocated, self.deserved)


class Proportion(Plugin[Args]):
    """Deserved: weighted max-min over queues with jobs, within capability, at least guarantee."""

    name = "proportion"
    Args = Args
    enqueue_by_demand = True

    def open(self, snapshot: Snapshot) -> None:
        """Open the books of every queue that has jobs, and divide the cluster."""
        self._axes = snapshot.axes
        self._nodes = snapshot.nodes
        self._jobs = snapshot.jobs
        guaranteed: dict[int, float] = {}
        for queue in snapshot.queues.values():
            add_to(guaranteed, queue.guarantee.items())
        self._books: dict[str, _Account] = {}
        for job in snapshot.jobs.values():
            books = self._books.get(job.queue)
            if books is None:
                queue = snapshot.queues[job.queue]
                limit = _real_capability(queue, snapshot.total, guaranteed)
                books = self._books[job.queue] = _Account(queue, limit)
            _enter(books, job)
        claims = {
            name: Claimant(
                weight=books.queue.weight,
                limit=books.limit,
                request=books.request,
                guarantee=books.queue.guarantee,
            )
            for name, books in self._books.items()
        }
        fill(snapshot.total, claims)
        for name, books in self._books.items():
            books.deserved = claims[name].deserved
            books.update_share()

    def queue_order(self, queue: Queue) -> Key:
        """Higher queue priority first, then the smaller share."""
        books = self._books.get(queue.name)
        return (-queue.priority, books.share if books else 0.0)

    def overused(self, queue: Queue) -> bool:
        """Whether the queue holds all it deserves, in every resource."""
        books = self._books.get(queue.name)
        return books is not None and within(books.deserved, books.allocated)

    def headroom(self, queue: Queue, cls: TaskClass) -> int:
        """Tasks of the class until a resource they ask for passes what the queue deserves."""
        books = self._books.get(queue.name)
        if books is None or not queue.is_open:
            return 0
        room = _ENOUGH
        for axis, amount in cls.request:
            if axis != PODS:
                deserved, held = books.deserved.get(axis, 0.0), books.allocated.get(axis, 0)
                count = int((deserved - held) // amount)
                if held + count * amount > deserved:  # the difference was rounded up
                    count -= 1
                room = min(room, max(0, count))
        return room

    def headroom_reason(self, queue: Queue, cls: TaskClass) -> str:
        """Which resource the queue has used up, and what it deserves."""
        if not queue.is_open:
            return f"queue {queue.name} is {queue.state}"
        books = self._books[queue.name]
        for axis, amount in cls.request:
            held, deserved = books.allocated.get(axis, 0), books.deserved.get(axis, 0.0)
            if axis != PODS and held + amount > deserved:
                text = self._axes.text
                return (
                    f"queue {queue.name} has used up its share of {self._axes.names[axis]}:"
                    f" it holds {text(axis, held)} of {text(axis, deserved)},"
                    f" the pod asks for {text(axis, amount)}"
                )
        return f"queue {queue.name} has used up its share"

    def job_enqueueable(self, job: JobView) -> Vote | Refusal:
        """Whether the minimum fits the queue's real capability beside what is promised."""
        books = self._books[job.queue]
        if not books.queue.is_open:
            return Refusal("Unschedulable", f"queue {job.queue} is {books.queue.state}")
        minimum = job.group.min_resources
        if minimum is None:
            return Vote.PERMIT
        base = {
            axis: books.allocated.get(axis, 0)
            + books.promised.get(axis, 0)
            - books.elastic.get(axis, 0)
            for axis in minimum
        }
        limited = {axis: amount for axis, amount in minimum.items() if axis in books.limit}
        over = exceeding(limited, base, books.limit)
        if not over:
            return Vote.PERMIT
        names = [self._axes.names[axis] for axis in self._axes.by_precedence(over)]
        texts = ", ".join(f"insufficient {name}" for name in names)
        axis = self._axes.axis(names[0])
        return Refusal(
            "Unschedulable",
            f"queue resource quota insufficient: {texts}."
            f" {self._shortage(job.queue, axis, minimum[axis], base[axis])}",
        )

    def _shortage(self, queue: str, axis: int, wanted: int, taken: float) -> str:
        """What a job needs at least of a resource, what its queue may hold, the largest node."""
        text, name = self._axes.text, self._axes.names[axis]
        limit = int(self._books[queue].limit[axis])
        sentence = (
            f"The job needs {name} {text(axis, wanted)} at least; queue {queue} may hold"
            f" {text(axis, limit)}, of which {text(axis, max(0, int(limit - taken)))} is free"
        )
        largest = self._nodes.largest(axis)
        if largest is None:
            return f"{sentence}, and no node offers it."
        return f"{sentence} (largest node: {largest[0]} with {text(axis, largest[1])})."

    def job_enqueued(self, job: JobView) -> None:
        """Promise a let-in job its minimum."""
        minimum = without_gated(job, job.group.min_resources or {})
        add_to(self._books[job.queue].promised, minimum.items())

    def allocated(self, job: JobView, cls: TaskClass, count: int) -> None:
        """Keep the books, promises of room being released included."""
        books = self._books[job.queue]
        add_to(books.allocated, cls.request, count)
        books.update_share()

    def reclaimable(
        self,
        reclaimer: Task,  # noqa: ARG002  # the hook's signature
        candidates: Sequence[Victim],
    ) -> Sequence[Victim]:
        """Tasks of queues that hold more than they deserve, until they no longer do."""
        left: dict[str, dict[int, float]] = {}
        chosen: list[Victim] = []
        for victim in candidates:
            books = self._books.get(victim.job.queue)
            if books is None:
                continue
            held = left.setdefault(victim.job.queue, dict(books.allocated))
            if not within(held, books.deserved):
                add_to(held, victim.task.spec.request, -1)
                chosen.append(victim)
        return chosen


def _enter(books: _Account, job: JobView) -> None:
    add_to(books.allocated, job.allocated.items())
    add_to(books.request, job.allocated.items())
    by_class: dict[int, tuple[TaskClass, int]] = {}
    for task in job.state.pending.values():
        cls = task.spec
        by_class[cls.id] = (cls, by_class.get(cls.id, (cls, 0))[1] + 1)
    for cls, count in by_class.values():
        add_to(books.request, cls.request, count)
    if job.group.min_resources is not None:
        add_to(books.promised, promised(job).items())
    if job.allocated:
        add_to(books.elastic, elastic(job).items())


def _real_capability(
    queue: Queue, total: Mapping[int, float], guaranteed: Mapping[int, float]
) -> Mapping[int, float]:
    """The cluster less what is guaranteed to others, within the queue's own capability."""
    limit: dict[int, float] = {
        axis: max(amount - guaranteed.get(axis, 0), 0) + queue.guarantee.get(axis, 0)
        for axis, amount in total.items()
    }
    for axis, amount in queue.capability.items():
        if amount > 0 or axis not in (CPU, MEMORY):
            limit[axis] = min(limit.get(axis, 0), amount)
    return limit
