"""Watch fan-out: a ring of recent events, and subscriptions that are cut when they lag.

An event's object is encoded once, when it is written: watchers share the stored bytes.
"""

import asyncio
from collections import deque

from volcano.base.limits import (
    WATCH_QUEUE_EVENTS_MAX,
    WATCH_RING_BYTES_MAX,
    WATCH_RING_EVENTS_MAX,
)
from volcano.server.store.log import Row


class Event:
    """One committed change: the row and the version it replaced."""

    __slots__ = ("previous", "row")

    def __init__(self, row: Row, previous: Row | None) -> None:
        self.row = row
        self.previous = previous

    @property
    def revision(self) -> int:
        """The revision of the change."""
        return self.row.revision

    @property
    def size(self) -> int:
        """Bytes that are kept in memory for this event."""
        return len(self.row.value) + (len(self.previous.value) if self.previous else 0)


class Subscription:
    """The events of one collection (and namespace, unless empty) as they are committed.

    Attributes:
        since: every event above this revision is delivered.
    """

    __slots__ = ("_events", "_limit", "_waiter", "closed", "collection", "namespace", "since")

    def __init__(self, collection: str, namespace: str, since: int, limit: int) -> None:
        self.collection = collection
        self.namespace = namespace
        self.since = since
        self.closed = False
        self._limit = limit
        self._events: deque[Event] = deque()
        self._waiter: asyncio.Future[None] | None = None

    def push(self, event: Event) -> None:
        """Queue an event; a subscription too far behind is closed and forgets its queue."""
        if len(self._events) >= self._limit:
            self._events.clear()
            self.close()
            return
        self._events.append(event)
        self._wake()

    def close(self) -> None:
        """End it; whoever waits sees the end after what is queued."""
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def take(self) -> list[Event]:
        """Everything queued, possibly nothing."""
        events = list(self._events)
        self._events.clear()
        return events

    async def wait(self, seconds: float) -> None:
        """Return when something is queued, the subscription was closed, or time is up."""
        if self._events or self.closed:
            return
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        timer = loop.call_later(seconds, self._wake)
        try:
            await self._waiter
        finally:
            timer.cancel()
            self._waiter = None


class Hub:
    """Hands committed events to subscriptions and keeps the newest in a bounded ring."""

    def __init__(self, revision: int) -> None:
        self.floor = revision
        """The ring holds every event above this revision."""
        self._ring: deque[Event] = deque()
        self._bytes = 0
        self._subscriptions: dict[tuple[str, str], set[Subscription]] = {}

    def subscribe(self, collection: str, namespace: str, since: int) -> Subscription:
        """A new subscription to what is published from now on; `since` is the present."""
        subscription = Subscription(collection, namespace, since, WATCH_QUEUE_EVENTS_MAX)
        self._subscriptions.setdefault((collection, namespace), set()).add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Forget a subscription; harmless when repeated."""
        key = (subscription.collection, subscription.namespace)
        members = self._subscriptions.get(key)
        if members is not None:
            members.discard(subscription)
            if not members:
                del self._subscriptions[key]
        subscription.closed = True

    def publish(self, event: Event) -> None:
        """Deliver one event and remember it."""
        key = event.row.key
        self._deliver((key.collection, ""), event)
        if key.namespace:
            self._deliver((key.collection, key.namespace), event)
        self._ring.append(event)
        self._bytes += event.size
        while len(self._ring) > WATCH_RING_EVENTS_MAX or self._bytes > WATCH_RING_BYTES_MAX:
            oldest = self._ring.popleft()
            self._bytes -= oldest.size
            self.floor = oldest.revision

    def _deliver(self, where: tuple[str, str], event: Event) -> None:
        members = self._subscriptions.get(where)
        if not members:
            return
        cut = [member for member in members if _push(member, event)]
        for member in cut:
            members.discard(member)

    def recent(self, since: int) -> list[Event]:
        """The ring's events above `since`, ascending; all of them when `since` >= `floor`."""
        events: list[Event] = []
        for event in reversed(self._ring):
            if event.revision <= since:
                break
            events.append(event)
        events.reverse()
        return events

    @property
    def watchers(self) -> int:
        """How many subscriptions there are."""
        return sum(map(len, self._subscriptions.values()))

    def close(self) -> None:
        """End every subscription."""
        for members in self._subscriptions.values():
            for member in members:
                member.close()
        self._subscriptions.clear()


def _push(member: Subscription, event: Event) -> bool:
    member.push(event)
    return member.closed
