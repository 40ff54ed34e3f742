"""``hostile``: by how much one tenant's pod delays the pods of all others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, emit, progress
from benchmarks.hostile_pods import SHAPES


@click.command()
@click.option("--nodes", default=10_000, show_default=True, type=click.IntRange(1, 100_000))
@click.option("--classes", default=500, show_default=True, type=click.IntRange(1, 10_000))
@click.option(
    "--pods", default=1_000, show_default=True, type=click.IntRange(1, 100_000), help="In each round."
)
@click.option("--size", default=2**20, show_default=True, type=click.IntRange(1_000, 2**24), help="Bytes.")
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    type=click.Choice(list(SHAPES)),
    help="What there is too much of; all if none.",
)
@OUTPUT
@SAVE
def hostile(output: str, save: Path | None, shapes: tuple[str, ...], **options: Any) -> None:
    """How long one pod of a megabyte holds up the others, by what it has too much of; seconds of the processor."""
    from benchmarks.hostile import HostileOptions, run_hostile

    report = run_hostile(HostileOptions(**options, shapes=shapes or tuple(SHAPES)), progress=progress())
    emit(report, output, save)
