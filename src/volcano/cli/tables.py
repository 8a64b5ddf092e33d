"""Tables: fixed-width text in a pipe (spec cli, 1.7), coloured on a terminal.

rich is imported only when standard output is a terminal and NO_COLOR is not set.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

NOTHING = "No resources found"

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


@dataclass(frozen=True, slots=True)
class Column:
    """A header and the width its cells are padded to; a longer cell pushes the row."""

    header: str
    width: int


def fitted(header: str, values: Sequence[str], *, least: int = 0, gap: int = 3) -> Column:
    """A column as wide as its longest value, at least `least`, plus `gap`."""
    return Column(header, max([least, *map(len, values)]) + gap)


def fixed_width(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    """The table as text: every cell padded, every row ended by a newline."""
    lines = [tuple(column.header for column in columns), *rows]
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

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    for column in columns:
        table.add_column(column.header, no_wrap=True, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    Console().print(table)
