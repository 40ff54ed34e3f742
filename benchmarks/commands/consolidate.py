"""``consolidate``: compares how many machines could be emptied with a search of prefixes of a sorted list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, emit, progress


@click.command()
@click.option("--machines", default=100, show_default=True, type=click.IntRange(2, 10_000))
@click.option(
    "--pools",
    default=8,
    show_default=True,
    type=click.IntRange(0),
    help="Tasks stay in that of their machine.",
)
@click.option("--seeds", default=100, show_default=True, type=click.IntRange(1), help="Clusters.")
@click.option("--tries", default=500, show_default=True, type=click.IntRange(1), help="Of each search.")
@click.option("--first", default=0, show_default=True, help="The first seed.")
@OUTPUT
@SAVE
def consolidate(output: str, save: Path | None, **options: Any) -> None:
    """Count machines emptied with as many moves as a search of prefixes takes, and with any number, on random
    clusters.
    """
    from benchmarks.quality.consolidation import ConsolidationOptions, measure_consolidation

    emit(measure_consolidation(ConsolidationOptions(**options), progress=progress()), output, save)
