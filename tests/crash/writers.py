"""Clients that write and keep a ledger: each lane owns some names and has one write under way.

A write whose answer never came is asked for again until it is settled, as a careful client does:
a creation that meets its own object was made, a replaced object is read to see which one it is.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable

from tests.crash.ledger import TOKEN, Key, Ledger, State, revision_of, state_of
from volcano.api.kinds import CONFIG_MAP, POD_GROUP, SECRET, Kind
from volcano.api.objects import JsonObject, metadata
from volcano.base.errors import ApiError
from volcano.client.client import Client

NAMESPACE = "written"
KINDS: tuple[Kind, ...] = (CONFIG_MAP, SECRET, POD_GROUP)
NAMES_PER_LANE = 12
AGAIN_SECONDS = 0.1
"""Pause before a write that was not answered is tried again; the server takes a second to start."""

Write = Callable[[], Awaitable[JsonObject | None]]
UNANSWERED = frozenset({"ServiceUnavailable", "Timeout"})
_BODIES: dict[str, JsonObject] = {
    "configmaps": {"data": {"text": "some text " * 20}},
    "secrets": {"type": "Opaque", "stringData": {"password": "secret"}},
    "podgroups": {"spec": {"minMember": 1}},
}


class Gate:
    """Lets the lanes write, or holds them with nothing under way."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self._under_way = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    async def enter(self) -> None:
        """Wait until writing is allowed; a write is under way until `leave`."""
        await self._open.wait()
        self._under_way += 1
        self._quiet.clear()

    def leave(self) -> None:
        """The write was answered, or its connection was cut."""
        self._under_way -= 1
        if self._under_way == 0:
            self._quiet.set()

    async def close(self) -> None:
        """Allow no further writes; returns when none is under way."""
        self._open.clear()
        await self._quiet.wait()

    def open(self) -> None:
        """Let the lanes go on."""
        self._open.set()


class Lane:
    """One client that creates, updates, patches and deletes its own objects."""

    def __init__(
        self, number: int, client: Client, ledger: Ledger, gate: Gate, chance: random.Random
    ) -> None:
        self._number = number
        self._client = client
        self._ledger = ledger
        self._gate = gate
        self._chance = chance
        self._writes = 0

    async def run(self, stopped: asyncio.Event) -> None:
        """Write until `stopped`; the last write is settled."""
        while not stopped.is_set():
            kind = self._chance.choice(KINDS)
            name = f"lane-{self._number}-{self._chance.randrange(NAMES_PER_LANE)}"
            key = Key(kind.plural, name)
            self._writes += 1
            token, write = self._draw(kind, key, f"{self._number}.{self._writes}")
            await self._settle(key, token, write)

    def _draw(self, kind: Kind, key: Key, token: str) -> tuple[str | None, Write]:
        """What to write, and the token it leaves."""
        known = self._ledger.states.get(key)
        if known is None:
            return token, lambda: self._create(kind, key, token)
        verb = self._chance.choices(("update", "patch", "delete"), (4, 4, 3))[0]
        if verb == "delete":
            return None, lambda: self._delete(kind, key, known)
        if verb == "update" and kind is not POD_GROUP:
            return token, lambda: self._update(kind, key, token, known)
        return token, lambda: self._patch(kind, key, token)

    async def _settle(self, key: Key, token: str | None, write: Write) -> None:
        """Send a write until it is known what became of it."""
        self._ledger.begin(key, token)
        while True:
            await self._gate.enter()
            try:
                self._ledger.acknowledge(key, await write())
            except ApiError as error:
                if error.reason not in UNANSWERED:
                    raise AssertionError(
                        f"{key}: refused with {error.reason}: {error.message}"
                    ) from error
                self._ledger.lost(key)
            else:
                return
            finally:
                self._gate.leave()
            await asyncio.sleep(AGAIN_SECONDS)

    async def _create(self, kind: Kind, key: Key, token: str) -> JsonObject:
        obj = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": key.name, "annotations": {TOKEN: token}},
            **_BODIES[kind.plural],
        }
        try:
            return await self._client.create(kind, obj, NAMESPACE)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
        return await self._read(kind, key)

    async def _update(self, kind: Kind, key: Key, token: str, known: State) -> JsonObject:
        obj = await self._read(kind, key)
        if state_of(obj).token == token:
            return obj
        assert state_of(obj).uid == known.uid, f"{key}: became another object"
        metadata(obj)["annotations"] = {TOKEN: token}
        try:
            return await self._client.update(kind, obj)
        except ApiError as error:
            if error.reason != "Conflict":
                raise
        # The HTTP library itself sends a PUT again when a kept connection turns out to be dead.
        return await self._read(kind, key)

    async def _patch(self, kind: Kind, key: Key, token: str) -> JsonObject:
        patch = {"metadata": {"annotations": {TOKEN: token}}}
        return await self._client.patch(kind, key.name, patch, NAMESPACE)

    async def _delete(self, kind: Kind, key: Key, known: State) -> None:
        try:
            await self._client.delete(kind, key.name, NAMESPACE, uid=known.uid)
        except ApiError as error:
            if error.reason != "NotFound":
                raise

    async def _read(self, kind: Kind, key: Key) -> JsonObject:
        return await self._client.get(kind, key.name, NAMESPACE)


async def check(client: Client, ledger: Ledger) -> None:
    """Compare the ledger with complete lists; no write may be under way."""
    for kind in KINDS:
        listed = await client.list(kind, NAMESPACE)
        items = [item for item in listed["items"] if metadata(item)["name"] != "kube-root-ca.crt"]
        faults = ledger.faults(kind.plural, items, revision_of(listed))
        assert not faults, "\n".join(faults)
        ledger.note_revision(revision_of(listed))
