"""nodeorder: Kubernetes' own node scores, each with a weight."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from volcano.resources.vector import CPU, MEMORY
from volcano.scheduler.conf import Arguments
from volcano.scheduler.core.columns import Int64
from volcano.scheduler.hooks import Depends, Plugin, Scorer, Scores
from volcano.scheduler.matching import matches_term, tolerates
from volcano.scheduler.model.task import Taint, TaskClass
from volcano.scheduler.rows import Rows
from volcano.scheduler.snapshot import Snapshot

SCORE_MAX = 100
_GPU = "nvidia.com/gpu"
_EXACT_FLOAT = 2**53
_MIB = 2**20
_IMAGE_BYTES_MIN = 23 * _MIB
_IMAGE_BYTES_MAX = 1000 * _MIB


@dataclass(frozen=True, slots=True)
class Args:
    """Weights of the scores; 0 turns one off. `podaffinity` and `podtopologyspread` score nothing
    yet: pods that use them are not placed."""

    least_requested: int = 1
    most_requested: int = 0
    balanced_resource: int = 1
    node_affinity: int = 2
    taint_toleration: int = 3
    image_locality: int = 1

    @classmethod
    def read(cls, arguments: Arguments) -> "Args":
        """The arguments of a plugin entry."""
        arguments.integer("podaffinity.weight", 2)
        arguments.integer("podtopologyspread.weight", 2)
        return cls(
            least_requested=arguments.integer("leastrequested.weight", 1),
            most_requested=arguments.integer("mostrequested.weight", 0),
            balanced_resource=arguments.integer("balancedresource.weight", 1),
            node_affinity=arguments.integer("nodeaffinity.weight", 2),
            taint_toleration=arguments.integer("tainttoleration.weight", 3),
            image_locality=arguments.integer("imagelocality.weight", 1),
        )


def floor_share(part: Int64, whole: Int64) -> Scores:
    """`part * 100 // whole`, 0 where whole is 0; exact, for non-negative part."""
    safe = np.where(whole > 0, whole, 1)
    if len(part) and int(part.max()) * SCORE_MAX < _EXACT_FLOAT:
        result = np.floor(part * float(SCORE_MAX) / safe)
    else:
        result = (part // safe * SCORE_MAX + part % safe * SCORE_MAX // safe).astype(np.float64)
    return np.where(whole > 0, result, 0.0)


class _Weighted(Scorer):
    def __init__(self, weight: int) -> None:
        self.weight = weight


class _Requested(_Weighted):
    """LeastAllocated or MostAllocated over cpu and memory, equally."""

    depends = Depends.LOCAL

    def __init__(self, weight: int, *, most: bool) -> None:
        super().__init__(weight)
        self._most = most

    def score(self, cls: TaskClass, rows: Rows) -> Scores:
        """Free (or used) share in whole percent, mean of the resources the node has."""
        total: Scores = np.zeros(len(rows))
        kinds: Scores = np.zeros(len(rows))
        for axis in (CPU, MEMORY):
            size = rows.raw_allocatable[axis]
            after = np.minimum(rows.scoring_used[axis] + cls.scoring_request[axis], size)
            total += floor_share(np.maximum(after if self._most else size - after, 0), size)
            kinds += size > 0
        return np.floor(total / np.maximum(kinds, 1)) * self.weight


class _Balanced(_Weighted):
    """How evenly cpu, memory and GPUs would be used, against how evenly they are."""

    depends = Depends.LOCAL

    def __init__(self, weight: int, gpu: int | None) -> None:
        super().__init__(weight)
        self._gpu = gpu

    def _axes(self, cls: TaskClass) -> list[int]:
        axes = [CPU, MEMORY]
        if self._gpu is not None and cls.amount(self._gpu):
            axes.append(self._gpu)
        return axes

    def applies(self, cls: TaskClass) -> bool:
        """Only for tasks that ask for one of them."""
        return any(cls.amount(axis) for axis in self._axes(cls))

    def score(self, cls: TaskClass, rows: Rows) -> Scores:
        """50 to 100; more for nodes that the task makes more even."""
        axes = self._axes(cls)
        sizes = [rows.raw_allocatable[axis] for axis in axes]
        used = [rows.occupied[axis] for axis in axes]
        before = _evenness(used, sizes)
        after = _evenness([u + cls.amount(axis) for u, axis in zip(used, axes, strict=True)], sizes)
        score: Scores = 50 + np.trunc((50 + after - before) / 2)
        return score * self.weight


def _evenness(used: Sequence[Int64], sizes: Sequence[Int64]) -> Scores:
    """100 * (1 - standard deviation of the used fractions), cut to whole numbers."""
    has = [size > 0 for size in sizes]
    shares = [
        np.minimum(np.divide(u, s, out=np.zeros(len(u)), where=h), 1.0)
        for u, s, h in zip(used, sizes, has, strict=True)
    ]
    if len(sizes) == 2:
        deviation = np.where(has[0] & has[1], np.abs(shares[0] - shares[1]) / 2, 0.0)
        return np.asarray(np.trunc((1 - deviation) * SCORE_MAX))
    kinds = sum(h.astype(np.int64) for h in has)
    mean = (shares[0] + shares[1] + shares[2]) / np.maximum(kinds, 1)
    squares = sum(np.where(h, (s - mean) ** 2, 0.0) for s, h in zip(shares, has, strict=True))
    spread = np.sqrt(squares / np.maximum(kinds, 1))
    low, high = np.full(len(mean), np.inf), np.full(len(mean), -np.inf)
    for s, h in zip(shares, has, strict=True):
        low = np.where(h, np.minimum(low, s), low)
        high = np.where(h, np.maximum(high, s), high)
    pair = np.where(kinds == 2, (high - low) / 2, 0.0)
    return np.asarray(np.trunc((1 - np.where(kinds == 3, spread, pair)) * SCORE_MAX))


class _NodeAffinity(_Weighted):
    """Weights of the preferred terms that match, scaled to 100."""

    depends = Depends.NORMALISED

    def applies(self, cls: TaskClass) -> bool:
        """Only for tasks with preferences."""
        return cls.preferred_terms is not None

    def score(self, cls: TaskClass, rows: Rows) -> Scores:
        """Sum of weights."""
        total: Scores = np.zeros(len(rows))
        for term in cls.preferred_terms or ():
            if term.weight and (term.expressions or term.fields):
                total += rows.narrow(matches_term(rows.facts, term)) * float(term.weight)
        return total

    def normalise(
        self,
        raw: Scores,
        low: float,  # noqa: ARG002  # the hook's signature
        high: float,
    ) -> Scores:
        """Share of the highest."""
        return (raw if high == 0 else np.floor(raw * SCORE_MAX / high)) * self.weight


class _TaintToleration(_Weighted):
    """Fewer PreferNoSchedule taints that the task does not tolerate, scaled to 100."""

    depends = Depends.NORMALISED

    def score(self, cls: TaskClass, rows: Rows) -> Scores:
        """Number of taints in the way."""
        tolerations = [t for t in cls.tolerations if t.effect in ("", "PreferNoSchedule")]

        def in_the_way(taints: Sequence[Taint]) -> int:
            return sum(
                1
                for taint in taints
                if taint.effect == "PreferNoSchedule" and not tolerates(tolerations, taint)
            )

        return rows.narrow(rows.facts.by_taints(in_the_way)).astype(np.float64)

    def normalise(
        self,
        raw: Scores,
        low: float,  # noqa: ARG002  # the hook's signature
        high: float,
    ) -> Scores:
        """What is left of 100 after the share of the highest."""
        if high == 0:
            return np.full(len(raw), float(SCORE_MAX * self.weight))
        return (SCORE_MAX - np.floor(raw * SCORE_MAX / high)) * self.weight


class _ImageLocality(_Weighted):
    """Bytes of the task's images that the node has, by how common they are."""

    depends = Depends.STATIC

    def applies(self, cls: TaskClass) -> bool:
        """Only for tasks with images."""
        return bool(cls.images)

    def score(self, cls: TaskClass, rows: Rows) -> Scores:
        """0 to 100 between 23 MiB and 1000 MiB a container."""
        fleet = len(rows.facts.nodes)
        total: Scores = np.zeros(fleet)
        for image in cls.images:
            holders = rows.facts.image_holders(image)
            for position, size in holders:
                total[position] += size * len(holders) // fleet
        top = _IMAGE_BYTES_MAX * cls.container_count
        bounded = np.clip(rows.narrow(total), _IMAGE_BYTES_MIN, top) - _IMAGE_BYTES_MIN
        score: Scores = np.floor(bounded * SCORE_MAX / (top - _IMAGE_BYTES_MIN))
        return score * self.weight


class NodeOrder(Plugin[Args]):
    """The sum of the weighted scores, in a fixed order."""

    name = "nodeorder"
    Args = Args

    def open(self, snapshot: Snapshot) -> None:
        """Find the GPU axis."""
        self._gpu = snapshot.axes.find(_GPU)

    def scorers(self) -> Sequence[Scorer]:
        """Every score with a weight."""
        args = self.args
        every: list[_Weighted] = [
            _Requested(args.least_requested, most=False),
            _Requested(args.most_requested, most=True),
            _Balanced(args.balanced_resource, self._gpu),
            _NodeAffinity(args.node_affinity),
            _TaintToleration(args.taint_toleration),
            _ImageLocality(args.image_locality),
        ]
        return [scorer for scorer in every if scorer.weight]
