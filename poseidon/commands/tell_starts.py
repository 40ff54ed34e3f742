"""``poseidon tell-starts``: tells waiting pods, by annotations, when they are expected to get a node."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from poseidon.commands.shared.connection import connect, connection_options, live_faults
from poseidon.commands.shared.offline_input import Source
from poseidon.commands.shared.options import config_option, output_option, seconds_option
from poseidon.commands.shared.output_and_exit import print_json

if TYPE_CHECKING:
    from poseidon.api.reading import ReadCluster
    from poseidon.simulate.expected_starts import ExpectedStarts


@click.command("tell-starts")
@connection_options
@config_option
@click.option(
    "--dry-run", is_flag=True, help="Print the annotations that would be written, and write nothing."
)
@click.option(
    "--every",
    callback=seconds_option,
    metavar="DURATION",
    help="Repeat the command until it is stopped, this long after each end; default: run once.",
)
@output_option
def tell_starts(*, config: Path | None, dry_run: bool, every: float | None, output: str) -> None:
    """Annotate waiting pods with the time when they are expected to get a node.

    A pod asks with the annotation firmament.io/tell-start=true; the command answers with the annotation
    firmament.io/expected-start on that pod. The command simulates the cluster from now on; new pods come as often as
    they did in the last hours. If no pod asks, the command simulates nothing.
    """
    while True:
        found = _write_expected_starts(Source(config=config).read_live(), dry_run=dry_run)
        _print(found, output)
        if every is None:
            return
        time.sleep(every)


def _write_expected_starts(read: ReadCluster, *, dry_run: bool) -> ExpectedStarts | None:
    """Return the expected starts that were written, or None if no pod asks."""
    from dataclasses import replace

    from poseidon.simulate.expected_starts import expect_starts
    from poseidon.simulate.start_annotations import annotate_starts, list_asking

    asking = list_asking(read.manifests)
    if not asking:
        return None
    found = expect_starts(read.manifests, read.configuration, read.now)
    starts = [each for each in found.starts if each.pod in asking]
    if dry_run:
        return replace(found, starts=tuple(starts))

    async def write() -> ExpectedStarts:
        from poseidon.kube.environment import Environment
        from poseidon.rescheduling.cluster_access import ClusterAccess

        async with transport:
            written = await annotate_starts(ClusterAccess(Environment(transport)), starts, read.now)
        return replace(found, starts=tuple(written))

    transport = connect()
    with live_faults(transport):
        return asyncio.run(write())


def _print(found: ExpectedStarts | None, output: str) -> None:
    if output == "json":
        print_json({"expectedStarts": [] if found is None else found.as_json()})
        return
    if found is None:
        click.echo("no waiting pod asks; pods ask by the annotation firmament.io/tell-start=true")
        return
    from poseidon.explanation_tables import print_rows
    from poseidon.simulate.expected_starts import HEADINGS, start_lines, start_rows

    print_rows(HEADINGS, start_rows(found))
    for line in start_lines(found):
        click.echo(line)
