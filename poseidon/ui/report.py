"""Writes a command's findings as one web page: figures, pictures and tables, drawn by the dashboard's charts.

The page needs no server and no other file. Texts and names are shown literally, whatever they contain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from poseidon.ui.single_file import file_session, single_file

Values = Sequence[float | None]


class LineChart(msgspec.Struct, frozen=True, tag="lines"):
    """Values over ``at``, by name, None where there is none; ``across`` and ``unit`` say what the axes are.

    ``logarithmic``: both axes; what is not above 0 is then not shown.
    """

    across: str
    unit: str
    at: Sequence[float]
    series: Mapping[str, Values]
    logarithmic: bool = False


class BarChart(msgspec.Struct, frozen=True, tag="bars"):
    """``items``: what a bar is of, how long it is, and what stands beside it; ``most``: what the whole width is.

    ``logarithmic``: lengths are those of logarithms, from 1 on.
    """

    items: Sequence[tuple[str, float, str]]
    most: float | None = None
    logarithmic: bool = False


class StackChart(msgspec.Struct, frozen=True, tag="stacks"):
    """BarChart of named parts: what a bar is of, its parts in the order of ``names``, and what stands beside it."""

    names: Sequence[str]
    items: Sequence[tuple[str, Values, str]]


Chart = LineChart | BarChart | StackChart


class Table(msgspec.Struct, frozen=True):
    """Rows of texts; ``figures``: the number of columns, of the last ones, that are figures."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    figures: int = 0


@dataclass(frozen=True, slots=True)
class Section:
    """A picture, a table or both below a title. ``notes`` are sentences."""

    title: str
    chart: Chart | None = None
    table: Table | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PageReport:
    """``figures``: numbers that stand out, each with what it counts."""

    title: str
    figures: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()
    sections: Sequence[Section] = ()


def report_page(report: PageReport) -> str:
    """Return the page."""
    answers = {"session": file_session("report", "report"), "report": report}
    return single_file(report.title, "#/report", answers)
