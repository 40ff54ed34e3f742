"""``start``: measures how long a bridge takes to read a whole cluster and send it to a solver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, SEED, emit, progress


@click.command()
@click.option("--nodes", default=10_000, show_default=True, type=click.IntRange(1, 100_000))
@click.option("--pods", default=100_000, show_default=True, type=click.IntRange(1, 1_000_000))
@click.option("--classes", default=100, show_default=True, type=click.IntRange(1, 10_000))
@click.option(
    "--pending",
    default=5_000,
    show_default=True,
    type=click.IntRange(0),
    help="Of the pods, those that wait.",
)
@click.option("--timeout", default=300.0, show_default=True, type=click.FloatRange(1.0), help="Seconds.")
@SEED
@OUTPUT
@SAVE
def start(output: str, save: Path | None, **options: Any) -> None:
    """Return how long bridge and solver take to know a cluster, and what memory they need for it; on the
    simulated cluster.
    """
    from benchmarks.processes.start import StartOptions, run_start
    from poseidon.testbed.harness.child import ChildDiedError

    try:
        report = run_start(StartOptions(**options), progress=progress())
    except (ChildDiedError, TimeoutError) as error:
        raise click.ClickException(str(error) or "not all was known in time; raise --timeout") from None
    emit(report, output, save)
