"""enqueue: lets waiting jobs in, as far as the plugins permit; only then do they get pods."""

import heapq
from typing import Any

from volcano.scheduler.hooks import Refusal
from volcano.scheduler.model.job import PHASE_INQUEUE
from volcano.scheduler.session import Session
from volcano.scheduler.snapshot import JobView


def execute(session: Session) -> None:
    """Ask for every pending job, queues and jobs in order; a refused one does not block others."""
    hooks = session.hooks
    waiting: dict[str, list[tuple[Any, JobView]]] = {}
    for job in session.snapshot.jobs.values():
        if job.is_pending:
            waiting.setdefault(job.queue, []).append((hooks.job_key(job), job))
    queues = [(hooks.queue_key(session.snapshot.queues[name]), name) for name in waiting]
    heapq.heapify(queues)
    for jobs in waiting.values():
        heapq.heapify(jobs)
    refused: dict[tuple[object, ...], Refusal] = {}
    while queues:
        _, name = heapq.heappop(queues)
        jobs = waiting[name]
        if not jobs:
            continue
        _, job = heapq.heappop(jobs)
        refusal = _ask(session, job, refused)
        if refusal is None:
            hooks.job_enqueued(job)
            job.phase = PHASE_INQUEUE
            session.enqueued.append(job)
        else:
            job.reason = refusal.message
        heapq.heappush(queues, (hooks.queue_key(session.snapshot.queues[name]), name))


def _ask(
    session: Session, job: JobView, refused: dict[tuple[object, ...], Refusal]
) -> Refusal | None:
    """One answer for all jobs of a queue that ask for the same, once it is no."""
    minimum = job.group.min_resources
    if minimum is None:
        return None
    if not session.hooks.enqueue_by_demand:
        return session.hooks.job_enqueueable(job)
    demand = (job.queue, *sorted(minimum.items()))
    refusal = refused.get(demand)
    if refusal is None:
        refusal = session.hooks.job_enqueueable(job)
        if refusal is not None:
            refused[demand] = refusal
    return refusal
