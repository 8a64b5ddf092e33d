"""The log in one SQLite file: one table, one connection, one writer thread, group commit.

One batch is under way at a time; what is appended meanwhile makes up the next. So the thread is
woken, and takes the interpreter's lock, once a commit and not once a row.

The only module that knows sqlite3. A lock file keeps a second process out by name; a schema
row keeps an older program from opening a newer store. Everything that touches the connection
after `start` runs in the writer thread, in the order asked for.
"""

import asyncio
import fcntl
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from volcano.base.errors import ConfigError, StoreError
from volcano.base.limits import COMPACTION_SLICE_REVISIONS, STORE_BATCH_ROWS_MAX
from volcano.server.store.log import (
    Committed,
    Failed,
    Loaded,
    Row,
    StoreFullError,
    StoreLockedError,
    parse_key,
)

SCHEMA_VERSION = 1
FILE_NAME = "store.db"
LOCK_NAME = "store.lock"

_T = TypeVar("_T")
_Job = Callable[[], None]
_INSERT_SIZES = (64, 16, 4, 1)
_INSERTS = {
    size: "INSERT INTO log (revision, key, previous, deleted, value) VALUES "  # noqa: S608 - placeholders only
    + ",".join(["(?,?,?,?,?)"] * size)
    for size in _INSERT_SIZES
}
_COLUMNS = "revision, key, previous, deleted, value"
_CURRENT = (
    f"SELECT {_COLUMNS} FROM log "  # noqa: S608 - a constant list of columns
    "WHERE revision NOT IN (SELECT previous FROM log) ORDER BY revision"
)


