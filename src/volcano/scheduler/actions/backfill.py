"""backfill: places tasks that ask for nothing on what nodes allocate has left."""

from volcano.scheduler.actions.allocate import settle_best_effort
from volcano.scheduler.session import Session
from volcano.scheduler.snapshot import JobView


def execute(session: Session) -> None:
    """Queues, jobs and tasks in order, computed up front; a gang starts whole or not at all."""
    hooks, queues = session.hooks, session.snapshot.queues
    jobs = [
        job
        for job in session.snapshot.jobs.values()
        if job.best_effort_waiting and not job.is_pending and not job.group.unsupported
    ]
    jobs.sort(key=lambda job: (hooks.queue_key(queues[job.queue]), hooks.job_key(job)))
    for job in jobs:
        refusal = hooks.job_valid(job)
        if refusal is not None:
            job.reason = refusal.message
        else:
            _fill(session, job)


def _fill(session: Session, job: JobView) -> None:
    hooks = session.hooks
    statement = session.statement()
    tasks = [task for task in job.waiting_tasks() if task.spec.best_effort and not task.gates]
    tasks.sort(key=hooks.task_key, reverse=True)
    while tasks:
        cls = tasks[-1].spec
        if cls.unsupported or not statement.place(
            job, tasks, 1, session.expect(cls), lambda: False
        ):
            job.failures[cls.id] = session.explainer.explain(cls)
            tasks.pop()
    if hooks.job_ready(job) and settle_best_effort(session, job, statement):
        kept = session.open_statements.pop(job.key, None)
        if kept is not None:
            kept.commit()
        statement.commit()
    else:
        session.discarded += not statement.is_empty
        statement.discard()
