"""The life of a pod on a node, as one pure function: what is known of its containers → what next.

`decide` looks at the pod, the state of each container and the time, and says which containers to
start, stop and kill now, when to look again, and which phase the pod is in. It keeps nothing and
touches nothing, so that process nodes and simulated nodes share it and tests are tables.

Rules (those of the kubelet): init containers run one by one to success, sidecars (init containers
with restartPolicy Always) only need to have started; then all app containers start together. A
container that ended is started again as its restart policy says: the first time at once, then after
10 s doubling up to 300 s; ten minutes of running start the count over. Sidecars stop when the app
containers are done.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from volcano.base.limits import (
    CONTAINER_BACKOFF_RESET_SECONDS,
    CONTAINER_BACKOFF_SECONDS_FIRST,
    CONTAINER_BACKOFF_SECONDS_MAX,
)
from volcano.node.pods import ContainerSpec, PodSpec, RestartPolicy, Role

TERMINAL = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class Ended:
    """How one run of a container ended; times in seconds since the epoch."""

    exit_code: int
    reason: str
    started_at: float
    finished_at: float
    message: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """All that is known of one container.

    Attributes:
        restarts: restart count of the current run; 0 for the first.
        running_since: when the current run started, while it runs.
        ended: how the current run ended, once it has.
        last: how the run before the current one ended.
        level: back-off level at which the current run was started.
        stopping_since: when the current run was asked to stop.
        waiting: reason and message why a start did not come about.
        retry_at: not started again before this time.
    """

    restarts: int = 0
    running_since: float | None = None
    ended: Ended | None = None
    last: Ended | None = None
    level: int = 0
    stopping_since: float | None = None
    waiting: tuple[str, str] | None = None
    retry_at: float | None = None

    @property
    def running(self) -> bool:
        """Whether it runs now."""
        return self.running_since is not None and self.ended is None

    @property
    def has_started(self) -> bool:
        """Whether any run of it was started."""
        return self.running_since is not None or self.ended is not None or self.last is not None


@dataclass(frozen=True, slots=True)
class Start:
    """Start this container as run number `restarts`."""

    name: str
    restarts: int
    level: int = 0


@dataclass(frozen=True, slots=True)
class Stopping:
    """The pod must stop, whatever its containers say.

    Attributes:
        kill_at: when the grace is over.
        reason, message: what the pod's status says then; empty when the pod is being deleted.
    """

    kill_at: float
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do now.

    Attributes:
        start: containers to start; `stop`: to ask to end; `kill`: whose grace is over.
        back_off: containers that wait for their time, with the seconds of their pause.
        wake_at: when to decide again if nothing happens before.
        phase, reason, message: of the pod's status.
        finished: nothing runs and nothing will be started any more.
    """

    start: tuple[Start, ...] = ()
    stop: tuple[str, ...] = ()
    kill: tuple[str, ...] = ()
    back_off: Mapping[str, float] = field(default_factory=dict)
    wake_at: float | None = None
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    finished: bool = False


def back_off_seconds(level: int) -> float:
    """The pause before a start at a level: 0 at once, then 10 s doubling up to 300 s."""
    if level <= 1:
        return 0.0
    pause = CONTAINER_BACKOFF_SECONDS_FIRST * 2.0 ** min(level - 2, 30)
    return min(pause, CONTAINER_BACKOFF_SECONDS_MAX)


def next_level(run: Run) -> int:
    """The back-off level of the start after this ended run."""
    assert run.ended is not None, "a level follows a run that ended"
    ran = run.ended.finished_at - run.ended.started_at
    return 1 if ran >= CONTAINER_BACKOFF_RESET_SECONDS else run.level + 1


def may_restart(spec: ContainerSpec, ended: Ended) -> bool:
    """Whether the container's policy wants it started again."""
    match spec.restart:
        case RestartPolicy.ALWAYS:
            return True
        case RestartPolicy.ON_FAILURE:
            return ended.exit_code != 0
        case RestartPolicy.NEVER:
            return False


def decide(
    pod: PodSpec, runs: Mapping[str, Run], now: float, shutdown: Stopping | None = None
) -> Plan:
    """The plan for a pod whose containers are in these states (by name; absent: never started).

    Args:
        shutdown: set when the node itself stops; deletion and the deadline are in the pod.
    """
    state = _State(pod, {c.name: runs.get(c.name, Run()) for c in pod.containers}, now)
    stopping = _stopping(pod, now, shutdown)
    if stopping is not None:
        return state.stop_all(stopping)
    return state.go_on()


def _stopping(pod: PodSpec, now: float, shutdown: Stopping | None) -> Stopping | None:
    """Why the pod must stop, deletion first."""
    if pod.deletion_at is not None:
        return Stopping(pod.deletion_at)
    if pod.phase in TERMINAL:
        return Stopping(now + pod.grace_seconds)
    deadline = _deadline(pod)
    if deadline is not None and now >= deadline:
        return Stopping(
            now + pod.grace_seconds,
            "DeadlineExceeded",
            "Pod was active on the node longer than the specified deadline",
        )
    return shutdown


def _deadline(pod: PodSpec) -> float | None:
    if pod.deadline_seconds is None or pod.started_at is None:
        return None
    return pod.started_at + pod.deadline_seconds


