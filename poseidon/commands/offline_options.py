"""What ``plan`` and ``explain`` have in common: their options, their input and how they fail."""

from __future__ import annotations

import gc
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from poseidon.kube.parsing.times import seconds
from protos.conventions.logs import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from poseidon.configuration.document import BridgeConfiguration
    from poseidon.manifests.loader import Manifests

F = TypeVar("F", bound="Callable[..., Any]")

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)


class InputError(click.ClickException):
    """Bad input: ends the command with status 2 and one line per defect, nothing around it."""

    exit_code = 2

    def __init__(self, lines: Iterable[str]) -> None:
        super().__init__("\n".join(map(one_line, lines)))

    def show(self, file: Any = None) -> None:
        """Print the lines as they are."""
        click.echo(self.message, file=file, err=file is None)


class Moment(click.ParamType[float]):
    """An RFC 3339 time, as seconds since the epoch."""

    name = "RFC3339"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ARG002
        """Return the seconds, or end the command."""
        found = seconds(value.upper()) if _RFC3339.fullmatch(value) else None
        if found is None:
            raise InputError(
                [f"--now: {value!r} is not an RFC 3339 time; write one such as 2026-01-31T12:00:00Z"]
            )
        return found


output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="For people, or for programs.",
)


def offline_options(command: F) -> F:
    """Add the options that both commands take."""
    for option in (
        output_option,
        click.option(
            "--now",
            type=Moment(),
            help="The time to schedule at, such as 2026-01-31T12:00:00Z; default: now.",
        ),
        click.option(
            "--print-config", is_flag=True, help="Print the configuration with all defaults, and end."
        ),
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Scheduler configuration (YAML).",
        ),
        click.option(
            "-f",
            "--filename",
            "paths",
            multiple=True,
            metavar="PATH",
            help="Manifests: a file, a folder or - for standard input. May be repeated.",
        ),
    ):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class OfflineInput:
    """What a command works on. ``now`` is in seconds since the epoch."""

    manifests: Manifests
    configuration: BridgeConfiguration
    now: float


def read_input(paths: tuple[str, ...], config: Path | None, now: float | None) -> OfflineInput:
    """Read configuration and manifests. All their defects together end the command with status 2."""
    from poseidon.manifests.loader import ManifestError, load_manifests

    if not paths:
        raise click.UsageError("no manifests given; name files, folders or - with -f")
    # What is read stays until the end; looking through it again and again takes longer than what it would free.
    gc.set_threshold(50_000, 20, 50)
    lines: list[str] = []
    configuration: BridgeConfiguration | None = None
    manifests: Manifests | None = None
    try:
        configuration = read_configuration(config)
    except InputError as error:
        lines.append(error.message)
    try:
        manifests = load_manifests(paths)
    except ManifestError as error:
        lines.extend(error.lines)
    if configuration is None or manifests is None:
        raise InputError(lines)
    warn(manifests.warnings)
    return OfflineInput(manifests, configuration, time.time() if now is None else now)


def read_configuration(config: Path | None) -> BridgeConfiguration:
    """Read the configuration; a bad one ends the command with status 2."""
    from poseidon.embedding import load_configuration
    from protos.conventions.configuration_file import ConfigurationError

    try:
        return load_configuration(config)
    except ConfigurationError as error:
        raise InputError(error.lines) from None


def warn(lines: Iterable[str]) -> None:
    """Print lines to standard error."""
    for line in lines:
        click.echo(f"warning: {one_line(line)}", err=True)
