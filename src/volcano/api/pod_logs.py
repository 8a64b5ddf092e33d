"""How the API server gets a container's log from whoever runs it (the node), without knowing it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from volcano.api.objects import JsonObject


@dataclass(frozen=True, slots=True)
class LogOptions:
    """`v1.PodLogOptions`; None means not asked for."""

    container: str
    follow: bool = False
    previous: bool = False
    since_seconds: int | None = None
    since_time: float | None = None
    timestamps: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None


class PodLogs(Protocol):
    """Source of container logs."""

    async def open(self, pod: JsonObject, options: LogOptions) -> AsyncIterator[bytes]:
        """Chunks of the log; with `follow` until the container has ended.

        Raises:
            ApiError: BadRequest when the container has not started or has no such instance.
        """
        ...
