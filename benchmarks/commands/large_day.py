"""``large-day``: simulates a day of a large cluster twice, and compares the reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, emit, progress


@click.command()
@click.option("--nodes", default=12_500, show_default=True, type=click.IntRange(1), help="Nodes of 32 cores.")
@click.option(
    "--load",
    default=0.9,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True),
    help="Work, as a part of the nodes' CPU.",
)
@click.option("--hours", default=24.0, show_default=True, type=click.FloatRange(0.1), help="Simulated hours.")
@click.option("--runs", default=2, show_default=True, type=click.IntRange(1), help="Runs of the same day.")
@OUTPUT
@SAVE
def large_day(output: str, save: Path | None, **options: Any) -> None:
    """Simulate the same day of a large cluster several times: time, memory, and whether all reports are equal."""
    from benchmarks.quality.large_day import DayOptions, measure_day

    emit(measure_day(DayOptions(**options), progress=progress()), output, save)
