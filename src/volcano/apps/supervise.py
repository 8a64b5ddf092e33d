"""Keeps one child process running: restarts it with back-off, and lets it die with its parent.

The child's standard input is a pipe that nobody writes to; the child ends when it reads end of
file, so that it never outlives its parent, however that one died.
"""

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import structlog

from volcano.base import limits
from volcano.base.clock import Clock

log = structlog.get_logger(__name__)


class Supervisor:
    """Runs `argv`, its output appended to `log_path`.

    Args:
        grace_seconds: what the child gets between SIGTERM and SIGKILL.
    """

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        *,
        environ: Mapping[str, str],
        log_path: Path,
        clock: Clock,
        grace_seconds: float = limits.CHILD_GRACE_SECONDS,
    ) -> None:
        self.name = name
        self.restarts = 0
        self._argv = argv
        self._environ = environ
        self._log_path = log_path
        self._clock = clock
        self._grace_seconds = grace_seconds
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        """Process id of the running child, None between two lives."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    async def run(self) -> None:
        """Start the child, and again after it ended, until cancelled; then end it."""
        delay = limits.CHILD_BACKOFF_SECONDS_MIN
        while True:
            started = self._clock.monotonic()
            code = await self._live_once()
            if self._clock.monotonic() - started > limits.CHILD_HEALTHY_SECONDS:
                delay = limits.CHILD_BACKOFF_SECONDS_MIN
            log.warning(
                "child.ended",
                child=self.name,
                code=code,
                restart_in_seconds=delay,
                log=str(self._log_path),
            )
            await self._clock.sleep(delay)
            delay = min(delay * 2, limits.CHILD_BACKOFF_SECONDS_MAX)
            self.restarts += 1

    async def _live_once(self) -> int | None:
        """The child's exit code; None if it could not even be started."""
        try:
            return await self._live()
        except OSError as error:
            log.warning("child.not_started", child=self.name, error=str(error))
            return None

    async def _live(self) -> int:
        with self._log_path.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=dict(self._environ),
                start_new_session=True,
            )
        self._process = process
        try:
            return await process.wait()
        except asyncio.CancelledError:
            await self._end(process)
            raise

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        if process.stdin is not None:
            process.stdin.close()
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), self._grace_seconds)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def parent_gone(fd: int = 0) -> None:
    """Return when the pipe `fd` reaches end of file: the parent has ended."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader),
        os.fdopen(fd, "rb", buffering=0, closefd=False),
    )
    try:
        while await reader.read(1024):
            continue
    finally:
        transport.close()
