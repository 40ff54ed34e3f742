"""``shards``: measures how much worse placements are if several solvers share a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, emit, progress


@click.command()
@click.option("--nodes", default=100_000, show_default=True, type=click.IntRange(1), help="Machines.")
@click.option(
    "--load",
    "loads",
    multiple=True,
    type=click.FloatRange(0, 1, min_open=True),
    default=(0.2,),
    show_default=True,
    help="CPU that tasks ask for, as a part of what there is. Repeatable.",
)
@click.option(
    "--shards",
    multiple=True,
    type=click.IntRange(2),
    default=(2, 4, 8, 16),
    show_default=True,
    help="Solvers, beside one. Repeatable.",
)
@click.option("--classes", default=100, show_default=True, type=click.IntRange(1), help="Kinds of tasks.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0), help="Of all that is drawn.")
@OUTPUT
@SAVE
def shards(output: str, save: Path | None, **options: Any) -> None:
    """Place tasks by several solvers that share a cluster, and compare costs with those of one."""
    from benchmarks.quality.shards import ShardsOptions, measure_shards

    emit(measure_shards(ShardsOptions(**options), progress=progress()), output, save)
