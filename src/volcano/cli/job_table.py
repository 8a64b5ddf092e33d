"""Rows of `vcctl job list` (spec cli, 2.2): objects in, columns and cells out."""

from collections.abc import Iterable, Sequence

from volcano.api.objects import JsonObject, metadata, name_of, namespace_of
from volcano.cli.ages import age_of, local_date
from volcano.cli.tables import Column, fitted

_FIXED = (
    Column("Creation", 15),
    Column("Phase", 12),
    Column("JobType", 12),
    Column("Replicas", 12),
    Column("Min", 6),
    Column("Pending", 10),
    Column("Running", 10),
    Column("Succeeded", 12),
    Column("Failed", 10),
    Column("Unknown", 12),
    Column("RetryCount", 10),
)
JOB_TYPE_LABEL = "volcano.sh/job-type"


def matching(
    jobs: Iterable[JsonObject], *, queue: str, scheduler: str, selector: str
) -> list[JsonObject]:
    """Jobs of a queue and scheduler whose name contains `selector`; empty texts match all."""
    return [
        job
        for job in jobs
        if (not queue or job["spec"].get("queue", "") == queue)
        and (not scheduler or job["spec"].get("schedulerName", "") == scheduler)
        and selector in name_of(job)
    ]


def job_table(
    jobs: Sequence[JsonObject], *, namespaces: bool, wide: bool, now: float
) -> tuple[list[Column], list[list[str]]]:
    """Columns and rows.

    Args:
        namespaces: with the Namespace column.
        wide: with queue, scheduler and age.
        now: seconds since the epoch, for ages.
    """
    columns = [fitted("Name", [name_of(job) for job in jobs], least=4), *_FIXED]
    rows = [[name_of(job), *_cells(job)] for job in jobs]
    if namespaces:
        spaces = [namespace_of(job) for job in jobs]
        columns.insert(0, fitted("Namespace", spaces, least=9))
        rows = [[space, *row] for space, row in zip(spaces, rows, strict=True)]
    if wide:
        columns[-1] = Column("RetryCount", 13)
        for header, key in (("Queue", "queue"), ("Scheduler", "schedulerName")):
            values = [str(job["spec"].get(key, "")) for job in jobs]
            columns.append(fitted(header, values, least=len(header)))
            rows = [[*row, value] for row, value in zip(rows, values, strict=True)]
        columns.append(Column("Age", 8))
        for row, job in zip(rows, jobs, strict=True):
            row.append(age_of(metadata(job).get("creationTimestamp"), now))
    return columns, rows


def _cells(job: JsonObject) -> list[str]:
    spec, status = job.get("spec") or {}, job.get("status") or {}
    labels = metadata(job).get("labels") or {}
    replicas = sum(task.get("replicas", 0) for task in spec.get("tasks") or ())
    counts = ("minAvailable", "pending", "running", "succeeded", "failed", "unknown", "retryCount")
    return [
        local_date(metadata(job).get("creationTimestamp")),
        str((status.get("state") or {}).get("phase", "")),
        str(labels.get(JOB_TYPE_LABEL, "Batch")),
        str(replicas),
        *(str(status.get(key) or 0) for key in counts),
    ]
