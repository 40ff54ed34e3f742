"""``fragmentation``: measures how much of shared GPUs is in use when a cluster is full."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, emit, progress
from benchmarks.reports.report import load_results
from benchmarks.reports.sheets import Report


@click.command()
@click.option("--variant", "variants", multiple=True, help="Of the pods. Repeatable; all without it.")
@click.option("--seeds", default=1, show_default=True, type=click.IntRange(1), help="Orders of arrival.")
@click.option("--first-seed", default=42, show_default=True, help="The seed of the first order of arrival.")
@click.option(
    "--batch", default=20, show_default=True, type=click.IntRange(1), help="Pods between two rounds."
)
@click.option("--part", default=1, show_default=True, type=click.IntRange(1), help="One of so many machines.")
@click.option(
    "--moves",
    default=0.0,
    type=click.FloatRange(0, 100),
    help="Run once more, and move at most so many percent of the pods.",
)
@click.option(
    "--learned",
    is_flag=True,
    help="Run once more, without saying beforehand how frequent each type of pod is, which FGD knows.",
)
@click.option(
    "--add-to",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Add each run to this file, and measure no run that it has already.",
)
@OUTPUT
@SAVE
def fragmentation(output: str, save: Path | None, add_to: Path | None, **options: Any) -> None:
    """Count the GPUs that are allocated when pods fill the cluster openb, and compare with FGD, best fit and a
    bound.
    """
    from benchmarks.fragmentation.measure import (
        FragmentationOptions,
        OtherOptionsError,
        measure_fragmentation,
    )
    from benchmarks.fragmentation.trace import list_variants

    unknown = sorted(set(options["variants"]) - set(list_variants()))
    if unknown:
        raise click.BadParameter(f"no variant {unknown[0]!r}; there are {', '.join(list_variants())}")
    earlier = None
    if add_to is not None and add_to.exists():
        (earlier,) = load_results([add_to])
        if earlier["kind"] != "fragmentation":
            raise click.BadParameter(f"{add_to} is a result of {earlier['kind']!r}; name another file")

    def keep(report: Report) -> None:
        if add_to is not None:
            add_to.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")

    try:
        report = measure_fragmentation(
            FragmentationOptions(**options), progress=progress(), earlier=earlier, keep=keep
        )
    except OtherOptionsError as error:
        raise click.BadParameter(f"{add_to}: {error}; name another file") from None
    emit(report, output, save)
