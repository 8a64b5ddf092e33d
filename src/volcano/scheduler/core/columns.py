"""Node columns: integers per node, one contiguous array per resource axis, rows reused.

Columns are resource-major: `used[axis]` lies contiguous over nodes, which is what every mask and
score walks. A column of an axis that no node and no pod has named yet is all zeros.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]

_ROWS_AT_START = 64


class Columns:
    """Growable int64 columns, one per axis, all of one length."""

    def __init__(self) -> None:
        self.capacity = _ROWS_AT_START
        self._columns: list[Int64] = []

    def __len__(self) -> int:
        return len(self._columns)

    def grow(self, capacity: int) -> None:
        """Make room for more rows; new ones are zero."""
        if capacity > self.capacity:
            extra = capacity - self.capacity
            self._columns = [
                np.concatenate([column, np.zeros(extra, np.int64)]) for column in self._columns
            ]
            self.capacity = capacity

    def axis(self, axis: int) -> Int64:
        """The column of an axis, made on first use."""
        while axis >= len(self._columns):
            self._columns.append(np.zeros(self.capacity, np.int64))
        return self._columns[axis]

    def add(self, row: int, amounts: Iterable[tuple[int, int]], sign: int = 1) -> None:
        """Add amounts to one row."""
        for axis, amount in amounts:
            self.axis(axis)[row] += sign * amount

    def clear(self, row: int) -> None:
        """Set a row to zero on every axis."""
        for column in self._columns:
            column[row] = 0

    def take(self, rows: npt.NDArray[np.intp], axes: int) -> list[Int64]:
        """Copies of the columns of the first `axes` axes at some rows."""
        return [self.axis(axis)[rows] for axis in range(axes)]
