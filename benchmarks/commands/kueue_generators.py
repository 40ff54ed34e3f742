"""``kueue-generators``: simulates generators of Kueue's performance tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, emit, progress


@click.command()
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--only",
    "modes",
    multiple=True,
    type=click.Choice(("as Kueue", "unlimited")),
    default=("as Kueue", "unlimited"),
    help="How the simulation is set up. Repeatable; both unless given.",
)
@click.option(
    "--round-every", default=0.25, show_default=True, type=click.FloatRange(0.01), help="Seconds, unlimited."
)
@OUTPUT
@SAVE
def kueue_generators(output: str, save: Path | None, **options: Any) -> None:
    """Simulate FILES, generators of Kueue's performance tests, set up as Kueue decides, and without limits."""
    from benchmarks.quality.kueue_generators import GeneratorOptions, measure_generators

    emit(measure_generators(GeneratorOptions(**options), progress=progress()), output, save)
