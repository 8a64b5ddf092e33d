"""Writes of a node to the API: pod statuses and deletions, only when changed, bounded, retried.

A status that the API did not take is tried again after a pause that doubles; the caller keeps the
newest status and asks again, so nothing queues up here.
"""

import asyncio
from dataclasses import dataclass

import structlog

from volcano.api.kinds import POD
from volcano.api.objects import JsonObject, key_of, metadata, name_of, namespace_of, uid_of
from volcano.base.clock import Clock
from volcano.base.errors import ApiError
from volcano.base.limits import NODE_WRITES_CONCURRENT_MAX, STATUS_RETRY_SECONDS_MAX
from volcano.client.client import Client, PatchType
from volcano.node.pods import PodSpec
from volcano.node.status import status_change

GONE = -1.0
"""Answer of `write` for a pod that is no more."""

_RETRY_SECONDS_FIRST = 0.2
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Taken:
    """What the API answered to the last write of a pod: its resourceVersion and status."""

    version: int
    status: JsonObject


class StatusWriter:
    """Writes the status of pods; remembers per pod what the API has taken."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._slots = asyncio.Semaphore(NODE_WRITES_CONCURRENT_MAX)
        self._taken: dict[str, _Taken] = {}
        self._failures: dict[str, int] = {}

    async def write(self, pod: JsonObject, status: JsonObject) -> float | None:
        """Bring the stored status to this one. Nothing is sent if it is so already.

        Returns:
            None when the API has it; GONE when the pod is no more; else when to try again.
        """
        uid = uid_of(pod)
        taken = self._taken.get(uid)
        newer = taken is not None and taken.version > _version(pod)
        stored = taken.status if taken is not None and newer else pod.get("status") or {}
        change = status_change(stored, status)
        if not change:
            return None
        patch = {"metadata": {"uid": uid}, "status": change}
        try:
            async with self._slots:
                answer = await self._client.patch(
                    POD,
                    name_of(pod),
                    patch,
                    namespace_of(pod),
                    subresource="status",
                    patch_type=PatchType.STRATEGIC,
                )
        except ApiError as error:
            if error.reason in {"NotFound", "Conflict"} and await self._is_missing(pod):
                return GONE
            return self._try_again(pod, error)
        self._failures.pop(uid, None)
        self._taken[uid] = _Taken(_version(answer), answer.get("status") or {})
        return None

    def is_echo(self, pod: JsonObject) -> bool:
        """Whether a pod is just what the API answered to the last write.

        The pod then says all that was remembered of the answer, which is forgotten.
        """
        taken = self._taken.get(uid_of(pod))
        if taken is None or _version(pod) != taken.version:
            return False
        del self._taken[uid_of(pod)]
        return True

    async def _is_missing(self, pod: JsonObject) -> bool:
        """Whether the API has no pod of that uid: containers are killed on this answer alone."""
        try:
            stored = await self._client.get(POD, name_of(pod), namespace_of(pod))
        except ApiError as error:
            return error.reason == "NotFound"
        return uid_of(stored) != uid_of(pod)

    def is_gone(self, answer: float | None) -> bool:
        """Whether `write` found no such pod."""
        return answer == GONE

    async def delete(self, pod: PodSpec) -> bool:
        """Remove the object of a pod whose containers have ended; True when it is gone."""
        try:
            async with self._slots:
                await self._client.delete(
                    POD, pod.name, pod.namespace, grace_seconds=0, uid=pod.uid
                )
        except ApiError as error:
            if error.reason in {"NotFound", "Conflict"}:
                return True
            raise
        return True

    def forget(self, uid: str) -> None:
        """The pod is gone: drop what is remembered of it."""
        self._taken.pop(uid, None)
        self._failures.pop(uid, None)

    def _try_again(self, pod: JsonObject, error: ApiError) -> float:
        uid = uid_of(pod)
        count = self._failures.get(uid, 0)
        self._failures[uid] = count + 1
        pause: float = min(_RETRY_SECONDS_FIRST * 2 ** min(count, 30), STATUS_RETRY_SECONDS_MAX)
        _log.warning("pod.status_not_taken", pod=key_of(pod), error=error.message, seconds=pause)
        return self._clock.now() + pause


def _version(obj: JsonObject) -> int:
    text = str(metadata(obj).get("resourceVersion") or "")
    return int(text) if text.isdigit() else 0
