"""The server's entry: what it prepares before anything is loaded."""

import gc
import os
import ssl
import subprocess
import sys

import pytest

from volcano.apps.start import without_system_certificates
from volcano.apps.up import settle_memory


@pytest.mark.parametrize(
    "before", [{}, {"SSL_CERT_FILE": "/etc/own.pem"}], ids=["unset", "set_by_the_user"]
)
def test_environment_is_as_before_even_after_an_error(before: dict[str, str]) -> None:
    environ = dict(before)

    def fail() -> None:
        with without_system_certificates(environ):
            assert environ["SSL_CERT_FILE"] == os.devnull
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert environ == before


def test_contexts_made_meanwhile_know_no_authority() -> None:
    with without_system_certificates(os.environ):
        assert ssl.create_default_context().cert_store_stats()["x509"] == 0


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
