"""CronJobs: the schedule and the time zone can be read, and the jobs' names stay short enough."""

import re
import zoneinfo

import msgspec

from volcano.api import kinds
from volcano.api.admission import Lookup, Review
from volcano.api.names import qualified_name_errors
from volcano.webhooks.check import ValidatingCheck, Verdict, spec_of, without_nulls
from volcano.webhooks.cron import schedule_error
from volcano.webhooks.shapes import CronJobShape

NAME_LENGTH_MAX = 52
"""Eleven characters are kept for the minutes that a run's job has after its name."""

_ZONE_PART = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")


def validating() -> ValidatingCheck:
    """The check at `/cronjobs/validate`."""
    return ValidatingCheck(
        path="/cronjobs/validate",
        name="validatecronjob.volcano.sh",
        kinds=frozenset({kinds.CRON_JOB}),
        operations=frozenset({"CREATE", "UPDATE"}),
        decide=_decide,
    )


def _decide(review: Review, _lookup: Lookup) -> Verdict:
    spec = msgspec.convert(without_nulls(spec_of(review.obj) or {}), CronJobShape)
    of_spec = " ".join(
        error for error in (_schedule_text(spec.schedule), *_zone_errors(spec.time_zone)) if error
    )
    return Verdict("; ".join(text for text in (of_spec, _name_error(review.name)) if text))


def _schedule_text(schedule: str) -> str:
    if not schedule:
        return "schedule is required, but got empty"
    if "TZ" in schedule:
        return "schedule should not contain TZ or CRON_TZ, use timeZone instead"
    error = schedule_error(schedule)
    return f"schedule is not a valid cron expression: {error}" if error else ""


def _zone_errors(zone: str | None) -> list[str]:
    if zone is None:
        return []
    if not zone:
        return ["timeZone must be nil or non-empty string, got empty string"]
    errors = [f"unknown timeZone {zone}" for part in zone.split("/") if not _is_zone_part(part)]
    if zone.lower() == "local":
        errors.append("timeZone can't be Local, use an explicit zone of the tz database")
    elif not _is_zone(zone):
        errors.append(f"invalid timeZone {zone}: unknown time zone {zone}")
    return errors


def _is_zone_part(part: str) -> bool:
    if part in (".", "..") or part.startswith("-"):
        return False
    return _ZONE_PART.fullmatch(part) is not None


def _is_zone(name: str) -> bool:
    """Whether the tz database has the zone; its names are case-sensitive."""
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        # Unknown, no valid name, or a folder of zones.
        return False
    return True


def _name_error(name: str) -> str:
    if len(name) > NAME_LENGTH_MAX:
        return (
            f"cronJob name must be no more than {NAME_LENGTH_MAX} characters"
            " to fit the names of its jobs (max 63 total)"
        )
    wrong = qualified_name_errors(name)
    return f'invalid cronJob name "{name}": {"; ".join(wrong)}' if wrong else ""
