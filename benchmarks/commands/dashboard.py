"""``dashboard``: measures how much the dashboard slows rounds down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, SEED, emit, progress


@click.command()
@click.option("--nodes", default=10_000, show_default=True, type=click.IntRange(1, 100_000))
@click.option("--pods", default=5_000, show_default=True, type=click.IntRange(1, 100_000), help="Of a burst.")
@click.option("--classes", default=100, show_default=True, type=click.IntRange(1, 10_000))
@click.option("--pairs", default=20, show_default=True, type=click.IntRange(1), help="Of bursts.")
@click.option("--browsers", default=200, show_default=True, type=click.IntRange(1, 10_000), help="At a time.")
@SEED
@OUTPUT
@SAVE
def dashboard(output: str, save: Path | None, **options: Any) -> None:
    """Measure rounds with the dashboard's page open and without, in turn, and with many browsers at a time."""
    from benchmarks.processes.dashboard import DashboardOptions, measure_dashboard

    emit(measure_dashboard(DashboardOptions(**options), progress=progress()), output, save)
