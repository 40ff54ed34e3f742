"""``burst``: measures pods that arrive faster than reports of use, on a simulated cluster in simulated time."""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks.commands.options import OUTPUT, SAVE, emit, progress


@click.command()
@click.option("--nodes", default=1000, show_default=True, type=click.IntRange(10, 20_000))
@click.option("--pods", default=10_000, show_default=True, type=click.IntRange(1, 200_000))
@click.option(
    "--seeds", default=5, show_default=True, type=click.IntRange(1, 100), help="Runs of each burst."
)
@click.option("--only", default="", help="Only bursts whose label contains this.")
@OUTPUT
@SAVE
def burst(nodes: int, pods: int, seeds: int, only: str, output: str, save: Path | None) -> None:
    """Measure true utilisation of nodes after a burst that their metrics show only a minute later.

    With the overlay load_threshold (65 % of cpu), by the default configuration without it, and by requests; for pods
    that use exactly what is estimated, or less; with noise; with metrics missing for a tenth of the nodes and stale for
    another. Ten pods per node of the default sizes fill nodes to about a half.
    """
    from benchmarks.bursts.chosen_bursts import measure_bursts, standard_bursts
    from benchmarks.environment import environment

    chosen = {label: each for label, each in standard_bursts(nodes, pods).items() if only in label}
    if not chosen:
        raise click.BadParameter(f"no burst has {only!r} in its label", param_hint="--only")
    result = measure_bursts(chosen, range(1, seeds + 1), progress())
    emit({"kind": "burst", "environment": environment(), **result}, output, save)
