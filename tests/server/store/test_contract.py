"""Both logs under the store: revisions, expectations, history, watches, restarts, failures."""

import asyncio
import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from volcano.base.clock import ManualClock
from volcano.base.errors import ConfigError, StoreError
from volcano.base.limits import COMPACTION_AGE_SECONDS, COMPACTION_CHECK_SECONDS
from volcano.server.store.log import (
    CompactedError,
    Key,
    Log,
    StaleRevisionError,
    StoreFullError,
    StoreLockedError,
)
from volcano.server.store.memory import MemoryLog
from volcano.server.store.sqlite import FILE_NAME, SqliteLog
from volcano.server.store.store import Encode, Store

pytestmark = pytest.mark.anyio
A, B, C = (Key("pods", "one", name) for name in "abc")
ELSEWHERE = Key("pods", "two", "a")

Reopen = Callable[[], Log]


@pytest.fixture(params=["memory", "sqlite"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Reopen:
    """Gives the same log again and again, as restarts would."""
    if request.param == "memory":
        log = MemoryLog()
        return lambda: log
    return lambda: SqliteLog(tmp_path / "data")


def opened(reopen: Reopen) -> Store:
    store = Store(reopen(), ManualClock())
    store.start()
    return store


def value(text: str = "x") -> Encode:
    return lambda revision: b'{"v":"%s","r":%d}' % (text.encode(), revision)


async def test_revisions_rise_over_all_keys_and_survive_a_restart(reopen: Reopen) -> None:
    store = opened(reopen)
    first = await store.put(A, 0, value())
    second = await store.put(Key("nodes", "", "n"), 0, value())
    gone = await store.delete(A, first.revision, value("gone"))
    assert [first.revision, second.revision, gone.revision] == [1, 2, 3]
    store.close()
    store = opened(reopen)
    assert store.revision == 3
    assert store.get(A) is None
    assert store.get(second.key) == second
    assert (await store.put(A, 0, value())).revision == 4
    store.close()


@pytest.mark.parametrize("expected", [0, 7], ids=["exists already", "stale"])
async def test_a_wrong_expectation_is_refused_at_once(reopen: Reopen, expected: int) -> None:
    store = opened(reopen)
    await store.put(A, 0, value())
    with pytest.raises(StaleRevisionError, match="pods/one/a is at revision 1"):
        store.put(A, expected, value())
    store.close()


async def test_writes_under_way_are_seen_by_writers_only(reopen: Reopen) -> None:
    store = opened(reopen)
    create = store.put(A, 0, value())
    assert store.get(A) is None
    latest = store.latest(A)
    assert latest is not None
    update = store.put(A, latest.revision, value("second"))
    assert [row.key for row in store.latest_rows("pods")] == [A]
    assert store.rows("pods") == []
    await asyncio.gather(create, update)
    assert store.get(A) == update.result()
    remove = store.delete(A, update.result().revision, value())
    assert store.latest(A) is None
    assert store.latest_rows("pods") == []
    assert store.count("pods") == 1
    await remove
    assert store.count("pods") == 0
    store.close()


async def test_lists_are_ordered_and_split_by_namespace(reopen: Reopen) -> None:
    store = opened(reopen)
    for key in (C, ELSEWHERE, A, B):
        await store.put(key, 0, value())
    assert [row.key for row in store.rows("pods")] == [A, B, C, ELSEWHERE]
    assert [row.key for row in store.rows("pods", "two")] == [ELSEWHERE]
    assert store.rows("nodes") == []
    store.close()


async def test_a_list_at_an_older_revision_is_exact(reopen: Reopen) -> None:
    store = opened(reopen)
    a = await store.put(A, 0, value())
    b = await store.put(B, 0, value())
    await store.delete(A, a.revision, value("gone"))
    await store.put(C, 0, value())
    await store.put(B, b.revision, value("new"))
    await store.put(A, 0, value("again"))
    for _ in range(2):
        assert await store.rows_at("pods", "one", 2) == [a, b]
        assert await store.rows_at("pods", "one", 0) == []
        store.close()
        store = opened(reopen)  # the ring is empty now: the same answers from the table
    store.close()


async def test_history_has_the_version_before(reopen: Reopen) -> None:
    store = opened(reopen)
    a = await store.put(A, 0, value())
    changed = await store.put(A, a.revision, value("new"))
    await store.put(ELSEWHERE, 0, value())
    gone = await store.delete(A, changed.revision, value("gone"))
    for _ in range(2):
        events = await store.history("pods", "one", 1, store.revision)
        assert [(event.row, event.previous) for event in events] == [(changed, a), (gone, changed)]
        store.close()
        store = opened(reopen)
    store.close()


async def test_subscriptions_hear_of_their_collection_and_namespace(reopen: Reopen) -> None:
    store = opened(reopen)
    everywhere, here = store.subscribe("pods"), store.subscribe("pods", "one")
    a = await store.put(A, 0, value())
    await store.put(Key("nodes", "", "n"), 0, value())
    other = await store.put(ELSEWHERE, 0, value())
    await here.wait(1)
    assert [event.row for event in here.take()] == [a]
    assert [event.row for event in everywhere.take()] == [a, other]
    store.unsubscribe(here)
    await store.put(B, 0, value())
    assert here.take() == []
    assert len(everywhere.take()) == 1
    store.close()
    assert everywhere.closed


async def test_a_slow_subscription_is_cut(reopen: Reopen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("volcano.server.store.watch.WATCH_QUEUE_EVENTS_MAX", 3)
    store = opened(reopen)
    slow = store.subscribe("pods")
    for number in range(4):
        await store.put(Key("pods", "one", str(number)), 0, value())
    assert slow.closed
    assert slow.take() == []
    store.close()


async def test_compaction_keeps_the_present_and_forgets_the_past(reopen: Reopen) -> None:
    store = opened(reopen)
    a = await store.put(A, 0, value())
    b = await store.put(B, 0, value())
    for _ in range(3):
        a = await store.put(A, a.revision, value())
    gone = await store.delete(B, b.revision, value())
    assert await store.compact(gone.revision) == 3
    assert store.compacted == gone.revision - 1
    assert store.rows("pods") == [a]
    with pytest.raises(CompactedError, match=r"too old resource version: 2 \(5\)"):
        await store.history("pods", "", 2, store.revision)
    with pytest.raises(CompactedError):
        await store.rows_at("pods", "", 2)
    assert await store.rows_at("pods", "", 5) == [a, b]
    store.close()
    store = opened(reopen)
    assert (store.revision, store.compacted) == (6, 5)
    assert store.rows("pods") == [a]
    assert await store.rows_at("pods", "", 5) == [a, b]
    store.close()


async def test_history_is_compacted_by_age(reopen: Reopen) -> None:
    clock = ManualClock()
    store = Store(reopen(), clock)
    store.start()
    keeper = asyncio.create_task(store.maintain())
    a = await store.put(A, 0, value())
    a = await store.put(A, a.revision, value())
    await asyncio.sleep(0)
    await clock.advance(COMPACTION_CHECK_SECONDS)
    await store.put(A, a.revision, value())
    await clock.advance(COMPACTION_AGE_SECONDS - COMPACTION_CHECK_SECONDS)
    assert store.compacted == 0
    await clock.advance(COMPACTION_CHECK_SECONDS)
    assert store.compacted == 2
    keeper.cancel()
    store.close()


async def test_history_is_kept_as_long_as_told(reopen: Reopen) -> None:
    clock = ManualClock()
    store = Store(reopen(), clock, history_seconds=4.0)
    store.start()
    keeper = asyncio.create_task(store.maintain())
    a = await store.put(A, 0, value())
    a = await store.put(A, a.revision, value())
    await asyncio.sleep(0)
    await clock.advance(1.0)
    a = await store.put(A, a.revision, value())
    await clock.advance(3.0)
    assert store.compacted == 0
    assert [event.row for event in await store.history("pods", "", 2, 3)] == [a]
    await clock.advance(1.0)
    assert store.compacted == 2
    with pytest.raises(CompactedError):
        await store.history("pods", "", 1, 3)
    keeper.cancel()
    store.close()


async def test_one_failed_commit_fails_every_write_under_way_and_nothing_else() -> None:
    log = MemoryLog()
    store = Store(log, ManualClock())
    store.start()
    a = await store.put(A, 0, value())
    log.fail_next(StoreFullError("the disk is full"))
    lost = [store.put(A, a.revision, value()), store.put(B, 0, value())]
    for write in lost:
        with pytest.raises(StoreFullError, match="the disk is full"):
            await write
    assert store.latest(A) == a
    assert store.latest(B) is None
    b = await store.put(B, 0, value())
    assert b.revision == 4, "a revision once given out is not used again"
    store.close()


async def test_a_full_disk_is_told_and_leaves_the_store_consistent(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "data")
    store = Store(log, ManualClock())
    store.start()
    a = await store.put(A, 0, value())
    log._db.execute("PRAGMA max_page_count=20")
    big = b'"' + b"x" * 1_000_000 + b'"'
    with pytest.raises(StoreFullError, match="the disk is full: nothing was stored"):
        await asyncio.gather(
            store.put(B, 0, lambda _: big), store.put(C, 0, lambda _: big), return_exceptions=False
        )
    assert store.rows("pods") == [a]
    log._db.execute("PRAGMA max_page_count=100000")
    c = await store.put(C, 0, value())
    store.close()
    store = Store(SqliteLog(tmp_path / "data"), ManualClock())
    assert store.rows("pods") == [a, c]
    store.close()


def test_a_second_server_is_refused_by_name(tmp_path: Path) -> None:
    first = SqliteLog(tmp_path)
    with pytest.raises(ConfigError, match=f"in use by process {os.getpid()}"):
        SqliteLog(tmp_path)
    first.close()
    SqliteLog(tmp_path).close()


def test_a_locked_database_is_refused_clearly(tmp_path: Path) -> None:
    SqliteLog(tmp_path).close()
    other = sqlite3.connect(tmp_path / FILE_NAME)
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreLockedError, match="locked by another process"):
        SqliteLog(tmp_path)
    other.close()
    SqliteLog(tmp_path).close()


def test_a_newer_store_is_refused_by_an_older_program(tmp_path: Path) -> None:
    SqliteLog(tmp_path).close()
    with sqlite3.connect(tmp_path / FILE_NAME) as db:
        db.execute("UPDATE meta SET value=99 WHERE name='schema'")
    db.close()
    with pytest.raises(ConfigError, match="written by a newer version"):
        SqliteLog(tmp_path)


def test_what_is_not_a_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError, match="file is not a database"):
        SqliteLog(tmp_path)


def test_the_folder_and_the_file_are_private(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "data")
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "data" / FILE_NAME).stat().st_mode) == 0o600
    log.close()
