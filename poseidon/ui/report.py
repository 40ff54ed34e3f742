"""Writes a command's findings as one web page: figures, pictures and tables, drawn by the dashboard's charts.

The page needs no server and no other file. Texts and names are shown literally, whatever they contain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from poseidon.ui.single_file import describe_file_session, single_file

Values = Sequence[float | None]


class LineChart(msgspec.Struct, frozen=True, tag="lines"):
    """A chart of lines.

    ``at``: positions on the horizontal axis; ``series``: values by name of the line, None for missing ones; ``across``
    and ``unit``: titles of the axes; ``logarithmic``: of both axes, which shows only values above 0.
    """

    across: str
    unit: str
    at: Sequence[float]
    series: Mapping[str, Values]
    logarithmic: bool = False


class BarChart(msgspec.Struct, frozen=True, tag="bars"):
    """A chart of bars. ``items``: (label, length, text beside) of each bar; ``most``: the length of the whole width.

    ``logarithmic``: lengths are those of logarithms, from 1 on.
    """

    items: Sequence[tuple[str, float, str]]
    most: float | None = None
    logarithmic: bool = False


class StackChart(msgspec.Struct, frozen=True, tag="stacks"):
    """A chart of bars with named parts: (label, parts in the order of ``names``, text beside) of each bar."""

    names: Sequence[str]
    items: Sequence[tuple[str, Values, str]]


Chart = LineChart | BarChart | StackChart


class Table(msgspec.Struct, frozen=True):
    """Rows of texts; ``figures``: how many of the last columns are figures."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    figures: int = 0


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: a picture, a table or both below a title, with ``notes`` (sentences)."""

    title: str
    chart: Chart | None = None
    table: Table | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PageReport:
    """The content of a page. ``figures``: prominent numbers, each with the name of what it counts."""

    title: str
    figures: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()
    sections: Sequence[Section] = ()


def report_page(report: PageReport) -> str:
    """Return the page as HTML."""
    answers = {"session": describe_file_session("report", "report"), "report": report}
    return single_file(report.title, "#/report", answers)
