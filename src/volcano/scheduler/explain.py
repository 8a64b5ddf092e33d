"""Why no node takes a task of a class: counted per reason, with the resource that is lacking."""

import numpy as np

from volcano.resources.vector import PODS
from volcano.scheduler.model.task import TaskClass
from volcano.scheduler.plan import Search, fits
from volcano.scheduler.rows import Rows
from volcano.scheduler.snapshot import Bool, FitFailure, Lack, Snapshot


class Explainer:
    """Explanations of one session; one per class as long as nothing was placed in between."""

    def __init__(self, snapshot: Snapshot, search: Search) -> None:
        self._snapshot = snapshot
        self._search = search
        self._made: dict[int, tuple[int, FitFailure]] = {}

    def explain(self, cls: TaskClass) -> FitFailure:
        """Why nothing fits, as things stand."""
        moment = len(self._search.touched)
        made = self._made.get(cls.id)
        if made is not None and made[0] == moment:
            return made[1]
        failure = self._explain(cls)
        self._made[cls.id] = (moment, failure)
        return failure

    def _explain(self, cls: TaskClass) -> FitFailure:
        view, axes = self._snapshot.nodes, self._snapshot.axes
        if cls.unsupported:
            return FitFailure(view.size, (), headline=cls.unsupported)
        rows = Rows(view, cls)
        room = rows.future_idle
        open_rows = np.ones(view.size, np.bool_)
        suitable = np.ones(view.size, np.bool_)
        counts: list[tuple[str, int]] = []
        asked = dict(cls.request)
        for axis in axes.by_precedence(asked):
            refused = open_rows & (room[axis] < asked[axis])
            if refused.any():
                counts.append((f"Insufficient {axes.names[axis]}", int(refused.sum())))
                open_rows &= ~refused
        for test, codes in self._search.codes(cls, rows):
            suitable &= codes == 0
            for number, reason in enumerate(test.reasons, start=1):
                refused = open_rows & (codes == number)
                if refused.any():
                    counts.append((reason, int(refused.sum())))
                    open_rows &= ~refused
        return FitFailure(view.size, tuple(counts), self._lacks(cls, suitable))

    def _lacks(self, cls: TaskClass, suitable: Bool) -> tuple[Lack, ...]:
        """Resources of which no node that is suitable otherwise has enough free."""
        view, axes = self._snapshot.nodes, self._snapshot.axes
        among = np.flatnonzero(suitable)
        if not len(among):
            among = np.arange(view.size)
        rows = Rows(view, cls, among)
        if not len(among) or fits(rows, cls, future=True).any():
            return ()
        lacks: list[Lack] = []
        for axis, wanted in cls.request:
            free, size = rows.future_idle[axis], rows.allocatable[axis]
            if int(free.max()) >= wanted and len(lacks) < len(cls.request):
                continue
            freest, largest = view.holder(free, among), view.holder(size, among)
            lacks.append(
                Lack(
                    resource=axes.names[axis],
                    wanted=wanted,
                    most_free=max(0, int(free[freest])),
                    freest_node=view.names[int(among[freest])],
                    largest=int(size[largest]),
                    largest_node=view.names[int(among[largest])],
                )
            )
        return tuple(
            sorted(
                lacks,
                key=lambda lack: (lack.resource == axes.names[PODS], lack.wanted <= lack.largest),
            )
        )
