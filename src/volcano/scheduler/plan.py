"""Where the next task of a class goes: totals of all nodes, kept right as tasks are placed.

A `ClassPlan` holds one number per node: the total score if the node is in the running, else minus
infinity. Placing a task changes one node, so the plan looks ahead: tables give every node's total
after 1 … depth-1 further tasks of the class, and a column of its own takes over for a node that
goes deeper or that another class has touched. The total is always the sum of the scorers' numbers
in their order, so it equals bit by bit what asking every scorer about every node would give.

`Search` owns the plans of a session and the log of touched rows by which they catch up.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from volcano.base import limits
from volcano.scheduler.hooks import Depends, Filter, Scorer, Scores
from volcano.scheduler.model.task import TaskClass
from volcano.scheduler.rows import Rows
from volcano.scheduler.snapshot import Bool, NodeView
from volcano.scheduler.snapshot import Rows as Index

OUT = float("-inf")
"""Total of a node that is not in the running."""

_TABLE_DEPTH_MAX = 8
_COLUMN_DEPTH = 32
_COLUMN_DEPTH_MANY = 4
_FEW_ROWS = 4


def fits(rows: Rows, cls: TaskClass, *, future: bool = False) -> Bool:
    """Which rows have room for one more task of a class, now or once releases are done."""
    room = rows.future_idle if future else rows.idle
    ok = np.ones(len(rows), np.bool_)
    for axis, amount in cls.request:
        ok &= room[axis] >= amount
    return ok


class Search:
    """The plans of one session.

    Args:
        filters: tests in order; reasons are told for the first that refuses.
        scorers: scores in the order in which they are added.
    """

    def __init__(
        self, view: NodeView, filters: Sequence[Filter], scorers: Sequence[Scorer]
    ) -> None:
        self.view = view
        self.filters = filters
        self.scorers = scorers
        self.touched: list[int] = []
        self._plans: dict[int, ClassPlan] = {}

    def plan(self, cls: TaskClass, expected: int) -> "ClassPlan":
        """The plan of a class, up to date; `expected` tasks of it are still to come."""
        plan = self._plans.pop(cls.id, None)
        if plan is None:
            plan = ClassPlan(self, cls, expected)
        else:
            plan.catch_up()
        self._plans[cls.id] = plan
        if len(self._plans) > limits.SCHEDULER_PLANS_MAX:
            del self._plans[next(iter(self._plans))]
        return plan

    def touch(self, rows: Sequence[int]) -> None:
        """Note that the load of rows has changed other than by a plan's own placing."""
        self.touched.extend(rows)

    def codes(self, cls: TaskClass, rows: Rows) -> list[tuple[Filter, npt.NDArray[np.uint8]]]:
        """What each filter that applies says about rows."""
        return [(f, f.codes(cls, rows)) for f in self.filters if f.applies(cls)]

    def future_choice(self, cls: TaskClass) -> int | None:
        """The best node that has no room now but will have once releases are done."""
        view = self.view
        if not view.has_releasing or not view.size:
            return None
        rows = Rows(view, cls)
        ok = fits(rows, cls, future=True) & ~fits(rows, cls)
        for _, codes in self.codes(cls, rows):
            ok &= codes == 0
        index = np.flatnonzero(ok)
        if not len(index):
            return None
        return int(index[int(self.total_of(cls, index).argmax())])

    def total_of(self, cls: TaskClass, index: Index) -> Scores:
        """Totals of some nodes as they are, these being all that are in the running."""
        rows = Rows(self.view, cls, index)
        total = np.zeros(len(index))
        for scorer in self.scorers:
            if scorer.applies(cls):
                part = scorer.score(cls, rows)
                if scorer.depends is Depends.NORMALISED:
                    part = scorer.normalise(part, float(part.min()), float(part.max()))
                total = total + part
        return total


