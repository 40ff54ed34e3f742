"""``network``: what joint placement of applications is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console

from benchmarks.commands.options import OUTPUT, SAVE, emit, progress


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
@click.option(
    "--runs", default=3, show_default=True, type=click.IntRange(1, 100), help="Runs after a warm-up."
)
@click.option("--seed", default=1, show_default=True)
@OUTPUT
@SAVE
def network(output: str, save: Path | None, **options: Any) -> None:
    """Total network cost of random applications, jointly and pod by pod in six orders; pods per second."""
    from benchmarks.network import NetworkOptions, measure_network

    emit(measure_network(NetworkOptions(**options), progress=progress()), output, save, _print)


def _print(report: dict[str, Any], console: Console) -> None:
    quality, strict, links = report["quality"], report["strict"], report["links"]
    console.print(f"{quality['applications']} random applications, weight {report['options']['weight']}")
    console.print(
        f"  against the cheapest of six orders: {100 * quality['median_saving_against_cheapest']:.1f} % lower in the "
        f"median, {100 * quality['worst_saving_against_cheapest']:.1f} % at worst, worse in "
        f"{quality['worse_than_cheapest_order']}; fewer pods placed in {quality['more_pending']}"
    )
    console.print(
        f"  against the default order: {100 * quality['median_saving_against_default']:.1f} % lower in the median"
    )
    console.print(
        f"  hard limits: {strict['placed']} of {strict['pods']} pods placed, {strict['violations']} violations; "
        f"links: {links['placed']} of {links['pods']} placed, fullest link {100 * links['fullest_link']:.0f} %"
    )
    if report["throughput"] is not None:
        speed = report["throughput"]
        console.print(
            f"  {speed['placed']:,} pods at once: {speed['seconds']:.2f} s, {speed['pods_per_second']:,.0f} pods/s "
            f"(without the overlay {speed['seconds_without']:.2f} s)"
        )
