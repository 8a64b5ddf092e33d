"""allocate: gives jobs that were let in places on nodes, a gang whole or not at all.

Queues and jobs take turns by their order. The first visit to a job places as many tasks as it
needs to be ready; each later one places one more, so that jobs compete for what is beyond minimums.
"""

import heapq
from collections.abc import Mapping, Sequence
from typing import Any

from volcano.scheduler.hooks import Hooks
from volcano.scheduler.model.job import PHASE_INQUEUE
from volcano.scheduler.model.task import READY_STATUSES, Task, TaskClass, TaskStatus
from volcano.scheduler.session import Session
from volcano.scheduler.snapshot import NO_COUNTS, JobView
from volcano.scheduler.statement import Statement

Runs = list[list[Task]]
"""Tasks of a job in reverse order, cut where the class changes: the next task is the last of the
last run."""


def execute(session: Session) -> None:
    """Visit queues and jobs in order until nobody is left."""
    hooks, queues = session.hooks, session.snapshot.queues
    worksheets = _worksheets(session)
    waiting: dict[str, list[tuple[Any, str]]] = {}
    for key in worksheets:
        job = session.snapshot.jobs[key]
        waiting.setdefault(job.queue, []).append((hooks.job_key(job), key))
    for jobs in waiting.values():
        heapq.heapify(jobs)
    order = [(hooks.queue_key(queues[name]), name) for name in waiting]
    heapq.heapify(order)
    while order:
        _, name = heapq.heappop(order)
        jobs = waiting[name]
        if not jobs:
            continue
        if hooks.overused(queues[name]):
            for _, key in jobs:
                job = session.snapshot.jobs[key]
                _blame(
                    session,
                    job,
                    worksheets[key][-1][-1].spec,
                    f"queue {name} has used up its share",
                )
            continue
        _, key = heapq.heappop(jobs)
        job = session.snapshot.jobs[key]
        if _visit(session, job, worksheets[key]):
            heapq.heappush(jobs, (hooks.job_key(job), key))
        heapq.heappush(order, (hooks.queue_key(queues[name]), name))


def _worksheets(session: Session) -> Mapping[str, Runs]:
    """Jobs that may run, with their tasks; says of the others why they may not."""
    hooks = session.hooks
    asks_first = "enqueue" in session.conf.actions
    worksheets: dict[str, Runs] = {}
    for key, job in session.snapshot.jobs.items():
        if job.is_pending:
            if asks_first:
                continue
            job.phase = PHASE_INQUEUE
        if not job.state.pending:
            continue
        if job.group.unsupported:
            job.reason = job.group.unsupported
            continue
        refusal = hooks.job_valid(job)
        if refusal is not None:
            job.reason = refusal.message
            continue
        runs = _runs(hooks, job)
        if runs:
            worksheets[key] = runs
        elif all(task.gates for task in job.state.pending.values()):
            job.reason = "all waiting tasks are held by scheduling gates"
    return worksheets


def _runs(hooks: Hooks, job: JobView) -> Runs:
    tasks = [task for task in job.waiting_tasks() if not task.gates and not task.spec.best_effort]
    if len(tasks) > 1:
        tasks.sort(key=hooks.task_key, reverse=True)
    runs: Runs = []
    for task in tasks:
        if runs and runs[-1][-1].spec is task.spec:
            runs[-1].append(task)
        else:
            runs.append([task])
    return runs


def _visit(session: Session, job: JobView, runs: Runs) -> bool:
    """Place what the job needs next; whether it should be visited again."""
    hooks = session.hooks
    statement = session.statement()
    ready = _place(session, job, runs, statement) or hooks.job_ready(job)
    if ready and settle_best_effort(session, job, statement):
        statement.commit()
        return bool(runs)
    if ready or not hooks.job_pipelined(job):
        session.discarded += not statement.is_empty
        statement.discard()
    else:
        session.open_statements[job.key] = statement
    return False


def _place(session: Session, job: JobView, runs: Runs, statement: Statement) -> bool:
    """Place tasks until the job is ready; whether the last one placed made it so."""
    hooks, queue = session.hooks, session.snapshot.queues[job.queue]
    failed: set[int] = set()

    def enough() -> bool:
        return hooks.job_ready(job)

    while runs:
        run = runs[-1]
        cls = run[-1].spec
        if cls.id in failed:
            runs.pop()
            continue
        if cls.unsupported:
            limit = placed = 0
        else:
            limit = hooks.headroom(queue, cls, len(run))
            if limit <= 0:
                _blame(session, job, cls, hooks.headroom_reason(queue, cls))
                runs.pop()
                continue
            placed = statement.place(job, run, limit, session.expect(cls), enough)
        if not run:
            runs.pop()
        if placed and enough():
            return True
        if placed < limit or cls.unsupported:
            failed.add(cls.id)
            job.failures[cls.id] = session.explainer.explain(cls)
            if not _can_still_start(hooks, job, runs, failed):
                return False
    return False


def _blame(session: Session, job: JobView, cls: TaskClass, queue_reason: str) -> None:
    """Say that the queue holds a class back, unless no node would take it anyway."""
    failure = session.explainer.explain(cls)
    if failure.is_total:
        job.failures[cls.id] = failure
    else:
        job.task_reasons[cls.id] = queue_reason


def _can_still_start(hooks: Hooks, job: JobView, runs: Runs, failed: set[int]) -> bool:
    """Whether the tasks left could make the job ready if all of them found a place."""
    if hooks.job_ready(job):
        return True
    left: dict[str, int] = {}
    for run in runs:
        for task in run:
            if task.spec.id not in failed:
                left[task.role] = left.get(task.role, 0) + 1
    have = job.ready_count + job.waiting_count + job.best_effort_waiting
    if have + sum(left.values()) < job.min_member:
        return False
    best_effort = job.best_effort_waiting
    return all(
        _held(job.role_counts.get(role, NO_COUNTS)) + left.get(role, 0) + best_effort >= minimum
        for role, minimum in job.group.minimums.items()
    )


def _held(counts: Sequence[int]) -> int:
    return sum(counts[status] for status in READY_STATUSES) + counts[TaskStatus.PIPELINED]


def settle_best_effort(session: Session, job: JobView, statement: Statement) -> bool:
    """Make a job's readiness real where it counts pending tasks that ask for nothing.

    Such tasks count towards the minimum before they have a node. A gang that needs them gets them
    placed in the same statement, or is not ready.
    """
    if not job.best_effort_waiting or _really_ready(session.hooks, job):
        return True
    tasks = [task for task in job.waiting_tasks() if task.spec.best_effort and not task.gates]
    tasks.sort(key=session.hooks.task_key, reverse=True)

    def enough() -> bool:
        return _really_ready(session.hooks, job)

    while tasks and not enough():
        cls = tasks[-1].spec
        if cls.unsupported or not statement.place(job, tasks, 1, session.expect(cls), enough):
            job.failures[cls.id] = session.explainer.explain(cls)
            tasks.pop()
    return enough()


def _really_ready(hooks: Hooks, job: JobView) -> bool:
    waiting, job.best_effort_waiting = job.best_effort_waiting, 0
    try:
        return hooks.job_ready(job)
    finally:
        job.best_effort_waiting = waiting
