"""Logs of containers on process nodes: one file a run, written by the container itself.

The container appends stdout and stderr to the file; the node never stands in between, so a log
goes on while no node runs. The node only notes from time to time how far the file has grown
(`log.times`: seconds and bytes a line): that is where `--timestamps` and `--since` come from, so
a line's time is the moment its growth was noticed, up to a second late, or later for output made
while no node ran. The file keeps its offsets for ever, but of a long one the old part is given back
to the disk (a hole), and `log.start` says where the kept part begins.
"""

import bisect
import ctypes
import os
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from volcano.api.pod_logs import LogOptions
from volcano.base.clock import Clock, micro_timestamp
from volcano.base.limits import (
    CONTAINER_LOG_BYTES_MAX,
    CONTAINER_LOG_TIMES_MAX,
    LOG_CHUNK_BYTES,
    LOG_FOLLOW_SECONDS,
)
from volcano.node.records import write_atomic
from volcano.node.waiting import run_in

TERMINATION_TAIL_BYTES = 2048
_PUNCH_HOLE_KEEP_SIZE = 0x01 | 0x02
_SLACK_BYTES = CONTAINER_LOG_BYTES_MAX // 4
_PAGE_BYTES = 4096


@dataclass(slots=True)
class Growth:
    """How a log has grown: `offsets[i]` bytes were there at `times[i]`, both rising."""

    times: list[float] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)

    def time_of(self, end: int, default: float) -> float:
        """When the byte before `end` was first noticed."""
        index = bisect.bisect_left(self.offsets, end)
        return self.times[index] if index < len(self.times) else default

    def offset_at(self, since: float) -> int:
        """Bytes that were there before that time."""
        index = bisect.bisect_left(self.times, since)
        return self.offsets[index - 1] if index else 0


def read_growth(run_dir: Path) -> Growth:
    """The noted growth of a run's log. Blocks."""
    growth = Growth()
    try:
        lines = (run_dir / "log.times").read_text().splitlines()
    except FileNotFoundError:
        return growth
    for line in lines:
        when, _, offset = line.partition(" ")
        if offset.isdigit():
            growth.times.append(float(when))
            growth.offsets.append(int(offset))
    return growth


def note_growth(run_dir: Path, seen: int, now: float) -> int:
    """Note the size of a running container's log if it grew; the size seen. Blocks."""
    try:
        size = (run_dir / "log").stat().st_size
    except FileNotFoundError:
        return seen
    if size == seen:
        return seen
    with (run_dir / "log.times").open("a") as file:
        file.write(f"{now:.3f} {size}\n")
        long = file.tell() > CONTAINER_LOG_TIMES_MAX * 24
    if long:
        growth = read_growth(run_dir)
        kept = list(zip(growth.times, growth.offsets, strict=True))[1::2]
        text = "".join(f"{when:.3f} {offset}\n" for when, offset in kept)
        write_atomic(run_dir / "log.times", text)
    start = log_start(run_dir)
    if size - start > CONTAINER_LOG_BYTES_MAX + _SLACK_BYTES:
        _drop_before(run_dir, start, size - CONTAINER_LOG_BYTES_MAX)
    return size


def log_start(run_dir: Path) -> int:
    """Where the kept part of the log begins."""
    try:
        return int((run_dir / "log.start").read_text())
    except (FileNotFoundError, ValueError):
        return 0


def _drop_before(run_dir: Path, start: int, end: int) -> None:
    """Give a log's bytes up to `end` back to the disk; nothing changes where that is refused."""
    end -= end % _PAGE_BYTES
    libc = ctypes.CDLL(None, use_errno=True)
    with (run_dir / "log").open("r+b") as file:
        length = ctypes.c_longlong(end - start)
        refused = libc.fallocate(
            file.fileno(), _PUNCH_HOLE_KEEP_SIZE, ctypes.c_longlong(start), length
        )
    if not refused:
        write_atomic(run_dir / "log.start", str(end))


