"""Spans of time as kubectl shows them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volcano.server.tables.ages import age, human_duration

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86_400, 31_536_000


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (0.9, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (10 * MINUTE - 1, "9m59s"),
        (10 * MINUTE, "10m"),
        (179 * MINUTE, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 20 * MINUTE, "3h20m"),
        (8 * HOUR, "8h"),
        (47 * HOUR, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + 5 * HOUR, "2d5h"),
        (8 * DAY + 5 * HOUR, "8d"),
        (729 * DAY, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + 3 * DAY, "2y3d"),
        (9 * YEAR + 3 * DAY, "9y"),
    ],
)
def test_human_duration(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


@given(st.integers(0, 20 * YEAR))
def test_what_is_shown_is_never_more_than_the_truth_and_near_it(seconds: int) -> None:
    units = {"s": 1, "m": MINUTE, "h": HOUR, "d": DAY, "y": YEAR}
    total, digits = 0, ""
    for character in human_duration(seconds):
        if character.isdigit():
            digits += character
        else:
            total, digits = total + int(digits) * units[character], ""
    assert total <= seconds
    assert seconds - total <= max(seconds / 8, 1)


@pytest.mark.parametrize(
    ("timestamp", "text"),
    [
        ("2026-01-01T00:00:00Z", "5m"),
        ("2026-01-01T00:00:00.000000Z", "5m"),
        ("2026-01-01T01:00:00+01:00", "5m"),
        ("", "<unknown>"),
        (None, "<unknown>"),
        ("yesterday", "<unknown>"),
        ("2026-01-01T00:00:00", "<unknown>"),
    ],
)
def test_age(timestamp: str | None, text: str) -> None:
    assert age(timestamp, 1_767_225_900.0) == text
