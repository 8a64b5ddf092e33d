"""The time to live of finished Jobs: deletes them `ttlSecondsAfterFinished` after their end."""

from volcano.api.batch import JobPhase
from volcano.api.kinds import JOB
from volcano.api.objects import JsonObject, key_of, metadata, name_of, namespace_of, uid_of
from volcano.base.clock import parse_timestamp
from volcano.base.errors import ApiError
from volcano.client.informer import Change
from volcano.controllers.effects import Delete
from volcano.controllers.runtime import Context, Controller

_FINISHED = frozenset({JobPhase.COMPLETED, JobPhase.FAILED, JobPhase.TERMINATED})


def expires_at(job: JsonObject) -> float | None:
    """When a job is to be deleted, in epoch seconds; None when never, or not yet known."""
    ttl = (job.get("spec") or {}).get("ttlSecondsAfterFinished")
    state = (job.get("status") or {}).get("state") or {}
    ended = state.get("lastTransitionTime")
    if ttl is None or state.get("phase") not in _FINISHED or not ended:
        return None
    if metadata(job).get("deletionTimestamp"):
        return None
    return parse_timestamp(ended) + int(ttl)


class JobTtlController(Controller):
    """Deletes finished jobs whose time is over."""

    name = "gc-controller"
    workers = 1

    def __init__(self, context: Context) -> None:
        super().__init__(context, (JOB,))
        self._jobs = context.informers.of(JOB)
        self._jobs.add_handler(self._job_changed)

    async def reconcile(self, key: str) -> None:
        """Delete one job if its time is over, else come back when it is."""
        job = self._jobs.get(key)
        if job is None or self._wait(key, job):
            return
        try:
            # The copy may be old: the time to live can have been changed meanwhile.
            job = await self.context.client.get(JOB, name_of(job), namespace_of(job))
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            return
        if not self._wait(key, job):
            gone = Delete(
                JOB, namespace_of(job), name_of(job), uid=uid_of(job), propagation="Foreground"
            )
            await self.apply(key, [gone])

    def _wait(self, key: str, job: JsonObject) -> bool:
        """Whether it is too early (then the key comes back) or never time."""
        at = expires_at(job)
        if at is None:
            return True
        left = at - self.context.clock.now()
        if left > 0:
            self.queue.add_after(key, left)
        return left > 0

    def _job_changed(self, change: Change) -> None:
        if change.new is not None and expires_at(change.new) is not None:
            self.queue.add(key_of(change.new))
