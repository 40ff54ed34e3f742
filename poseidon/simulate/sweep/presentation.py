"""Shows the results of a sweep: a table of the best runs, columns of all runs, charts of figures by setting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from poseidon.simulate.presentation import format_span
from poseidon.simulate.sweep.grid import SweepPlan
from poseidon.simulate.sweep.runs import Row, find_best
from poseidon.ui.report import BarChart, PageReport, Section, Table, report_page
from protos.conventions.number_formats import format_count


def list_headings(plan: SweepPlan) -> tuple[str, ...]:
    """Return the headings of a table of runs: the settings, then the figures to minimise."""
    return ("RUN", *map(_shorten, plan.document.grid), *plan.document.minimise)


def best_rows(plan: SweepPlan, rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the rows of a table of the runs that no other run beats in all figures."""
    best = {*find_best(rows, plan.document.minimise)}
    return [
        (
            str(row["run"]),
            *(str(row[name]) for name in plan.document.grid),
            *(_format(name, row.get(name)) for name in plan.document.minimise),
        )
        for row in rows
        if row["run"] in best
    ]


def sweep_lines(plan: SweepPlan, rows: Sequence[Row]) -> list[str]:
    """Return the result of a sweep as sentences."""
    best = len(find_best(rows, plan.document.minimise))
    figures = ", ".join(plan.document.minimise)
    failed = [row for row in rows if row["fault"]]
    lines = [f"{format_count(len(rows), 'run')}; {best:,} not beaten by another in {figures}."]
    seconds = sum(row.get("seconds", 0.0) for row in rows)
    lines.append(f"They took {seconds:.1f} s of processor time.")
    lines += [f"Run {row['run']} failed: {row['fault']}" for row in failed[:5]]
    return lines


def sweep_page(plan: SweepPlan, rows: Sequence[Row], title: str) -> str:
    """Return the web page of a sweep: the best runs, and each figure's mean for each value of each setting."""
    headings = list_headings(plan)
    table = Table(headings, best_rows(plan, rows), len(plan.document.minimise))
    sections = [Section("Runs that no other beats", table=table)]
    sections += [
        Section(f"{figure} by {name}", BarChart(items))
        for figure in plan.document.minimise
        for name in plan.document.grid
        if len(items := list(_mean_by(rows, name, figure))) > 1
    ]
    return report_page(PageReport(title, [], sweep_lines(plan, rows)[:2], sections))


def _mean_by(rows: Sequence[Row], name: str, figure: str) -> Iterator[tuple[str, float, str]]:
    for value in dict.fromkeys(row[name] for row in rows):
        found = [row[figure] for row in rows if row[name] == value and row.get(figure) is not None]
        if found:
            mean = fmean(found)
            yield str(value), mean, _format(figure, mean)


def write_rows(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write the rows as a Parquet file. Writing Parquet needs the extra ``simulate``."""
    import polars as pl  # polars takes long to import, and few users need it.

    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    pl.DataFrame(columns, strict=False).write_parquet(path)


def _shorten(name: str) -> str:
    return name.removeprefix("cluster.").removeprefix("workload.")


def _format(name: str, value: Any) -> str:
    if not isinstance(value, (int, float)):
        return "-"
    return (
        format_span(value)
        if name.startswith(("wait", "makespan")) and "waiting" not in name
        else f"{value:,.5g}"
    )