class ClassPlan:
    """Totals of all nodes for one class, now and ahead."""

    def __init__(self, search: Search, cls: TaskClass, expected: int) -> None:
        self._search = search
        self._view = search.view
        self.cls = cls
        size = max(1, self._view.size)
        self._depth = 1 if expected <= 1 else min(_TABLE_DEPTH_MAX, 2 + expected // size)
        filters = [f for f in search.filters if f.applies(cls)]
        self._local_filters = [f for f in filters if f.depends is not Depends.STATIC]
        self._scorers = [s for s in search.scorers if s.applies(cls)]
        self._whole = any(f.depends is Depends.WHOLE for f in self._local_filters) or any(
            s.depends is Depends.WHOLE for s in self._scorers
        )
        fleet = Rows(self._view, cls)
        self._static_ok = np.ones(self._view.size, np.bool_)
        for test in filters:
            if test.depends is Depends.STATIC:
                self._static_ok &= test.codes(cls, fleet) == 0
        self._fixed: dict[int, Scores] = {
            i: s.score(cls, fleet)
            for i, s in enumerate(self._scorers)
            if s.depends in (Depends.STATIC, Depends.NORMALISED)
        }
        self._unflushed: list[int] = []
        self._stale = -1
        self._rebuild()

    # ── choosing ───────────────────────────────────────────────────────────────────────────────

    def best(self) -> int:
        """The node with the highest total, the first of equals; -1 if none is in the running."""
        if self._stale >= 0:
            self._refresh([self._stale])
        if not len(self.totals):
            return -1
        row = int(self.totals.argmax())
        return row if self.totals[row] != OUT else -1

    def advance(self, row: int) -> None:
        """Count one more task on a row; it reaches the view with the next `flush`."""
        if self._stale >= 0:
            self._refresh([self._stale])
        self._unflushed.append(row)
        if self._whole:
            self.flush()
            self._rebuild()
            return
        column = self._columns.get(row)
        if column is None:
            level = self._levels.get(row, 0) + 1
            self._levels[row] = level
            if level >= self._depth:
                self._stale = row
                return
            after = float(self._tables[level][row])
        elif column:
            after = column.pop()
        else:
            self._stale = row
            return
        self.totals[row] = after
        if after == OUT:
            self._left_the_running([row])

    def flush(self) -> None:
        """Bring what `advance` counted into the view."""
        rows = self._unflushed
        if rows:
            self._view.apply(self.cls, rows, 1, pipelined=False)
            self._search.touched.extend(rows)
            self._cursor = len(self._search.touched)
            self._unflushed = []

    def catch_up(self) -> None:
        """Take in what happened to nodes since the plan was last used."""
        touched = self._search.touched
        if self._cursor < len(touched):
            rows = sorted({*touched[self._cursor :], *([self._stale] if self._stale >= 0 else [])})
            if self._whole or len(rows) > self._view.size // 4 + _FEW_ROWS:
                self._rebuild()
            else:
                self._refresh(rows)

    # ── keeping right ──────────────────────────────────────────────────────────────────────────

    def _rebuild(self) -> None:
        self.flush()
        self._cursor = len(self._search.touched)
        self._stale = -1
        self._columns: dict[int, list[float]] = {}
        self._levels: dict[int, int] = {}
        in_running = self._in_running(Rows(self._view, self.cls))
        self._set_scale(in_running)
        self.totals = np.where(in_running, self._sum(Rows(self._view, self.cls)), OUT)
        self._tables = [self.totals]
        if self._whole:
            return
        for level in range(1, self._depth):
            rows = Rows(self._view, self.cls, more=level)
            in_running = in_running & self._in_running(rows)
            self._tables.append(np.where(in_running, self._sum(rows), OUT))
        self.totals = self.totals.copy()

    def _refresh(self, changed: Sequence[int]) -> None:
        """Work the columns of changed rows out from the view as it is now."""
        self.flush()
        self._stale = -1
        depth = _COLUMN_DEPTH if len(changed) <= _FEW_ROWS else _COLUMN_DEPTH_MANY
        index = np.repeat(np.asarray(changed, np.intp), depth)
        more = np.tile(np.arange(depth, dtype=np.int64), len(changed))
        rows = Rows(self._view, self.cls, index, more)
        in_running = self._in_running(rows).reshape(len(changed), depth)
        in_running = np.logical_and.accumulate(in_running, axis=1)
        totals = np.where(in_running, self._sum(rows).reshape(len(changed), depth), OUT)
        was_in = [self.totals[row] != OUT for row in changed]
        for row, column in zip(changed, totals.tolist(), strict=True):
            self.totals[row] = column[0]
            column.reverse()
            column.pop()
            self._columns[row] = column
        self._cursor = len(self._search.touched)
        moved = [
            r for r, was in zip(changed, was_in, strict=True) if was != (self.totals[r] != OUT)
        ]
        if moved:
            self._left_the_running(moved)

    def _in_running(self, rows: Rows) -> Bool:
        ok: Bool = fits(rows, self.cls) & rows.narrow(self._static_ok)
        for test in self._local_filters:
            ok &= test.codes(self.cls, rows) == 0
        return ok

    def _sum(self, rows: Rows) -> Scores:
        total = np.zeros(len(rows))
        for i, scorer in enumerate(self._scorers):
            if scorer.depends is Depends.NORMALISED:
                total = total + rows.narrow(self._scaled[i])
            elif scorer.depends is Depends.STATIC:
                total = total + rows.narrow(self._fixed[i])
            elif scorer.depends is Depends.WHOLE:
                total = total + self._whole_score(scorer)
            else:
                total = total + scorer.score(self.cls, rows)
        return total

    def _whole_score(self, scorer: Scorer) -> Scores:
        """A scorer without a declaration sees the nodes in the running, and only those."""
        total = np.zeros(self._view.size)
        index = self._running_index
        if len(index):
            total[index] = scorer.score(self.cls, Rows(self._view, self.cls, index))
        return total

    def _set_scale(self, in_running: Bool) -> None:
        self._running_index = np.flatnonzero(in_running)
        self._extremes: dict[int, tuple[float, float]] = {}
        self._scaled: dict[int, Scores] = {}
        for i, scorer in enumerate(self._scorers):
            if scorer.depends is Depends.NORMALISED and len(self._running_index):
                raw = self._fixed[i]
                among = raw[self._running_index]
                low, high = float(among.min()), float(among.max())
                self._extremes[i] = (low, high)
                self._scaled[i] = scorer.normalise(raw, low, high)
            elif scorer.depends is Depends.NORMALISED:
                self._scaled[i] = np.zeros(self._view.size)

    def _left_the_running(self, rows: Sequence[int]) -> None:
        """Rebuild if nodes that left or entered the running moved the scale of a score."""
        for i, (low, high) in self._extremes.items():
            raw = self._fixed[i]
            if low == high and all(raw[row] == low for row in rows):
                continue
            among = raw[self.totals != OUT]
            if not len(among) or (float(among.min()), float(among.max())) != (low, high):
                self._rebuild()
                return
        if not self._extremes and any(s.depends is Depends.NORMALISED for s in self._scorers):
            self._rebuild()
