"""How events of both groups are shown: the same columns, read from differently named fields."""

from volcano.api import kinds
from volcano.api.objects import JsonObject
from volcano.server.tables.ages import age
from volcano.server.tables.cells import Cells, Printer, columns, name_of, part


def cells(event: JsonObject, now: float) -> Cells:
    """LAST SEEN TYPE REASON OBJECT MESSAGE, and SUBOBJECT SOURCE FIRST SEEN COUNT NAME."""
    series = event.get("series")
    first_time = _either(event, "firstTimestamp") or event.get("eventTime")
    last_time = _either(event, "lastTimestamp") or first_time
    count = _either(event, "count") or 1
    if series:
        last_time, count = series.get("lastObservedTime") or last_time, series.get("count", count)
    about = part(event, "involvedObject") or part(event, "regarding")
    kind = str(about.get("kind", "")).lower()
    return [
        age(last_time, now),
        event.get("type", ""),
        event.get("reason", ""),
        f"{kind}/{about['name']}" if about.get("name") else kind,
        about.get("fieldPath", ""),
        _source(event),
        str(event.get("message") or event.get("note") or "").strip(),
        age(first_time, now),
        count,
        name_of(event),
    ]


def _either(event: JsonObject, name: str) -> object:
    """A field under its core name, or under the name that events.k8s.io keeps it by."""
    return event.get(name) or event.get(f"deprecated{name[0].upper()}{name[1:]}")


def _source(event: JsonObject) -> str:
    source = part(event, "source") or part(event, "deprecatedSource")
    component = source.get("component") or event.get("reportingComponent")
    component = component or event.get("reportingController") or ""
    return f"{component}, {source['host']}" if source.get("host") else str(component)


EVENTS = Printer(
    (
        *columns("Last Seen", "Type", "Reason", "Object", wide=("Subobject", "Source")),
        *columns("Message", wide=("First Seen", "Count:integer", "Name")),
    ),
    cells,
)
PRINTERS = {kinds.EVENT: EVENTS, kinds.EVENTS_EVENT: EVENTS}
