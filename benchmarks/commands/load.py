"""``load``: measures how much measured use slows rounds down."""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks.commands.options import OUTPUT, SAVE, SEED, emit, progress


@click.command()
@click.option("--nodes", default=10_000, show_default=True, type=click.IntRange(1, 1_000_000))
@click.option("--tasks", default=10_000, show_default=True, type=click.IntRange(1, 10_000_000))
@click.option("--classes", default=100, show_default=True, type=click.IntRange(1, 100_000))
@click.option(
    "--fill",
    default=0.65,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="Mean share of the machines that is taken; 0.65 are about ten tasks on each.",
)
@click.option(
    "--interval", default=10.0, show_default=True, type=click.FloatRange(0.1), help="Seconds between reports."
)
@click.option("--pairs", default=11, show_default=True, type=click.IntRange(1, 100), help="After a warm-up.")
@SEED
@OUTPUT
@SAVE
def load(
    nodes: int,
    tasks: int,
    classes: int,
    fill: float,
    interval: float,
    pairs: int,
    seed: int,
    output: str,
    save: Path | None,
) -> None:
    """Measure rounds with and without the load_threshold overlay, and beside a stream of reports about all
    machines.
    """
    from benchmarks.rounds.features.load import LoadOptions, measure_load
    from benchmarks.scenario import Scenario

    options = LoadOptions(Scenario(nodes, tasks, classes, str(fill), seed), pairs, interval)
    emit(measure_load(options, progress=progress()), output, save)
