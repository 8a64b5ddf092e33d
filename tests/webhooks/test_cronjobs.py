"""CronJobs: scenario list of spec admission 16.11."""

from typing import Any

import pytest

from tests.webhooks.world import create, verdict
from volcano.api import kinds
from volcano.webhooks import cronjobs
from volcano.webhooks.cron import schedule_error


def found(name: str = "my-cronjob", schedule: str = "* * * * *", **spec: Any) -> str:
    obj = {
        "metadata": {"name": name, "namespace": "test"},
        "spec": {"schedule": schedule, **spec},
    }
    return verdict(cronjobs.validating(), create(kinds.CRON_JOB, obj))


GOOD = (
    "* * * * *",
    "@every 1m",
    "@every 1h30m",
    "@hourly",
    "@midnight",
    "*/5 * * * *",
    "0 9-17/2 1,15 jan-MAR mon",
    "? 3 ? * 0",
    " 5/10 * * * * ",
    "0 0 31 12 6",
)
BAD = (
    "error schedule",
    "* * * * * *",
    "60 * * * *",
    "* 24 * * *",
    "* * 0 * *",
    "* * * 13 *",
    "* * * * 7",
    "*/0 * * * *",
    "30-10 * * * *",
    "@reboot",
    "@Hourly",
    "@every soon",
    "@every",
    "* * L * *",
    "-1 * * * *",
)


@pytest.mark.parametrize("schedule", GOOD)
def test_schedule(schedule: str) -> None:
    assert schedule_error(schedule) == ""
    assert found(schedule=schedule) == ""


@pytest.mark.parametrize("schedule", BAD)
def test_no_schedule(schedule: str) -> None:
    assert schedule_error(schedule) != ""
    assert "schedule is not a valid cron expression" in found(schedule=schedule)


def test_zone_inside_the_schedule() -> None:
    assert "schedule should not contain TZ or CRON_TZ" in found(schedule="TZ=UTC 0 20 * * *")


def test_no_schedule_at_all() -> None:
    assert found(schedule="") == "schedule is required, but got empty"


ZONES = {
    "Pacific/Honolulu": "",
    "Etc/GMT+5": "",
    "Asia/./Shanghai": "unknown timeZone",
    "America/-NewYork": "unknown timeZone",
    "New York": "unknown timeZone",
    "UTC!": "unknown timeZone",
    "Local": "timeZone can't be Local",
    "": "timeZone must be nil or non-empty string",
    "Amerrica/New_York": "invalid timeZone",
    "America": "invalid timeZone",
    "../etc/passwd": "unknown timeZone",
}


@pytest.mark.parametrize(("zone", "text"), ZONES.items(), ids=ZONES)
def test_zone(zone: str, text: str) -> None:
    message = found(timeZone=zone)
    assert (text in message) if text else message == ""


NAMES = {
    "my-cronjob": "",
    "a" * 52: "",
    "a" * 65: "must be no more than 52 characters",
    "-UPPERCASE": 'invalid cronJob name "-UPPERCASE": ',
}


@pytest.mark.parametrize(("name", "text"), NAMES.items(), ids=NAMES)
def test_name(name: str, text: str) -> None:
    message = found(name)
    assert (text in message) if text else message == ""


def test_two_faults() -> None:
    spec, separator, name = found("a" * 53, "bad").partition("; ")
    assert "not a valid cron expression" in spec
    assert separator
    assert "no more than 52 characters" in name
