"""``hostile``: measures how much one tenant's most expensive pods delay the pods of another tenant."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, emit, progress
from benchmarks.hostile.groups import GROUP_SHAPES
from benchmarks.hostile.pods import SHAPES


@click.command()
@click.option("--nodes", default=1_500, show_default=True, type=click.IntRange(1, 100_000))
@click.option("--classes", default=100, show_default=True, type=click.IntRange(1, 10_000))
@click.option(
    "--pods",
    default=1_000,
    show_default=True,
    type=click.IntRange(1, 100_000),
    help="Ordinary ones at a time.",
)
@click.option(
    "--hostile",
    "hostile_pods",
    default=500,
    show_default=True,
    type=click.IntRange(1, 100_000),
    help="Hostile ones.",
)
@click.option(
    "--size",
    default=3 * 2**19,
    show_default=True,
    type=click.IntRange(1_000, 2**24),
    help="Bytes of the largest pod.",
)
@click.option("--runs", default=3, show_default=True, type=click.IntRange(1, 100))
@click.option(
    "--workers",
    default=2,
    show_default=True,
    type=click.IntRange(1, 64),
    help="Processes that measure side by side.",
)
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    type=click.Choice([*SHAPES, *GROUP_SHAPES]),
    help="What there is too much of; all if none.",
)
@click.option(
    "--processes",
    is_flag=True,
    help="Run both programs on a simulated cluster, and measure until pods are seen bound; of a few shapes if none.",
)
@OUTPUT
@SAVE
def hostile(
    output: str,
    save: Path | None,
    shapes: tuple[str, ...],
    hostile_pods: int,
    *,
    processes: bool,
    **options: Any,
) -> None:
    """Measure how much one tenant's most expensive pods delay those of another, in processor seconds.

    With --processes in seconds of the clock. Ends with status 1 if that is more than the promised bound.
    """
    from benchmarks.hostile.delays import HostileOptions, run_hostile
    from benchmarks.hostile.processes import FEW, run_processes

    if processes and (groups := [each for each in shapes if each in GROUP_SHAPES]):
        raise click.UsageError(f"--processes measures pods, no groups: {groups[0]}")
    chosen = HostileOptions(
        **options, hostile=hostile_pods, shapes=shapes or (FEW if processes else (*SHAPES, *GROUP_SHAPES))
    )
    report = (run_processes if processes else run_hostile)(chosen, progress=progress())
    emit(report, output, save)
    if not report["holds"]:
        sys.exit(1)
