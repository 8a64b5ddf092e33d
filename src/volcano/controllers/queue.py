"""The Queue controller: Open, Closing, Closed, by Commands and down the tree of queues.

Also makes the two queues that everything relies on: `root`, and `default` below it.
"""

from dataclasses import dataclass
from enum import StrEnum

from volcano.api.kinds import COMMAND, POD_GROUP, QUEUE
from volcano.api.objects import JsonObject, key_of, metadata, name_of, namespace_of, uid_of
from volcano.api.wellknown import CLOSED_BY_PARENT, DEFAULT_QUEUE, ROOT_QUEUE
from volcano.base.errors import ApiError
from volcano.client.informer import Change
from volcano.controllers.effects import Delete, Effect, Patch, Record
from volcano.controllers.runtime import Context, Controller

_FIELD_MANAGER = "queue-controller"
_BY_QUEUE = "queue-groups"
_BY_TARGET = "queue-target"
_BY_PARENT = "queue-parent"
_CLOSED = frozenset({"Closed", "Closing"})


class QueueAction(StrEnum):
    """What can be asked of a queue."""

    SYNC = "SyncQueue"
    OPEN = "OpenQueue"
    CLOSE = "CloseQueue"


@dataclass(frozen=True, slots=True)
class ObservedQueue:
    """One queue and what decides its state.

    Attributes:
        in_use: a PodGroup, of any phase, names the queue.
        commands: Commands for it, oldest first.
    """

    queue: JsonObject
    parent: JsonObject | None
    in_use: bool
    commands: tuple[JsonObject, ...] = ()


def state_of(queue: JsonObject | None) -> str:
    """State of a queue; Open while nothing is written."""
    return str(((queue or {}).get("status") or {}).get("state") or "Open")


def next_state(state: str, action: QueueAction, *, in_use: bool) -> str:
    """The state that an action leads to; `state` is empty for a new queue."""
    closed = "Closing" if in_use else "Closed"
    match action:
        case QueueAction.OPEN:
            return "Open"
        case QueueAction.CLOSE:
            return "Closed" if state == "Closed" else closed
        case QueueAction.SYNC:
            if state == "Closing":
                return closed
            return state or "Open"


def reconcile_queue(o: ObservedQueue) -> list[Effect]:
    """The next step for one queue."""
    name = name_of(o.queue)
    if metadata(o.queue).get("deletionTimestamp"):
        return [_delete(command) for command in o.commands]
    effects: list[Effect] = []
    if name != ROOT_QUEUE and not (o.queue.get("spec") or {}).get("parent"):
        effects.append(Patch(QUEUE, "", name, {"spec": {"parent": ROOT_QUEUE}}))
    action, mark, refusal = _action(o)
    state = str((o.queue.get("status") or {}).get("state") or "")
    target = next_state(state, action, in_use=o.in_use)
    annotation = (metadata(o.queue).get("annotations") or {}).get(CLOSED_BY_PARENT)
    if mark and annotation != mark and not (mark == "false" and annotation is None):
        patch = {"metadata": {"annotations": {CLOSED_BY_PARENT: mark}}}
        effects.append(Patch(QUEUE, "", name, patch))
    if target != state:
        effects.append(
            Patch(QUEUE, "", name, {"status": {"state": target}}, "status", "", _FIELD_MANAGER)
        )
        if action is not QueueAction.SYNC:
            word = "Close" if action is QueueAction.CLOSE else "Open"
            effects.append(Record(o.queue, "Normal", action.value, f"{word} queue succeed"))
    if refusal:
        effects.append(Record(o.queue, "Warning", o.commands[0]["action"], refusal))
    effects += [_delete(command) for command in o.commands[:1]]
    return effects


def _action(o: ObservedQueue) -> tuple[QueueAction, str, str]:
    """The action due, the value of the closed-by-parent mark (or none), and why not, if refused."""
    name = name_of(o.queue)
    parent_closed = state_of(o.parent) in _CLOSED and name != ROOT_QUEUE
    closed = state_of(o.queue) in _CLOSED
    if o.commands:
        wanted = o.commands[0].get("action")
        if wanted == QueueAction.OPEN and parent_closed and closed:
            parent = name_of(o.parent or {})
            text = (
                f"OpenQueue queue failed for its parent {parent} is closed; open the parent first"
            )
            return QueueAction.SYNC, "", text
        if wanted == QueueAction.OPEN:
            return QueueAction.OPEN, "false", ""
        if wanted == QueueAction.CLOSE and name == ROOT_QUEUE:
            return QueueAction.SYNC, "", "CloseQueue queue failed for root is never closed"
        if wanted == QueueAction.CLOSE:
            return QueueAction.CLOSE, "", ""
        if wanted != QueueAction.SYNC:
            return QueueAction.SYNC, "", f"{wanted} is no action on a queue"
    marked = (metadata(o.queue).get("annotations") or {}).get(CLOSED_BY_PARENT) == "true"
    if parent_closed and not closed:
        return QueueAction.CLOSE, "true", ""
    if closed and marked and not parent_closed:
        return QueueAction.OPEN, "false", ""
    return QueueAction.SYNC, "", ""


