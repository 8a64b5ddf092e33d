"""Durations as Go writes them (`1h30m`, `300ms`), which is how Kubernetes puts them on the wire."""

import re

_UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")


def parse_duration(text: str) -> float:
    """Seconds of a Go duration.

    Raises:
        ValueError: not a duration.
    """
    sign, body = (-1.0, text[1:]) if text.startswith("-") else (1.0, text.removeprefix("+"))
    if body == "0":
        return 0.0
    parts = _PART.findall(body)
    if not parts or "".join(number + unit for number, unit in parts) != body:
        raise ValueError(f"duration {text!r} is not valid; write it like 1h30m, 45s or 300ms")
    return sign * sum(float(number) * _UNITS[unit] for number, unit in parts)


def format_duration(seconds: float) -> str:
    """The text Go gives a duration of whole milliseconds: `1h0m30s`, `1.5s`, `0s`."""
    sign, left = ("-", -seconds) if seconds < 0 else ("", seconds)
    millis = round(left * 1000)
    if millis < 1000:
        return f"{sign}{millis}ms" if millis else "0s"
    minutes, millis = divmod(millis, 60_000)
    hours, minutes = divmod(minutes, 60)
    whole, fraction = divmod(millis, 1000)
    text = f"{whole}.{fraction:03d}".rstrip("0") if fraction else str(whole)
    if hours:
        return f"{sign}{hours}h{minutes}m{text}s"
    return f"{sign}{minutes}m{text}s" if minutes else f"{sign}{text}s"
