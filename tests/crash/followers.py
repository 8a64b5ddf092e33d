"""A watcher that lives through restarts: resumes where it was, lists anew only after 410."""

import asyncio
from contextlib import aclosing

from tests.crash.ledger import revision_of
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject, key_of, uid_of
from volcano.base.errors import ApiError
from volcano.client.client import Client, WatchEvent

AGAIN_SECONDS = 0.1
UNANSWERED = frozenset({"ServiceUnavailable"})
_GONE = 410


class Follower:
    """The objects of one kind in one namespace, as the watch tells them.

    Attributes:
        view: key → object.
        revision: the watch is told everything up to here.
        seen: every object ever told, by uid, in its last state.
        resumed, expired: how often a watch was taken up and told something, or was too old.
    """

    def __init__(self, client: Client, kind: Kind, namespace: str) -> None:
        self.kind = kind
        self.view: dict[str, JsonObject] = {}
        self.revision = 0
        self.seen: dict[str, JsonObject] = {}
        self.resumed = 0
        self.expired = 0
        self._client = client
        self.namespace = namespace

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            try:
                if not self.revision:
                    await self._list()
                await self._follow()
            except ApiError as error:
                if error.code == _GONE:
                    self.revision = 0
                    self.expired += 1
                elif error.reason not in UNANSWERED:
                    raise AssertionError(
                        f"watch of {self.kind.plural} from {self.revision}: {error.code} "
                        f"{error.reason}: {error.message}"
                    ) from error
                else:
                    await asyncio.sleep(AGAIN_SECONDS)

    async def _list(self) -> None:
        listed = await self._client.list(self.kind, self.namespace)
        self.view = {key_of(item): item for item in listed["items"]}
        self.seen.update((uid_of(item), item) for item in listed["items"])
        self.revision = revision_of(listed)

    async def _follow(self) -> None:
        watch = self._client.watch(self.kind, self.namespace, resource_version=str(self.revision))
        async with aclosing(watch) as events:
            before = self.revision
            async for event in events:
                if self.revision == before:
                    self.resumed += 1
                self._take(event)

    def _take(self, event: WatchEvent) -> None:
        revision = revision_of(event.object)
        if event.type == "BOOKMARK":
            assert revision >= self.revision, f"a bookmark steps back to {revision}"
            self.revision = revision
            return
        key, uid = key_of(event.object), uid_of(event.object)
        what = f"{event.type} of {self.kind.plural} {key} at {revision}"
        assert revision > self.revision, f"{what} after {self.revision}"
        known = self.view.get(key)
        if event.type == "ADDED":
            assert known is None, f"{what}, which was there already"
        else:
            assert known is not None, f"{what}, which was not there"
            assert uid_of(known) == uid, f"{what}: another object than before"
        self.revision = revision
        self.seen[uid] = event.object
        if event.type == "DELETED":
            del self.view[key]
        else:
            self.view[key] = event.object

    def difference(self, listed: JsonObject) -> list[str]:
        """How the view differs from a list that nothing was written after."""
        found = {key_of(item): item for item in listed["items"]}
        lines = []
        for key in sorted({*found, *self.view}):
            ours, theirs = self.view.get(key), found.get(key)
            if ours is None or theirs is None or revision_of(ours) != revision_of(theirs):
                lines.append(
                    f"{self.kind.plural} {key}: watched {_mark(ours)}, listed {_mark(theirs)}"
                )
        return lines


def _mark(obj: JsonObject | None) -> str:
    return "nothing" if obj is None else f"{uid_of(obj)} at {revision_of(obj)}"
