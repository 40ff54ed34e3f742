"""Writes a command's findings as one web page with figures, charts and tables.

The page needs no server and no other file; it contains the dashboard's code for charts. Texts and names are shown
literally, even if they contain HTML.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from poseidon.ui.single_file import describe_file_session, single_file

Values = Sequence[float | None]


class LineChart(msgspec.Struct, frozen=True, tag="lines"):
    """A chart of lines.

    ``at`` has the positions on the horizontal axis. ``series`` has the values of each line by its name, None for
    missing ones. ``across`` and ``unit`` are the titles of the axes. If ``logarithmic``, both axes have logarithmic
    scales, and show only values above 0.
    """

    across: str
    unit: str
    at: Sequence[float]
    series: Mapping[str, Values]
    logarithmic: bool = False


class BarChart(msgspec.Struct, frozen=True, tag="bars"):
    """A chart of bars.

    ``items`` has label, length and text for each bar; ``most`` is the length that fills the whole width.

    If ``logarithmic``, a bar's length is the logarithm of its value, which is at least 1.
    """

    items: Sequence[tuple[str, float, str]]
    most: float | None = None
    logarithmic: bool = False


class StackChart(msgspec.Struct, frozen=True, tag="stacks"):
    """A chart of bars that consist of named parts.

    Each bar has a label, its parts in the order of ``names``, and a text beside the bar.
    """

    names: Sequence[str]
    items: Sequence[tuple[str, Values, str]]


Chart = LineChart | BarChart | StackChart


class Table(msgspec.Struct, frozen=True):
    """Rows of texts; the last ``figures`` columns contain numbers."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    figures: int = 0


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: a title, ``notes`` (sentences), and a picture, a table or both."""

    title: str
    chart: Chart | None = None
    table: Table | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PageReport:
    """The content of a web page with a command's findings.

    ``figures`` are prominent numbers, each with the name of what it counts.
    """

    title: str
    figures: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()
    sections: Sequence[Section] = ()


def report_page(report: PageReport) -> str:
    """Return the web page as HTML."""
    answers = {"session": describe_file_session("report", "report"), "report": report}
    return single_file(report.title, "#/report", answers)
