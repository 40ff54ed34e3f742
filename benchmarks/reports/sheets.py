"""Tables of results, which are shown in a terminal or as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

Report = dict[str, Any]
"""A measured report, as parsed JSON."""

NOTHING = "-"
"""Text of a cell without a figure."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table. Its first column is text, the others are figures; ``notes`` are sentences below it."""

    caption: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def print_sheets(sheets: Iterable[Sheet], console: Console) -> None:
    """Print tables in a terminal."""
    for sheet in sheets:
        table = Table(title=escape(sheet.caption) or None)
        for number, heading in enumerate(sheet.headings):
            table.add_column(escape(heading), justify="right" if number else "left", no_wrap=not number)
        for row in sheet.rows:
            table.add_row(*map(escape, row))
        console.print(table)
        for note in sheet.notes:
            console.print(note, markup=False, highlight=False)


def markdown(sheets: Iterable[Sheet]) -> str:
    """Return tables as Markdown, each with its caption above and its notes below."""
    blocks = []
    for sheet in sheets:
        if sheet.caption:
            blocks.append(f"{sheet.caption}:")
        blocks.append(markdown_table(sheet.headings, sheet.rows))
        if sheet.notes:
            blocks.append("\n".join(f"{note}." for note in sheet.notes))
    return "\n\n".join(blocks)


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose first column is text and whose others are figures; bars in cells are escaped."""
    lines = [_line(headings), "|---|" + "---:|" * (len(headings) - 1)]
    return "\n".join([*lines, *map(_line, rows)])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def number(value: float | None, digits: int = 0) -> str:
    """Return a figure with separated thousands, ``NOTHING`` for None."""
    return NOTHING if value is None else f"{value:,.{digits}f}"
