"""One pod on a process node: observes its containers, asks `plan`, acts, reports. One task a pod.

The task sleeps until something happens: the pod changes, a shim ends (its pidfd becomes readable),
a time of the plan comes. File work and process starts happen in threads. The truth about runs is on
disk (`records`); what is kept here is a copy of it and can be thrown away at any moment.
"""

import asyncio
import errno
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog

from volcano.api.kinds import CONFIG_MAP, SECRET, SERVICE_ACCOUNT
from volcano.api.objects import JsonObject
from volcano.base.clock import Clock
from volcano.base.errors import ApiError, NodeError
from volcano.base.limits import (
    CONTAINER_RETRY_SECONDS_FIRST,
    CONTAINER_RETRY_SECONDS_MAX,
    LOG_SAMPLE_SECONDS,
)
from volcano.client.client import Client
from volcano.client.events import EventRecorder
from volcano.node import cgroups, environment, launch, logs, processes, records, volumes
from volcano.node.devices import DeviceLedger, gpus_wanted
from volcano.node.environment import CannotStartError, Surroundings
from volcano.node.fleet import GPU_RESOURCE, Fleet, NodeSpec
from volcano.node.launch import Machine, Order
from volcano.node.plan import TERMINAL, Plan, Run, Start, Stopping, decide
from volcano.node.pods import PodSpec, read_pod
from volcano.node.records import PodFolder, PodRecord, RunRecord
from volcano.node.status import Place, pod_status
from volcano.node.unsupported import ignored_fields
from volcano.node.volumes import ROOT_CA_CONFIG_MAP, TokenWish, VolumePlan
from volcano.node.waiting import run_in, sleep_until
from volcano.node.writing import StatusWriter

DEVICE_WAIT_SECONDS = 0.05
"""How often a pod looks whether the pod whose devices it gets has ended."""

T = TypeVar("T")
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Host:
    """What all pods of one runner share.

    Attributes:
        root: folder that holds one folder per pod.
        api_url, ca_pem: how pods reach the API server.
        inherited: the environment of `volcano up`.
    """

    client: Client
    clock: Clock
    recorder: EventRecorder
    executor: Executor
    machine: Machine
    fleet: Fleet
    root: Path
    place: Place
    api_url: str
    ca_pem: str
    inherited: Mapping[str, str]
    writer: StatusWriter


@dataclass(slots=True)
class _Prepared:
    """What the API said about a pod's configMaps, secrets and tokens."""

    objects: dict[tuple[str, str], JsonObject]
    tokens: dict[TokenWish, str]


