"""Node facts that seldom change, as columns in row order: labels by key, taint sets, images.

Built on first use and kept until `ClusterState.topology_generation` moves.
"""

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from volcano.scheduler.model.node import Node
from volcano.scheduler.model.task import Taint

Int32 = npt.NDArray[np.int32]
Bool = npt.NDArray[np.bool_]

ABSENT = -1
"""Code of a node without the label."""


class NodeFacts:
    """Labels, taints and images of a set of nodes; position i is the i-th node given."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes = list(nodes)
        self._labels: dict[str, tuple[dict[str, int], Int32]] = {}
        self._taints: tuple[list[tuple[Taint, ...]], Int32] | None = None
        self._unschedulable: Bool | None = None
        self._images: dict[str, list[tuple[int, int]]] | None = None

    def label(self, key: str) -> tuple[dict[str, int], Int32]:
        """Codes of the values of a label key, and the code of each node (`ABSENT` without it)."""
        found = self._labels.get(key)
        if found is None:
            codes: dict[str, int] = {}
            column = np.fromiter(
                (
                    ABSENT
                    if (value := node.labels.get(key)) is None
                    else codes.setdefault(value, len(codes))
                    for node in self.nodes
                ),
                np.int32,
                len(self.nodes),
            )
            found = self._labels[key] = (codes, column)
        return found

    def where_label(self, key: str, test: Callable[[str | None], bool]) -> Bool:
        """Which nodes' value of a label key (None without it) passes a test."""
        codes, column = self.label(key)
        verdict = np.zeros(len(codes) + 1, np.bool_)
        for value, code in codes.items():
            verdict[code] = test(value)
        verdict[ABSENT] = test(None)
        return np.asarray(verdict[column])

    def where_name(self, test: Callable[[str], bool]) -> Bool:
        """Which nodes' names pass a test."""
        return np.fromiter((test(node.name) for node in self.nodes), np.bool_, len(self.nodes))

    def by_taints(self, measure: Callable[[tuple[Taint, ...]], int]) -> Int32:
        """A measure of each node's taints, taken once per distinct set of taints."""
        if self._taints is None:
            codes: dict[tuple[Taint, ...], int] = {}
            column = np.fromiter(
                (codes.setdefault(node.taints, len(codes)) for node in self.nodes),
                np.int32,
                len(self.nodes),
            )
            self._taints = (list(codes), column)
        sets, column = self._taints
        if not sets:
            return np.zeros(0, np.int32)
        return np.asarray(np.array([measure(taints) for taints in sets], np.int32)[column])

    @property
    def unschedulable(self) -> Bool:
        """Which nodes are cordoned (`spec.unschedulable`)."""
        if self._unschedulable is None:
            self._unschedulable = np.fromiter(
                (node.unschedulable for node in self.nodes), np.bool_, len(self.nodes)
            )
        return self._unschedulable

    def image_holders(self, image: str) -> list[tuple[int, int]]:
        """(position, bytes) of each node that has an image."""
        if self._images is None:
            self._images = {}
            for position, node in enumerate(self.nodes):
                for name, size in node.images.items():
                    self._images.setdefault(name, []).append((position, size))
        return self._images.get(image, [])
