"""``requests``: measures the processor time of a small write in its client, over plain HTTP and TLS."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, emit


@click.command()
@click.option("--count", default=10_000, show_default=True, type=click.IntRange(1), help="Bindings per run.")
@click.option("--in-flight", default=64, show_default=True, type=click.IntRange(1, 1000), help="At a time.")
@click.option("--runs", default=3, show_default=True, type=click.IntRange(1, 100))
@OUTPUT
@SAVE
def requests(count: int, in_flight: int, runs: int, output: str, save: Path | None) -> None:
    """Measure processor time per posted binding, with the connections for writes and with a full HTTP client."""
    from benchmarks.processes.requests import measure_requests
    from benchmarks.targets.base import TargetError
    from poseidon.testbed.harness.child import ChildDiedError

    measuring = measure_requests(count, in_flight, runs)
    try:
        report = _run(measuring)
    except (TargetError, ChildDiedError) as error:
        raise click.ClickException(str(error)) from None
    emit(report, output, save)


def _run(measuring: Any) -> Any:
    # The same event loop as the bridge's.
    try:
        import uvloop
    except ImportError:
        return asyncio.run(measuring)
    return uvloop.run(measuring)
