"""The durable half of the store as a contract: an append-only log of rows, one per revision.

`sqlite.SqliteLog` keeps it in a file, `memory.MemoryLog` is its twin for tests; both pass the
same contract tests. `store.Store` numbers the rows and keeps what is current.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from volcano.base.errors import StoreError


class Key(NamedTuple):
    """Where an object lives: `plural.group`, namespace (empty for cluster scope) and name."""

    collection: str
    namespace: str
    name: str

    @property
    def path(self) -> str:
        """The key as the table holds it; no part may contain a slash."""
        return f"{self.collection}/{self.namespace}/{self.name}"


def parse_key(path: str) -> Key:
    """The inverse of `Key.path`."""
    collection, namespace, name = path.split("/")
    return Key(collection, namespace, name)


class Row(NamedTuple):
    """One change of one object.

    Attributes:
        previous: revision of the version this one replaces; 0 when there was none.
        deleted: the change is a deletion; `value` is then the object's last state.
        value: the object as JSON, its `resourceVersion` being this revision.
    """

    revision: int
    key: Key
    previous: int
    deleted: bool
    value: bytes


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a log holds when it is opened.

    Attributes:
        rows: the newest row of every key that is not deleted, by ascending revision.
        revision: the newest revision ever made durable; 0 for an empty log.
        compacted: history up to and including this revision may be gone.
    """

    rows: Sequence[Row]
    revision: int
    compacted: int


class StoreFullError(StoreError):
    """No room left on the disk; nothing was changed."""


class StoreLockedError(StoreError):
    """Another process holds the database; nothing was changed."""


class CompactedError(StoreError):
    """The history asked for is gone."""

    def __init__(self, revision: int, compacted: int) -> None:
        super().__init__(f"too old resource version: {revision} ({compacted})")
        self.revision = revision
        self.compacted = compacted


class StaleRevisionError(StoreError):
    """The object is not at the revision that the writer expected."""

    def __init__(self, key: Key, expected: int, found: int) -> None:
        super().__init__(f"{key.path} is at revision {found}, not {expected}")
        self.key = key
        self.found = found


Committed = Callable[[Sequence[Row]], None]
Failed = Callable[[StoreError], None]


class Log(Protocol):
    """Durable rows. All methods but the bodies of coroutines are called on the event loop."""

    def load(self) -> Loaded:
        """The current rows; called once, before anything is appended."""
        ...

    def start(self, committed: Committed, failed: Failed) -> None:
        """Begin to write. Both callbacks run on the event loop.

        `committed` gets rows in the order appended, once they are durable. `failed` says that
        every row appended and not yet committed was given up.
        """
        ...

    def append(self, row: Row) -> None:
        """Hand a row over to be made durable together with its neighbours."""
        ...

    async def after(self, revision: int, limit: int) -> list[Row]:
        """Up to `limit` durable rows above `revision`, ascending."""
        ...

    async def at(self, revisions: Sequence[int]) -> dict[int, Row]:
        """The rows with these revisions, as far as they are still there."""
        ...

    async def compact(self, since: int, upto: int) -> int:
        """Drop what was superseded or deleted in (since, upto]; return how many rows went."""
        ...

    def close(self) -> None:
        """Finish what was appended, then let go of the file. Blocks; safe to call twice."""
        ...
