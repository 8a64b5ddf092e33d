"""Tables: fixed-width text in a pipe (spec cli, 1.7), coloured on a terminal.

rich is imported only when standard output is a terminal and NO_COLOR is not set.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TextIO

NOTHING = "No resources found"
_GAP = 2

_STYLES = {
    "Running": "green",
    "Completed": "cyan",
    "Completing": "cyan",
    "Succeeded": "cyan",
    "Open": "green",
    "Ready": "green",
    "Pending": "yellow",
    "Inqueue": "yellow",
    "Restarting": "yellow",
    "Failed": "red",
    "Aborted": "red",
    "Aborting": "red",
    "Terminated": "red",
    "Closed": "red",
    "Closing": "yellow",
    "Unknown": "magenta",
}


class Column(NamedTuple):
    """A header and the width its cells are padded to; a longer cell pushes the row."""

    header: str
    width: int


def fitted(header: str, values: Sequence[str], *, least: int = 0, gap: int = 3) -> Column:
    """A column as wide as its longest value, at least `least`, plus `gap`."""
    return Column(header, max([least, *map(len, values)]) + gap)


def fixed_width(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    """The table as text: every cell padded, every row ended by a newline."""
    lines = _lines(columns, rows)
    return "".join(
        "".join(cell.ljust(column.width) for cell, column in zip(line, columns, strict=True)) + "\n"
        for line in lines
    )


def colourful(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether `stream` is a terminal that wants colours (https://no-color.org)."""
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def show(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """Print a table to standard output in the form that suits it."""
    if not colourful(sys.stdout, os.environ):
        sys.stdout.write(fixed_width(columns, rows))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    kept = columns_that_fit(columns, rows, console.width)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    for at in kept:
        table.add_column(columns[at].header, no_wrap=True)
    for row in rows:
        table.add_row(*(Text(row[at], style=_STYLES.get(row[at], "")) for at in kept))
    console.print(table, width=max(console.width, _natural_width(columns, rows, kept)))
    if len(kept) < len(columns):
        left_out = ", ".join(columns[at].header for at in range(len(columns)) if at not in kept)
        console.print(f"left out, zero in every row: {left_out}", style="dim", soft_wrap=True)


def columns_that_fit(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int
) -> Sequence[int]:
    """Positions of the columns to show: all, or where they do not fit those with something to say.

    What says something is never cut; a terminal still too narrow wraps the lines.
    """
    everything = range(len(columns))
    if _natural_width(columns, rows, everything) <= width:
        return everything
    return [at for at in everything if any(row[at] not in ("", "0") for row in rows)]


def _natural_width(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], kept: Sequence[int]
) -> int:
    """Characters that the columns need side by side."""
    return sum(max(len(line[at]) for line in _lines(columns, rows)) + _GAP for at in kept)


def _lines(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    return [tuple(column.header for column in columns), *rows]
