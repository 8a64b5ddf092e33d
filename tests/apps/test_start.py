"""The server's entry: what it prepares before anything is loaded."""

import gc
import subprocess
import sys

import pytest

from volcano.apps.up import settle_memory


def test_collector_runs_again_once_all_is_loaded() -> None:
    thresholds = gc.get_threshold()
    gc.disable()
    try:
        settle_memory()
        assert gc.isenabled()
        assert gc.get_freeze_count() > 0
    finally:
        gc.enable()
        gc.unfreeze()
        gc.set_threshold(*thresholds)


@pytest.mark.process
def test_is_the_same_command_as_up() -> None:
    shown = {
        module: subprocess.run(
            [sys.executable, "-m", module, "--port", "many"], capture_output=True, check=False
        )
        for module in ("volcano.apps.start", "volcano.apps.up")
    }
    start = shown["volcano.apps.start"]
    assert start.returncode == shown["volcano.apps.up"].returncode == 2
    assert b"'many' is not a valid integer" in start.stderr
