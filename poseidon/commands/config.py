"""``poseidon config``: the configuration of both programs, checked, shown, and described to editors."""

from __future__ import annotations

import json
from pathlib import Path

import click

from poseidon.commands.endings import bad_input
from poseidon.commands.offline_input import read_configuration
from protos.conventions.command_line import OneLineCommand, OneLineGroup

_file = click.argument("file", required=False, type=click.Path(path_type=Path), metavar="[FILE]")


@click.group("config", cls=OneLineGroup)
def config() -> None:
    """Check, show or describe the configuration of both programs."""


@config.command("validate", cls=OneLineCommand)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
def validate(*, files: tuple[Path, ...]) -> None:
    """Check files as both programs do. Exit status 2 with a line per defect."""
    from poseidon.embedding import load_configuration
    from protos.conventions.configuration_file import ConfigurationError

    lines: list[str] = []
    for file in files:
        try:
            load_configuration(file)
        except ConfigurationError as error:
            lines += error.lines
    if lines:
        raise bad_input(lines)
    for file in files:
        click.echo(f"{file}: ok")


@config.command("show", cls=OneLineCommand)
@_file
def show(*, file: Path | None) -> None:
    """Print what holds, with all defaults and without credentials; without FILE the defaults."""
    click.echo(read_configuration(file).effective_yaml(), nl=False)


@config.command("schema", cls=OneLineCommand)
def schema() -> None:
    """Print the JSON Schema of the file, made from the models that check it."""
    from poseidon.embedding import configuration_schema

    click.echo(json.dumps(configuration_schema(), indent=2))
