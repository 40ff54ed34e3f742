"""``small`` and ``full``: run all measurements once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from benchmarks.commands.options import SEED, WIDTH, progress

if TYPE_CHECKING:
    from benchmarks.everything import Plan


def _make_folder(_context: click.Context, _option: click.Parameter, folder: Path | None) -> Path | None:
    """Refuse a folder that cannot be made before anything is measured for it."""
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise click.BadParameter(
                f"{folder} cannot be made: {error.strerror}; name another folder"
            ) from None
    return folder


SAVE_FOLDER = click.option(
    "--save",
    type=click.Path(file_okay=False, path_type=Path),
    callback=_make_folder,
    help="Also write the JSON into this folder.",
)


@click.command()
@SAVE_FOLDER
@SEED
def small(save: Path | None, seed: int) -> None:
    """Run every workload and comparator at a small size; under three minutes on two cores."""
    from benchmarks.everything import SMALL

    _run(SMALL, "small", save, seed)


@click.command()
@SAVE_FOLDER
@SEED
def full(save: Path | None, seed: int) -> None:
    """Run every workload and comparator at full size; this takes the better part of an hour."""
    from benchmarks.everything import FULL

    _run(FULL, "full", save, seed)


def _run(plan: Plan, name: str, save: Path | None, seed: int) -> None:
    from benchmarks.declarative.loading import WorkloadError
    from benchmarks.targets.base import TargetError
    from poseidon.testbed.harness.child import ChildDiedError

    try:
        asyncio.run(_show_all(plan, name, save, seed))
    except (TargetError, WorkloadError, ChildDiedError) as error:
        raise click.ClickException(str(error)) from None


async def _show_all(plan: Plan, name: str, save: Path | None, seed: int) -> None:
    from benchmarks.everything import measure_everything
    from benchmarks.reports import tables

    show: dict[str, Callable[[dict[str, Any], Console], None]] = {
        "workloads": tables.print_workloads,
        "comparison": tables.print_comparison,
        "growth": tables.print_growth,
        "optimum": tables.print_optimum,
    }
    console = Console() if Console().is_terminal else Console(width=WIDTH)
    async for report in measure_everything(plan, seed, progress()):
        show[report["kind"]](report, console)
        if save is not None:
            _write(save, f"{name}-{report['kind']}.json", report)


def _write(folder: Path, name: str, report: dict[str, Any]) -> None:
    (folder / name).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
