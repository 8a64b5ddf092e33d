"""`volcano`: up, down, status, demo: the cluster on this machine."""

import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click

from volcano.base.errors import ConfigError
from volcano.cli import local
from volcano.cli.commands import Group, LeafCommand, Option, run
from volcano.cli.vcctl import completion_command, version_lines
from volcano.client.config import KUBECONFIG_NAME, default_data_dir

PROGRAM = "volcano"
_MARKS = (KUBECONFIG_NAME, local.RUN_NAME, local.LOG_NAME)

_SUMMARIES = {
    "completion": "print the completion script of a shell: bash, zsh or fish",
    "demo": "watch a job of two GPU tasks run on a cluster of its own",
    "down": "stop the cluster on this machine; its data stays",
    "status": "say what runs on this machine",
    "up": "start a cluster on this machine",
    "version": "print the version",
}

volcano = Group(
    name=PROGRAM,
    help="A batch system for Kubernetes, on this machine or on a cluster.",
    summaries=_SUMMARIES,
    log_flags=False,
)


def _data_option() -> click.Option:
    return Option(
        ["--data"],
        default=None,
        metavar="dir",
        help="data folder; by default $VOLCANO_HOME, else below $XDG_STATE_HOME",
    )


def _data_dir(data: str | None) -> Path:
    if data:
        return Path(data).expanduser().absolute()
    return default_data_dir(os.environ, Path.home()).absolute()


def up(
    *,
    detach: bool,
    data: str | None,
    port: int | None,
    nodes: str | None,
    history_seconds: float | None,
) -> None:
    """Start the server in the foreground, or in the background and wait until it is ready."""
    folder = _data_dir(data)
    already = local.running(folder)
    if already is not None:
        raise ConfigError(
            f"a cluster already runs on {folder}: {already.url}, process {already.pid};"
            " stop it with 'volcano down', or use another --data"
        )
    arguments = local.up_arguments(folder, port, nodes, history_seconds=history_seconds)
    if not detach:
        sys.stdout.flush()
        os.execv(arguments[0], arguments)  # noqa: S606 - our own interpreter, no shell wanted
    ready = local.wait_ready(local.start(arguments, folder), folder)
    click.echo(f"Volcano runs at {ready.url} (process {ready.pid}, data in {folder})")
    click.echo(f"\n  export KUBECONFIG={folder / KUBECONFIG_NAME}\n  vcctl queue list\n")
    click.echo(f"Log: {folder / local.LOG_NAME}. Stop it with: {_with_data('volcano down', data)}")


def _with_data(command: str, data: str | None) -> str:
    return f"{command} --data {data}" if data else command


def down(*, data: str | None, purge: bool, yes: bool) -> None:
    """Stop the server, and with `purge` remove its data."""
    folder = _data_dir(data)
    if purge and folder.exists():
        _confirm_purge(folder, yes=yes)
    found = local.read_run(folder)
    if found is None or not local.is_alive(found):
        click.echo(f"no cluster runs on {folder}")
    else:
        if not local.stop(found):
            raise ConfigError(
                f"process {found.pid} still stops its pods; wait and try again, see"
                f" {folder / local.LOG_NAME}"
            )
        click.echo(f"stopped {found.url} (process {found.pid})")
    if purge and folder.exists():
        shutil.rmtree(folder)
        click.echo(f"removed {folder}")


def _confirm_purge(folder: Path, *, yes: bool) -> None:
    """Ask, unless told not to; only a folder that a server has made is ever removed."""
    if not any((folder / mark).exists() for mark in _MARKS):
        raise ConfigError(
            f"{folder} does not look like a data folder: it has none of {', '.join(_MARKS)};"
            " nothing was removed"
        )
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError(f"--purge would remove {folder}; confirm with --yes")
    click.confirm(f"Remove all data in {folder}?", abort=True)


def status(*, data: str | None) -> None:
    """Print what runs; exit code 1 if nothing does."""
    from volcano.cli.local_status import status_text

    folder = _data_dir(data)
    found = local.running(folder)
    if found is None:
        stale = local.read_run(folder) is not None
        click.echo(f"no cluster runs on {folder}")
        if stale:
            click.echo(
                "it ended without cleaning up; containers may still run:"
                " 'volcano up' takes them over"
            )
        raise click.exceptions.Exit(1)
    click.echo(status_text(found, folder, time.time()), nl=False)


def demo(*, keep: bool) -> None:
    """Run the example job on a cluster of its own; exit code 0 only if it completed."""
    from volcano.cli.demo import run_demo

    raise click.exceptions.Exit(run_demo(keep=keep))


def version() -> None:
    """Print the version."""
    click.echo("\n".join(version_lines()[1:]))


def _add(name: str, callback: Callable[..., None], *options: click.Option) -> None:
    volcano.add_command(
        LeafCommand(
            name=name,
            help=_SUMMARIES[name],
            callback=callback,
            params=list(options),
            log_flags=False,
            words=False,
        )
    )


_add(
    "up",
    up,
    Option(["--detach", "-d"], is_flag=True, help="run in the background"),
    _data_option(),
    Option(["--port"], type=int, metavar="int", help="port of the API (default 7443)"),
    Option(["--nodes"], metavar="string", help="demo (default), host, or a fleet file"),
    Option(
        ["--history-seconds"],
        type=float,
        metavar="float",
        help="how long old versions are kept for watches that resume (default 300)",
    ),
)
_add(
    "down",
    down,
    _data_option(),
    Option(["--purge"], is_flag=True, help="remove the data too, after asking"),
    Option(["--yes", "-y"], is_flag=True, help="do not ask"),
)
_add("status", status, _data_option())
_add("demo", demo, Option(["--keep"], is_flag=True, help="keep the demo's data folder"))
_add("version", version)
volcano.add_command(completion_command(volcano, PROGRAM, log_flags=False))


def main() -> None:
    """Entry point."""
    sys.exit(run(volcano, sys.argv[1:], PROGRAM))
