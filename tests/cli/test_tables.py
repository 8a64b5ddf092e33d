"""Ages and fixed-width tables."""

import io

import pytest

from volcano.cli.ages import DAY, HOUR, MINUTE, YEAR, age, age_of, local_date
from volcano.cli.tables import Column, colourful, columns_that_fit, fitted, fixed_width


@pytest.mark.parametrize(
    ("seconds", "want"),
    [
        (-3, "<invalid>"),
        (-2, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (62, "62s"),
        (119, "119s"),
        (120, "2m"),
        (3 * MINUTE, "3m"),
        (3 * MINUTE + 10, "3m10s"),
        (10 * MINUTE + 59, "10m"),
        (121 * MINUTE, "121m"),
        (5 * HOUR, "5h"),
        (5 * HOUR + 7 * MINUTE + 59, "5h7m"),
        (12 * HOUR + 59 * MINUTE, "12h"),
        (5 * DAY, "5d"),
        (5 * DAY + 9 * HOUR, "5d9h"),
        (531 * DAY, "531d"),
        (5 * YEAR, "5y"),
        (5 * YEAR + 89 * DAY, "5y89d"),
        (12 * YEAR + 80 * DAY, "12y"),
    ],
)
def test_age(seconds: int, want: str) -> None:
    assert age(seconds) == want


def test_absent_times() -> None:
    assert age_of(None, 0) == "<unknown>"
    assert age_of("not a time", 0) == "<unknown>"
    assert age_of("1970-01-01T00:00:00Z", 90) == "90s"
    assert local_date(None) == "0001-01-01"


def test_cells_are_padded_and_long_ones_push_the_row() -> None:
    columns = [Column("Name", 6), Column("Weight", 3)]
    assert fixed_width(columns, [["a", "1"], ["longer-name", "22"]]) == (
        "Name  Weight\na     1  \nlonger-name22 \n"
    )
    assert fitted("Name", ["abcdef", "a"], least=4) == Column("Name", 9)
    assert fitted("Name", [], least=4) == Column("Name", 7)


@pytest.mark.parametrize(
    ("terminal", "environ", "want"),
    [
        pytest.param(False, {}, False, id="pipe"),
        pytest.param(True, {}, True, id="terminal"),
        pytest.param(True, {"NO_COLOR": "1"}, False, id="NO_COLOR"),
        pytest.param(True, {"TERM": "dumb"}, False, id="dumb terminal"),
    ],
)
def test_colours_only_on_a_terminal(terminal: bool, environ: dict[str, str], want: bool) -> None:
    stream = io.StringIO()
    stream.isatty = lambda: terminal  # type: ignore[method-assign]
    assert colourful(stream, environ) is want


@pytest.mark.parametrize(
    ("width", "want"),
    [
        pytest.param(40, [0, 1, 2, 3], id="all fit"),
        pytest.param(30, [0, 2], id="too narrow: zeros and blanks go"),
        pytest.param(5, [0, 2], id="much too narrow: what says something stays"),
    ],
)
def test_columns_that_fit_a_terminal(width: int, want: list[int]) -> None:
    columns = [Column(header, 0) for header in ("Name", "Pending", "Running", "Message")]
    rows = [["some-name", "0", "2", ""], ["b", "0", "0", ""]]
    assert list(columns_that_fit(columns, rows, width)) == want
