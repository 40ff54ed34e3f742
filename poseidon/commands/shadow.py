"""``poseidon shadow``: compares the nodes that another scheduler chooses with cheaper ones."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from poseidon.commands.shared.connection import (
    connect,
    connection_options,
    get_chosen_solvers,
    live_faults,
    solver_options,
)
from poseidon.commands.shared.options import output_option, seconds_option
from poseidon.commands.shared.output_and_exit import print_json, stop_event
from protos.conventions.number_formats import format_count
from protos.conventions.tls import read_chosen_tls, tls_options

if TYPE_CHECKING:
    from poseidon.kube.client.transport import Transport
    from poseidon.live.shadow import Observation, Report, Shadow

_SHOWN = 20


@click.command("shadow")
@connection_options
@solver_options
@click.option(
    "--scheduler-name",
    multiple=True,
    default=["default-scheduler"],
    help="Name of the scheduler whose pods are compared. Repeatable.",
)
@click.option(
    "--for",
    "period",
    callback=seconds_option,
    metavar="DURATION",
    help="How long to run, such as 10m; default: until Ctrl-C.",
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    default=2.0,
    help="The most pods per second about which the command asks the solver.",
)
@tls_options
@output_option
def shadow(*, scheduler_name: tuple[str, ...], period: float | None, rate: float, output: str) -> None:
    """Watch another scheduler, and say on which nodes its pods would have cost less.

    The command places no pod and writes nothing.

    The bridge and the solver have to run, but no pod has to name them as its scheduler. Right after a pod is bound,
    the solver's cost models judge it as if it still looked for a node.
    """
    from poseidon.live.shadow import Shadow

    transport = connect()

    async def watch() -> Report:
        found = Shadow(
            *get_chosen_solvers(), frozenset(scheduler_name), rate, read_chosen_tls(), _print_report
        )
        await _watch(transport, found, period)
        return found.report

    with live_faults(transport):
        report = asyncio.run(watch())
    if output == "json":
        print_json(report.as_json())
    else:
        _print(report)


async def _watch(transport: Transport, shadow: Shadow, period: float | None) -> None:
    """Run ``shadow`` for ``period`` seconds after the first list of pods, or until a signal ends the program."""
    from poseidon.kube.api.collections import PODS
    from poseidon.kube.environment import Environment
    from poseidon.kube.watch.reflector import Reflector

    stop = stop_event()
    async with transport:
        await transport.get("/version")  # A server that does not answer is reported at once.
        reflector = Reflector(Environment(transport), PODS, shadow.take_changes)
        following = asyncio.create_task(reflector.run())
        asking = asyncio.create_task(shadow.run())
        stopping = asyncio.create_task(stop.wait())
        parts = {following, asking, stopping}
        try:
            await asyncio.wait(
                {asyncio.create_task(reflector.wait_synced()), *parts}, return_when=asyncio.FIRST_COMPLETED
            )
            click.echo("watching; Ctrl-C ends it with a report", err=True)
            done, _ = await asyncio.wait(parts, timeout=period, return_when=asyncio.FIRST_COMPLETED)
            for each in done - {stopping}:
                each.result()
        finally:
            for each in parts:
                each.cancel()
            await asyncio.gather(*parts, return_exceptions=True)


def _print_report(found: Observation) -> None:
    what = f"on {found.node}"
    if found.reasons:
        click.echo(f"{found.pod} {what}: would not have been placed there: {found.reasons[0]}", err=True)
    elif found.saving:
        click.echo(f"{found.pod} {what}: {found.best} would have cost {found.saving:g} points less", err=True)


def _print(report: Report) -> None:
    from poseidon.explanation_tables import print_rows

    figures = report.as_json()
    click.echo(f"{format_count(figures['bound'], 'pod')} bound, {figures['asked']:,} of them asked about.")
    if not report.observed:
        return
    click.echo(f"as good where they are    {figures['asGood']}")
    click.echo(
        f"cheaper on another node   {figures['cheaperElsewhere']}, by {figures['saving']:g} points in all"
    )
    for name, saving in sorted(figures["savingByModel"].items()):
        click.echo(f"    by {name:<20} {saving:g}")
    click.echo(f"would not be placed there {figures['wouldNotHaveBeenPlacedThere']}")
    worst = [each for each in figures["pods"] if each["saving"] or each["reasons"]][:_SHOWN]
    rows = [
        (
            each["pod"],
            each["node"],
            f"{each['cost']:g}",
            each["cheapest"],
            f"{each['cheapestCost']:g}",
            each["reasons"][0] if each["reasons"] else "",
        )
        for each in worst
    ]
    print_rows(("POD", "NODE", "COST", "CHEAPEST", "COST", "REASON"), rows)