class ProcessPod:
    """The life of one pod on a process node."""

    def __init__(self, host: Host, node: NodeSpec, ledger: DeviceLedger, obj: JsonObject) -> None:
        self._host = host
        self._node = node
        self._ledger = ledger
        self._obj = obj
        self._gone = False
        self._shutdown: Stopping | None = None
        self._wake = asyncio.Event()
        self.folder = PodFolder(host.root, read_pod(obj).uid)
        self._record: PodRecord | None = None
        self._runs: dict[str, Run] = {}
        self._alive: dict[str, RunRecord] = {}
        self._watched: dict[str, int] = {}
        self._over: set[str] = set()
        self._failures: dict[str, int] = {}
        self._refused: Plan | None = None
        self._tokens_due: float | None = None

    def update(self, obj: JsonObject) -> None:
        """The pod has changed."""
        self._obj = obj
        self._wake.set()

    def vanish(self) -> None:
        """The pod is gone from the API: end its containers at once and forget it."""
        self._gone = True
        self._ledger.note_leaving(self.folder.uid)
        self._wake.set()

    def shut_down(self, grace_seconds: float) -> None:
        """The node stops: end the containers with their grace, at most `grace_seconds`."""
        grace = min(self._pod().grace_seconds, grace_seconds)
        self._shutdown = Stopping(
            self._host.clock.now() + grace,
            "Terminated",
            "Pod was terminated because its node was shut down (volcano up was stopped)",
        )
        self._wake.set()

    def running_logs(self) -> list[Path]:
        """Run folders whose logs may grow."""
        return [record.path for record in self._alive.values()]

    async def run(self) -> None:
        """Take the pod from here to its end; cancelling leaves its containers as they are."""
        try:
            await self._adopt()
            while not self._gone:
                if await self._step() and not self._wake.is_set():
                    return
            await self._clean_up()
        finally:
            for name in list(self._watched):
                self._unwatch(name)

    # -- one round ---------------------------------------------------------------------------

    async def _step(self) -> bool:
        """Observe, decide, act, report, and wait for something to happen; True at the end."""
        self._wake.clear()
        for name in sorted(self._over):
            await self._settle(name)
        pod = self._pod()
        if self._shutdown and not any(run.has_started for run in self._runs.values()):
            return True
        now = self._host.clock.now()
        plan = self._refused or decide(pod, self._runs, now, self._shutdown)
        if await self._act(pod, plan):
            return False
        if plan.finished:
            self._ledger.release(pod.uid)
        status = pod_status(pod, self._runs, plan, now, self._host.place)
        retry_at = await self._host.writer.write(self._obj, status)
        if self._host.writer.is_gone(retry_at):
            self._gone = True
            return False
        if plan.finished and retry_at is None:
            return await self._finish(pod, plan)
        await self._renew_tokens(pod)
        wakes = [t for t in (plan.wake_at, retry_at, self._tokens_due) if t is not None]
        await sleep_until(self._host.clock, self._wake, min(wakes, default=None))
        return False

    def _pod(self) -> PodSpec:
        pod = read_pod(self._obj)
        if pod.started_at is None and self._record is not None:
            pod = replace(pod, started_at=self._record.accepted_at)
        return pod

    async def _finish(self, pod: PodSpec, plan: Plan) -> bool:
        """Nothing runs any more and the API knows: delete the object or keep only the logs."""
        if pod.deletion_at is not None:
            await self._host.writer.delete(pod)
            self._gone = True
            return False
        if plan.phase in TERMINAL:
            await self._in_thread(self.folder.mark_done)
            return True
        if self._shutdown:
            return True
        await sleep_until(self._host.clock, self._wake, None)
        return False

    # -- acting ------------------------------------------------------------------------------

    async def _act(self, pod: PodSpec, plan: Plan) -> bool:
        """Do what the plan says; whether the state of a container has changed by it."""
        now = self._host.clock.now()
        for name in plan.kill:
            await self._in_thread(partial(launch.kill, self._alive[name]))
        for name in plan.stop:
            self._note(pod, "Normal", "Killing", f"Stopping container {name}")
            await self._in_thread(partial(launch.stop, self._alive[name]))
            self._runs[name] = replace(self._runs[name], stopping_since=now)
        if plan.kill:
            await sleep_until(self._host.clock, self._wake, now + 1)
        for name in plan.back_off:
            if self._runs[name].waiting is None:
                text = f"Back-off restarting failed container {name} in pod {pod.name}"
                self._note(pod, "Warning", "BackOff", text)
        if plan.start:
            if self._record is None and not await self._accept(pod):
                return True
            await asyncio.gather(*(self._start(pod, start) for start in plan.start))
        return bool(plan.start or plan.kill or plan.stop)

    async def _accept(self, pod: PodSpec) -> bool:
        """Take the pod: its devices, its folder. False if the node does not have the devices."""
        given = self._ledger.allocate(pod)
        if given is None and self._ledger.will_fit(pod):
            soon = self._host.clock.now() + DEVICE_WAIT_SECONDS
            await sleep_until(self._host.clock, self._wake, soon)
            return False
        if given is None:
            wanted = sum(map(gpus_wanted, pod.containers))
            text = (
                f"Pod was rejected: Allocate failed due to requested number of devices unavailable "
                f"for {GPU_RESOURCE}. Requested: {wanted}, Available: {self._ledger.free}, which "
                f"is unexpected"
            )
            self._refused = Plan(
                phase="Failed", reason="UnexpectedAdmissionError", message=text, finished=True
            )
            self._note(pod, "Warning", "UnexpectedAdmissionError", text)
            return False
        record = PodRecord(
            pod.namespace,
            pod.name,
            pod.node,
            pod.started_at or self._host.clock.now(),
            {GPU_RESOURCE: given},
        )
        await self._in_thread(lambda: self.folder.create(record))
        self._record = record
        for text in ignored_fields(pod):
            self._note(pod, "Warning", "NotSupported", text)
        if not self._host.machine.mount_namespaces and self._has_mounts(pod):
            text = (
                f"this node may not make mount namespaces: volumes are below "
                f"${volumes.MOUNTS_VARIABLE} and not at their mount paths; run volcano up as root"
            )
            self._note(pod, "Warning", "NotSupported", text)
        return True

    def _has_mounts(self, pod: PodSpec) -> bool:
        return any(spec.raw.get("volumeMounts") for spec in pod.containers)

    async def _start(self, pod: PodSpec, start: Start) -> None:
        """Start one container, or note why it waits and when to try again."""
        before = self._runs.get(start.name, Run())
        try:
            order = await self._order(pod, start)
            record = await self._in_thread(
                lambda: launch.launch(self.folder, order, self._host.machine)
            )
        except CannotStartError as error:
            self._put_off(pod, start, before, error.reason, error.message)
            return
        except (NodeError, OSError) as error:
            self._put_off(pod, start, before, "CreateContainerError", str(error))
            return
        self._failures.pop(start.name, None)
        run = Run(restarts=start.restarts, level=start.level, last=before.ended or before.last)
        if record.process is None:
            ended = (await self._in_thread(lambda: launch.settle(record, self._host.machine))).ended
            assert ended is not None, "a run without a process has ended"
            self._runs[start.name] = replace(run, running_since=ended.started_at, ended=ended)
            self._note(pod, "Warning", "Failed", f"Error: {ended.message}")
            return
        since = await self._in_thread(lambda: records.started_at(record))
        self._runs[start.name] = replace(run, running_since=since)
        self._watch(start.name, record)
        self._note(pod, "Normal", "Started", f"Started container {start.name}")

    def _put_off(self, pod: PodSpec, start: Start, before: Run, reason: str, text: str) -> None:
        count = self._failures.get(start.name, 0)
        self._failures[start.name] = count + 1
        pause = min(
            CONTAINER_RETRY_SECONDS_FIRST * 2 ** min(count, 30), CONTAINER_RETRY_SECONDS_MAX
        )
        retry_at = self._host.clock.now() + pause
        self._runs[start.name] = replace(before, waiting=(reason, text), retry_at=retry_at)
        event = "FailedMount" if reason == "ContainerCreating" else "Failed"
        self._note(pod, "Warning", event, text if event == "FailedMount" else f"Error: {text}")

    async def _order(self, pod: PodSpec, start: Start) -> Order:
        """All a start needs: environment, command, volumes with their contents written."""
        spec = pod.container(start.name)
        assert spec is not None, f"the plan starts {start.name}, which the pod does not have"
        prepared = await self._read_sources(pod)
        around = self._around(str(spec.raw.get("image") or ""))
        plans = self._volume_plans(pod, prepared)
        source = _source_of(prepared)
        env = environment.build_environment(pod, spec, around, source)
        if self._record is not None:
            indices = self._record.devices.get(GPU_RESOURCE, {}).get(spec.name, [])
            env.update(environment.device_variables(self._node, indices))
        command = environment.build_command(spec, around.rule, env)
        folder = self.folder.path / "volumes"
        mounts = volumes.mounts_of(spec, folder, plans, env)
        await self._in_thread(lambda: _write_volumes(folder, plans, mounts))
        rule_dir = around.rule.working_dir if around.rule is not None else ""
        return Order(
            container=start.name,
            number=start.restarts,
            level=start.level,
            command=command,
            env=env,
            directory=str(spec.raw.get("workingDir") or rule_dir),
            mounts=mounts,
            limits=cgroups.limits_of(spec.raw),
        )

    def _around(self, image: str) -> Surroundings:
        host = self._host
        rule = host.fleet.rule_for(image)
        return Surroundings(self._node, host.place, rule, host.inherited, host.api_url)

    def _volume_plans(self, pod: PodSpec, prepared: _Prepared) -> dict[str, VolumePlan]:
        def token(audience: str, seconds: int) -> str | None:
            return prepared.tokens.get(TokenWish(audience, seconds))

        return volumes.plan_volumes(pod, self._around(""), _source_of(prepared), token)

    async def _read_sources(self, pod: PodSpec) -> _Prepared:
        """The configMaps, secrets and tokens that the pod names and that exist."""
        wanted = volumes.wanted_by(pod)
        objects: dict[tuple[str, str], JsonObject] = {}
        for kind, names in ((CONFIG_MAP, wanted.config_maps), (SECRET, wanted.secrets)):
            for name in sorted(names):
                try:
                    objects[kind.kind, name] = await self._host.client.get(
                        kind, name, pod.namespace
                    )
                except ApiError as error:
                    if error.reason != "NotFound":
                        raise _unreadable(f"{kind.kind} {name}", error) from error
        if ROOT_CA_CONFIG_MAP in wanted.config_maps and self._host.ca_pem:
            own = {"data": {"ca.crt": self._host.ca_pem}}
            objects.setdefault((CONFIG_MAP.kind, ROOT_CA_CONFIG_MAP), own)
        tokens = {wish: await self._token(pod, wish) for wish in wanted.tokens}
        if tokens:
            shortest = min(wish.seconds for wish in tokens)
            self._tokens_due = self._host.clock.now() + 0.8 * shortest
        return _Prepared(objects, tokens)

    async def _token(self, pod: PodSpec, wish: TokenWish) -> str:
        account = str((pod.raw.get("spec") or {}).get("serviceAccountName") or "default")
        body: JsonObject = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {
                "expirationSeconds": wish.seconds,
                "boundObjectRef": {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "name": pod.name,
                    "uid": pod.uid,
                },
            },
        }
        if wish.audience:
            body["spec"]["audiences"] = [wish.audience]
        try:
            answer = await self._host.client.create_subresource(
                SERVICE_ACCOUNT, account, "token", body, pod.namespace
            )
        except ApiError as error:
            raise _unreadable(f"the token of service account {account}", error) from error
        return str(answer["status"]["token"])

    async def _renew_tokens(self, pod: PodSpec) -> None:
        """Write the pod's volumes anew when its tokens come to their end."""
        if self._tokens_due is None or self._host.clock.now() < self._tokens_due:
            return
        folder = self.folder.path / "volumes"
        try:
            plans = self._volume_plans(pod, await self._read_sources(pod))
            await self._in_thread(lambda: _write_volumes(folder, plans, []))
        except (CannotStartError, OSError) as error:
            self._tokens_due = self._host.clock.now() + CONTAINER_RETRY_SECONDS_MAX
            self._note(pod, "Warning", "FailedMount", f"a token could not be renewed: {error}")

    # -- observing ---------------------------------------------------------------------------

    async def _adopt(self) -> None:
        """Find out what an earlier life of the node did for this pod."""

        def read() -> tuple[PodRecord | None, dict[str, tuple[Run, RunRecord | None]]]:
            found = {
                name: launch.adopt(self.folder, name, self._host.machine)
                for name in self.folder.containers()
            }
            return self.folder.record(), found

        self._alive.clear()
        self._over.clear()
        self._record, found = await self._in_thread(read)
        for name, (run, record) in found.items():
            self._runs[name] = run
            if record is not None:
                self._watch(name, record)
        if self._alive and volumes.wanted_by(self._pod()).tokens:
            self._tokens_due = self._host.clock.now()

    def _watch(self, name: str, record: RunRecord) -> None:
        """Be woken when the run's shim ends."""
        assert record.process is not None, "only a process can be watched"
        self._alive[name] = record
        loop = asyncio.get_running_loop()
        try:
            descriptor = processes.open_process(record.process)
        except OSError as error:
            if error.errno not in {errno.EMFILE, errno.ENFILE}:
                raise
            loop.call_later(LOG_SAMPLE_SECONDS, self._watch_later, name, record)
            return
        if descriptor is None:
            self._note_over(name)
            return
        self._watched[name] = descriptor
        loop.add_reader(descriptor, self._note_over, name)

    def _watch_later(self, name: str, record: RunRecord) -> None:
        """No descriptor was free: look again whether it still runs."""
        if self._alive.get(name) is record:
            self._watch(name, record)

    def _note_over(self, name: str) -> None:
        self._unwatch(name)
        self._over.add(name)
        self._wake.set()

    def _unwatch(self, name: str) -> None:
        descriptor = self._watched.pop(name, None)
        if descriptor is not None:
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)

    async def _settle(self, name: str) -> None:
        """Read how a run ended."""
        record = self._alive[name]
        spec = self._pod().container(name)
        wants_log = spec is not None and (
            spec.raw.get("terminationMessagePolicy") == "FallbackToLogsOnError"
        )
        run = await self._in_thread(lambda: launch.settle(record, self._host.machine))
        ended = run.ended
        assert ended is not None, f"the shim of {name} is gone, so its run has ended"
        if wants_log and ended.exit_code != 0 and not ended.message:
            tail = await self._in_thread(lambda: logs.read_tail(record.path))
            ended = replace(ended, message=tail)
        self._runs[name] = replace(self._runs[name], ended=ended)
        del self._alive[name]
        self._over.discard(name)

    async def _clean_up(self) -> None:
        """The object is gone: kill what runs and remove the folder."""
        for record in list(self._alive.values()):
            await self._in_thread(partial(launch.kill, record))
        while self._alive:
            self._wake.clear()
            for name in sorted(self._over):
                await self._settle(name)
            if self._alive:
                await sleep_until(self._host.clock, self._wake, None)
        self._ledger.release(self.folder.uid)
        await self._in_thread(self.folder.remove)

    def _note(self, pod: PodSpec, type_: str, reason: str, message: str) -> None:
        self._host.recorder.event(pod.raw, type_, reason, message)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await run_in(self._host.executor, work)


def _source_of(prepared: _Prepared) -> environment.Source:
    def source(kind: str, name: str) -> JsonObject | None:
        return prepared.objects.get((kind, name))

    return source


def _write_volumes(
    folder: Path, plans: Mapping[str, VolumePlan], mounts: list[volumes.Mount]
) -> None:
    for plan in plans.values():
        volumes.write_volume(folder, plan)
    volumes.prepare_sources(mounts, folder)


def _unreadable(what: str, error: ApiError) -> CannotStartError:
    return CannotStartError("ContainerCreating", f"{what} cannot be read: {error.message}")
