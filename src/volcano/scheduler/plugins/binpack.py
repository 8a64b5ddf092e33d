"""binpack: prefer the node that the task fills most, to keep other nodes whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from volcano.scheduler.conf import Arguments
from volcano.scheduler.hooks import Depends, Plugin, Scorer, Scores
from volcano.scheduler.model.task import TaskClass
from volcano.scheduler.rows import Rows
from volcano.scheduler.snapshot import Snapshot

SCORE_MAX = 100


@dataclass(frozen=True, slots=True)
class Args:
    """Weights: of the plugin, of cpu and memory, and of each resource named in
    `binpack.resources` (`binpack.resources.NAME`). Negative ones count as 1."""

    weight: int = 1
    resources: Mapping[str, int] = field(default_factory=lambda: {"cpu": 1, "memory": 1})

    @classmethod
    def read(cls, arguments: Arguments) -> "Args":
        """The arguments of a plugin entry."""
        weights = {
            "cpu": arguments.integer("binpack.cpu", 1),
            "memory": arguments.integer("binpack.memory", 1),
        }
        for name in arguments.text("binpack.resources", "").split(","):
            if named := name.strip():
                weights.setdefault(named, arguments.integer(f"binpack.resources.{named}", 1))
        return cls(
            arguments.integer("binpack.weight", 1),
            {name: 1 if weight < 0 else weight for name, weight in weights.items()},
        )


class BinPack(Plugin[Args]):
    """Score: weighted mean fill after placing the task; a node it would overfill scores 0."""

    name = "binpack"
    Args = Args
    score_depends = Depends.LOCAL

    def open(self, snapshot: Snapshot) -> None:
        """Find the axes of the weighted resources."""
        found = {snapshot.axes.find(name): w for name, w in self.args.resources.items()}
        self._weights = {axis: weight for axis, weight in found.items() if axis is not None}

    def scorers(self) -> list[Scorer]:
        """None at weight 0."""
        return list(super().scorers()) if self.args.weight else []

    def score_nodes(self, cls: TaskClass, rows: Rows) -> Scores:
        """Fill of each asked and weighted resource, by weight."""
        score, fits = np.zeros(len(rows)), np.ones(len(rows), np.bool_)
        total = 0
        for axis, request in cls.request:
            weight = self._weights.get(axis)
            if weight is None:
                continue
            total += weight
            if weight:
                size, after = rows.allocatable[axis], rows.used[axis] + request
                fits &= (after <= size) | (size == 0)
                fill = np.divide(after, size, out=np.zeros(len(rows)), where=size > 0)
                score = score + weight * fill
        if not total:
            return score
        return np.where(fits, score / total * SCORE_MAX * self.args.weight, 0.0)
