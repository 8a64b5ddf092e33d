"""`vcctl job logs`: the logs of a job's pods on one stream, whole lines, each with its pod.

Following starts one thread for each container that has begun; the job is looked at twice a second
until it has ended and every log is read to its end.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import BinaryIO

from volcano.api import kinds
from volcano.api.objects import JsonObject, metadata, name_of, uid_of
from volcano.base.errors import ApiError
from volcano.base.limits import LOG_THREADS_MAX
from volcano.cli.job_view import pod_reason
from volcano.client.blocking import BlockingClient

ENDED_PHASES = frozenset({"Completed", "Failed", "Aborted", "Terminated"})
_POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class LogRequest:
    """Whose logs: a job, and optionally one task and one container."""

    namespace: str
    job: str
    task: str = ""
    container: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """One container's log."""

    pod: str
    uid: str
    container: str
    label: str


def sources_of(pods: Iterable[JsonObject], request: LogRequest) -> list[Source]:
    """Containers with a log to read, in order of pod and container.

    The label leaves out the job's name, and the container's where the pod has only one.
    """
    sources = []
    for pod in sorted(pods, key=name_of):
        if not _has_begun(pod) or not _is_wanted(pod, request):
            continue
        names = [container["name"] for container in pod["spec"].get("containers") or ()]
        short = name_of(pod).removeprefix(f"{request.job}-")
        for name in names:
            if request.container in ("", name):
                label = short if len(names) == 1 else f"{short}/{name}"
                sources.append(Source(name_of(pod), uid_of(pod), name, label))
    return sources


def _has_begun(pod: JsonObject) -> bool:
    status = pod.get("status") or {}
    return status.get("phase") in ("Running", "Succeeded", "Failed") and bool(
        (pod.get("spec") or {}).get("nodeName")
    )


def _is_wanted(pod: JsonObject, request: LogRequest) -> bool:
    labels = metadata(pod).get("labels") or {}
    return request.task in ("", labels.get("volcano.sh/task-spec"))


def lines_of(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines with their newline, however the chunks are cut; the last one gets one."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line + b"\n"
    if rest:
        yield rest + b"\n"


class JobLogs:
    """Prints the logs of one job.

    Args:
        connect: makes a client for another thread.
        out: where lines go.
    """

    def __init__(
        self,
        request: LogRequest,
        client: BlockingClient,
        connect: Callable[[], BlockingClient],
        out: BinaryIO,
    ) -> None:
        self._request = request
        self._client = client
        self._connect = connect
        self._out = out
        self._lock = threading.Lock()
        self._slots = threading.Semaphore(LOG_THREADS_MAX)
        self._prefixed = True

    def print_once(self) -> None:
        """Print what there is now.

        Raises:
            ApiError: no such job, or none of its pods has begun; the text says why.
        """
        self._client.get(kinds.JOB, self._request.job, self._request.namespace)
        pods = self._pods()
        sources = sources_of(pods, self._request)
        if not sources:
            raise ApiError("BadRequest", self._nothing_to_read(pods))
        self._prefixed = len(sources) > 1
        for source in sources:
            self._copy(self._client, source, follow=False)
        for pod in pods:
            if _is_wanted(pod, self._request) and not _has_begun(pod):
                print(f"{name_of(pod)}: {pod_reason(pod)}", file=sys.stderr)  # noqa: T201 - the answer to a person

    def follow(self) -> None:
        """Print until the job has ended and its logs are read to the end."""
        seen: set[tuple[str, str]] = set()
        readers: list[threading.Thread] = []
        ended = False
        while True:
            try:
                job = self._client.get(kinds.JOB, self._request.job, self._request.namespace)
                phase = ((job.get("status") or {}).get("state") or {}).get("phase", "")
                ended = phase in ENDED_PHASES
            except ApiError as error:
                if error.reason != "NotFound" or not seen:
                    raise
                ended = True
            for source in sources_of(self._pods(), self._request):
                if (source.uid, source.container) not in seen:
                    seen.add((source.uid, source.container))
                    reader = threading.Thread(target=self._follow_one, args=[source], daemon=True)
                    reader.start()
                    readers.append(reader)
            if ended:
                for reader in readers:
                    reader.join()
                return
            time.sleep(_POLL_SECONDS)

    def _follow_one(self, source: Source) -> None:
        with self._slots, self._connect() as client:
            try:
                self._copy(client, source, follow=True)
            except ApiError as error:
                self._write(f"{source.label}: {error.public}\n".encode(), sys.stderr.buffer)

    def _copy(self, client: BlockingClient, source: Source, *, follow: bool) -> None:
        chunks = client.pod_log(
            source.pod, self._request.namespace, container=source.container, follow=follow
        )
        prefix = f"[{source.label}] ".encode() if self._prefixed else b""
        with closing(chunks):
            for line in lines_of(chunks):
                self._write(prefix + line, self._out)

    def _write(self, line: bytes, stream: BinaryIO) -> None:
        with self._lock:
            stream.write(line)
            stream.flush()

    def _pods(self) -> list[JsonObject]:
        selector = f"volcano.sh/job-name={self._request.job}"
        found = self._client.list(kinds.POD, self._request.namespace, label_selector=selector)
        items: list[JsonObject] = found["items"]
        return items

    def _nothing_to_read(self, pods: list[JsonObject]) -> str:
        wanted = [pod for pod in pods if _is_wanted(pod, self._request)]
        if not wanted:
            what = f"task {self._request.task!r} of job" if self._request.task else "job"
            return f"{what} {self._request.job} has no pods"
        if any(_has_begun(pod) for pod in wanted):
            return f"no pod of job {self._request.job} has a container {self._request.container!r}"
        reasons = "; ".join(f"{name_of(pod)}: {pod_reason(pod)}" for pod in wanted[:3])
        return f"no pod of job {self._request.job} has started: {reasons}"
