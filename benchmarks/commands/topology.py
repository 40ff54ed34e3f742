"""``topology``: measures the time for one group over a tree, and rounds with groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, SEED, emit, make_runs_option, progress


@click.command()
@click.option("--nodes", default=10_000, show_default=True, type=click.IntRange(2000, 200_000))
@click.option("--pods", default=1000, show_default=True, type=click.IntRange(1, 5000), help="Of the group.")
@make_runs_option(5)
@click.option(
    "--room", default=8, show_default=True, type=click.IntRange(1, 100), help="Pods per server, at most."
)
@click.option(
    "--groups", default=200, show_default=True, type=click.IntRange(1, 10_000), help="Groups of one round."
)
@click.option(
    "--others", default=5000, show_default=True, type=click.IntRange(1, 100_000), help="Pods beside them."
)
@SEED
@OUTPUT
@SAVE
def topology(output: str, save: Path | None, **options: Any) -> None:
    """Measure processor time of the solver for one group, by rules and trees; then whole rounds of the core,
    by the clock.
    """
    from benchmarks.rounds.features.topology import TopologyOptions, measure_topology

    emit(measure_topology(TopologyOptions(**options), progress=progress()), output, save)
