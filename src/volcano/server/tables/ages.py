"""Spans of time as kubectl shows them: precise when short, coarse when long."""

from typing import Any

from volcano.base.clock import parse_timestamp

UNKNOWN = "<unknown>"
MINUTE, HOUR, DAY, YEAR = 60, 3600, 86_400, 365 * 86_400


def human_duration(seconds: float) -> str:
    """At most two units, the second one only while it still says something: 2m5s, 3h20m, 5d, 2y3d.

    Clocks may differ by a second, so -1 s is shown as 0s; anything earlier is `<invalid>`.
    """
    whole = int(seconds)
    if whole < 0:
        return "0s" if whole == -1 else "<invalid>"
    if whole < 2 * MINUTE:
        return f"{whole}s"
    if whole < 10 * MINUTE:
        return _pair(whole, MINUTE, "m", 1, "s")
    if whole < 3 * HOUR:
        return f"{whole // MINUTE}m"
    if whole < 8 * HOUR:
        return _pair(whole, HOUR, "h", MINUTE, "m")
    if whole < 2 * DAY:
        return f"{whole // HOUR}h"
    if whole < 8 * DAY:
        return _pair(whole, DAY, "d", HOUR, "h")
    if whole < 2 * YEAR:
        return f"{whole // DAY}d"
    if whole < 8 * YEAR:
        return _pair(whole, YEAR, "y", DAY, "d")
    return f"{whole // YEAR}y"


def age(timestamp: Any, now: float) -> str:
    """Time since an RFC 3339 text; `<unknown>` for one that is missing or malformed."""
    then = moment(timestamp)
    return UNKNOWN if then is None else human_duration(now - then)


def moment(timestamp: Any) -> float | None:
    """Seconds since the epoch of an RFC 3339 text; None for one that is missing or malformed."""
    if not isinstance(timestamp, str) or not timestamp:
        return None
    try:
        return parse_timestamp(timestamp)
    except ValueError:
        return None


def _pair(whole: int, unit: int, name: str, small: int, small_name: str) -> str:
    count, rest = divmod(whole, unit)
    rest //= small
    return f"{count}{name}{rest}{small_name}" if rest else f"{count}{name}"
