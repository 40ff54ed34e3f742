"""Options that several commands share, and types of their values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from protos.conventions.durations import parse_duration

if TYPE_CHECKING:
    from poseidon.configuration.document import BridgeConfiguration

F = TypeVar("F", bound=Callable[..., Any])


def together(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return a decorator that adds the given options to a command, in their order."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


class HostPort(click.ParamType[tuple[str, int]]):
    """Type of options: ``HOST:PORT``, with brackets around an IPv6 address."""

    name = "HOST:PORT"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        """Return host and port; if the text is not ``HOST:PORT``, end the command."""
        if isinstance(value, tuple):
            return value
        host, _, port = str(value).rpartition(":")
        if not host or not port.isdecimal() or int(port) > 65535:
            self.fail(f"{value!r} is not HOST:PORT; write for example 127.0.0.1:9090", param, ctx)
        return host.removeprefix("[").removesuffix("]"), int(port)


class Percentage(click.ParamType[tuple[str, float]]):
    """Type of options: ``RESOURCE=PERCENT``."""

    name = "RESOURCE=PERCENT"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        """Return (resource, percent); if the text is not ``RESOURCE=PERCENT``, end the command."""
        if isinstance(value, tuple):
            return value
        resource, _, percent = str(value).partition("=")
        try:
            found = float(percent)
        except ValueError:
            found = -1.0
        if not resource or not 0 < found <= 100:
            self.fail(f"{value!r} is not RESOURCE=PERCENT; write for example cpu=80", param, ctx)
        return resource, found


def seconds_option(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    """Return the seconds of a duration such as 10m; if the option's text is no duration, end the command."""
    if value is None:
        return None
    try:
        return float(parse_duration(value))
    except (TypeError, ValueError) as error:
        raise click.BadParameter(str(error)) from None


config_option = click.option(
    "--config", type=click.Path(path_type=Path), metavar="FILE", help="Scheduler configuration (YAML)."
)

scheduler_names_option = click.option(
    "--scheduler-name",
    "scheduler_names",
    multiple=True,
    metavar="NAME",
    help="Scheduler name to use instead of the configuration's schedulerNames; '*' means all names. May be repeated.",
)


def override_names(configuration: BridgeConfiguration, names: tuple[str, ...]) -> BridgeConfiguration:
    """Return the configuration, with ``names`` as its scheduler names if any are given."""
    return configuration.model_copy(update={"scheduler_names": names}) if names else configuration


output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    help="Output format: table for people, json for programs.",
)

wide_output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "wide", "json"]),
    default="table",
    help="Output format: table (short) or wide (in full) for people, json for programs.",
)

hot_option = click.option(
    "--hot",
    type=Percentage(),
    multiple=True,
    default=[("cpu", 80.0), ("memory", 90.0)],
    show_default=False,
    metavar="RESOURCE=PERCENT",
    help="Measured use, in percent of the node, above which it is hot. Repeatable; default: cpu=80 and memory=90.",
)


local_data_option = click.option(
    "--delete-emptydir-data",
    "local_data_may_go",
    is_flag=True,
    help="Also move pods with emptyDir or hostPath volumes; the data in these volumes is lost.",
)


def move_cost_option(explanation: str, *, free: bool = True) -> Callable[[F], F]:
    """Return a decorator that adds ``--move-cost`` to a command; if ``free``, the cost may be 0."""
    return click.option(
        "--move-cost",
        type=click.FloatRange(min=0, min_open=not free),
        default=20.0,
        metavar="POINTS",
        help=explanation,
    )


def page_option(text: str) -> Callable[[F], F]:
    """Return a decorator that adds ``--html`` as parameter ``page_file``; ``text`` says what the file will hold."""
    kind = click.Path(path_type=Path, dir_okay=False, writable=True)
    return click.option("--html", "page_file", type=kind, metavar="FILE", help=text)
