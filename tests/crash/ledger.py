"""What a client was promised: the last acknowledged state of each object it wrote, and doubts.

Pure bookkeeping. A write is announced (`begin`), then acknowledged or forgotten about (`lost`, the
connection was cut): until it is settled, both its before and its after are allowed.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from volcano.api.objects import JsonObject, metadata, name_of, uid_of

TOKEN = "crash.test/token"
"""The annotation that says which write made an object what it is."""

TRAIL_LENGTH = 40


@dataclass(frozen=True, slots=True)
class State:
    """An object that was acknowledged; `token` is that of the last write."""

    uid: str
    revision: int
    token: str


@dataclass(frozen=True, slots=True)
class Key:
    """An object's kind (plural) and name; all live in one namespace."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


@dataclass(slots=True)
class Pending:
    """A write under way: the token it leaves, None for a deletion; what was seen before it."""

    token: str | None
    floor: int
    doubted: bool = False


def revision_of(obj: JsonObject) -> int:
    """The resourceVersion as the number that it is here."""
    return int(metadata(obj)["resourceVersion"])


def state_of(obj: JsonObject) -> State:
    """The state of a stored object."""
    token = (metadata(obj).get("annotations") or {}).get(TOKEN, "")
    return State(uid_of(obj), revision_of(obj), token)


@dataclass(slots=True)
class Ledger:
    """Acknowledged states by key; None for a deleted one.

    Attributes:
        highest: the largest revision any answer carried.
        trail: the last acknowledged writes in words.
    """

    states: dict[Key, State | None] = field(default_factory=dict)
    pending: dict[Key, Pending] = field(default_factory=dict)
    highest: int = 0
    acknowledged: int = 0
    doubtful: int = 0
    trail: deque[str] = field(default_factory=lambda: deque(maxlen=TRAIL_LENGTH))

    def begin(self, key: Key, token: str | None) -> None:
        """A write is sent; `token` None deletes. Sent again it keeps its first announcement."""
        if key not in self.pending:
            self.pending[key] = Pending(token, self.highest)

    def acknowledge(self, key: Key, obj: JsonObject | None) -> None:
        """The write was answered; None: the object is gone."""
        pending = self.pending.pop(key)
        self.acknowledged += 1
        if obj is None:
            assert pending.token is None, f"{key}: a write was answered as if it had deleted"
            self.states[key] = None
            self.trail.append(f"deleted {key}")
            return
        state = state_of(obj)
        before = self.states.get(key)
        assert state.token == pending.token, (
            f"{key}: the answer has {state.token!r}, not the {pending.token!r} that was written"
        )
        assert state.revision > pending.floor, (
            f"{key}: revision {state.revision} was given to a write that was sent after an answer "
            f"with revision {pending.floor}: revisions step back"
        )
        assert before is None or before.uid == state.uid, f"{key}: became another object"
        self.states[key] = state
        self.note_revision(state.revision)
        self.trail.append(f"wrote {key} token {state.token} revision {state.revision}")

    def lost(self, key: Key) -> None:
        """No answer came; the write may have been made."""
        pending = self.pending[key]
        if pending.doubted:
            return
        pending.doubted = True
        self.doubtful += 1
        self.trail.append(f"no answer for {key} token {pending.token}")

    def note_revision(self, revision: int) -> None:
        """A revision was seen in an answer."""
        self.highest = max(self.highest, revision)

    def faults(self, kind: str, items: Iterable[JsonObject], revision: int) -> list[str]:
        """What is wrong with a complete list of a kind, in words.

        Args:
            revision: of the list.
        """
        found = {name_of(item): state_of(item) for item in items}
        faults = []
        if revision < self.highest:
            faults.append(
                f"{kind} were listed at revision {revision}, after one of {self.highest} was seen"
            )
        keys = {key for key in {**self.states, **self.pending} if key.kind == kind}
        for key in sorted(keys, key=str):
            fault = self._fault(key, found.pop(key.name, None))
            if fault:
                faults.append(f"{key}: {fault}")
        faults += [f"{kind}/{name} is there, and nobody wrote it" for name in sorted(found)]
        return faults

    def _fault(self, key: Key, found: State | None) -> str:
        known, pending = self.states.get(key), self.pending.get(key)
        if found is None:
            if known is None or (pending is not None and pending.token is None):
                return ""
            return f"acknowledged ({known}) and not there"
        if pending is not None and pending.token is not None and found.token == pending.token:
            return "" if known is None or known.uid == found.uid else "became another object"
        if known is None:
            return f"deleted, or never acknowledged, and there: {found}"
        if found.uid != known.uid:
            return f"another object ({found}) than was acknowledged ({known})"
        if found.token != known.token:
            return f"has the content of another write ({found}) than was acknowledged ({known})"
        if found.revision < known.revision:
            return f"is at revision {found.revision}, acknowledged at {known.revision}"
        return ""
