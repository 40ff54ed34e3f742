"""``poseidon config``: checks the configuration of both programs, prints it, and prints its JSON Schema for editors.

If the solver's package is not installed, as in the bridge's image, only the names of the solver's sections are
checked.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from poseidon.commands.shared.output_and_exit import bad_input, warn
from protos.conventions.command_line import OneLineCommand, OneLineGroup

if TYPE_CHECKING:
    from poseidon.configuration.document import BridgeConfiguration

_file = click.argument("file", required=False, type=click.Path(path_type=Path), metavar="[FILE]")


@click.group("config", cls=OneLineGroup)
def config() -> None:
    """Check or print the configuration of both programs, or print its JSON Schema."""


@config.command("validate", cls=OneLineCommand)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
def validate(*, files: tuple[Path, ...]) -> None:
    """Check configuration files as both programs check them when they start.

    If a file has defects, print one line per defect and exit with status 2.
    """
    from protos.configuration.file import ConfigurationError

    load, lines = _loader(), list[str]()
    for file in files:
        try:
            load(file)
        except ConfigurationError as error:
            lines += error.lines
    if lines:
        raise bad_input(lines)
    for file in files:
        click.echo(f"{file}: ok")


@config.command("show", cls=OneLineCommand)
@_file
def show(*, file: Path | None) -> None:
    """Print the configuration in effect, with all defaults, without credentials; without FILE, print the defaults."""
    from protos.configuration.file import ConfigurationError

    try:
        click.echo(_loader()(file).effective_yaml(), nl=False)
    except ConfigurationError as error:
        raise bad_input(error.lines) from None


@config.command("schema", cls=OneLineCommand)
def schema() -> None:
    """Print the JSON Schema of the configuration file, made from the models that check the file."""
    from poseidon.configuration.document import BridgeConfiguration
    from poseidon.embedding import configuration_schema
    from protos.configuration.schema import schema_of

    try:
        found = configuration_schema()
    except ModuleNotFoundError:
        _warn_of_half()
        found = schema_of(BridgeConfiguration)
    click.echo(json.dumps(found, indent=2))


def _loader() -> Callable[[Path | None], BridgeConfiguration]:
    """Return the function that checks a file; without the solver's package, it checks the bridge's part only."""
    from poseidon.configuration import document
    from poseidon.embedding import load_configuration

    try:
        load_configuration(None)
    except ModuleNotFoundError:
        _warn_of_half()
        return document.load
    return load_configuration


def _warn_of_half() -> None:
    warn(["the solver's package is not installed here: of its sections only the names are known"])
