"""Options that several commands share, and functions that save and print results."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import click
from rich.console import Console

from benchmarks.reports.report import KINDS
from benchmarks.reports.sheets import Report, print_sheets
from benchmarks.reports.tables import print_environment

Show = Callable[[Report, Console], None]

WIDTH = 150
"""Columns of a table that goes into a file."""


def _writable(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a file that cannot be written before anything is measured for it."""
    if path is not None:
        existed = path.exists()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.open("a").close()
            if not existed:
                path.unlink()
        except OSError as error:
            raise click.BadParameter(
                f"{path} cannot be written: {error.strerror}; name another file"
            ) from None
    return path


OUTPUT = click.option(
    "-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True
)
SAVE = click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=_writable,
    help="Also write the JSON to this file, for `report`.",
)
PARAM = click.option(
    "--param", "params", multiple=True, metavar="NAME=NUMBER", help="Set a parameter. Repeatable."
)
SEED = click.option("--seed", default=1, show_default=True)
SIZE = click.option("--size", help="A size that the workload names, such as small or 10k.")


def make_runs_option(default: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option ``--runs``: how many runs are measured."""
    return click.option(
        "--runs",
        default=default,
        show_default=True,
        type=click.IntRange(1, 100),
        help="Runs after a warm-up.",
    )


def progress() -> Callable[[str], None]:
    """Print what the command is doing, on standard error."""
    console = Console(stderr=True)
    return lambda text: console.print(f"[dim]{text}", highlight=False)


def parse_params(params: Iterable[str]) -> dict[str, int]:
    """Return ``NAME=NUMBER`` pairs; raises ``click.BadParameter``."""
    parsed = {}
    for text in params:
        name, _, value = text.partition("=")
        try:
            number = int(value.replace("_", ""))
        except ValueError:
            number = -1
        if number < 0:
            raise click.BadParameter(
                f"{text!r} is not NAME=NUMBER, with a whole number of 0 or more", param_hint="--param"
            )
        parsed[name.strip()] = number
    return parsed


def emit(report: Report, output: str, save: Path | None, show: Show | None = None) -> None:
    """Save a report if asked to, and print it as tables or as JSON.

    ``show`` prints it; without, the tables are those of ``report``, and the machine. The report's kind is one of
    ``KINDS``, lest ``report`` could not render it; what was measured is saved before that is looked up.
    """
    if save is not None:
        save.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    kind = KINDS[report["kind"]]
    if output == "json":
        json.dump(report, sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    if show is not None:
        show(report, console)
    else:
        print_sheets(kind.sheets(report), console)
        print_environment(report["environment"], console)
