"""Logs of runs as files: parts, times, and the bound on what is kept."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.node.worlds import NOW
from volcano.api.pod_logs import LogOptions
from volcano.base.clock import ManualClock
from volcano.base.limits import CONTAINER_LOG_BYTES_MAX, CONTAINER_LOG_TIMES_MAX
from volcano.node import logs

pytestmark = pytest.mark.anyio


@pytest.fixture
def executor():
    with ThreadPoolExecutor(1) as made:
        yield made


async def read(folder, executor, **options):
    stream = logs.stream_log(
        folder, LogOptions("main", **options), lambda: False, ManualClock(NOW), executor
    )
    return b"".join([chunk async for chunk in stream])


@pytest.mark.parametrize(
    ("text", "lines", "tail"),
    [
        (b"a\nb\nc\n", 2, b"b\nc\n"),
        (b"a\nb\nc", 2, b"b\nc"),
        (b"a\nb\n", 5, b"a\nb\n"),
        (b"a\nb\n", 0, b""),
        (b"\n\n\n", 1, b"\n"),
        (b"", 3, b""),
        (b"x" * 70_000 + b"\ny\n", 2, b"x" * 70_000 + b"\ny\n"),
        (b"x" * 70_000 + b"\ny\n", 1, b"y\n"),
        (b"q\n" * 70_000, 40_000, b"q\n" * 40_000),
    ],
    ids=[
        "last two",
        "unfinished",
        "more than there is",
        "none",
        "empty lines",
        "empty",
        "long line",
        "after a long line",
        "over many chunks",
    ],
)
async def test_tail(tmp_path, executor, text, lines, tail):
    (tmp_path / "log").write_bytes(text)
    assert await read(tmp_path, executor, tail_lines=lines) == tail


async def test_times_are_when_growth_was_noticed(tmp_path, executor):
    log = tmp_path / "log"
    seen = 0
    for second, text in ((0, "one\n"), (5, "two\nthree\n"), (9, "four\n")):
        with log.open("a") as file:
            file.write(text)
        seen = logs.note_growth(tmp_path, seen, NOW + second)
        assert logs.note_growth(tmp_path, seen, NOW + second + 1) == seen
    assert (await read(tmp_path, executor, timestamps=True)).decode().splitlines() == [
        "2027-01-15T08:00:00.000000Z one",
        "2027-01-15T08:00:05.000000Z two",
        "2027-01-15T08:00:05.000000Z three",
        "2027-01-15T08:00:09.000000Z four",
    ]
    assert await read(tmp_path, executor, since_time=NOW + 4) == b"two\nthree\nfour\n"
    assert await read(tmp_path, executor, since_time=NOW + 9) == b"four\n"
    stamped = await read(tmp_path, executor, timestamps=True, tail_lines=1)
    assert stamped == b"2027-01-15T08:00:09.000000Z four\n"


async def test_what_was_not_noticed_yet_has_the_time_of_now(tmp_path, executor):
    (tmp_path / "log").write_text("new")
    assert await read(tmp_path, executor, timestamps=True) == b"2027-01-15T08:00:00.000000Z new"


async def test_a_log_that_is_not_there_is_empty(tmp_path, executor):
    assert await read(tmp_path, executor, tail_lines=3) == b""
    assert logs.note_growth(tmp_path, 0, NOW) == 0
    assert logs.read_tail(tmp_path) == ""


async def test_of_a_long_log_the_end_is_kept(tmp_path, executor):
    size = 2 * CONTAINER_LOG_BYTES_MAX
    with (tmp_path / "log").open("wb") as file:
        file.truncate(size - 5)
        file.seek(size - 5)
        file.write(b"\nlast")
    logs.note_growth(tmp_path, 0, NOW)
    start = logs.log_start(tmp_path)
    assert size - CONTAINER_LOG_BYTES_MAX - 4096 < start <= size - CONTAINER_LOG_BYTES_MAX
    assert (tmp_path / "log").stat().st_size == size, "offsets stay"
    assert await read(tmp_path, executor, tail_lines=1) == b"last"


def test_times_of_a_long_life_are_thinned(tmp_path):
    lines = [f"{NOW + i:.3f} {i + 1}\n" for i in range(CONTAINER_LOG_TIMES_MAX * 2)]
    (tmp_path / "log.times").write_text("".join(lines))
    (tmp_path / "log").write_bytes(b"x" * (len(lines) + 1))
    logs.note_growth(tmp_path, 0, NOW + len(lines))
    kept = logs.read_growth(tmp_path)
    assert len(kept.times) <= len(lines) // 2 + 1
    assert kept.offsets[-1] in {len(lines), len(lines) + 1}
    assert kept.times == sorted(kept.times)
