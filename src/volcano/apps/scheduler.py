"""The scheduler process, `vc-scheduler`: an ordinary client of the API.

Runs against the local cluster (`volcano up` starts it with `--until-parent-ends`) and against a
real one. Flags are Volcano's where they mean something here; unknown ones are refused by click.
"""

import asyncio
import os
import sys
from pathlib import Path

import click
import structlog
import uvloop

from volcano.api.wellknown import DEFAULT_SCHEDULER
from volcano.apps.signals import stopped_by_signals
from volcano.apps.supervise import parent_gone
from volcano.base import log as logging
from volcano.base.clock import Clock, SystemClock
from volcano.base.errors import ConfigError
from volcano.client.client import Client
from volcano.client.config import load_config
from volcano.client.events import EventRecorder
from volcano.client.http_transport import HttpTransport
from volcano.scheduler import conf as configuration
from volcano.scheduler import cycle
from volcano.scheduler.cache import Cache
from volcano.scheduler.commit import Committer
from volcano.scheduler.loop import SchedulerLoop
from volcano.scheduler.model.decisions import CycleResult
from volcano.scheduler.model.state import ClusterState

log = structlog.get_logger(__name__)


async def run_scheduler(
    client: Client,
    conf: configuration.SchedulerConf,
    *,
    scheduler_names: tuple[str, ...],
    default_queue: str,
    clock: Clock,
    stopped: asyncio.Event,
) -> None:
    """Watch, plan and write until `stopped` is set."""
    wake, unhurried = asyncio.Event(), asyncio.Event()
    state = ClusterState(scheduler_names=scheduler_names, default_queue=default_queue)

    async def give_way() -> None:
        await committer.drained_or_late()

    source = scheduler_names[0] if len(scheduler_names) == 1 else DEFAULT_SCHEDULER
    recorder = EventRecorder(client, source, clock=clock, give_way=give_way)
    cache = Cache(client, state, clock=clock, wake=wake.set, wake_later=unhurried.set)
    committer = Committer(
        client, state, recorder, clock=clock, restore=cache.restore, failed=wake.set
    )

    def plan(now: float, number: int) -> CycleResult:
        return cycle.run(state, conf, now=now, seed=number)

    loop = SchedulerLoop(plan, cache, committer, clock=clock, wake=wake, unhurried=unhurried)
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(part)
            for part in (cache.run(), recorder.run(), committer.run(), loop.run())
        ]
        await stopped.wait()
        for task in tasks:
            task.cancel()


async def _serve(
    kubeconfig: str | None,
    conf: configuration.SchedulerConf,
    names: tuple[str, ...],
    default_queue: str,
    *,
    until_parent_ends: bool,
) -> None:
    config = load_config(kubeconfig, environ=os.environ, home=Path.home())
    client = Client(HttpTransport(config), user_agent="vc-scheduler")
    stopped = stopped_by_signals()
    watcher: asyncio.Task[None] | None = None
    if until_parent_ends:
        watcher = asyncio.create_task(parent_gone())
        watcher.add_done_callback(lambda _: stopped.set())
    try:
        await run_scheduler(
            client,
            conf,
            scheduler_names=names,
            default_queue=default_queue,
            clock=SystemClock(),
            stopped=stopped,
        )
    finally:
        if watcher is not None:
            watcher.cancel()
        await client.close()


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--kubeconfig", help="Cluster to schedule; default as kubectl finds it.")
@click.option(
    "--scheduler-conf",
    type=click.Path(path_type=Path),
    help="Configuration file (actions, tiers, configurations), as Volcano's.",
)
@click.option(
    "--scheduler-name",
    "names",
    multiple=True,
    default=(DEFAULT_SCHEDULER,),
    show_default=True,
    help="Pods with this spec.schedulerName are scheduled; repeatable.",
)
@click.option("--default-queue", default="default", show_default=True)
@click.option("--log-level", default="info", show_default=True)
@click.option("--until-parent-ends", is_flag=True, hidden=True)
def main(
    kubeconfig: str | None,
    scheduler_conf: Path | None,
    names: tuple[str, ...],
    default_queue: str,
    log_level: str,
    *,
    until_parent_ends: bool,
) -> None:
    """Schedule gangs of pods onto nodes."""
    logging.configure(log_level)
    try:
        conf = (
            configuration.load(scheduler_conf.read_text())
            if scheduler_conf is not None
            else configuration.default()
        )
        cycle.check(conf)
        uvloop.run(
            _serve(kubeconfig, conf, names, default_queue, until_parent_ends=until_parent_ends)
        )
    except (ConfigError, OSError) as error:
        click.echo(f"vc-scheduler: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
