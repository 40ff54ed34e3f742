"""``firmament submit``: sends simulated machines and tasks to a running solver."""

from __future__ import annotations

import asyncio
import re
import sys
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from firmament.commands.inspection_options import echo_json, output_option, target_options
from protos.conventions.tls import TlsError, read_chosen_tls

if TYPE_CHECKING:
    from rich.console import Console

    from firmament.submit.report import SubmissionReport
    from firmament.submit.workload import WorkloadOptions

POSITIVE = click.FloatRange(0, min_open=True)
_UNITS = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_RANGE_PART = re.compile(r"(\d{1,15})(Ki|Mi|Gi|Ti|m)?")


class RangeType(click.ParamType[tuple[int, int]]):
    """Type of options: ``MIN-MAX`` or one number; each is a positive integer with an optional unit."""

    name = "range"

    def __init__(self, units: tuple[str, ...] = ()) -> None:
        self._units = units

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """Return the least and the greatest number of the range."""
        if isinstance(value, tuple):
            return value
        low, _, high = str(value).partition("-")
        ends = (self._number(low), self._number(high or low))
        if None in ends or not 0 < (ends[0] or 0) <= (ends[1] or 0):
            example = f"such as 100{self._units[0]}-500{self._units[0]}" if self._units else "such as 10-100"
            self.fail(f"{value!r} is not a range; write MIN-MAX, {example}", param, ctx)
        return ends[0] or 0, ends[1] or 0

    def _number(self, text: str) -> int | None:
        match = _RANGE_PART.fullmatch(text)
        if match is None or (match[2] and match[2] not in self._units):
            return None
        return int(match[1]) * _UNITS.get(match[2] or "", 1)


@click.command()
@target_options
@click.option(
    "--nodes", type=click.IntRange(0, 1_000_000), required=True, help="Number of simulated machines."
)
@click.option(
    "--tasks",
    type=click.IntRange(0, 10_000_000),
    help="Number of tasks to submit; or give --rate and --duration.",
)
@click.option("--classes", type=click.IntRange(1, 100_000), default=10, help="Number of task classes.")
@click.option("--rate", type=POSITIVE, help="Tasks per second; default: all at once.")
@click.option("--duration", type=POSITIVE, help="Seconds to submit for, with --rate.")
@click.option("--sizes", type=RangeType(), default="10-100", help="Tasks per job.")
@click.option("--cpu", type=RangeType(("m",)), default="100m-500m", help="Milli-cores per task.")
@click.option(
    "--memory", type=RangeType(("Ki", "Mi", "Gi", "Ti")), default="64Mi-512Mi", help="Bytes per task."
)
@click.option(
    "--fill",
    type=click.FloatRange(0, 1),
    default=0.0,
    help="Mean share of each machine's resources that is in use from the start.",
)
@click.option("--task-seconds", type=POSITIVE, help="Mean run time of a task in seconds; default: for ever.")
@click.option("--seed", type=click.IntRange(0), default=0)
@click.option("--samples/--no-samples", default=True, help="Send usage samples of machines.")
@click.option("--cluster", default="simulated", help="Name of the simulated cluster in the solver.")
@click.option("--timeout", type=POSITIVE, default=300.0, help="Seconds after which the command gives up.")
@click.option(
    "--connect-timeout", type=POSITIVE, default=5.0, help="Seconds to wait for the solver to answer."
)
@output_option
def submit(
    *,
    target: str,
    cluster: str,
    samples: bool,
    timeout: float,
    connect_timeout: float,
    output: str,
    duration: float | None,
    tasks: int | None,
    **options: Any,
) -> None:
    """Send simulated machines and tasks to a running solver, and print throughput and latencies."""
    from rich.console import Console

    from firmament.server.access.address import AddressError, parse_address
    from firmament.submit.client import SubmitOptions, TargetError
    from firmament.submit.report import print_table
    from firmament.submit.workload import WorkloadOptions

    try:
        parse_address("--target", target, any_port=False)
        count = _task_count(tasks, options["rate"], duration)
        workload = WorkloadOptions(tasks=count, **options)
        settings = SubmitOptions(
            target,
            cluster,
            samples=samples,
            connect_seconds=connect_timeout,
            timeout=timeout,
            seed=workload.seed,
            tls=read_chosen_tls(),
        )
        report = asyncio.run(_run(workload, settings, Console(stderr=True)))
    except (TargetError, AddressError, TlsError) as error:
        click.echo(str(error), err=True)
        sys.exit(1 if isinstance(error, TargetError) else 2)
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        sys.exit(130)
    if output == "json":
        echo_json(asdict(report))
    else:
        print_table(report, Console())
    sys.exit(0 if report.complete else 1)


def _task_count(tasks: int | None, rate: float | None, duration: float | None) -> int:
    """Return how many tasks to submit: ``tasks``, ``rate`` times ``duration``, or the smaller if both are given."""
    if duration is not None and rate is None:
        raise click.UsageError("--duration needs --rate; give both, or --tasks alone")
    if tasks is None and duration is None:
        raise click.UsageError("say how many tasks: give --tasks, or --rate with --duration")
    limits = [] if tasks is None else [tasks]
    if rate is not None and duration is not None:
        limits.append(max(1, round(rate * duration)))
    return min(limits)


async def _run(workload: WorkloadOptions, settings: Any, console: Console) -> SubmissionReport:
    """Run the client, and show its progress meanwhile."""
    from firmament.submit.client import SubmitClient
    from firmament.submit.report import show_progress, summarise
    from firmament.submit.workload import generate

    client = SubmitClient(generate(workload), settings)
    display = asyncio.create_task(show_progress(client.ledger, workload.tasks, console))
    try:
        complete = await client.run()
    finally:
        display.cancel()
        with suppress(asyncio.CancelledError):
            await display
    return summarise(client.ledger, workload.nodes, complete=complete)
