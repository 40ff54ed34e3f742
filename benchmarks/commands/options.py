"""Options that several commands share, and how results leave the harness."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from rich.console import Console

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
SIZE = click.option("--size", help="A size that the workload names, such as small or 10k.")


def progress() -> Callable[[str], None]:
    """Say what is being done, on standard error."""
    console = Console(stderr=True)
    return lambda text: console.print(f"[dim]{text}", highlight=False)


def parsed_params(params: Iterable[str]) -> dict[str, int]:
    """``NAME=NUMBER`` pairs; raises ``click.BadParameter``."""
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


def emit(
    report: dict[str, Any], output: str, save: Path | None, show: Callable[[dict[str, Any], Console], None]
) -> None:
    """Print a report as a table or as JSON, and save it if asked to."""
    if save is not None:
        save.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if output == "json":
        json.dump(report, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        show(report, Console(width=None if sys.stdout.isatty() else WIDTH))
