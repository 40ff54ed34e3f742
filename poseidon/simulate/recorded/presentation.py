"""Shows how a recording compares with its repeated decisions, or with its run under another configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from poseidon.simulate.presentation import HOUR, format_span
from poseidon.simulate.recorded.replaying import ReplayedDecisions
from poseidon.simulate.recorded.what_if import SideBySide
from poseidon.simulate.report import SimulationReport
from poseidon.ui.report import LineChart, PageReport, Section, Table, report_page
from protos.conventions.number_formats import format_count

DIFFERENCES = ("ROUND", "POD", "WAS", "NOW")
SIDES = (
    "KIND", "TASKS", "WAITING WAS", "NOW", "P50 WAS", "NOW", "P90 WAS", "NOW", "LONGEST WAS", "NOW", "EVICTIONS NOW",
)  # fmt: skip


def difference_rows(found: ReplayedDecisions) -> list[tuple[str, ...]]:
    """Return the rows of a table of the first decisions that differ from the recorded ones."""
    return [(f"{each.round:,}", each.task, each.was or "-", each.now or "-") for each in found.first]


def describe_replayed_decisions(found: ReplayedDecisions) -> list[str]:
    """Return sentences that say how many recorded decisions the solver made again, and what was not compared."""
    rounds, streams = format_count(found.rounds, "round"), format_count(found.streams, "stream")
    lines = [
        f"{format_count(found.decisions, 'decision')} in {rounds} of {streams}; {found.same:,} made again."
    ]
    if found.partial:
        lines.append(
            f"The beginning of {format_count(found.partial, 'stream')} is not recorded any more: back-offs and "
            "reservations of that time are not known."
        )
    if found.refused:
        lines.append(f"The solver refused {format_count(found.refused, 'message')}, as it did then.")
    return lines


def side_rows(sides: SideBySide) -> list[tuple[str, ...]]:
    """Return the rows of a table of waiting times by kind, and over all tasks, for recording and simulation."""
    was = {each.kind: each for each in sides.was.waits}
    rows = []
    for each in sides.now.waits:
        before = was.get(each.kind)
        if before is not None:
            rows.append(
                (
                    each.kind,
                    f"{each.arrived:,}",
                    f"{before.waiting:,}",
                    f"{each.waiting:,}",
                    *(
                        format_span(time)
                        for pair in (
                            (before.p50, each.p50),
                            (before.p90, each.p90),
                            (before.longest, each.longest),
                        )
                        for time in pair
                    ),
                    f"{each.evictions:,}",
                )
            )
    return rows


def side_lines(sides: SideBySide) -> list[str]:
    """Return the comparison of recording and simulation as sentences."""
    was, now = sides.was, sides.now
    used = ", ".join(
        f"{name} {part:.1%} (was {was.utilisation.get(name, 0.0):.1%})"
        for name, part in now.utilisation.items()
    )
    recorded = f"{format_span(was.horizon)} recorded on {was.nodes:,.0f} nodes"
    lost = f"{now.fragmentation:.1%} of the free CPU was on nodes that the mean task did not fit on"
    rounds = f"{format_count(now.rounds, 'round')} (was {was.rounds:,})"
    return [
        f"{recorded}; {now.empty:,.1f} of them empty (was {was.empty:,.1f}).",
        f"In use: {used or 'nothing'}.",
        f"{lost} (was {was.fragmentation:.1%}).",
        f"{rounds}; {now.preempted:,} preempted (was {was.preempted:,}).",
    ]


def side_page(sides: SideBySide, title: str) -> str:
    """Return the comparison of recording and simulation as one web page."""
    both = {"was": sides.was, "now": sides.now}
    hours = [each / HOUR for each in sides.was.curves.at]

    def plot(heading: str, unit: str, values: Callable[[SimulationReport], Iterable[float]]) -> Section:
        curves = {name: [float(each) for each in values(report)] for name, report in both.items()}
        return Section(heading, LineChart("hours", unit, hours, curves))

    sections = [
        Section("Waiting for the first node", table=Table(SIDES, side_rows(sides), len(SIDES) - 1)),
        plot("Tasks that wait", "tasks", lambda report: report.curves.waiting),
        plot(
            "CPU in use",
            "%",
            lambda report: (100.0 * each for each in report.curves.utilisation.get("cpu", ())),
        ),
        plot("Empty nodes", "nodes", lambda report: report.curves.empty),
    ]
    figures = [
        (f"{format_span(was.p50)} → {format_span(now.p50)}", "median wait")
        for was, now in zip(sides.was.waits[-1:], sides.now.waits[-1:], strict=True)
    ]
    return report_page(PageReport(title, figures, side_lines(sides), sections))
