"""Random histories against a plain model: what is current, every older list, every event."""

import asyncio
import tempfile
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from volcano.base.clock import ManualClock
from volcano.server.store.log import CompactedError, Key, Log, StaleRevisionError
from volcano.server.store.memory import MemoryLog
from volcano.server.store.sqlite import SqliteLog
from volcano.server.store.store import Store

KEYS = [Key("pods", space, name) for space in ("one", "two") for name in "ab"]
keys = st.sampled_from(KEYS)


class StoreMachine(RuleBasedStateMachine):
    """The model: one dict of values per revision, and the list of changes."""

    kind: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.memory = MemoryLog()
        self.snapshots: dict[int, dict[Key, int]] = {0: {}}
        self.changes: list[tuple[int, Key, bool]] = []
        self.compacted = 0
        self.runner.run(self._open())
        self.heard = self.store.subscribe("pods")
        self.heard_from = 0

    async def _open(self) -> None:
        log: Log = self.memory if self.kind == "memory" else SqliteLog(Path(self.folder.name))
        self.store = Store(log, ManualClock())
        self.store.start()

    @property
    def current(self) -> dict[Key, int]:
        return self.snapshots[max(self.snapshots)]

    async def _change(self, key: Key, expected: int, *, deleted: bool) -> int:
        write = self.store.delete if deleted else self.store.put
        return (await write(key, expected, lambda revision: b"%d" % revision)).revision

    def _record(self, revision: int, key: Key, *, deleted: bool) -> None:
        state = dict(self.current)
        if deleted:
            del state[key]
        else:
            state[key] = revision
        self.snapshots[revision] = state
        self.changes.append((revision, key, deleted))

    @rule(key=keys)
    def put(self, key: Key) -> None:
        revision = self.runner.run(self._change(key, self.current.get(key, 0), deleted=False))
        assert revision > max(self.snapshots)
        self._record(revision, key, deleted=False)

    @rule(key=keys)
    def delete(self, key: Key) -> None:
        if key not in self.current:
            return
        revision = self.runner.run(self._change(key, self.current[key], deleted=True))
        self._record(revision, key, deleted=True)

    @rule(key=keys, offset=st.integers(1, 3))
    def stale(self, key: Key, offset: int) -> None:
        with pytest.raises(StaleRevisionError):
            self.runner.run(self._change(key, self.current.get(key, 0) + offset, deleted=False))

    @rule(count=st.integers(2, 5), key=keys)
    def burst(self, count: int, key: Key) -> None:
        async def several() -> list[int]:
            writes = []
            for _ in range(count):
                latest = self.store.latest(key)
                expected = latest.revision if latest is not None else 0
                writes.append(self.store.put(key, expected, lambda revision: b"%d" % revision))
            return [row.revision for row in await asyncio.gather(*writes)]

        for revision in self.runner.run(several()):
            self._record(revision, key, deleted=False)

    @rule(data=st.data())
    def list_at(self, data: st.DataObject) -> None:
        revision = data.draw(st.integers(0, self.store.revision))
        if revision < self.compacted:
            with pytest.raises(CompactedError):
                self.runner.run(self.store.rows_at("pods", "", revision))
            return
        rows = self.runner.run(self.store.rows_at("pods", "", revision))
        at = max(known for known in self.snapshots if known <= revision)
        assert {row.key: row.revision for row in rows} == self.snapshots[at]
        assert [row.key for row in rows] == sorted(row.key for row in rows)

    @rule(data=st.data())
    def history(self, data: st.DataObject) -> None:
        since = data.draw(st.integers(self.compacted, max(self.store.revision, self.compacted)))
        events = self.runner.run(self.store.history("pods", "", since, self.store.revision))
        assert [(e.revision, e.row.key, e.row.deleted) for e in events] == [
            change for change in self.changes if change[0] > since
        ]

    @precondition(lambda self: self.store.revision > 2)
    @rule(data=st.data())
    def compact(self, data: st.DataObject) -> None:
        upto = data.draw(st.integers(1, self.store.revision))
        self.runner.run(self.store.compact(upto))
        self.compacted = max(self.compacted, min(upto, self.store.revision - 1))
        assert self.store.compacted == self.compacted

    @rule()
    def reopen(self) -> None:
        before = self.store.revision
        self._hear()
        self.store.close()
        self.runner.run(self._open())
        assert self.store.revision == before
        self.heard = self.store.subscribe("pods")

    def _hear(self) -> None:
        expected = self.changes[self.heard_from :]
        assert [(e.revision, e.row.key, e.row.deleted) for e in self.heard.take()] == expected
        self.heard_from = len(self.changes)

    @invariant()
    def current_is_the_model(self) -> None:
        rows = self.store.rows("pods")
        assert {row.key: row.revision for row in rows} == self.current
        assert all(row.value == b"%d" % row.revision for row in rows)

    def teardown(self) -> None:
        self._hear()
        self.store.close()
        self.runner.close()
        self.folder.cleanup()


class MemoryMachine(StoreMachine):
    kind = "memory"


class SqliteMachine(StoreMachine):
    kind = "sqlite"


TestMemory = MemoryMachine.TestCase
TestMemory.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestSqlite = SqliteMachine.TestCase
TestSqlite.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)
