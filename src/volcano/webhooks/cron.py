"""Is a text a cron schedule? Five fields, or a descriptor such as `@hourly` or `@every 10m`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DESCRIPTORS = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)
_DURATION = re.compile(r"[+-]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")


@dataclass(frozen=True, slots=True)
class Field:
    """One of the five fields: its name and bounds, and the names its values have."""

    name: str
    least: int
    most: int
    names: Mapping[str, int] = field(default_factory=dict)

    def value(self, text: str) -> int:
        """A number or a name.

        Raises:
            ValueError: neither, or out of bounds.
        """
        number = self.names.get(text.lower())
        if number is None:
            if not (text.isascii() and text.isdigit()):
                raise ValueError(f"{self.name}: {text!r} is no number")
            number = int(text)
        if not self.least <= number <= self.most:
            raise ValueError(f"{self.name}: {text} is not in {self.least}-{self.most}")
        return number

    def check(self, text: str) -> None:
        """Check a list of ranges.

        Raises:
            ValueError: one of them is malformed.
        """
        for part in text.split(","):
            self._check_range(part)

    def _check_range(self, text: str) -> None:
        span, slash, step = text.partition("/")
        if slash and not (step.isascii() and step.isdigit() and int(step) > 0):
            raise ValueError(f"{self.name}: step {step!r} is no positive number")
        if span in ("*", "?"):
            return
        first, dash, last = span.partition("-")
        low = self.value(first)
        if dash and self.value(last) < low:
            raise ValueError(f"{self.name}: range {span} ends before it begins")


def _named(names: Sequence[str], first: int) -> Mapping[str, int]:
    return {name: number for number, name in enumerate(names, first)}


FIELDS = (
    Field("minute", 0, 59),
    Field("hour", 0, 23),
    Field("day of month", 1, 31),
    Field("month", 1, 12, _named(_MONTHS, 1)),
    Field("day of week", 0, 6, _named(_WEEKDAYS, 0)),
)


def schedule_error(text: str) -> str:
    """Why a text is no schedule, or an empty text."""
    text = text.strip()
    if text.startswith("@"):
        return _descriptor_error(text)
    parts = text.split()
    if len(parts) != len(FIELDS):
        return f"expected exactly {len(FIELDS)} fields, found {len(parts)}: [{' '.join(parts)}]"
    try:
        for one, part in zip(FIELDS, parts, strict=True):
            one.check(part)
    except ValueError as error:
        return str(error)
    return ""


def _descriptor_error(text: str) -> str:
    if text in _DESCRIPTORS:
        return ""
    head, blank, duration = text.partition(" ")
    if head == "@every" and blank:
        return "" if _DURATION.fullmatch(duration) else f"failed to parse duration {duration!r}"
    return f"unrecognized descriptor: {text}"
