"""``lifetimes``: measures how many nodes stay empty with the overlay ``lifetimes``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, emit, progress


@click.command()
@click.option(
    "--load",
    "loads",
    multiple=True,
    type=click.FloatRange(0, 1, min_open=True),
    default=(0.5, 0.6, 0.7, 0.8),
    show_default=True,
    help="Work, as a part of the nodes' CPU. Repeatable.",
)
@click.option("--seeds", default=2, show_default=True, type=click.IntRange(1), help="Draws of the work.")
@click.option("--nodes", default=120, show_default=True, type=click.IntRange(1), help="Nodes of 32 cores.")
@click.option("--days", default=3.0, show_default=True, type=click.FloatRange(0.1), help="Simulated days.")
@click.option("--weight", default=10, show_default=True, type=click.IntRange(1), help="Of the overlay.")
@OUTPUT
@SAVE
def lifetimes(output: str, save: Path | None, **options: Any) -> None:
    """Count nodes that stay empty in simulated days, with the overlay lifetimes, without it, and with wrong run
    times.
    """
    from benchmarks.quality.lifetimes import LifetimesOptions, measure_lifetimes

    emit(measure_lifetimes(LifetimesOptions(**options), progress=progress()), output, save)
