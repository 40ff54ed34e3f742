"""``small``: everything once, at small sizes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import click
from rich.console import Console

from benchmarks.commands.options import WIDTH, progress


@click.command()
@click.option(
    "--save", type=click.Path(file_okay=False, path_type=Path), help="Also write the JSON into this folder."
)
@click.option("--seed", default=1, show_default=True)
def small(save: Path | None, seed: int) -> None:
    """Run every workload and comparator at a small size; under three minutes on two cores."""
    from benchmarks import tables
    from benchmarks.declarative.loading import WorkloadError
    from benchmarks.small import measure_small
    from benchmarks.targets.base import TargetError

    show = {
        "workloads": tables.print_workloads,
        "comparison": tables.print_comparison,
        "growth": tables.print_growth,
        "optimum": tables.print_optimum,
    }
    try:
        reports = asyncio.run(measure_small(seed, progress()))
    except (TargetError, WorkloadError) as error:
        raise click.ClickException(str(error)) from None
    console = Console() if Console().is_terminal else Console(width=WIDTH)
    for report in reports:
        show[report["kind"]](report, console)
        if save is not None:
            save.mkdir(parents=True, exist_ok=True)
            (save / f"small-{report['kind']}.json").write_text(json.dumps(report, indent=1) + "\n")
