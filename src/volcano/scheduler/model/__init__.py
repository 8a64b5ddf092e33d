"""Entities of a cycle: the mirror of the cluster (`ClusterState`) and what a cycle decides."""

from volcano.scheduler.model.decisions import (
    Bind,
    CycleReport,
    CycleResult,
    EventNote,
    Eviction,
    PodConditionUpdate,
    PodGroupUpdate,
)
from volcano.scheduler.model.state import ClusterState

__all__ = [
    "Bind",
    "ClusterState",
    "CycleReport",
    "CycleResult",
    "EventNote",
    "Eviction",
    "PodConditionUpdate",
    "PodGroupUpdate",
]
