"""``numa``: measures how much aligning pods with NUMA zones slows rounds down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, SEED, emit, make_runs_option, progress
from cost_models.numa.arguments import STRATEGIES


@click.command()
@click.option("--nodes", default=5000, show_default=True, type=click.IntRange(1, 100_000))
@click.option("--pods", default=10_000, show_default=True, type=click.IntRange(1, 1_000_000))
@click.option("--classes", default=50, show_default=True, type=click.IntRange(1, 10_000))
@click.option(
    "--containers", default=1, show_default=True, type=click.IntRange(1, 10), help="At most, per pod."
)
@click.option("--strategy", default="LeastAllocated", show_default=True, type=click.Choice(STRATEGIES))
@make_runs_option(5)
@click.option(
    "--pairs", default=20, show_default=True, type=click.IntRange(1, 100), help="Pairs without records."
)
@SEED
@OUTPUT
@SAVE
def numa(
    nodes: int, pods: int, classes: int, seed: int, output: str, save: Path | None, **options: Any
) -> None:
    """Measure guaranteed pods per second on machines of 2 to 8 NUMA zones, by the core alone, with the
    overlay numa_fit.

    Also measures what the overlay costs, as a ratio, if no machine has a record.
    """
    from benchmarks.rounds.features.numa import NumaOptions, measure_numa
    from benchmarks.scenario import Scenario

    scenario = Scenario(nodes, pods, classes, "0.5", seed)
    emit(measure_numa(NumaOptions(scenario, **options), progress=progress()), output, save)
