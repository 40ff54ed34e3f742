"""Prints what ``firmament submit`` reports at the end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

if TYPE_CHECKING:
    from rich.console import Console

    from firmament.submit.submission_log import SubmissionLog


REFRESH_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class SubmissionReport:
    """The figures of a run."""

    nodes: int
    """Number of machines."""
    tasks: int
    """Number of tasks submitted."""
    placed: int
    """Number of tasks placed."""
    unplaced: int
    """Number of tasks not placed."""
    finished: int
    """Number of tasks that ended."""
    rounds: int
    """Number of rounds that the solver ran."""
    seconds: float
    """Seconds of the run."""
    placements_per_second: float
    """Placements per second."""
    latency_p50_ms: float | None
    """Median milliseconds from submission to delta; null without placements."""
    latency_p90_ms: float | None
    """The 90th percentile of milliseconds from submission to delta; null without placements."""
    latency_p99_ms: float | None
    """The 99th percentile of milliseconds from submission to delta; null without placements."""
    nodes_used: int
    """Number of machines with tasks."""
    overcommitted: int
    """Number of machines on which requests ever exceeded what they offer, as the client counts."""
    duplicates: int
    """Number of tasks that were placed twice."""
    complete: bool
    """Whether the run ended by itself, before the time-out."""
    unplaced_reasons: dict[str, int]
    """Number of pending tasks by the solver's message."""


def summarise(ledger: SubmissionLog, nodes: int, *, complete: bool) -> SubmissionReport:
    """Return the figures of a run from its ledger."""
    latencies = ledger.latencies() * 1000.0
    p50, p90, p99 = np.percentile(latencies, (50, 90, 99)).tolist() if len(latencies) else (None, None, None)
    seconds, placed = ledger.placing_seconds(), ledger.placed_count
    return SubmissionReport(
        nodes=nodes,
        tasks=ledger.submitted_count,
        placed=placed,
        unplaced=ledger.submitted_count - placed,
        finished=int(ledger.ended.sum()),
        rounds=ledger.rounds,
        seconds=seconds,
        placements_per_second=placed / seconds if seconds > 0 else 0.0,
        latency_p50_ms=p50,
        latency_p90_ms=p90,
        latency_p99_ms=p99,
        nodes_used=int(ledger.hosts.sum()),
        overcommitted=int(ledger.overcommitted.sum()),
        duplicates=ledger.duplicates,
        complete=complete,
        unplaced_reasons=ledger.reasons(),
    )


def print_table(report: SubmissionReport, console: Console) -> None:
    """Print the report for people."""
    latencies = (report.latency_p50_ms, report.latency_p90_ms, report.latency_p99_ms)
    shown = " / ".join("-" if each is None else f"{each:.1f}" for each in latencies)
    table = Table(show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for what, count in (
        ("machines", report.nodes),
        ("tasks submitted", report.tasks),
        ("tasks placed", report.placed),
        ("tasks unplaced", report.unplaced),
        ("tasks finished", report.finished),
        ("rounds", report.rounds),
    ):
        table.add_row(what, f"{count:,}")
    table.add_row("seconds, first submission to last delta", f"{report.seconds:.3f}")
    table.add_row("placements per second", f"{report.placements_per_second:,.0f}")
    table.add_row("latency p50 / p90 / p99", f"{shown} ms")
    table.add_row("machines used", f"{report.nodes_used:,}")
    table.add_row("machines overcommitted", f"{report.overcommitted:,}")
    console.print(table)
    for message, count in sorted(report.unplaced_reasons.items(), key=lambda item: -item[1])[:5]:
        console.print(f"{count:,} unplaced: {message}", highlight=False, markup=False)
    if not report.complete:
        console.print("Stopped at the time-out, before every task had an answer.", highlight=False)


# --- A progress display for terminals; elsewhere nothing is shown.


async def show_progress(ledger: SubmissionLog, total: int, console: Console) -> None:
    """Show how many tasks are submitted and placed, until cancelled."""
    if not console.is_terminal:
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} / {task.total:,.0f}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        submitted = progress.add_task("submitted", total=total)
        placed = progress.add_task("placed", total=total)
        while True:
            progress.update(submitted, completed=ledger.submitted_count)
            progress.update(placed, completed=ledger.placed_count)
            await asyncio.sleep(REFRESH_SECONDS)
