"""The in-memory twin of the SQLite log, for tests: same contract, nothing on disk."""

import asyncio
import bisect
from collections.abc import Sequence

from volcano.base.errors import StoreError
from volcano.server.store.log import Committed, Failed, Loaded, Row


class MemoryLog:
    """Rows in a list; an append is committed in the loop's next round, as a group.

    `fail_next` makes the coming group fail, as a full disk would. A log that was closed can be
    loaded again: that is how tests restart a store.
    """

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._waiting: list[Row] = []
        self._compacted = 0
        self._scheduled = False
        self._committed: Committed | None = None
        self._failed: Failed | None = None
        self._failure: StoreError | None = None

    def load(self) -> Loaded:
        """The newest row of every live key."""
        newest: dict[str, Row] = {}
        for row in self._rows:
            newest.pop(row.key.path, None)
            if not row.deleted:
                newest[row.key.path] = row
        last = self._rows[-1].revision if self._rows else 0
        return Loaded(list(newest.values()), last, self._compacted)

    def start(self, committed: Committed, failed: Failed) -> None:
        """Begin to accept rows."""
        self._committed, self._failed = committed, failed

    def append(self, row: Row) -> None:
        """Queue a row for the next round of the loop."""
        self._waiting.append(row)
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def fail_next(self, error: StoreError) -> None:
        """Make the coming group fail with this error."""
        self._failure = error

    def _flush(self) -> None:
        self._scheduled = False
        rows, self._waiting = self._waiting, []
        if not rows or self._committed is None or self._failed is None:
            return
        if self._failure is not None:
            error, self._failure = self._failure, None
            self._failed(error)
            return
        self._rows.extend(rows)
        self._committed(rows)

    async def after(self, revision: int, limit: int) -> list[Row]:
        """Rows above `revision`, ascending."""
        start = bisect.bisect_right(self._rows, revision, key=lambda row: row.revision)
        return self._rows[start : start + limit]

    async def at(self, revisions: Sequence[int]) -> dict[int, Row]:
        """Rows by revision."""
        wanted = set(revisions)
        return {row.revision: row for row in self._rows if row.revision in wanted}

    async def compact(self, since: int, upto: int) -> int:
        """Drop rows superseded or deleted in (since, upto]."""
        span = [row for row in self._rows if since < row.revision <= upto]
        gone = {row.previous for row in span} | {row.revision for row in span if row.deleted}
        kept = [row for row in self._rows if row.revision not in gone]
        dropped = len(self._rows) - len(kept)
        self._rows, self._compacted = kept, upto
        return dropped

    def close(self) -> None:
        """Commit what waits."""
        self._flush()
        self._committed = self._failed = None
