"""``preemption``: measures rounds that evict pods for more important ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, SEED, emit, make_runs_option, progress


@click.command()
@click.option("--nodes", default=5000, show_default=True, type=click.IntRange(1, 100_000))
@click.option(
    "--running", default=4, show_default=True, type=click.IntRange(1, 36), help="Pods on each machine."
)
@click.option("--preemptors", default=5000, show_default=True, type=click.IntRange(1, 1_000_000))
@click.option(
    "--classes",
    default=20,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="Of preemptors, where mixed.",
)
@make_runs_option(3)
@click.option(
    "--pairs", default=10, show_default=True, type=click.IntRange(1, 100), help="Pairs with nobody to evict."
)
@SEED
@OUTPUT
@SAVE
def preemption(output: str, save: Path | None, **options: Any) -> None:
    """Measure pods placed per second by evicting others, by the core alone, and what preemption costs without
    victims.
    """
    from benchmarks.rounds.features.preemption import PreemptionOptions, measure_preemption

    emit(measure_preemption(PreemptionOptions(**options), progress=progress()), output, save)
