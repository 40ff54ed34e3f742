"""``reschedule``: compares moves that lower costs with those of a network with a node per task, and of CP-SAT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, SEED, emit, progress


@click.command()
@click.option("--machines", default=12_500, show_default=True, type=click.IntRange(2, 100_000))
@click.option("--tasks", default=150_000, show_default=True, type=click.IntRange(10), help="That run.")
@click.option("--classes", default=1_500, show_default=True, type=click.IntRange(1))
@click.option(
    "--price", default=20.0, show_default=True, type=click.FloatRange(0), help="Points a move must gain."
)
@click.option("--runs", default=3, show_default=True, type=click.IntRange(1))
@click.option("--small", default=3, show_default=True, help="Clusters of 300 machines beside CP-SAT.")
@click.option("--seconds", default=600.0, show_default=True, help="For CP-SAT on each.")
@click.option(
    "--beside",
    default=24,
    show_default=True,
    type=click.IntRange(1),
    help="Pairs of rounds, alone and beside a plan.",
)
@SEED
@OUTPUT
@SAVE
def reschedule(output: str, save: Path | None, **options: Any) -> None:
    """Measure a round of everything that runs: which moves pay, the frontier of all numbers of moves, and
    their bounds.
    """
    from benchmarks.quality.rescheduling import ReschedulingOptions, measure_rescheduling
    from benchmarks.rounds.beside_move_planning import measure_beside

    asked, say = ReschedulingOptions(**options), progress()
    found = measure_rescheduling(asked, progress=say)
    say("rounds beside a plan")
    beside = measure_beside(asked.machines, asked.tasks, asked.classes, asked.beside)
    emit({**found, "beside": beside}, output, save)