def _delete(command: JsonObject) -> Delete:
    return Delete(COMMAND, namespace_of(command), name_of(command), uid=uid_of(command))


class QueueController(Controller):
    """Keeps the state of queues."""

    name = "queue-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context, (QUEUE, POD_GROUP, COMMAND))
        self._queues = context.informers.of(QUEUE)
        self._groups = context.informers.of(POD_GROUP)
        self._commands = context.informers.of(COMMAND)
        self._queues.add_index(_BY_PARENT, lambda queue: (_parent_of(queue),))
        self._groups.add_index(_BY_QUEUE, lambda group: (_queue_of(group),))
        self._commands.add_index(_BY_TARGET, _targets)
        self._queues.add_handler(self._queue_changed)
        self._groups.add_handler(self._group_changed)
        self._commands.add_handler(self._command_changed)

    async def start(self) -> None:
        """Make the queues `root` and `default` if they are missing."""
        for queue in (_queue(ROOT_QUEUE, reclaimable=False), _queue(DEFAULT_QUEUE)):
            if self._queues.get(name_of(queue)) is None:
                try:
                    self.applier.note(QUEUE, await self.context.client.create(QUEUE, queue))
                except ApiError as error:
                    if error.reason != "AlreadyExists":
                        raise

    def ready(self) -> bool:
        """Whether jobs can be submitted: the first queues are there and have a state."""
        first = (self._queues.get(ROOT_QUEUE), self._queues.get(DEFAULT_QUEUE))
        return super().ready() and all(
            queue is not None and (queue.get("status") or {}).get("state") for queue in first
        )

    async def reconcile(self, key: str) -> None:
        """Look at one queue and do the next step."""
        queue = self._queues.get(key)
        commands = tuple(sorted(self._commands.by_index(_BY_TARGET, key), key=_age))
        if queue is None:
            await self.apply(key, [_delete(command) for command in commands])
            return
        observed = ObservedQueue(
            queue,
            self._queues.get(_parent_of(queue)),
            in_use=bool(self._groups.by_index(_BY_QUEUE, key)),
            commands=commands,
        )
        await self.apply(key, reconcile_queue(observed))
        if len(commands) > 1:
            self.queue.add(key)

    def _queue_changed(self, change: Change) -> None:
        name = name_of(change.either)
        self.queue.add(name)
        if change.new is None or state_of(change.old) != state_of(change.new):
            for child in self._queues.by_index(_BY_PARENT, name):
                self.queue.add(name_of(child))

    def _group_changed(self, change: Change) -> None:
        before = _queue_of(change.old) if change.old is not None else ""
        after = _queue_of(change.new) if change.new is not None else ""
        if before != after:
            for name in filter(None, (before, after)):
                self.queue.add(name)

    def _command_changed(self, change: Change) -> None:
        if change.new is not None:
            for name in _targets(change.new):
                self.queue.add(name)


def _queue(name: str, *, reclaimable: bool = True) -> JsonObject:
    spec: JsonObject = {"weight": 1, "reclaimable": reclaimable}
    if name != ROOT_QUEUE:
        spec["parent"] = ROOT_QUEUE
    return {
        "apiVersion": QUEUE.api_version,
        "kind": QUEUE.kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def _parent_of(queue: JsonObject) -> str:
    if name_of(queue) == ROOT_QUEUE:
        return ""
    return str((queue.get("spec") or {}).get("parent") or ROOT_QUEUE)


def _queue_of(group: JsonObject) -> str:
    return str((group.get("spec") or {}).get("queue") or DEFAULT_QUEUE)


def _targets(command: JsonObject) -> tuple[str, ...]:
    target = command.get("target") or {}
    if target.get("apiVersion") != QUEUE.api_version or target.get("kind") != QUEUE.kind:
        return ()
    return (str(target.get("name", "")),)


def _age(command: JsonObject) -> tuple[str, int, str]:
    meta = metadata(command)
    version = str(meta.get("resourceVersion", ""))
    number = int(version) if version.isdigit() else 0
    return (str(meta.get("creationTimestamp", "")), number, key_of(command))
