"""How the kinds that make pods are shown: deployments, sets, batch jobs."""

from volcano.api import kinds
from volcano.api.objects import JsonObject
from volcano.server.tables.ages import age, human_duration, moment
from volcano.server.tables.cells import (
    NONE,
    Cells,
    Printer,
    columns,
    condition,
    containers,
    created,
    items,
    labels,
    name_of,
    part,
    selector,
    yes_no,
)

TEMPLATE = ("Containers", "Images")


def _template(obj: JsonObject) -> tuple[str, str]:
    return containers(part(part(obj, "spec"), "template"))


def _deployment(obj: JsonObject, now: float) -> Cells:
    spec, status = part(obj, "spec"), part(obj, "status")
    return [
        name_of(obj),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 1)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        created(obj, now),
        *_template(obj),
        selector(spec.get("selector")),
    ]


def _replica_set(obj: JsonObject, now: float) -> Cells:
    spec, status = part(obj, "spec"), part(obj, "status")
    return [
        name_of(obj),
        spec.get("replicas", 1),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        created(obj, now),
        *_template(obj),
        selector(spec.get("selector")),
    ]


def _replication_controller(obj: JsonObject, now: float) -> Cells:
    return [*_replica_set(obj, now)[:-1], labels(part(obj, "spec").get("selector"))]


def _stateful_set(obj: JsonObject, now: float) -> Cells:
    spec, status = part(obj, "spec"), part(obj, "status")
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 1)}"
    return [name_of(obj), ready, created(obj, now), *_template(obj)]


def _daemon_set(obj: JsonObject, now: float) -> Cells:
    spec, status = part(obj, "spec"), part(obj, "status")
    counts = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    return [
        name_of(obj),
        *(status.get(count, 0) for count in counts),
        labels(part(part(spec, "template"), "spec").get("nodeSelector")),
        created(obj, now),
        *_template(obj),
        selector(spec.get("selector")),
    ]


_JOB_STATES = (
    ("Complete", "Complete"),
    ("Failed", "Failed"),
    ("Suspended", "Suspended"),
    ("FailureTarget", "FailureTarget"),
    ("SuccessCriteriaMet", "SuccessCriteriaMet"),
)


def _job(obj: JsonObject, now: float) -> Cells:
    spec, status = part(obj, "spec"), part(obj, "status")
    start, end = moment(status.get("startTime")), moment(status.get("completionTime"))
    lasted = "" if start is None else human_duration((now if end is None else end) - start)
    return [
        name_of(obj),
        _job_state(obj),
        _completions(spec, status),
        lasted,
        created(obj, now),
        *_template(obj),
        selector(spec.get("selector")),
    ]


def _job_state(obj: JsonObject) -> str:
    for type_, text in _JOB_STATES:
        if condition(obj, type_).get("status") == "True":
            return text
    return "Terminating" if part(obj, "metadata").get("deletionTimestamp") else "Running"


def _completions(spec: JsonObject, status: JsonObject) -> str:
    succeeded, wanted = status.get("succeeded", 0), spec.get("completions")
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _cron_job(obj: JsonObject, now: float) -> Cells:
    spec, status = part(obj, "spec"), part(obj, "status")
    last = status.get("lastScheduleTime")
    template = part(part(spec, "jobTemplate"), "spec")
    return [
        name_of(obj),
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        yes_no(spec.get("suspend")),
        len(items(status, "active")),
        age(last, now) if last else NONE,
        created(obj, now),
        *containers(part(template, "template")),
        selector(template.get("selector")),
    ]


_SET_COLUMNS = ("Name", "Desired:integer", "Current:integer", "Ready:integer", "Age")

PRINTERS = {
    kinds.DEPLOYMENT: Printer(
        columns("Name", "Ready", "Up-to-date", "Available", "Age", wide=(*TEMPLATE, "Selector")),
        _deployment,
    ),
    kinds.REPLICA_SET: Printer(columns(*_SET_COLUMNS, wide=(*TEMPLATE, "Selector")), _replica_set),
    kinds.REPLICATION_CONTROLLER: Printer(
        columns(*_SET_COLUMNS, wide=(*TEMPLATE, "Selector")), _replication_controller
    ),
    kinds.STATEFUL_SET: Printer(columns("Name", "Ready", "Age", wide=TEMPLATE), _stateful_set),
    kinds.DAEMON_SET: Printer(
        columns(
            *("Name", "Desired:integer", "Current:integer", "Ready:integer"),
            *("Up-to-date:integer", "Available:integer", "Node Selector", "Age"),
            wide=(*TEMPLATE, "Selector"),
        ),
        _daemon_set,
    ),
    kinds.BATCH_JOB: Printer(
        columns("Name", "Status", "Completions", "Duration", "Age", wide=(*TEMPLATE, "Selector")),
        _job,
    ),
    kinds.BATCH_CRON_JOB: Printer(
        columns(
            *("Name", "Schedule", "Timezone", "Suspend", "Active:integer", "Last Schedule", "Age"),
            wide=(*TEMPLATE, "Selector"),
        ),
        _cron_job,
    ),
}
