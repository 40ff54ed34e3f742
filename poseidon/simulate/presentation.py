"""Shows the results of a simulation as tables for people, as a web page with charts, and as columns for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from poseidon.simulate.report import SimulationReport, WaitingTimes
from poseidon.ui.report import LineChart, PageReport, Section, Table, report_page
from protos.conventions.number_formats import format_count

HEADINGS = ("KIND", "TASKS", "PLACED", "WAITING", "P50", "P90", "P99", "LONGEST", "EVICTIONS")
HOUR = 3600.0


def wait_rows(waits: Iterable[WaitingTimes]) -> list[tuple[str, ...]]:
    """Return the rows of a table of waiting times."""
    return [
        (
            each.kind,
            f"{each.arrived:,}",
            f"{each.placed:,}",
            f"{each.waiting:,}",
            *(format_span(time) for time in (each.p50, each.p90, each.p99, each.longest)),
            f"{each.evictions:,}",
        )
        for each in waits
    ]


def format_span(seconds: float | None) -> str:
    """Return a span of time as people write it, such as 0s, 45s, 12m or 3.5h, or "-" if no time is known."""
    if seconds is None:
        return "-"
    if seconds < 120.0:
        return f"{seconds:.3g}s"
    if seconds < 2 * HOUR:
        return f"{seconds / 60.0:.0f}m"
    return f"{seconds / HOUR:.3g}h"


def summary_lines(report: SimulationReport) -> list[str]:
    """Return the report's figures as sentences."""
    used = ", ".join(f"{name} {part:.1%}" for name, part in report.utilisation.items())
    span, seconds = format_span(report.horizon), report.seconds
    done = "" if report.makespan is None else f" All work was done after {format_span(report.makespan)}."
    nodes = f"{span} simulated on {report.nodes:,.0f} nodes, {report.empty:,.0f} of them empty.{done}"
    lost = f"{report.fragmentation:.1%} of the free CPU was on nodes that the mean task did not fit on."
    evicted = f"{report.preempted:,} preempted, {report.displaced:,} displaced by failures and drains"
    rounds = (
        f"{format_count(report.rounds, 'round')}, {report.uncertified:,} without a certificate; {evicted}."
    )
    median, p99 = seconds["roundP50"] * 1000, seconds["roundP99"] * 1000
    rate = f"a round {median:.0f} ms (median), {p99:.0f} ms (p99)"
    took = f"It took {seconds['processor']:.1f} s of processor time; {rate}."
    return [nodes, f"In use: {used or 'nothing'}.", lost, rounds, took]


def simulation_page(report: SimulationReport, title: str) -> str:
    """Return the report as a web page."""
    curves = report.curves
    hours = [each / HOUR for each in curves.at]
    percent = {name: [100.0 * each for each in values] for name, values in curves.utilisation.items()}
    tasks = {"running": _floats(curves.running), "waiting": _floats(curves.waiting)}
    nodes = {"nodes": _floats(curves.nodes), "empty": _floats(curves.empty)}
    lost = {"fragmented": [100.0 * each for each in curves.fragmentation]}
    figures = [
        (f"{report.utilisation.get('cpu', 0.0):.1%}", "of CPU in use"),
        (format_span(report.waits[-1].p50 if report.waits else None), "median wait"),
        (format_span(report.waits[-1].p99 if report.waits else None), "wait, p99"),
        (f"{report.preempted + report.displaced:,}", "evictions"),
    ]
    waits = Table(HEADINGS, wait_rows(report.waits), len(HEADINGS) - 1)
    sections = [
        Section("In use, by resource", LineChart("hours", "%", hours, percent)),
        Section("Tasks", LineChart("hours", "tasks", hours, tasks)),
        Section("Waiting for the first node", table=waits),
        Section("Free CPU that the mean task does not fit on", LineChart("hours", "%", hours, lost)),
        Section("Nodes", LineChart("hours", "nodes", hours, nodes)),
    ]
    return report_page(PageReport(title, figures, summary_lines(report), sections))


def write_curves(report: SimulationReport, path: Path) -> None:
    """Write the curves as a Parquet file with a row per point. Writing Parquet needs the extra ``simulate``."""
    import polars as pl  # polars takes long to import, and few users need it.

    curves = report.curves
    columns: dict[str, Sequence[float] | Sequence[int]] = {
        "seconds": curves.at,
        "running": curves.running,
        "waiting": curves.waiting,
        "nodes": curves.nodes,
        "empty": curves.empty,
        "fragmentation": curves.fragmentation,
    }
    columns |= {f"used_{name}": values for name, values in curves.utilisation.items()}
    pl.DataFrame(columns).write_parquet(path)


def _floats(values: Iterable[int]) -> list[float]:
    return [float(each) for each in values]
