"""The program behind `volcano up`: the cluster on this machine, until it is told to stop.

One server process (this one: API, admission, controllers, nodes) and the scheduler beside it.
Writes `<data>/kubeconfig` and, when ready, `<data>/run.json`; the command line reads both.
"""

import asyncio
import contextlib
import gc
import json
import os
import resource
import socket
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import click
import structlog

from volcano.api import kinds
from volcano.apps.embedded import SCHEDULER_NAMES, Cluster, ClusterOptions
from volcano.apps.signals import stopped_by_signals
from volcano.apps.supervise import Supervisor
from volcano.base import limits
from volcano.base import log as logging
from volcano.base.clock import Clock, SystemClock, timestamp
from volcano.base.errors import ConfigError, VolcanoError
from volcano.cli import local
from volcano.cli.example_files import example_scripts
from volcano.client.config import KUBECONFIG_NAME, default_data_dir
from volcano.node.fleet import Fleet, load_fleet
from volcano.server.auth import default_roles, kubeconfig, pki
from volcano.server.front import Front, server_tls

log = structlog.get_logger(__name__)

HOST = "127.0.0.1"
PORT_DEFAULT = 7443
PORT_MAX = 65_535
HISTORY_SECONDS_MIN = 1.0
PORT_NAME = "port"
SCHEDULER_CONF_NAME = "volcano-scheduler.conf"


@dataclass(frozen=True, slots=True)
class UpOptions:
    """What `volcano up` was asked for; `port` None means the usual one, or a free one.

    `history_seconds` is how long superseded versions are kept: a watch that resumes from an older
    one, or a list continued from it, is answered with 410.
    """

    data: Path
    port: int | None
    nodes: str
    history_seconds: float = limits.COMPACTION_AGE_SECONDS


def bind(data: Path, wanted: int | None) -> socket.socket:
    """A listening socket on the loopback address.

    Without a wanted port: the one kept in the data folder, else the default; if that is taken a
    free one, which `keep_port` keeps for next time.

    Raises:
        ConfigError: the wanted port cannot be had, or the record of the kept one is broken.
    """
    kept = data / PORT_NAME
    for port in (_usual_port(kept), 0) if wanted is None else (_checked(wanted, "--port"),):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
            listener.listen(limits.LISTEN_BACKLOG)
        except OSError as error:
            listener.close()
            if wanted is not None:
                raise ConfigError(
                    f"port {port} of {HOST} cannot be used ({error.strerror}); "
                    "give another with --port, or none to have a free one chosen"
                ) from error
            continue
        listener.setblocking(False)
        return listener
    raise ConfigError(f"no port of {HOST} can be had")


def keep_port(data: Path, port: int) -> None:
    """Remember a port that was not asked for. Only the process that holds the data may do so."""
    content = str(port).encode()
    kept = data / PORT_NAME
    if not kept.exists() or kept.read_bytes() != content:
        pki.write_private(kept, content)


def _usual_port(kept: Path) -> int:
    if not kept.exists():
        return PORT_DEFAULT
    text = kept.read_text().strip()
    try:
        return _checked(int(text), str(kept))
    except ValueError as error:
        raise ConfigError(f"{kept} holds {text!r}, which is no port; remove the file") from error


def _checked(port: int, where: str) -> int:
    if port not in range(PORT_MAX + 1):
        raise ConfigError(f"{where}: {port} is no port; one is between 0 and {PORT_MAX}")
    return port


