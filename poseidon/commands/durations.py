"""Durations as options of commands."""

from __future__ import annotations

import click

from protos.conventions.configuration import parse_duration


def seconds_option(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    """Return seconds from such as 10m, as a callback of an option; anything else ends the command."""
    if value is None:
        return None
    try:
        return float(parse_duration(value))
    except (TypeError, ValueError) as error:
        raise click.BadParameter(str(error)) from None
