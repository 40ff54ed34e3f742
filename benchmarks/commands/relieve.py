"""``relieve``: compares moves off hot machines with the descheduler's LowNodeUtilization."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, emit, progress


@click.command()
@click.option("--machines", default=100, show_default=True, type=click.IntRange(2, 10_000))
@click.option("--seeds", default=20, show_default=True, type=click.IntRange(1))
@click.option(
    "--fill", default=0.75, show_default=True, type=click.FloatRange(0, 1), help="Of what is offered."
)
@click.option("--hot", default=70.0, show_default=True, type=click.FloatRange(0, 100), help="Percent of use.")
@click.option("--low", default=50.0, show_default=True, type=click.FloatRange(0, 100), help="For the other.")
@OUTPUT
@SAVE
def relieve(output: str, save: Path | None, **options: Any) -> None:
    """Count the moves off hot machines, and the machines that are hot afterwards."""
    from benchmarks.quality.relief import ReliefOptions, measure_relief

    emit(measure_relief(ReliefOptions(**options), progress=progress()), output, save)
