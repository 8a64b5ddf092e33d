"""kill -9 of server, scheduler or both at seeded random moments while clients write and jobs run.

The servers keep history only for a moment, so that a watcher that stays away is told 410 Gone.
`--crash-rounds` says how often, `--seed` when; a failure prints both and what was acknowledged.
"""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import pytest

from tests.crash.absentee import Absentee
from tests.crash.cluster import HISTORY_SECONDS, CrashCluster, free_port
from tests.crash.followers import Follower
from tests.crash.ledger import Ledger
from tests.crash.waves import NAMESPACE as WORK
from tests.crash.waves import Waves, read_starts
from tests.crash.writers import KINDS, Gate, Lane, check
from tests.crash.writers import NAMESPACE as WRITTEN
from tests.waiting import eventually, let_run
from volcano.api.kinds import JOB, POD, POD_GROUP
from volcano.api.kinds import NAMESPACE as NAMESPACES
from volcano.api.objects import name_of
from volcano.base.errors import ApiError
from volcano.client.client import Client

pytestmark = pytest.mark.process

LANES = 4
SERIES = "ab"
"""Waves that run beside each other, so that some container runs at most moments."""

FIRST_STARTS_KILLED = 3
"""Rounds that kill the very first start: keys, certificates and the store are being made."""

WORK_SECONDS_MAX = 1.5
"""Longest time from the beginning of a moment to the kill."""

NEXT_START_SECONDS_MAX = 10.0
"""How long a kill waits for the next container to start; none may be due."""

FOLLOW_SECONDS_MAX = 10.0
REPORT_SECONDS_MAX = 5.0


class When(StrEnum):
    """What a kill comes after."""

    LAUNCH = "the server's launch"
    READY = "the server was ready"
    START = "a container's start"


@dataclass(frozen=True, slots=True)
class Moment:
    """When a round kills, and what.

    Attributes:
        share: of the usual starting time (LAUNCH), or of WORK_SECONDS_MAX.
    """

    server: bool
    scheduler: bool
    when: When
    share: float

    def __str__(self) -> str:
        killed = [("server", self.server), ("scheduler", self.scheduler)]
        what = " and ".join(name for name, chosen in killed if chosen)
        return f"{what} {self.share:.2f} after {self.when}"


def drawn(seed: int, number: int) -> Moment:
    """The moment of a round."""
    chance = random.Random(f"{seed}/{number}")
    server, scheduler = chance.choices(((True, False), (False, True), (True, True)), (3, 2, 3))[0]
    when = chance.choices(tuple(When), (3, 3, 4))[0]
    share = chance.random()
    if number <= FIRST_STARTS_KILLED:
        return Moment(server=True, scheduler=scheduler, when=When.LAUNCH, share=share)
    return Moment(server, scheduler, when, share)


