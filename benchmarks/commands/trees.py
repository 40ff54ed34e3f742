"""``trees``: measures rounds with trees of groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, emit, make_runs_option, progress


@click.command()
@click.option("--nodes", default=5_000, show_default=True, type=click.IntRange(1, 100_000))
@click.option(
    "--rack", default=50, show_default=True, type=click.IntRange(1, 100_000), help="Nodes of a rack."
)
@click.option(
    "--zone", default=25, show_default=True, type=click.IntRange(1, 100_000), help="Racks of a zone."
)
@click.option(
    "--scale",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0.001, 10),
    help="Share of the shapes' trees or, where their groups are large, of the pods of these.",
)
@click.option(
    "--divided",
    is_flag=True,
    help="Divide the pods of each group evenly over racks, instead of keeping them in one.",
)
@make_runs_option(3)
@OUTPUT
@SAVE
def trees(output: str, save: Path | None, **options: Any) -> None:
    """Measure trees of groups decided in one round by the core alone."""
    from benchmarks.rounds.features.trees import TreeOptions, measure_trees

    emit(measure_trees(TreeOptions(**options), progress=progress()), output, save)
