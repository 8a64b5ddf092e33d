"""Runs the pods of all nodes of a fleet: one `NodeRunner` serves many nodes and is one API client.

Pods bound to process nodes get a `ProcessPod` each, those on simulated nodes go to the `Simulator`.
At the start the folders of earlier lives are compared with the API: containers whose pod is gone
are killed, the rest is adopted. Cancelling `run` leaves containers running; `stop` ends them.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import structlog

from volcano.api.kinds import POD
from volcano.api.objects import JsonObject, key_of, metadata, name_of, uid_of
from volcano.api.pod_logs import LogOptions
from volcano.base.clock import Clock
from volcano.base.errors import ApiError, NodeError
from volcano.base.limits import (
    LOG_SAMPLE_SECONDS,
    NODE_THREADS_MAX,
    STATUS_RETRY_SECONDS_MAX,
)
from volcano.client.client import Client
from volcano.client.events import EventRecorder
from volcano.client.informer import Change, Informer
from volcano.node import launch, logs, machine, processes
from volcano.node.devices import DeviceLedger
from volcano.node.fleet import GPU_RESOURCE, Fleet, NodeKind
from volcano.node.plan import TERMINAL
from volcano.node.process_pod import Host, ProcessPod
from volcano.node.records import PodFolder, PodRecord, RunRecord
from volcano.node.registration import Registration
from volcano.node.simulated import Simulator
from volcano.node.status import Place
from volcano.node.waiting import run_in
from volcano.node.writing import StatusWriter

STOP_EXTRA_SECONDS = 5.0
_RETRY_SECONDS_FIRST = 0.2
_log = structlog.get_logger(__name__)


class NodeRunner:
    """All nodes of a fleet, and the source of their containers' logs.

    Args:
        data_dir: folder of the nodes' own records; used by one runner at a time.
        api_url: where pods find the API server; `ca_pem` its certificate authority.
        pods: a pod informer that runs elsewhere; without one the runner has its own.
        inherited: environment of which containers get PATH, HOME and LANG.
    """

    def __init__(
        self,
        client: Client,
        fleet: Fleet,
        data_dir: Path,
        clock: Clock,
        *,
        api_url: str = "",
        ca_pem: str = "",
        pods: Informer | None = None,
        inherited: Mapping[str, str] | None = None,
    ) -> None:
        self._client = client
        self._fleet = fleet
        self._clock = clock
        self._nodes = {node.name: node for node in fleet.nodes}
        self._root = data_dir / "pods"
        self._api_url = api_url
        self._ca_pem = ca_pem
        self._inherited = dict(os.environ if inherited is None else inherited)
        self._own_informer = pods is None
        self._pods = pods if pods is not None else Informer(client, POD, clock=clock)
        self._executor = ThreadPoolExecutor(NODE_THREADS_MAX, thread_name_prefix="node")
        self._recorder = EventRecorder(client, "volcano-node", clock=clock)
        self._writer = StatusWriter(client, clock)
        self._host: Host | None = None
        self._simulator: Simulator | None = None
        self._ledgers = {
            node.name: DeviceLedger(node) for node in fleet.nodes if node.kind is NodeKind.PROCESS
        }
        self._workers: dict[str, ProcessPod] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stopping = False
        self._registered = asyncio.Event()

    async def registered(self) -> None:
        """Return once all nodes are in the API, ready, and their pods are looked after."""
        await self._registered.wait()

    async def run(self) -> None:
        """Register the nodes and run their pods until cancelled; containers then live on.

        Raises:
            NodeError: process nodes cannot work on this system.
            ApiError: the API refuses one of the nodes.
        """
        here = await run_in(self._executor, self._look_around)
        address = machine.address()
        place = Place(address, address)
        self._host = Host(
            client=self._client,
            clock=self._clock,
            recorder=self._recorder,
            executor=self._executor,
            machine=here,
            fleet=self._fleet,
            root=self._root,
            place=place,
            api_url=self._api_url,
            ca_pem=self._ca_pem,
            inherited=self._inherited,
            writer=self._writer,
        )
        self._simulator = Simulator(self._fleet, place, self._writer, self._clock)
        registration = Registration(
            self._client, self._fleet.nodes, address, here.cgroups, self._clock
        )
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._recorder.run())
                if self._own_informer:
                    group.create_task(self._pods.run())
                group.create_task(self._simulator.run())
                group.create_task(self._sample_logs())
                await registration.register()
                group.create_task(registration.run())
                await self._pods.synced()
                folders = await run_in(self._executor, lambda: _read_folders(self._root))
                # No await from here on, or a deletion could slip through between the two.
                self._compare_folders(folders)
                self._pods.add_handler(self._on_pod)
                self._registered.set()
        finally:
            await self._cancel_workers()

    async def stop(self, grace_seconds: float) -> None:
        """End the containers of process nodes, each with its pod's grace, at most this one.

        Their pods become Failed with reason Terminated. Call it while `run` runs and the API
        answers, then cancel `run`.
        """
        self._stopping = True
        for worker in self._workers.values():
            worker.shut_down(grace_seconds)
        waiting = [task for task in self._tasks.values() if not task.done()]
        if waiting:
            await asyncio.wait(waiting, timeout=grace_seconds + STOP_EXTRA_SECONDS)
        await self._cancel_workers()

    async def open(self, pod: JsonObject, options: LogOptions) -> AsyncIterator[bytes]:
        """Chunks of a container's log (`api.pod_logs.PodLogs`).

        Raises:
            ApiError: BadRequest when there is no such log (yet), and why.
        """
        name = str((pod.get("spec") or {}).get("nodeName") or "")
        node = self._nodes.get(name)
        container = options.container or _only_container(pod)
        if node is not None and node.kind is NodeKind.SIMULATED:
            raise ApiError(
                "BadRequest",
                f'container "{container}" in pod "{name_of(pod)}" ran on simulated node {name}: '
                f"nothing runs there, so there is no log",
            )
        folder = PodFolder(self._root, uid_of(pod))
        record = await run_in(
            self._executor, lambda: _find_run(folder, container, previous=options.previous)
        )
        if record is None:
            raise ApiError("BadRequest", _no_log(pod, container, previous=options.previous))

        def alive() -> bool:
            process = record.process
            return process is not None and processes.is_alive(process)

        return logs.stream_log(record.path, options, alive, self._clock, self._executor)

    # -- pods --------------------------------------------------------------------------------

    def _look_around(self) -> launch.Machine:
        self._root.mkdir(parents=True, exist_ok=True)
        if self._ledgers and not Path("/proc/self/stat").exists():
            raise NodeError(
                "process nodes need Linux with /proc; use a fleet of simulated nodes here "
                "(volcano up --nodes FILE, kind: simulated)"
            )
        return launch.find_machine()

    def _compare_folders(self, found: Mapping[str, tuple[PodRecord | None, bool]]) -> None:
        """Take up what earlier lives left: restore devices, forget pods that are gone."""
        known = {uid_of(pod): pod for pod in self._pods.items()}
        for uid, (record, done) in found.items():
            pod = known.get(uid)
            if pod is None:
                node = self._nodes.get(record.node) if record is not None else None
                stale: JsonObject = {"metadata": {"uid": uid}, "spec": {}}
                self._begin(stale, node.name if node is not None else next(iter(self._ledgers), ""))
                worker = self._workers.get(uid)
                if worker is not None:
                    worker.vanish()
            elif record is not None and not done and record.node in self._ledgers:
                devices = record.devices.get(GPU_RESOURCE, {})
                self._ledgers[record.node].restore(uid, devices)

    def _on_pod(self, change: Change) -> None:
        old, new = change.old, change.new
        if old is not None and (new is None or uid_of(old) != uid_of(new)):
            self._vanished(old)
        if new is None:
            return
        name = str((new.get("spec") or {}).get("nodeName") or "")
        node = self._nodes.get(name)
        if node is None:
            return
        if node.kind is NodeKind.SIMULATED:
            assert self._simulator is not None, "the simulator is made before pods come"
            self._simulator.update(new)
            return
        worker = self._workers.get(uid_of(new))
        if worker is not None:
            worker.update(new)
        elif not self._stopping and self._needs_work(new):
            self._begin(new, name)

    def _needs_work(self, pod: JsonObject) -> bool:
        """Whether a node has anything to do for a pod: not for one that ended and stays."""
        if (pod.get("status") or {}).get("phase") not in TERMINAL:
            return True
        if metadata(pod).get("deletionTimestamp"):
            return True
        folder = PodFolder(self._root, uid_of(pod))
        return folder.exists() and not folder.is_done()

    def _vanished(self, pod: JsonObject) -> None:
        uid = uid_of(pod)
        name = str((pod.get("spec") or {}).get("nodeName") or "")
        node = self._nodes.get(name)
        if node is not None and node.kind is NodeKind.SIMULATED and self._simulator is not None:
            self._simulator.forget(uid)
        if uid not in self._workers and node is not None and node.kind is NodeKind.PROCESS:
            if not PodFolder(self._root, uid).exists():
                return
            self._begin(pod, name)
        worker = self._workers.get(uid)
        if worker is not None:
            worker.vanish()

    def _begin(self, pod: JsonObject, node_name: str) -> None:
        node, ledger = self._nodes.get(node_name), self._ledgers.get(node_name)
        if self._host is None or node is None or ledger is None:
            return
        uid = uid_of(pod)
        self._workers[uid] = worker = ProcessPod(self._host, node, ledger, pod)
        self._tasks[uid] = asyncio.create_task(self._guard(uid, worker, key_of(pod)))

    async def _guard(self, uid: str, worker: ProcessPod, key: str) -> None:
        """Run one pod; trouble with one is logged and tried again, and touches no other."""
        pause = _RETRY_SECONDS_FIRST
        while True:
            try:
                await worker.run()
            except Exception:  # noqa: BLE001 - the boundary of one pod (style 2.8)
                _log.exception("pod.failed", pod=key, seconds=pause)
                await self._clock.sleep(pause)
                pause = min(2 * pause, STATUS_RETRY_SECONDS_MAX)
            else:
                break
        self._workers.pop(uid, None)
        self._tasks.pop(uid, None)
        self._writer.forget(uid)

    async def _cancel_workers(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._workers.clear()
        self._tasks.clear()

    async def _sample_logs(self) -> None:
        """Note the growth of running containers' logs, while there are any."""
        seen: dict[Path, int] = {}
        while True:
            await self._clock.sleep(LOG_SAMPLE_SECONDS)
            paths = [path for worker in self._workers.values() for path in worker.running_logs()]
            if not paths:
                seen = {}
                continue
            now, before = self._clock.now(), seen
            seen = await run_in(self._executor, lambda: _note_all(paths, before, now))  # noqa: B023


