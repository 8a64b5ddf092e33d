"""Queues as admission looks at them: found by name, their state, their children."""

from collections.abc import Sequence

from volcano.api import kinds, wellknown
from volcano.api.admission import Lookup
from volcano.api.objects import JsonObject, name_of


def find_queue(lookup: Lookup, name: str) -> JsonObject | None:
    """The stored queue of a name."""
    return lookup.get(kinds.QUEUE, "", name)


def queue_not_found(name: str) -> str:
    """How a Kubernetes client says that a queue is not there."""
    return f'{kinds.QUEUE.singular}.{kinds.QUEUE.group} "{name}" not found'


def state_of(queue: JsonObject) -> str:
    """`status.state`; empty until the queue controller has written it."""
    return str((queue.get("status") or {}).get("state") or "")


def parent_of(queue: JsonObject) -> str:
    """`spec.parent`; empty means directly under root."""
    return str((queue.get("spec") or {}).get("parent") or "")


def children_of(lookup: Lookup, name: str) -> Sequence[JsonObject]:
    """The queues that name this one as their parent, by name; root's are those that say so."""
    return sorted(
        (queue for queue in lookup.list(kinds.QUEUE) if parent_of(queue) == name), key=name_of
    )


def is_below_root(parent: str) -> bool:
    """Whether a parent is root itself, said or not."""
    return parent in ("", wellknown.ROOT_QUEUE)


def allocated_pods(queue: JsonObject) -> str:
    """`status.allocated.pods` as written, or empty where it is absent or zero."""
    allocated = (queue.get("status") or {}).get("allocated") or {}
    pods = allocated.get("pods", 0)
    return "" if pods in (0, "0", None) else str(pods)
