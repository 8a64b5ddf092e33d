"""Rows: the nodes a hook is asked about, as they are or as they would be.

A hook reads `rows.used[axis]` and the like and gets one contiguous array over the rows, whether
they are the whole fleet, some nodes, or "node n after k more tasks of this class".
"""

from collections.abc import Callable

import numpy as np

from volcano.scheduler.core.columns import Int64
from volcano.scheduler.model.task import HostPort, TaskClass
from volcano.scheduler.model.topology import NodeFacts
from volcano.scheduler.snapshot import Bool, NodeView
from volcano.scheduler.snapshot import Rows as Index


class _ByAxis:
    """`rows.used[axis]`: computed when asked for."""

    __slots__ = ("_column",)

    def __init__(self, column: Callable[[int], Int64]) -> None:
        self._column = column

    def __getitem__(self, axis: int) -> Int64:
        return self._column(axis)


class Rows:
    """Some nodes of a view, each perhaps with more tasks of one class than it has now.

    Attributes:
        index: positions in the view; None for the whole fleet in order.
        more: how many further tasks of `cls` each row has; 0 for nodes as they are.
    """

    __slots__ = ("_amounts", "cls", "index", "more", "view")

    def __init__(
        self, view: NodeView, cls: TaskClass, index: Index | None = None, more: Int64 | int = 0
    ) -> None:
        self.view = view
        self.cls = cls
        self.index = index
        self.more = more
        self._amounts = dict(cls.request)

    def __len__(self) -> int:
        return self.view.size if self.index is None else len(self.index)

    def _take(self, column: Int64) -> Int64:
        return column if self.index is None else column[self.index]

    def _with_more(self, column: Int64, amount: int) -> Int64:
        taken = self._take(column)
        if amount and not (isinstance(self.more, int) and self.more == 0):
            return taken + self.more * amount
        return taken

    @property
    def allocatable(self) -> _ByAxis:
        """What the node offers, over-subscription included."""
        return _ByAxis(lambda axis: self._take(self.view.allocatable[axis]))

    @property
    def raw_allocatable(self) -> _ByAxis:
        """What the Node object states."""
        return _ByAxis(lambda axis: self._take(self.view.raw_allocatable[axis]))

    @property
    def used(self) -> _ByAxis:
        """Requests of the tasks on the node, without those that wait for room."""
        return _ByAxis(self._used)

    @property
    def occupied(self) -> _ByAxis:
        """Requests of all tasks of the node, those that wait for room included."""
        return _ByAxis(lambda axis: self._used(axis) + self._take(self.view.pipelined[axis]))

    @property
    def idle(self) -> _ByAxis:
        """What is left of allocatable."""
        return _ByAxis(lambda axis: self._take(self.view.allocatable[axis]) - self._used(axis))

    @property
    def future_idle(self) -> _ByAxis:
        """What will be left once everything being released is gone and what waits is in."""
        return _ByAxis(
            lambda axis: (
                self._take(self.view.allocatable[axis])
                - self._used(axis)
                + self._take(self.view.releasing[axis])
                - self._take(self.view.pipelined[axis])
            )
        )

    @property
    def scoring_used(self) -> _ByAxis:
        """Cpu and memory as Kubernetes' scores count them."""
        return _ByAxis(
            lambda axis: self._with_more(
                self.view.scoring_used[axis], self.cls.scoring_request[axis]
            )
        )

    def _used(self, axis: int) -> Int64:
        return self._with_more(self.view.used[axis], self._amounts.get(axis, 0))

    @property
    def facts(self) -> NodeFacts:
        """Labels, taints and images of the whole fleet; narrow with `narrow`."""
        return self.view.facts

    def narrow(self, column: np.ndarray) -> np.ndarray:
        """The entries of a fleet column at these rows."""
        return column if self.index is None else column[self.index]

    def port_conflicts(self, ports: tuple[HostPort, ...]) -> Bool:
        """Which rows cannot give all these host ports."""
        fleet = np.zeros(self.view.size, np.bool_)
        for position, taken in self.view.ports.items():
            fleet[position] = any(_conflict(want, have) for want in ports for have in taken)
        conflicts = self.narrow(fleet)
        if self.cls.host_ports and not (isinstance(self.more, int) and self.more == 0):
            conflicts = conflicts | (np.asarray(self.more) > 0)
        return np.asarray(conflicts)


def _conflict(want: HostPort, have: HostPort) -> bool:
    return (
        want.port == have.port
        and want.protocol == have.protocol
        and (not want.address or not have.address or want.address == have.address)
    )
