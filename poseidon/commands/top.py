"""``poseidon top``: shows on a terminal how a running bridge and its solver are doing."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from contextlib import suppress
from http.client import HTTPException
from typing import TYPE_CHECKING

import click

from poseidon.commands.shared.options import output_option, seconds_option
from poseidon.commands.shared.output_and_exit import fault
from protos.conventions.secrets import redact_address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poseidon.live.figures import Figures, Values

_MOST_BYTES = 2**24
_PATIENCE = 5.0


@click.command("top")
@click.option(
    "--bridge",
    default="http://127.0.0.1:9092/metrics",
    metavar="URL",
    help="Address at which the bridge serves its metrics.",
)
@click.option(
    "--solver",
    default="http://127.0.0.1:9091/metrics",
    metavar="URL",
    help="Address at which the solver serves its metrics; if it does not answer, the solver's figures stay empty.",
)
@click.option(
    "--interval",
    callback=seconds_option,
    default="2s",
    metavar="DURATION",
    help="Time between two readings of the metrics.",
)
@click.option("--once", is_flag=True, help="Read the metrics twice, print the figures, and exit.")
@output_option
def top(*, bridge: str, solver: str, interval: float, once: bool, output: str) -> None:
    """Show what pods wait for, how many pods are bound, and how long rounds and bindings take, until Ctrl-C.

    The bridge and the solver have to serve metrics (--metrics). With -o json, each reading is one line with a JSON
    object.
    """
    for name, url in (("--bridge", bridge), ("--solver", solver)):
        if not url.startswith(("http://", "https://")):
            raise click.UsageError(
                f"{name}: {redact_address(url)!r} is no address; write for example http://127.0.0.1:9092/metrics"
            )
    looks = _looks(bridge, solver, interval)
    if output == "json":
        for found in looks:
            click.echo(json.dumps(found.as_json()))
            if once:
                return
    else:
        _show(looks, once=once)


def _show(looks: Iterator[Figures], *, once: bool) -> None:
    from rich.console import Console
    from rich.live import Live

    from poseidon.live.top import make_screen

    console = Console(highlight=False)
    if once or not console.is_terminal:
        for found in looks:
            console.print(make_screen(found))
            if once:
                return
    with Live(console=console, screen=True, auto_refresh=False) as live:
        for found in looks:
            live.update(make_screen(found), refresh=True)


def _looks(bridge: str, solver: str, interval: float) -> Iterator[Figures]:
    """Yield the figures of one reading after another, without end.

    If the bridge does not answer, end the command with status 1.
    """
    from poseidon.live.figures import compute_figures

    before, at = _read(bridge, solver), time.monotonic()
    while True:
        time.sleep(interval)
        now, looked = _read(bridge, solver), time.monotonic()
        yield compute_figures(now, before, looked - at)
        before, at = now, looked


def _read(bridge: str, solver: str) -> Values:
    from poseidon.live.figures import parse_metrics

    try:
        found = dict(parse_metrics(_page(bridge)))
    except ValueError as error:
        raise fault(f"{bridge}: {error}; name the page that the bridge serves with --metrics", 1) from None
    except (OSError, HTTPException) as error:
        why = error.reason if isinstance(error, urllib.error.URLError) else error
        raise fault(f"no bridge answers at {bridge}: {why}; start it with --metrics", 1) from None
    # If the solver does not answer, its figures stay empty.
    with suppress(OSError, HTTPException, ValueError):
        found.update(
            (key, value)
            for key, value in parse_metrics(_page(solver)).items()
            if key[0].startswith("firmament_")
        )
    return found


def _page(url: str) -> str:
    with urllib.request.urlopen(url, timeout=_PATIENCE) as answer:  # noqa: S310 - the scheme has been looked at
        return str(answer.read(_MOST_BYTES).decode(errors="replace"))