class SqliteLog:
    """The log in `folder`, which is created (mode 0700) and locked for this process.

    Raises:
        ConfigError: another process uses the folder, or a newer program wrote it.
        StoreError: the database cannot be opened.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock_file = _lock(folder)
        try:
            self._db = _connect(folder / FILE_NAME)
        except BaseException:
            os.close(self._lock_file)
            raise
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._waiting: list[Row] = []
        self._busy = False
        self._last_failed = False
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._committed: Committed | None = None
        self._failed: Failed | None = None
        self._closed = False

    def load(self) -> Loaded:
        """The newest row of every live key, read before the writer starts."""
        newest: dict[str, Row] = {}
        for record in self._db.execute(_CURRENT):
            newest.pop(record[1], None)
            if not record[3]:
                newest[record[1]] = _row(record)
        (revision,) = self._db.execute("SELECT coalesce(max(revision), 0) FROM log").fetchone()
        (compacted,) = self._db.execute("SELECT value FROM meta WHERE name='compacted'").fetchone()
        return Loaded(list(newest.values()), revision, int(compacted))

    def start(self, committed: Committed, failed: Failed) -> None:
        """Start the writer thread; callbacks go to the running loop."""
        self._loop = asyncio.get_running_loop()
        self._committed, self._failed = committed, failed
        self._thread = threading.Thread(target=self._write, name="store-writer", daemon=True)
        self._thread.start()

    def append(self, row: Row) -> None:
        """Queue a row; the writer commits all that wait in one transaction."""
        self._waiting.append(row)
        if not self._busy and self._loop is not None:
            self._busy = True
            # At the end of this round of the loop, with what else is written in it.
            self._loop.call_soon(self._hand_over)

    async def after(self, revision: int, limit: int) -> list[Row]:
        """Rows above `revision`, ascending."""
        query = f"SELECT {_COLUMNS} FROM log WHERE revision > ? ORDER BY revision LIMIT ?"  # noqa: S608 - a constant list of columns
        return await self._run(
            lambda: [_row(record) for record in self._db.execute(query, (revision, limit))]
        )

    async def at(self, revisions: Sequence[int]) -> dict[int, Row]:
        """Rows by revision."""
        query = f"SELECT {_COLUMNS} FROM log WHERE revision = ?"  # noqa: S608 - a constant list of columns

        def read() -> dict[int, Row]:
            found: dict[int, Row] = {}
            for revision in revisions:
                for record in self._db.execute(query, (revision,)):
                    found[revision] = _row(record)
            return found

        return await self._run(read)

    async def compact(self, since: int, upto: int) -> int:
        """Drop rows superseded or deleted in (since, upto], in slices between commits."""
        dropped = 0
        while since < upto:
            end = min(upto, since + COMPACTION_SLICE_REVISIONS)
            dropped += await self._run(partial(self._compact_slice, since, end))
            since = end
        return dropped

    def _compact_slice(self, since: int, upto: int) -> int:
        span = (since, upto)
        with _translated(), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            gone = self._db.execute(
                "DELETE FROM log WHERE revision IN (SELECT previous FROM log"
                " WHERE revision > ? AND revision <= ? AND previous > 0)",
                span,
            ).rowcount
            gone += self._db.execute(
                "DELETE FROM log WHERE deleted AND revision > ? AND revision <= ?", span
            ).rowcount
            self._db.execute("UPDATE meta SET value=? WHERE name='compacted'", (upto,))
        return gone

    def close(self) -> None:
        """Commit what waits, stop the thread, close the file, release the lock."""
        if self._closed:
            return
        self._closed = True
        if self._thread is not None:
            self._jobs.put(partial(self._commit_last, self._waiting))
            self._waiting = []
            self._jobs.put(self._stop)
            self._thread.join()
        self._db.close()
        os.close(self._lock_file)

    async def _run(self, work: Callable[[], _T]) -> _T:
        """Run `work` in the writer thread, after what is being committed."""
        if self._closed or self._thread is None:
            raise StoreError("the store is closed")
        outcome: Future[_T] = Future()

        def job() -> None:
            if not outcome.set_running_or_notify_cancel():
                return
            try:
                with _translated():
                    outcome.set_result(work())
            except StoreError as error:
                outcome.set_exception(error)

        self._jobs.put(job)
        return await asyncio.wrap_future(outcome)

    def _hand_over(self) -> None:
        """On the loop: give the writer what waits, if it has nothing."""
        batch = self._waiting[:STORE_BATCH_ROWS_MAX]
        del self._waiting[:STORE_BATCH_ROWS_MAX]
        self._busy = bool(batch)
        if batch:
            self._jobs.put(partial(self._commit, batch))

    def _done(self, batch: list[Row]) -> None:
        """On the loop: a batch is durable."""
        try:
            if self._committed is not None:
                self._committed(batch)
        finally:
            self._hand_over()

    def _give_up(self, error: StoreError) -> None:
        """On the loop: everything appended so far is lost, being built on what was not stored."""
        self._waiting.clear()
        self._busy = False
        if self._failed is not None:
            self._failed(error)

    def _write(self) -> None:
        """The writer thread."""
        while not self._stopping:
            self._jobs.get()()

    def _stop(self) -> None:
        self._stopping = True

    def _commit(self, batch: list[Row]) -> None:
        try:
            with _translated():
                self._insert(batch)
        except StoreError as error:
            self._last_failed = True
            self._tell(self._give_up, error)
            return
        self._last_failed = False
        self._tell(self._done, batch)

    def _commit_last(self, rows: list[Row]) -> None:
        """Commit what waited when the log was closed, unless it is built on what was not stored."""
        if rows and not self._last_failed:
            self._commit(rows)

    def _insert(self, batch: list[Row]) -> None:
        execute = self._db.execute
        execute("BEGIN IMMEDIATE")
        try:
            start, left = 0, len(batch)
            for size in _INSERT_SIZES:
                while left >= size:
                    values: list[int | str | bytes] = []
                    for row in batch[start : start + size]:
                        values += (row[0], "/".join(row[1]), row[2], int(row[3]), row[4])
                    execute(_INSERTS[size], values)
                    start += size
                    left -= size
            execute("COMMIT")
        except sqlite3.Error:
            if self._db.in_transaction:
                execute("ROLLBACK")
            raise

    def _tell(self, callback: Callable[[_T], None], value: _T) -> None:
        if self._loop is None or self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(callback, value)


def _row(record: tuple[int, str, int, int, bytes]) -> Row:
    return Row(record[0], parse_key(record[1]), record[2], bool(record[3]), record[4])


def _lock(folder: Path) -> int:
    path = folder / LOCK_NAME
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(handle, 32).decode(errors="replace").strip() or "unknown"
        os.close(handle)
        raise ConfigError(
            f"the data folder {folder} is in use by process {holder}; stop that server first"
            " or choose another folder"
        ) from None
    os.ftruncate(handle, 0)
    os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    return handle


def _connect(path: Path) -> sqlite3.Connection:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    with _translated():
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=1.0)
    try:
        with _translated():
            _prepare(db, path)
    except BaseException:
        db.close()
        raise
    return db


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    db.execute("PRAGMA locking_mode=EXCLUSIVE")
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    db.execute("PRAGMA wal_autocheckpoint=4000")
    db.execute("PRAGMA journal_size_limit=33554432")
    db.execute("BEGIN IMMEDIATE")
    db.execute("CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID")
    db.execute(
        "CREATE TABLE IF NOT EXISTS log (revision INTEGER PRIMARY KEY, key TEXT NOT NULL,"
        " previous INTEGER NOT NULL, deleted INTEGER NOT NULL, value BLOB NOT NULL)"
    )
    db.executemany(
        "INSERT OR IGNORE INTO meta (name, value) VALUES (?, ?)",
        [("schema", SCHEMA_VERSION), ("compacted", 0)],
    )
    db.execute("COMMIT")
    (found,) = db.execute("SELECT value FROM meta WHERE name='schema'").fetchone()
    if int(found) > SCHEMA_VERSION:
        raise ConfigError(
            f"{path} was written by a newer version of this program (store schema {found}, this"
            f" one knows {SCHEMA_VERSION}); upgrade, or choose another data folder"
        )


@contextmanager
def _translated() -> Iterator[None]:
    """Turn sqlite3's errors into ours."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        primary = code & 0xFF if isinstance(code, int) else None
        if primary == sqlite3.SQLITE_FULL:
            raise StoreFullError(
                "the disk is full: nothing was stored; free some space and try again", str(error)
            ) from error
        if primary in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            raise StoreLockedError(
                "the database is locked by another process: nothing was stored", str(error)
            ) from error
        raise StoreError(f"the database failed: {error}; nothing was stored") from error
