"""Prints lines and JSON for commands, and ends commands on signals and on unusable input."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from poseidon.kube.parsing.defects import shorten
from protos.conventions.logs import one_line
from protos.conventions.secrets import redact_credentials

_LONGEST_WARNING = 1_000


def fault(message: str, status: int = 2) -> SystemExit:
    """Print a message to standard error, without credentials, and return the exception that ends the command."""
    click.echo(redact_credentials(message), err=True)
    return SystemExit(status)


def bad_input(lines: Iterable[str]) -> SystemExit:
    """Print one line per defect of the input, and return the exception that ends the command with status 2."""
    return fault("\n".join(map(one_line, lines)))


def warn(lines: Iterable[str]) -> None:
    """Print lines to standard error; shorten lines that long names of objects would make unreadable."""
    for line in lines:
        click.echo(f"warning: {shorten(one_line(redact_credentials(line)), _LONGEST_WARNING)}", err=True)


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def stop_event() -> asyncio.Event:
    """Return an event that is set when the program receives SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(ValueError, RuntimeError):  # Python allows signal handlers only in the main thread.
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


def write_page(file: Path, page: str) -> None:
    """Write a web page to a file; if that fails, end the command with status 2."""
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise fault(f"--html: {file}: {error.strerror}") from None
