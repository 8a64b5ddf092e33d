"""bench-local in small: each part measures what it says and leaves nothing behind."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import local as bench
from volcano.api.kinds import CONFIG_MAP, POD
from volcano.cli import local

OPTIONS = bench.Options(starts=1, jobs=2, idle_seconds=0.5)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the data folders go; empty afterwards, with no process in it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert list(tmp_path.iterdir()) == []
    assert local.processes_in(tmp_path) == []


def small_filling() -> list[dict[str, object]]:
    return [{**entry, "count": 3} for entry in bench.world()["filling"]]


def test_filling_is_ten_thousand_objects_of_known_kinds():
    filling = bench.world()["filling"]
    assert sum(entry["count"] for entry in filling) == 10_000
    assert {entry["object"]["kind"] for entry in filling} == {POD.kind, CONFIG_MAP.kind}


def test_fleet_is_five_thousand_simulated_nodes():
    (template,) = bench.world()["fleet"]["nodes"]
    assert (template["count"], template["kind"]) == (5_000, "simulated")


def test_usage_grows_with_work():
    before = bench.usage([os.getpid()])
    while bench.usage([os.getpid()]).cpu_seconds <= before.cpu_seconds:
        sum(range(100_000))
    twice = bench.usage([os.getpid(), os.getpid()])
    assert 0 < before.pss <= before.rss < twice.rss


@pytest.mark.process
def test_up_is_measured_on_a_fresh_and_on_a_full_folder():
    figures = bench.measure_up(OPTIONS, small_filling())
    assert figures["up_full_objects"] == 6
    assert figures["up_seconds"] == max(figures["up_fresh_seconds"], figures["up_full_seconds"])
    assert min(figures.values()) > 0


@pytest.mark.process
def test_idle_adds_up_both_processes():
    figures = bench.idle_figures(OPTIONS)
    assert figures["idle_rss_mb"] >= figures["idle_pss_mb"] > 40
    assert 0 <= figures["idle_cpu_percent"] < 200


@pytest.mark.process
def test_jobs_become_processes():
    figures = bench.job_figures(OPTIONS, bench.world()["job"], settle_seconds=0.0)
    assert 0 < figures["job_to_process_ms"] <= figures["job_to_process_max_ms"] < 30_000
