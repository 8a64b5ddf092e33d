"""A child process is kept running, with pauses that grow, and never outlives its parent."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.waiting import eventually, wait_until
from volcano.apps.supervise import Supervisor
from volcano.base import limits
from volcano.base.clock import ManualClock

pytestmark = [pytest.mark.process, pytest.mark.anyio]

PARENT = """
import asyncio, os, sys
from pathlib import Path
from volcano.apps.supervise import Supervisor
from volcano.base.clock import SystemClock
child = "import asyncio; from volcano.apps.supervise import parent_gone; asyncio.run(parent_gone())"
argv = [sys.executable, "-c", child]
log = Path(sys.argv[1])
supervisor = Supervisor("c", argv, environ=os.environ, log_path=log, clock=SystemClock())

async def main():
    task = asyncio.create_task(supervisor.run())
    while supervisor.pid is None:
        await asyncio.sleep(0)
    print(supervisor.pid, flush=True)
    await task

asyncio.run(main())
"""


@asynccontextmanager
async def supervised(
    folder: Path, script: str, clock: ManualClock
) -> AsyncIterator[tuple[Supervisor, Path]]:
    log = folder / "child.log"
    supervisor = Supervisor(
        "child",
        ["/bin/sh", "-c", script],
        environ=os.environ,
        log_path=log,
        clock=clock,
        grace_seconds=0.2,
    )
    task = asyncio.create_task(supervisor.run())
    try:
        yield supervisor, log
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_child_that_cannot_be_started_is_tried_again(tmp_path: Path) -> None:
    """No descriptor, memory or log file now says nothing about later."""
    clock = ManualClock()
    folder = tmp_path / "later"
    async with supervised(folder, "exec sleep 60", clock) as (supervisor, _):
        await eventually(lambda: clock.next_due() is not None, about="it pauses")
        assert supervisor.pid is None
        folder.mkdir()
        await clock.advance(limits.CHILD_BACKOFF_SECONDS_MIN)
        await eventually(lambda: supervisor.pid is not None, about="it is started")


async def test_ended_child_is_started_again_with_growing_pauses(tmp_path: Path) -> None:
    clock = ManualClock()
    async with supervised(tmp_path, "echo started; exit 3", clock) as (supervisor, log):
        expected = limits.CHILD_BACKOFF_SECONDS_MIN
        for life in range(1, 10):
            await eventually(lambda: clock.next_due() is not None, about="it pauses")
            assert log.read_text().count("started") == life
            due = clock.next_due()
            assert due is not None
            assert due - clock.now() == pytest.approx(expected)
            assert supervisor.pid is None
            assert supervisor.restarts == life - 1
            await clock.advance(expected)
            expected = min(2 * expected, limits.CHILD_BACKOFF_SECONDS_MAX)


async def test_child_that_lived_long_is_started_again_soon(tmp_path: Path) -> None:
    clock = ManualClock()
    script = f"test -e {tmp_path}/end || exec sleep 1000"
    async with supervised(tmp_path, script, clock) as (supervisor, _):
        pid = await eventually(lambda: supervisor.pid)
        await clock.advance(limits.CHILD_HEALTHY_SECONDS + 1)
        (tmp_path / "end").touch()
        os.kill(pid, signal.SIGKILL)
        pauses = []
        for _ in range(3):
            due = await eventually(clock.next_due)
            pauses.append(due - clock.now())
            await clock.advance(pauses[-1])
        shortest = limits.CHILD_BACKOFF_SECONDS_MIN
        assert pauses == pytest.approx([shortest, 2 * shortest, 4 * shortest])


async def test_stopping_ends_the_child_even_a_deaf_one(tmp_path: Path) -> None:
    deaf = "trap '' TERM; echo deaf; while true; do sleep 0.05; done"
    async with supervised(tmp_path, deaf, ManualClock()) as (supervisor, log):
        await eventually(lambda: log.exists() and "deaf" in log.read_text())
        pid = supervisor.pid
        assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_child_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path / "log")], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    # Whoever adopts it may reap it late: a zombie has ended, too.
    wait_until(lambda: state_of(child) in ("", "Z"), within=20, about="the child has ended")
    assert (tmp_path / "log").read_text() == ""


def state_of(pid: int) -> str:
    """The state letter of a process; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0]
    except (FileNotFoundError, ProcessLookupError):
        return ""
