"""``sweep``: measures rounds of many sizes, around every size at which the solver changes its algorithm."""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks.commands.options import OUTPUT, SAVE, emit, progress


@click.command()
@click.option("--only", multiple=True, metavar="SERIES", help="Sweep this alone. Repeatable.")
@click.option("--most", type=click.IntRange(1), help="Leave out larger sizes.")
@click.option("--runs", default=5, show_default=True, type=click.IntRange(1, 100))
@OUTPUT
@SAVE
def sweep(only: tuple[str, ...], most: int | None, runs: int, output: str, save: Path | None) -> None:
    """Measure processor time per task at neighbouring sizes, a factor of 1.5 or less apart; it should grow by
    half at most.
    """
    from benchmarks.rounds.growing.sweep import measure_sweep, series

    every = {each.name: each for each in series()}
    for name in only:
        if name not in every:
            raise click.BadParameter(f"{name!r} is none of {', '.join(every)}", param_hint="--only")
    chosen = [each for each in every.values() if not only or each.name in only]
    emit(measure_sweep(chosen, runs=runs, most=most, progress=progress()), output, save)