@dataclass(slots=True)
class Run:
    """All parts of one crash test."""

    cluster: CrashCluster
    seed: int
    rounds: int
    ledger: Ledger = field(default_factory=Ledger)
    gate: Gate = field(default_factory=Gate)
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    clients: list[Client] = field(default_factory=list)
    followers: list[Follower] = field(default_factory=list)
    waves: list[Waves] = field(default_factory=list)
    absentees: list[Absentee] = field(default_factory=list)
    number: int = 0
    moment: Moment | None = None
    checked: int = 0
    killed_starting: int = 0
    _following: list[asyncio.Task[None]] = field(default_factory=list)

    async def go(self) -> None:
        """The rounds, then the end of everything."""
        await self._kill_first_starts()
        await self.cluster.ready()
        async with asyncio.TaskGroup() as group:
            helpers = await self._start_clients(group)
            while self.number < self.rounds:
                self.number += 1
                self.moment = drawn(self.seed, self.number)
                await self._round(self.moment)
            self.moment = None
            await self.cluster.ready()
            await self._check()
            self.stopped.set()
            await asyncio.gather(*helpers)
            await self._check(quiet=True)
            for task in self._following:
                task.cancel()

    async def _kill_first_starts(self) -> None:
        while self.number < min(FIRST_STARTS_KILLED, self.rounds - 1):
            self.number += 1
            self.moment = drawn(self.seed, self.number)
            self.cluster.start()
            await let_run(self.moment.share * self.cluster.start_seconds)
            self.killed_starting += 1
            self.cluster.kill_server()
        self.cluster.start()

    async def _start_clients(self, group: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        client = await self.cluster.client()
        self.clients.append(client)
        for namespace in (WRITTEN, WORK):
            await client.create(NAMESPACES, {"metadata": {"name": namespace}})
        self.followers = [Follower(client, kind, WRITTEN) for kind in KINDS]
        self.followers += [Follower(client, kind, WORK) for kind in (JOB, POD)]
        self._following = [group.create_task(each.run()) for each in self.followers]
        self.waves = [Waves(series, client, self.cluster.folder) for series in SERIES]
        tasks = [group.create_task(each.run(self.stopped)) for each in self.waves]
        chance = random.Random(f"{self.seed}/absentee")
        self.absentees = [Absentee(client, chance, HISTORY_SECONDS)]
        tasks += [group.create_task(each.run(self.stopped)) for each in self.absentees]
        for lane in range(LANES):
            chance = random.Random(f"{self.seed}/lane/{lane}")
            own = await self.cluster.client()
            self.clients.append(own)
            writer = Lane(lane, own, self.ledger, self.gate, chance)
            tasks.append(group.create_task(writer.run(self.stopped)))
        return tasks

    async def _round(self, moment: Moment) -> None:
        if moment.when is When.LAUNCH and not self.cluster.is_ready():
            await let_run(moment.share * self.cluster.start_seconds)
            self.killed_starting += 1
        else:
            await self.cluster.ready()
            await self._check()
            if moment.when is When.START:
                await self._next_start()
            await let_run(moment.share * WORK_SECONDS_MAX)
        if moment.scheduler:
            self.cluster.kill_scheduler()
        if moment.server:
            self.cluster.kill_server()
            self.cluster.start()

    async def _next_start(self) -> None:
        """Wait a while for a container to start."""
        before = read_starts(self.cluster.folder).total()
        with suppress(AssertionError):
            await eventually(
                lambda: read_starts(self.cluster.folder).total() > before,
                within=NEXT_START_SECONDS_MAX,
            )

    async def _check(self, *, quiet: bool = False) -> None:
        """What was acknowledged is there, and the watchers have heard of it.

        Args:
            quiet: the jobs have ended, too, so that nothing changes them any more.
        """
        client = await self.cluster.client()
        await self.gate.close()
        try:
            await check(client, self.ledger)
            read_starts(self.cluster.folder)
            for follower in self.followers if quiet else self.followers[: len(KINDS)]:
                await self._check_follower(client, follower)
        finally:
            self.gate.open()
            await client.close()
        self.checked += 1

    async def _check_follower(self, client: Client, follower: Follower) -> None:
        lines: list[str] = []

        async def agrees() -> bool:
            lines[:] = follower.difference(await client.list(follower.kind, follower.namespace))
            return not lines

        try:
            await eventually(agrees, within=FOLLOW_SECONDS_MAX)
        except AssertionError as error:
            raise AssertionError("\n".join(lines)) from error

    async def close(self) -> None:
        """Close the clients."""
        for client in self.clients:
            await client.close()

    def check_starts(self) -> None:
        """Every start was of a pod that the API told of."""
        pods = next(each for each in self.followers if each.kind is POD)
        started = {uid for _, uid, _ in read_starts(self.cluster.folder)}
        # A list anew after 410 comes sooner after a kill than a pod can start, end and be removed.
        assert started <= pods.seen.keys(), (
            f"containers of unknown pods were started: {started - pods.seen.keys()}"
        )

    def summary(self) -> str:
        """What was done, in one line."""
        starts = sum(read_starts(self.cluster.folder).values())
        return (
            f"seed {self.seed}: {self.number} rounds, {self.killed_starting} while starting, "
            f"{self.checked} checks of {self.ledger.acknowledged} acknowledged writes "
            f"({self.ledger.doubtful} unanswered), {sum(w.done for w in self.waves)} waves, "
            f"{starts} container starts, watches resumed {sum(f.resumed for f in self.followers)}, "
            f"expired {sum(f.expired for f in self.followers)}, "
            f"absences caught up {sum(a.caught_up for a in self.absentees)}, "
            f"expired {sum(a.expired for a in self.absentees)}"
        )

    async def _state(self) -> list[str]:
        """The jobs and pods of the waves, if a server answers."""
        if not self.clients:
            return []
        lines = []
        try:
            async with asyncio.timeout(REPORT_SECONDS_MAX):
                for kind in (JOB, POD_GROUP, POD):
                    for item in (await self.clients[0].list(kind, WORK))["items"]:
                        lines.append(f"  {kind.kind} {name_of(item)}: {item.get('status')}")
        except (ApiError, TimeoutError) as error:
            lines.append(f"  not to be had: {error}")
        return lines

    async def report(self) -> str:
        """Where a failed run was."""
        waiting = ", ".join(each.waiting_for for each in self.waves if each.waiting_for)
        again = f"pytest tests/crash --seed={self.seed} --crash-rounds={self.rounds}"
        return "\n".join(
            [
                f"seed {self.seed}, round {self.number} of {self.rounds} (killed: {self.moment})",
                f"again with: {again}",
                f"waves done: {sum(w.done for w in self.waves)}; waited for {waiting or '-'}",
                *(await self._state()),
                f"acknowledged {self.ledger.acknowledged}, the last of them:",
                *(f"  {line}" for line in self.ledger.trail),
                "in doubt: " + ", ".join(map(str, self.ledger.pending)),
                f"data: {self.cluster.folder}; end of the server's log:",
                self.cluster.tail(),
                "end of the scheduler's log:",
                self.cluster.tail(self.cluster.data / "scheduler.log"),
            ]
        )


@pytest.mark.anyio
async def test_kill_9(
    tmp_path: Path,
    fleet: Path,
    seed: int,
    rounds: int,
    record_property: Callable[[str, object], None],
) -> None:
    cluster = CrashCluster(tmp_path / "run", fleet, free_port(random.Random()))
    run = Run(cluster, seed, rounds)
    try:
        await run.go()
        run.check_starts()
        assert await cluster.stop() == 0
        await cluster.nothing_left()
    except (Exception, BaseExceptionGroup) as error:
        raise AssertionError(f"{_words(error)}\n{await run.report()}") from error
    finally:
        cluster.clear_away()
        await run.close()
    record_property("crash", run.summary())


def _words(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(map(_words, error.exceptions))
    return f"{type(error).__name__}: {error}"