def _note_all(paths: Iterable[Path], seen: Mapping[Path, int], now: float) -> dict[Path, int]:
    return {path: logs.note_growth(path, seen.get(path, 0), now) for path in paths}


def _read_folders(root: Path) -> dict[str, tuple[PodRecord | None, bool]]:
    found = {}
    for entry in os.scandir(root):
        if entry.is_dir():
            folder = PodFolder(root, entry.name)
            found[entry.name] = (folder.record(), folder.is_done())
    return found


def _find_run(folder: PodFolder, container: str, *, previous: bool) -> RunRecord | None:
    """The newest started run of a container, or the one before it."""
    started = []
    for number in folder.run_numbers(container):
        record = folder.read_run(container, number)
        if record is not None and (record.process is not None or (record.path / "exit").exists()):
            started.append(record)
    wanted = -2 if previous else -1
    return started[wanted] if len(started) >= -wanted else None


def _only_container(pod: JsonObject) -> str:
    containers = (pod.get("spec") or {}).get("containers") or ()
    return str(containers[0]["name"]) if containers else ""


def _no_log(pod: JsonObject, container: str, *, previous: bool) -> str:
    name = name_of(pod)
    if previous:
        return f'previous terminated container "{container}" in pod "{name}" not found'
    status = pod.get("status") or {}
    states = [
        *(status.get("containerStatuses") or ()),
        *(status.get("initContainerStatuses") or ()),
    ]
    for entry in states:
        waiting = (entry.get("state") or {}).get("waiting") or {}
        if entry.get("name") == container and waiting.get("reason"):
            return (
                f'container "{container}" in pod "{name}" is waiting to start: {waiting["reason"]}'
            )
    if not (pod.get("spec") or {}).get("nodeName"):
        return f"pod {name} does not have a host assigned"
    return f'container "{container}" in pod "{name}" is waiting to start: ContainerCreating'
