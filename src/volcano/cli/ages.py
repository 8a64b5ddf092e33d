"""Times and ages as people read them (spec cli, 1.6): pure functions of seconds."""

from datetime import datetime

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86_400, 365 * 86_400


def seconds_of(text: object) -> float | None:
    """Seconds since the epoch of an RFC 3339 time; None if there is none or it is unreadable."""
    if not isinstance(text, str) or not text:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def age(seconds: float) -> str:
    """A span as `3m10s`, `5h7m`, `12d`: two units while the first is small, truncated."""
    total = int(seconds)
    if total <= -2:
        return "<invalid>"
    if total < 0:
        return "0s"
    for limit, unit, letter, small, small_letter in (
        (2 * MINUTE, 1, "s", 0, ""),
        (10 * MINUTE, MINUTE, "m", 1, "s"),
        (3 * HOUR, MINUTE, "m", 0, ""),
        (8 * HOUR, HOUR, "h", MINUTE, "m"),
        (2 * DAY, HOUR, "h", 0, ""),
        (8 * DAY, DAY, "d", HOUR, "h"),
        (2 * YEAR, DAY, "d", 0, ""),
        (8 * YEAR, YEAR, "y", DAY, "d"),
    ):
        if total < limit:
            rest = total % unit // small if small else 0
            return f"{total // unit}{letter}" + (f"{rest}{small_letter}" if rest else "")
    return f"{total // YEAR}y"


def age_of(text: object, now: float) -> str:
    """Age of an RFC 3339 time at `now`; `<unknown>` when it is absent."""
    then = seconds_of(text)
    return "<unknown>" if then is None else age(now - then)


def local_date(text: object) -> str:
    """Date in the local zone; the zero date when absent."""
    then = seconds_of(text)
    if then is None:
        return "0001-01-01"
    return datetime.fromtimestamp(then).astimezone().strftime("%Y-%m-%d")


def local_time(text: object) -> str:
    """Date, time, offset and name of the local zone, e.g. `2026-01-02 15:04:05 +0000 UTC`."""
    then = seconds_of(text)
    if then is None:
        return "0001-01-01 00:00:00 +0000 UTC"
    return datetime.fromtimestamp(then).astimezone().strftime("%Y-%m-%d %H:%M:%S %z %Z")
