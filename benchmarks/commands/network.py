"""``network``: compares joint placement of applications with placement pod by pod."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, SEED, emit, make_runs_option, progress


@click.command()
@click.option("--applications", default=200, show_default=True, type=click.IntRange(1, 100_000))
@click.option(
    "--weight",
    default=5,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="Of the network, on both sides.",
)
@click.option(
    "--groups",
    default=1_000,
    show_default=True,
    type=click.IntRange(0),
    help="Applications at once; 0: skip.",
)
@click.option("--nodes", default=10_000, show_default=True, type=click.IntRange(1, 100_000))
@make_runs_option(3)
@SEED
@OUTPUT
@SAVE
def network(output: str, save: Path | None, **options: Any) -> None:
    """Compare the network cost of random applications, jointly and pod by pod in six orders; and pods per
    second.
    """
    from benchmarks.quality.network import NetworkOptions, measure_network

    emit(measure_network(NetworkOptions(**options), progress=progress()), output, save)
