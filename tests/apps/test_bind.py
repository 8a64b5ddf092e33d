"""Which port `volcano up` gets: asked for, kept, usual, or a free one; only on the loopback."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from volcano.apps.up import HOST, PORT_NAME, bind, keep_port
from volcano.base.errors import ConfigError


@contextmanager
def taken() -> Iterator[int]:
    """A port that somebody listens on."""
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen()
        yield other.getsockname()[1]


def bound(data: Path, wanted: int | None) -> int:
    """The port of one start, which holds the data."""
    with bind(data, wanted) as listener:
        host, port = listener.getsockname()
        assert host == "127.0.0.1"
        if wanted is None:
            keep_port(data, port)
        return int(port)


def free_port() -> int:
    with taken() as port:
        return port


def test_port_asked_for_is_used_and_not_kept(tmp_path: Path) -> None:
    port = free_port()
    assert bound(tmp_path, port) == port
    assert not (tmp_path / PORT_NAME).exists()


def test_a_start_that_does_not_hold_the_data_keeps_no_port(tmp_path: Path) -> None:
    """A second `volcano up`, refused by the lock of the first, leaves that one's port alone."""
    with taken() as first:
        keep_port(tmp_path, first)
        bind(tmp_path, None).close()
    assert (tmp_path / PORT_NAME).read_text() == str(first)
    assert [path.name for path in tmp_path.iterdir()] == [PORT_NAME]


def test_port_asked_for_and_taken_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with taken() as port, pytest.raises(ConfigError, match=r"--port, or none") as refused:
        bind(tmp_path, port)
    assert f"port {port} of 127.0.0.1 cannot be used (Address already in use)" in str(refused.value)


def test_port_is_kept_for_next_time(tmp_path: Path) -> None:
    kept = free_port()
    (tmp_path / PORT_NAME).write_text(str(kept))
    assert bound(tmp_path, None) == kept
    assert (tmp_path / PORT_NAME).read_text() == str(kept)


def test_usual_port_taken_leads_to_a_free_one_that_is_kept(tmp_path: Path) -> None:
    with taken() as usual:
        (tmp_path / PORT_NAME).write_text(str(usual))
        first = bound(tmp_path, None)
        assert first != usual
        assert (tmp_path / PORT_NAME).read_text() == str(first)
        assert bound(tmp_path, None) == first


@pytest.mark.parametrize("text", ["", "x", "70000", "-1"])
def test_broken_record_of_the_port_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / PORT_NAME).write_text(text)
    with pytest.raises(ConfigError, match="port") as refused:
        bind(tmp_path, None)
    assert str(tmp_path / PORT_NAME) in str(refused.value)


def test_port_out_of_range_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--port: 70000 is no port; one is between 0 and 65535"):
        bind(tmp_path, 70_000)
