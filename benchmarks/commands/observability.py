"""``observability``: measures how much metrics and traces slow rounds down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, SEED, emit, progress


@click.command()
@click.option("--nodes", default=10_000, show_default=True, type=click.IntRange(1, 100_000))
@click.option("--tasks", default=10_000, show_default=True, type=click.IntRange(1, 200_000))
@click.option("--classes", default=100, show_default=True, type=click.IntRange(1, 10_000))
@click.option("--pairs", default=20, show_default=True, type=click.IntRange(1), help="Of rounds.")
@click.option(
    "--end-to-end", default=5, show_default=True, type=click.IntRange(0), help="Pairs of both processes."
)
@SEED
@OUTPUT
@SAVE
def observability(output: str, save: Path | None, **options: Any) -> None:
    """Return what metrics and traces cost: rounds and both processes end to end run in turn with both and with
    neither.
    """
    from benchmarks.processes.observability import ObservabilityOptions, measure_observability

    emit(measure_observability(ObservabilityOptions(**options), progress=progress()), output, save)
