"""The actions of a cycle, one file each, and the table of their names."""

from collections.abc import Callable, Mapping

from volcano.scheduler.actions import allocate, backfill, enqueue
from volcano.scheduler.session import Session

ACTIONS: Mapping[str, Callable[[Session], None]] = {
    "enqueue": enqueue.execute,
    "allocate": allocate.execute,
    "backfill": backfill.execute,
}

NOT_YET = ("preempt", "reclaim", "gangpreempt", "gangreclaim", "shuffle")
"""Volcano's actions that do not exist here yet."""