def read_tail(run_dir: Path, size: int = TERMINATION_TAIL_BYTES) -> str:
    """The last bytes of a log as text. Blocks."""
    try:
        with (run_dir / "log").open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(end - size, log_start(run_dir)))
            return file.read(size).decode(errors="replace")
    except FileNotFoundError:
        return ""


async def stream_log(
    run_dir: Path,
    options: LogOptions,
    alive: Callable[[], bool],
    clock: Clock,
    executor: Executor,
) -> AsyncIterator[bytes]:
    """The log of one run as the options want it; with follow until `alive` says no.

    `alive` is asked before each look at the file, so that nothing written before the end is lost.
    """
    growth = await run_in(executor, lambda: read_growth(run_dir))
    position = await run_in(executor, lambda: _first_offset(run_dir, options, growth, clock.now()))
    stamper = _Stamper(growth, position) if options.timestamps else None
    left = options.limit_bytes
    while True:
        running = options.follow and alive()
        chunk = await run_in(executor, partial(_read_at, run_dir, position))
        position += len(chunk)
        if stamper is not None:
            if chunk and options.follow:
                stamper.growth = await run_in(executor, lambda: read_growth(run_dir))
            last = not chunk and not running
            chunk_out = stamper.stamp(chunk, clock.now(), last=last)
        else:
            chunk_out = chunk
        if left is not None:
            chunk_out = chunk_out[:left]
            left -= len(chunk_out)
        if chunk_out:
            yield chunk_out
        if left == 0 or (not chunk and not running):
            return
        if not chunk:
            await clock.sleep(LOG_FOLLOW_SECONDS)


def _read_at(run_dir: Path, position: int) -> bytes:
    try:
        with (run_dir / "log").open("rb") as file:
            file.seek(position)
            return file.read(LOG_CHUNK_BYTES)
    except FileNotFoundError:
        return b""


def _first_offset(run_dir: Path, options: LogOptions, growth: Growth, now: float) -> int:
    first = log_start(run_dir)
    since = options.since_time
    if options.since_seconds is not None:
        since = now - options.since_seconds
    if since is not None:
        first = max(first, growth.offset_at(since))
    if options.tail_lines is not None:
        first = max(first, _tail_offset(run_dir, options.tail_lines, first))
    return first


def _tail_offset(run_dir: Path, lines: int, first: int) -> int:
    """Where the last `lines` lines begin, not before `first`."""
    try:
        with (run_dir / "log").open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            if lines == 0:
                return end
            position, wanted = end, lines + 1
            for chunk, position in _backwards(file.fileno(), first, end):
                at = len(chunk)
                if position + at == end and not chunk.endswith(b"\n"):
                    wanted = lines
                while wanted:
                    at = chunk.rfind(b"\n", 0, at)
                    if at < 0:
                        break
                    wanted -= 1
                if not wanted:
                    return position + at + 1
            return first
    except FileNotFoundError:
        return first


def _backwards(descriptor: int, first: int, end: int) -> Iterator[tuple[bytes, int]]:
    """Chunks of a file from its end to `first`, each with its offset."""
    while end > first:
        start = max(first, end - LOG_CHUNK_BYTES)
        yield os.pread(descriptor, end - start, start), start
        end = start


class _Stamper:
    """Puts the time it was noticed before each line."""

    def __init__(self, growth: Growth, position: int) -> None:
        self.growth = growth
        self._position = position
        self._rest = b""

    def stamp(self, chunk: bytes, now: float, *, last: bool) -> bytes:
        """The complete lines of what came so far; with `last` also an unfinished one."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        out = [self._line(line + b"\n", now) for line in lines]
        if last and self._rest:
            out.append(self._line(self._rest, now))
            self._rest = b""
        return b"".join(out)

    def _line(self, line: bytes, now: float) -> bytes:
        self._position += len(line)
        when = self.growth.time_of(self._position, now)
        return micro_timestamp(when).encode() + b" " + line
