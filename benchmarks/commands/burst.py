"""``burst``: pods that come faster than reports of use, on a simulated cluster and in simulated time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from benchmarks.commands.options import OUTPUT, SAVE, emit, progress


@click.command()
@click.option("--nodes", default=1000, show_default=True, type=click.IntRange(10, 20_000))
@click.option("--pods", default=10_000, show_default=True, type=click.IntRange(1, 200_000))
@click.option("--seed", default=1, show_default=True)
@OUTPUT
@SAVE
def burst(nodes: int, pods: int, seed: int, output: str, save: Path | None) -> None:
    """True utilisation of nodes after a burst that their metrics show only a minute later.

    With the overlay load_threshold (65 % of cpu) and without; with true profiles and with noise; with metrics missing
    for a tenth of the nodes and stale for another. Ten pods per node of the default sizes fill nodes to about a half.
    """
    from benchmarks.burst import measure_bursts, standard_bursts
    from benchmarks.environment import environment

    result = measure_bursts(standard_bursts(nodes, pods, seed), progress())
    emit({"kind": "burst", "environment": environment(), **result}, output, save, print_bursts)


def print_bursts(report: dict[str, Any], console: Console) -> None:
    """One line per burst: what was placed, and what is really used."""
    size = report["bursts"][0]["burst"]
    table = Table(
        title=f"{size['pods']:,} pods on {size['nodes']:,} nodes, metrics {size['lag']:.0f} s late, "
        f"threshold {size['threshold']} %: true utilisation of nodes (cpu)"
    )
    table.add_column("", no_wrap=True)
    for name in ("placed", "waiting", "nodes above", "worst", "p50", "p99", "p99 - p50", "seconds"):
        table.add_column(name, justify="right")
    for each in report["bursts"]:
        table.add_row(
            each["label"],
            f"{each['placed']:,}",
            f"{each['pending']:,}",
            f"{each['above']:.1%}",
            f"{each['worst']:.1f} %",
            f"{each['p50']:.1f} %",
            f"{each['p99']:.1f} %",
            f"{each['spread']:.1f}",
            f"{each['seconds']:.1f}",
        )
    console.print(table)
