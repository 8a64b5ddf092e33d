"""Five jobs at a time, wave after wave: each kind of end a job can come to, every start counted.

Every container appends a line to one file when it starts: job, pod uid, restart count. The restart
count is the number in the path of the container's own log.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tests.waiting import eventually
from volcano.api.kinds import JOB, POD
from volcano.api.objects import JsonObject, metadata, name_of, uid_of
from volcano.base.errors import ApiError
from volcano.client.client import Client

T = TypeVar("T")
NAMESPACE = "work"
JOB_LABEL = "volcano.sh/job-name"
WAVE_SECONDS_MAX = 150.0
AGAIN_SECONDS = 0.1
_START = (
    'log=$(readlink /proc/self/fd/2); n=${log%/log}; n=${n##*/}; echo "$JOB $UID_ $n" >>STARTS; '
)


@dataclass(frozen=True, slots=True)
class Story:
    """One job and how it must end.

    Attributes:
        tasks: name → script; `n` in it is the restart count.
        starts: lines its containers write; -1: not counted (they are stopped at any moment).
        codes: exit codes of the pods that are kept at the end.
    """

    tasks: dict[str, str]
    phase: str
    codes: list[int]
    starts: dict[str, int]
    spec: JsonObject = field(default_factory=dict)
    restart: str = "Never"
    retries: int = 0
    restarts: int = 0
    replicas: int = 1


STORIES = {
    "gang": Story({"work": "sleep 2.5"}, "Completed", [0, 0, 0], {"work": 3}, replicas=3),
    "fails": Story({"work": "sleep 1.5; exit 7"}, "Failed", [7], {"work": 1}),
    "retries": Story(
        {"work": "sleep 1; test -e MARK && exit 0; : >MARK; exit 3"},
        "Completed",
        [0],
        {"work": 2},
        {"policies": [{"event": "PodFailed", "action": "RestartJob"}]},
        retries=1,
    ),
    "restarts": Story(
        {"work": "sleep 1; test $n -gt 0 || exit 5"},
        "Completed",
        [0],
        {"work": 2},
        restart="OnFailure",
        restarts=1,
    ),
    "aborts": Story(
        {"main": "sleep 2; exit 42", "side": "sleep 600"},
        "Aborted",
        [42],
        {"main": 1, "side": -1},
        {"policies": [{"exitCode": 42, "action": "AbortJob"}]},
    ),
}


def manifest(story: Story, name: str, folder: Path) -> JsonObject:
    """The Job of a story."""
    return {
        "apiVersion": JOB.api_version,
        "kind": JOB.kind,
        "metadata": {"name": name},
        "spec": {
            "schedulerName": "volcano",
            "minAvailable": story.replicas * len(story.tasks),
            "tasks": [
                _task(task, script, story, name, folder) for task, script in story.tasks.items()
            ],
            **story.spec,
        },
    }


def _task(task: str, script: str, story: Story, name: str, folder: Path) -> JsonObject:
    text = _START.replace("STARTS", str(folder / "starts")) + script
    uid = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}
    container = {
        "name": "main",
        "image": "none",
        "command": ["/bin/sh", "-c", text.replace("MARK", str(folder / f"{name}.mark"))],
        "env": [{"name": "JOB", "value": f"{name}/{task}"}, {"name": "UID_", **uid}],
        "resources": {"requests": {"cpu": "100m"}},
    }
    spec = {
        "restartPolicy": story.restart,
        "terminationGracePeriodSeconds": 2,
        "containers": [container],
    }
    return {"name": task, "replicas": story.replicas, "template": {"spec": spec}}


def read_starts(folder: Path) -> Counter[tuple[str, str, str]]:
    """Each start as it was written, none twice: (job/task, pod uid, restart count)."""
    path = folder / "starts"
    lines = path.read_text().splitlines() if path.exists() else []
    words = [tuple(line.split()) for line in lines]
    assert all(len(each) == 3 for each in words), f"broken lines in {path}"
    starts = Counter((job, uid, count) for job, uid, count in words)
    twice = {start: count for start, count in starts.items() if count > 1}
    assert not twice, f"containers were started more than once: {twice}"
    return starts


async def asked(write: Callable[[], Awaitable[T]]) -> T:
    """Ask until there is an answer: the server is away now and then."""
    while True:
        try:
            return await write()
        except ApiError as error:
            if error.reason != "ServiceUnavailable":
                raise
        await asyncio.sleep(AGAIN_SECONDS)


class Waves:
    """Runs waves until told to stop, and checks each.

    Args:
        series: tells the names of these jobs from those of other waves.

    Attributes:
        done: waves that ended as they must.
        waiting_for: what is being waited for, for the report of a failure.
    """

    def __init__(self, series: str, client: Client, folder: Path) -> None:
        self.done = 0
        self.waiting_for = ""
        self._series = series
        self._client = client
        self._folder = folder

    async def run(self, stopped: asyncio.Event) -> None:
        """Wave after wave; ends with a whole one."""
        while not (stopped.is_set() and self.done):
            number = f"{self._series}{self.done + 1}"
            for label, story in STORIES.items():
                await self._create(manifest(story, f"{label}-{number}", self._folder))
            for label, story in STORIES.items():
                await self._check(story, f"{label}-{number}")
            for label in STORIES:
                await self._remove(f"{label}-{number}")
            self.done += 1

    async def _create(self, job: JsonObject) -> None:
        try:
            await asked(lambda: self._client.create(JOB, job, NAMESPACE))
        except ApiError as error:
            # A creation whose answer was lost meets its own object when it is asked for again.
            if error.reason != "AlreadyExists":
                raise

    async def _check(self, story: Story, name: str) -> None:
        """Wait for the end of a job; compare phase, codes, retries, restarts and starts."""
        job: JsonObject = {}

        async def ended() -> bool:
            job.update(await asked(lambda: self._client.get(JOB, name, NAMESPACE)))
            return _phase(job) in {"Completed", "Failed", "Aborted", "Terminated"}

        self.waiting_for = f"the end of {name}"
        await eventually(ended, within=WAVE_SECONDS_MAX, about=self.waiting_for)
        self.waiting_for = ""
        pods = (
            await asked(
                lambda: self._client.list(POD, NAMESPACE, label_selector=f"{JOB_LABEL}={name}")
            )
        )["items"]
        status = job.get("status") or {}
        found = (_phase(job), sorted(map(_code, pods)), int(status.get("retryCount") or 0))
        wanted = (story.phase, story.codes, story.retries)
        assert found == wanted, f"{name}: phase, codes, retries {found}, not {wanted}: {status}"
        restarts = max((_status(pod).get("restartCount", 0) for pod in pods), default=0)
        assert restarts == story.restarts, f"{name}: {restarts} restarts, not {story.restarts}"
        self._check_starts(story, name, pods)

    def _check_starts(self, story: Story, name: str, pods: list[JsonObject]) -> None:
        starts = read_starts(self._folder)
        for task, wanted in story.starts.items():
            written = [start for start in starts if start[0] == f"{name}/{task}"]
            if wanted >= 0:
                assert len(written) == wanted, (
                    f"{name}/{task}: started {written}, not {wanted} times"
                )
            else:
                assert len(written) <= story.replicas, f"{name}/{task}: started {written}"
        for pod in pods:
            for count in range(_status(pod).get("restartCount", 0) + 1):
                mine = [s for s in starts if s[1] == uid_of(pod) and s[2] == str(count)]
                assert len(mine) == 1, f"run {count} of {name_of(pod)} left {mine}"

    async def _remove(self, name: str) -> None:
        async def gone() -> bool:
            try:
                await asked(lambda: self._client.delete(JOB, name, NAMESPACE))
            except ApiError as error:
                if error.reason != "NotFound":
                    raise
            pods = await asked(
                lambda: self._client.list(POD, NAMESPACE, label_selector=f"{JOB_LABEL}={name}")
            )
            return not pods["items"]

        self.waiting_for = f"{name} to be gone"
        await eventually(gone, within=WAVE_SECONDS_MAX, about=self.waiting_for)
        self.waiting_for = ""


def _phase(job: JsonObject) -> str:
    return str(((job.get("status") or {}).get("state") or {}).get("phase") or "")


def _status(pod: JsonObject) -> JsonObject:
    found: list[JsonObject] = (pod.get("status") or {}).get("containerStatuses") or [{}]
    return found[0]


def _code(pod: JsonObject) -> int:
    terminated = (_status(pod).get("state") or {}).get("terminated")
    assert terminated is not None, f"{metadata(pod)['name']} has not ended: {pod.get('status')}"
    return int(terminated["exitCode"])
