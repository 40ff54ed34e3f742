"""``gangs``: measures how many gangs a round decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, SEED, emit, make_runs_option, progress


@click.command()
@click.option("--nodes", default=5000, show_default=True, type=click.IntRange(1, 100_000))
@click.option("--gangs", default=500, show_default=True, type=click.IntRange(1, 100_000))
@click.option(
    "--size", default=20, show_default=True, type=click.IntRange(2, 10_000), help="Members of a gang."
)
@click.option(
    "--kinds", default=10, show_default=True, type=click.IntRange(1, 10_000), help="Classes of tasks."
)
@click.option(
    "--room", default=400, show_default=True, type=click.IntRange(0), help="Gangs in the second measurement."
)
@click.option(
    "--rule",
    default="none",
    show_default=True,
    type=click.Choice(("none", "together", "apart", "spread")),
    help="Between a gang's members, of all kinds then: all in one zone, those of a kind on machines of their own, or "
    "spread over zones.",
)
@make_runs_option(5)
@SEED
@OUTPUT
@SAVE
def gangs(output: str, save: Path | None, **options: Any) -> None:
    """Measure gangs decided in one round by the core alone: with room for all of them, and for some."""
    from benchmarks.rounds.features.gangs import GangOptions, measure_gangs

    emit(measure_gangs(GangOptions(**options), progress=progress()), output, save)