@dataclass(slots=True)
class _State:
    """One decision in the making."""

    pod: PodSpec
    runs: dict[str, Run]
    now: float
    starts: list[Start] = field(default_factory=list)
    stops: list[str] = field(default_factory=list)
    kills: list[str] = field(default_factory=list)
    back_off: dict[str, float] = field(default_factory=dict)
    wakes: list[float] = field(default_factory=list)

    def stop_all(self, stopping: Stopping) -> Plan:
        """End what runs: app containers and init containers first, sidecars after them."""
        mains = [c for c in self.pod.containers if c.role is not Role.SIDECAR]
        sidecars = list(self.pod.role(Role.SIDECAR))
        if not self._stop(mains, stopping.kill_at):
            self._stop(sidecars, stopping.kill_at)
        alive = any(run.running for run in self.runs.values())
        phase, reason, message = self.pod.phase, "", ""
        if stopping.reason and self._ended_by_itself():
            phase = self._phase()
        elif stopping.reason:
            phase = "Running" if alive else "Failed"
            reason, message = stopping.reason, stopping.message
        elif phase not in TERMINAL:
            phase = self._phase_when_deleted(alive=alive)
        return self._plan(phase, finished=not alive, reason=reason, message=message)

    def go_on(self) -> Plan:
        """Take the pod further: init containers, then the app containers, then the end."""
        deadline = _deadline(self.pod)
        if deadline is not None:
            self.wakes.append(deadline)
        phase = self._initialise()
        if phase is None:
            phase = self._run_apps()
        elif phase == "Failed":
            self._stop(list(self.pod.role(Role.SIDECAR)), self.now + self.pod.grace_seconds)
        alive = any(run.running for run in self.runs.values())
        if phase in TERMINAL and alive:
            return self._plan("Running")
        return self._plan(phase, finished=phase in TERMINAL)

    def _initialise(self) -> str | None:
        """The pod's phase while init containers are not through; None when they are."""
        for spec in self.pod.role(Role.INIT, Role.SIDECAR):
            run = self.runs[spec.name]
            if spec.role is Role.SIDECAR:
                if not self._apps_done():
                    self._start_if_due(spec, run)
                if not run.has_started and not self._apps_started():
                    return "Pending"
                continue
            if run.ended is not None and run.ended.exit_code == 0:
                continue
            if self._apps_started():
                continue
            if run.ended is not None and not may_restart(spec, run.ended):
                return "Failed"
            self._start_if_due(spec, run)
            return "Pending"
        return None

    def _run_apps(self) -> str:
        apps = list(self.pod.role(Role.APP))
        for spec in apps:
            self._start_if_due(spec, self.runs[spec.name])
        if self._apps_done():
            self._stop(list(self.pod.role(Role.SIDECAR)), self.now + self.pod.grace_seconds)
        return self._phase()

    def _phase(self) -> str:
        runs = [self.runs[spec.name] for spec in self.pod.role(Role.APP)]
        if any(not run.has_started for run in runs):
            return "Pending"
        if not self._apps_done():
            return "Running"
        return self._outcome(runs)

    def _outcome(self, runs: list[Run]) -> str:
        codes = [run.ended.exit_code for run in runs if run.ended is not None]
        return "Succeeded" if codes and not any(codes) and len(codes) == len(runs) else "Failed"

    def _phase_when_deleted(self, *, alive: bool) -> str:
        """A deleted pod keeps its phase until nothing runs; then it is done one way or other."""
        apps = [self.runs[spec.name] for spec in self.pod.role(Role.APP)]
        if alive or not any(run.has_started for run in self.runs.values()):
            return self.pod.phase
        return self._outcome(apps)

    def _ended_by_itself(self) -> bool:
        apps = [self.runs[spec.name] for spec in self.pod.role(Role.APP)]
        return self._apps_done() and all(run.stopping_since is None for run in apps)

    def _apps_started(self) -> bool:
        return any(self.runs[spec.name].has_started for spec in self.pod.role(Role.APP))

    def _apps_done(self) -> bool:
        for spec in self.pod.role(Role.APP):
            ended = self.runs[spec.name].ended
            if ended is None or may_restart(spec, ended):
                return False
        return True

    def _start_if_due(self, spec: ContainerSpec, run: Run) -> None:
        if run.running:
            return
        due, level, restarts = self.now, 0, run.restarts
        if run.ended is not None:
            if not may_restart(spec, run.ended):
                return
            level, restarts = next_level(run), run.restarts + 1
            pause = back_off_seconds(level)
            due = run.ended.finished_at + pause
            if due > self.now:
                self.back_off[spec.name] = pause
        if run.retry_at is not None:
            due = max(due, run.retry_at)
        if due > self.now:
            self.wakes.append(due)
            return
        self.starts.append(Start(spec.name, restarts, level))

    def _stop(self, specs: list[ContainerSpec], kill_at: float) -> bool:
        """Ask these to end, kill those whose grace is over; whether any of them still runs."""
        alive = [spec.name for spec in specs if self.runs[spec.name].running]
        for name in alive:
            since = self.runs[name].stopping_since
            end = min(kill_at, since + self.pod.grace_seconds) if since is not None else kill_at
            if self.now >= end:
                self.kills.append(name)
                continue
            if since is None:
                self.stops.append(name)
            self.wakes.append(end)
        return bool(alive)

    def _plan(
        self, phase: str, *, finished: bool = False, reason: str = "", message: str = ""
    ) -> Plan:
        return Plan(
            start=tuple(self.starts),
            stop=tuple(self.stops),
            kill=tuple(self.kills),
            back_off=self.back_off,
            wake_at=min(self.wakes, default=None),
            phase=phase,
            reason=reason,
            message=message,
            finished=finished,
        )