async def serve(options: UpOptions, clock: Clock, stopped: asyncio.Event) -> None:
    """Run the cluster until `stopped` is set.

    Raises:
        VolcanoError: it cannot start, or a part of it ended for good.
    """
    fleet = load_fleet(options.nodes, example_scripts() if options.nodes == "demo" else None)
    options.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    options.data.chmod(0o700)
    keys = pki.ensure(options.data / "pki", now=clock.now())
    listener = bind(options.data, options.port)
    url = f"https://{HOST}:{listener.getsockname()[1]}"
    made_of = ClusterOptions(
        keys, options.data, fleet, url, history_seconds=options.history_seconds
    )
    cluster = Cluster(made_of, clock)
    if options.port is None:
        keep_port(options.data, listener.getsockname()[1])
    await cluster.start()
    failure: asyncio.Task[BaseException] | None = None
    try:
        async with _front(cluster, keys, listener), _scheduler(cluster, keys, url, options, clock):
            kubeconfig.write_kubeconfig(options.data / KUBECONFIG_NAME, keys, url)
            await cluster.nodes_registered()
            settle_memory()
            _write_run(options.data, url, clock)
            print_banner(options, fleet, url)
            failure = asyncio.create_task(cluster.failed())
            waiting = asyncio.create_task(stopped.wait())
            await asyncio.wait((failure, waiting), return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            if failure.done():
                raise VolcanoError(f"a part of the cluster has ended: {failure.result()!r}")
    finally:
        if failure is not None:
            failure.cancel()
        await _stop(cluster, options.data)


async def _stop(cluster: Cluster, data: Path) -> None:
    log.info("up.stopping")
    await cluster.stop(limits.STOP_GRACE_SECONDS)
    (data / local.RUN_NAME).unlink(missing_ok=True)


@contextlib.asynccontextmanager
async def _front(cluster: Cluster, keys: pki.Pki, listener: socket.socket) -> AsyncIterator[None]:
    front = Front(cluster.server.api, server_tls(keys))
    await front.start_on(listener)
    try:
        yield
    finally:
        await front.stop()


@contextlib.asynccontextmanager
async def _scheduler(
    cluster: Cluster, keys: pki.Pki, url: str, options: UpOptions, clock: Clock
) -> AsyncIterator[None]:
    """The scheduler process, with a token that is renewed while it runs."""
    token_file = options.data / "scheduler.token"
    config = options.data / "scheduler.kubeconfig"
    _write_token(cluster, token_file)
    kubeconfig.write_account_kubeconfig(config, keys, url, default_roles.SCHEDULER, token_file)
    argv = [sys.executable, "-m", "volcano.apps.scheduler", "--kubeconfig", str(config)]
    argv.append("--until-parent-ends")
    for name in SCHEDULER_NAMES:
        argv += ["--scheduler-name", name]
    conf = options.data / SCHEDULER_CONF_NAME
    if conf.exists():
        argv += ["--scheduler-conf", str(conf)]
    supervisor = Supervisor(
        "scheduler",
        argv,
        environ=_scheduler_environment(keys),
        log_path=options.data / "scheduler.log",
        clock=clock,
    )

    async def renew() -> None:
        while True:
            await clock.sleep(limits.COMPONENT_TOKEN_SECONDS / 2)
            _write_token(cluster, token_file)

    tasks = [asyncio.create_task(supervisor.run()), asyncio.create_task(renew())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def _scheduler_environment(keys: pki.Pki) -> dict[str, str]:
    """The own environment; numpy's threads would only take cores from the server.

    The only certificates that the scheduler needs are the cluster's; reading the system's takes
    longer than reading everything else.
    """
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return {**os.environ, **threads, "SSL_CERT_FILE": str(keys.ca_certificate)}


def _write_token(cluster: Cluster, path: Path) -> None:
    account = cluster.server.lookup.get(
        kinds.SERVICE_ACCOUNT, default_roles.SYSTEM_NAMESPACE, default_roles.SCHEDULER
    )
    if account is None:
        raise VolcanoError(
            f"ServiceAccount {default_roles.SYSTEM_NAMESPACE}/{default_roles.SCHEDULER} is gone; "
            "start volcano again to have it made anew"
        )
    token = cluster.server.security.tokens.issue(account, seconds=limits.COMPONENT_TOKEN_SECONDS)
    pki.write_private(path, token.encode())


def settle_memory() -> None:
    """Spare the collector what stays for good, and let it look seldom: its pauses stop the loop.

    Nothing is collected before: of what a start leaves behind next to nothing is garbage.
    """
    gc.freeze()
    gc.enable()
    gc.set_threshold(*limits.COLLECTOR_THRESHOLDS)


def raise_file_limit() -> None:
    """Use all the file descriptors allowed: every running container and watcher holds one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _write_run(data: Path, url: str, clock: Clock) -> None:
    process = local.read_process(os.getpid())
    run = {
        "pid": os.getpid(),
        "start_time": process.start_time if process is not None else 0,
        "port": int(url.rsplit(":", 1)[1]),
        "url": url,
        "started": timestamp(clock.now()),
    }
    pki.write_private(data / local.RUN_NAME, json.dumps(run).encode())


def print_banner(options: UpOptions, fleet: Fleet, url: str) -> None:
    """Say where the cluster is, what it has, and one command to try."""
    data = options.data
    nominal = "" if options.nodes == "host" else " (capacity is nominal: nothing checks it)"
    click.echo(f"Volcano is up at {url}")
    click.echo(f"  nodes  {len(fleet.nodes)} from {fleet.origin}{nominal}")
    click.echo(f"  data   {data}")
    click.echo("\nIn another terminal:\n")
    click.echo(f"  export KUBECONFIG={data / KUBECONFIG_NAME}")
    click.echo("  vcctl queue list        # or: kubectl get nodes\n")
    click.echo("Ctrl-C stops the pods, with their grace, and keeps the data.")


async def _main(options: UpOptions) -> None:
    await serve(options, SystemClock(), stopped_by_signals())


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--data", type=click.Path(path_type=Path), help="Data folder.")
@click.option("--port", type=int, help=f"Port of the API; default {PORT_DEFAULT}, or a free one.")
@click.option("--nodes", default="demo", show_default=True, help="demo, host, or a fleet file.")
@click.option(
    "--history-seconds",
    type=click.FloatRange(min=HISTORY_SECONDS_MIN),
    default=limits.COMPACTION_AGE_SECONDS,
    show_default=True,
    help="How long superseded versions are kept for watches that resume and lists that go on.",
)
@click.option("--log-level", default="warning", show_default=True)
def main(
    data: Path | None, port: int | None, nodes: str, history_seconds: float, log_level: str
) -> None:
    """Run a cluster on this machine."""
    import uvloop

    logging.configure(log_level)
    raise_file_limit()
    folder = (data or default_data_dir(os.environ, Path.home())).expanduser().absolute()
    try:
        uvloop.run(_main(UpOptions(folder, port, nodes, history_seconds)))
    except VolcanoError as error:
        click.echo(f"volcano up: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
