"""Records what happened to objects as core/v1 Events, politely.

Repeats raise the count of one Event instead of making thousands, many similar messages are
combined, and writing happens behind the caller's back from a bounded queue: recording never waits
and never fails.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import structlog

from volcano.api.kinds import EVENT
from volcano.api.objects import JsonObject, metadata, name_of, namespace_of, uid_of
from volcano.base.clock import Clock, timestamp
from volcano.base.errors import ApiError
from volcano.base.limits import (
    RECORDER_EVENTS_KNOWN_MAX,
    RECORDER_EVENTS_PENDING_MAX,
    RECORDER_SIMILAR_MESSAGES_MAX,
    RECORDER_WRITE_ATTEMPTS_MAX,
)
from volcano.client.client import Client

_BATCH_SECONDS = 1.0
_MESSAGE_CHARACTERS_MAX = 1024
_COMBINED = "(combined from similar events): "
_log = structlog.get_logger(__name__)

_Key = tuple[str, str, str, str]


@dataclass(slots=True)
class _Pending:
    """Occurrences not yet written."""

    involved: JsonObject
    namespace: str
    message: str
    first: float
    last: float
    count: int = 1
    attempts: int = 0


@dataclass(slots=True)
class _Known:
    """An Event that exists on the server, as far as we know."""

    name: str
    namespace: str
    count: int


@dataclass(slots=True)
class _Similar:
    """Messages seen for one object, type and reason."""

    messages: set[str] = field(default_factory=set)


class EventRecorder:
    """Writes Events of one component; run `run` beside the component.

    Args:
        component: `source.component` of the Events.
        give_way: awaited before each write; returns when nothing more urgent is to be written, or
            after a while.
        pending_max: distinct events that may wait.
    """

    def __init__(
        self,
        client: Client,
        component: str,
        *,
        clock: Clock,
        give_way: Callable[[], Awaitable[None]] | None = None,
        pending_max: int = RECORDER_EVENTS_PENDING_MAX,
    ) -> None:
        self._give_way = give_way
        self._pending_max = pending_max
        self._client = client
        self._component = component
        self._clock = clock
        self._pending: OrderedDict[_Key, _Pending] = OrderedDict()
        self._known: OrderedDict[_Key, _Known] = OrderedDict()
        self._similar: OrderedDict[tuple[str, str, str], _Similar] = OrderedDict()
        self._wake = asyncio.Event()
        self._dropped = 0
        self._serial = 0

    def event(self, obj: JsonObject, type_: str, reason: str, message: str) -> None:
        """Record one occurrence about `obj`.

        Args:
            type_: `Normal` or `Warning`.
            reason: one CamelCase word that programs can match.
            message: a sentence for people.
        """
        message = message[:_MESSAGE_CHARACTERS_MAX]
        identity = uid_of(obj) or f"{obj.get('kind')}/{namespace_of(obj)}/{name_of(obj)}"
        key, message = self._group(identity, type_, reason, message)
        now = self._clock.now()
        pending = self._pending.get(key)
        if pending is not None:
            pending.count += 1
            pending.last = now
            pending.message = message
            return
        if len(self._pending) >= self._pending_max:
            self._dropped += 1
            return
        self._pending[key] = _Pending(
            _reference(obj), namespace_of(obj) or "default", message, now, now
        )
        self._wake.set()

    def _group(self, identity: str, type_: str, reason: str, message: str) -> tuple[_Key, str]:
        """The key an occurrence is counted under, and its message."""
        family = (identity, type_, reason)
        similar = self._similar.setdefault(family, _Similar())
        self._similar.move_to_end(family)
        if len(self._similar) > RECORDER_EVENTS_KNOWN_MAX:
            self._similar.popitem(last=False)
        if message not in similar.messages:
            if len(similar.messages) >= RECORDER_SIMILAR_MESSAGES_MAX:
                return (*family, _COMBINED), _COMBINED + message
            similar.messages.add(message)
        return (*family, message), message

    async def run(self) -> None:
        """Write what is recorded, in batches a second apart, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self.flush()
            await self._clock.sleep(_BATCH_SECONDS)

    async def flush(self) -> None:
        """Write everything recorded up to now."""
        batch, self._pending = self._pending, OrderedDict()
        if self._dropped:
            _log.warning("events dropped", component=self._component, count=self._dropped)
            self._dropped = 0
        for key, pending in batch.items():
            if self._give_way is not None:
                await self._give_way()
            try:
                await self._write(key, pending)
            except (ApiError, OSError, TimeoutError) as error:
                self._retry(key, pending, error)

    async def _write(self, key: _Key, pending: _Pending) -> None:
        known = self._known.get(key)
        if known is not None:
            patch = {
                "count": known.count + pending.count,
                "lastTimestamp": timestamp(pending.last),
                "message": pending.message,
            }
            try:
                await self._client.patch(EVENT, known.name, patch, known.namespace)
            except ApiError as error:
                if error.reason != "NotFound":
                    raise
                del self._known[key]
            else:
                known.count += pending.count
                self._known.move_to_end(key)
                return
        event = self._event(key, pending)
        await self._client.create(EVENT, event)
        self._known[key] = _Known(name_of(event), pending.namespace, pending.count)
        if len(self._known) > RECORDER_EVENTS_KNOWN_MAX:
            self._known.popitem(last=False)

    def _event(self, key: _Key, pending: _Pending) -> JsonObject:
        self._serial += 1
        # The time keeps names apart across restarts, the serial number within one clock reading.
        suffix = f"{int(self._clock.now() * 1e6):x}{self._serial:04x}"
        return {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.kind,
            "metadata": {
                "name": f"{pending.involved['name']}.{suffix}",
                "namespace": pending.namespace,
            },
            "involvedObject": pending.involved,
            "type": key[1],
            "reason": key[2],
            "message": pending.message,
            "source": {"component": self._component},
            "firstTimestamp": timestamp(pending.first),
            "lastTimestamp": timestamp(pending.last),
            "count": pending.count,
            "reportingComponent": self._component,
            "reportingInstance": "",
        }

    def _retry(self, key: _Key, pending: _Pending, error: Exception) -> None:
        pending.attempts += 1
        gone = isinstance(error, ApiError) and error.code in {403, 404, 422}
        if gone or pending.attempts >= RECORDER_WRITE_ATTEMPTS_MAX:
            _log.warning(
                "event not written",
                component=self._component,
                object=pending.involved["name"],
                reason=key[2],
                error=str(error),
            )
            return
        newer = self._pending.get(key)
        if newer is not None:
            newer.count += pending.count
            newer.first = pending.first
        else:
            self._pending[key] = pending
        self._wake.set()


def _reference(obj: JsonObject) -> JsonObject:
    """The `involvedObject` that points at an object."""
    meta = metadata(obj)
    reference = {
        "apiVersion": obj.get("apiVersion", ""),
        "kind": obj.get("kind", ""),
        "namespace": meta.get("namespace", ""),
        "name": meta.get("name", ""),
        "uid": meta.get("uid", ""),
        "resourceVersion": meta.get("resourceVersion", ""),
    }
    return {key: value for key, value in reference.items() if value}
