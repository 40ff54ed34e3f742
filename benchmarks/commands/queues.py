"""``queues``: measures rounds with queues and quotas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, SEED, emit, make_runs_option, progress

SHAPES = ("deep", "wide", "fill", "unschedulable", "reclaim", "consolidate", "idle")


@click.command()
@click.option(
    "--shape", "shapes", multiple=True, type=click.Choice(SHAPES), help="All, unless told otherwise."
)
@click.option(
    "--scale", default=1.0, show_default=True, type=click.FloatRange(0.001, 10), help="Of all sizes."
)
@make_runs_option(3)
@click.option(
    "--pairs", default=10, show_default=True, type=click.IntRange(1, 100), help="Pairs of idle rounds."
)
@SEED
@OUTPUT
@SAVE
def queues(output: str, save: Path | None, **options: Any) -> None:
    """Measure rounds with queues, by the core alone, in seconds of processor time."""
    from benchmarks.rounds.features.queues import QueueOptions, measure_queues

    emit(measure_queues(QueueOptions(**options), progress=progress()), output, save)
