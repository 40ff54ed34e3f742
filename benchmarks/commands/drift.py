"""``drift``: compares the time of whole rounds with that of an earlier commit."""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks.commands.options import OUTPUT, SAVE, emit, progress


@click.command()
@click.option(
    "--base", default="", help="Commit to compare with; by default the one that the record began with."
)
@click.option("--nodes", default=10_000, show_default=True, type=click.IntRange(1))
@click.option("--tasks", default=10_000, show_default=True, type=click.IntRange(1))
@click.option(
    "--classes",
    multiple=True,
    default=(10, 100, 500, 2000),
    show_default=True,
    type=click.IntRange(1),
    help="Repeatable.",
)
@click.option("--pairs", default=9, show_default=True, type=click.IntRange(1, 100))
@OUTPUT
@SAVE
def drift(
    base: str, nodes: int, tasks: int, classes: tuple[int, ...], pairs: int, output: str, save: Path | None
) -> None:
    """Compare whole rounds with those of an earlier commit, in alternation, by processor seconds.

    The commit is checked out beside this tree, and removed afterwards. Each release saves what it found to
    benchmarks/results, where small steps add up to what is seen.
    """
    from benchmarks.rounds.drift import BASE, DriftError, measure_drift

    try:
        report = measure_drift(
            base or BASE, classes, nodes=nodes, tasks=tasks, pairs=pairs, progress=progress()
        )
    except DriftError as error:
        raise click.ClickException(str(error)) from None
    emit(report, output, save)
