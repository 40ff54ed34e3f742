"""Writes the tables and the plot of a run into the documents."""

from __future__ import annotations

from pathlib import Path

from benchmarks.reports.plots import draw_all
from benchmarks.reports.report import render
from benchmarks.reports.sheets import Report

DOCS = Path(__file__).resolve().parents[2] / "docs"
BEGIN = "<!-- head-to-head: written by `python -m benchmarks head-to-head --document` -->\n"
END = "<!-- head-to-head: end -->\n"
PLOT = "head-to-head"


class DocumentError(ValueError):
    """The document has no place for the tables; the text is one line."""


def write_document(report: Report, docs: Path = DOCS) -> list[Path]:
    """Write the tables to ``performance.md`` and the plot to ``pictures``; return the files.

    Raises ``DocumentError``, ``ResultError`` or ``PlottingUnavailableError``.
    """
    page = docs / "performance.md"
    drawn = draw_all([report], docs / "pictures")
    page.write_text(
        insert(page.read_text(encoding="utf-8"), tables(report, plot=bool(drawn))), encoding="utf-8"
    )
    return [page, *drawn]


def tables(report: Report, *, plot: bool) -> str:
    """Return the text between the marks: tables, the machine and the plot."""
    text = render([{"file": "head-to-head.json", **report}]).partition("\n\n")[2]
    picture = f"\n![Latency over rate](pictures/{PLOT}.svg)\n" if plot else ""
    return f"\n{text}{picture}\n"


def insert(page: str, text: str) -> str:
    """Return a page with ``text`` between its marks. Raises ``DocumentError``."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise DocumentError(f"performance.md: has no lines {BEGIN.strip()} and {END.strip()}; add them")
    return f"{before}{begin}{text}{end}{after}"
