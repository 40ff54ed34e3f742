"""``run`` and ``list``: run workloads that YAML files describe as lists of operations, and list them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from benchmarks.commands.options import (
    OUTPUT,
    PARAM,
    SAVE,
    SEED,
    SIZE,
    emit,
    make_runs_option,
    parse_params,
    progress,
)


@click.command()
@click.argument("workloads", nargs=-1, required=True, metavar="WORKLOAD...")
@click.option(
    "--stage",
    "stages",
    multiple=True,
    type=click.Choice(["algorithm", "grpc", "end-to-end"]),
    default=("algorithm",),
    show_default=True,
    help="The core alone, through `firmament serve`, or all processes over HTTP. Repeatable.",
)
@SIZE
@click.option("--nodes", type=click.IntRange(1), help="Short for --param nodes=N.")
@PARAM
@make_runs_option(3)
@SEED
@click.option(
    "--timeout", default=600.0, show_default=True, type=click.FloatRange(1.0), help="Seconds per wait."
)
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="End to end: a real cluster; its nodes are used as they are, pods are deleted afterwards.",
)
@click.option(
    "--kube-scheduler",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="End to end: a kube-scheduler binary, for the same workload on the same cluster.",
)
@click.option("--bindings-only", is_flag=True, help="End to end: also a client that does nothing but bind.")
@click.option(
    "--server-binding-rate",
    default=0.0,
    type=click.FloatRange(0.0),
    metavar="N",
    help="End to end, simulated: the server takes so many writes per second; 0, the default, for as many as it can.",
)
@click.option(
    "--server-latency",
    default=0.0,
    type=click.FloatRange(0.0),
    metavar="SECONDS",
    help="End to end, simulated: each write takes so long on top.",
)
@click.option(
    "--server-max-writes",
    default=0,
    type=click.IntRange(0),
    metavar="N",
    help="End to end, simulated: of more writes at a time the rest are turned away (429); 0 for no limit.",
)
@OUTPUT
@SAVE
def run(
    workloads: tuple[str, ...],
    stages: tuple[str, ...],
    size: str | None,
    nodes: int | None,
    params: tuple[str, ...],
    seed: int,
    server_binding_rate: float,
    server_latency: float,
    server_max_writes: int,
    output: str,
    save: Path | None,
    **options: Any,
) -> None:
    """Run workloads by name (see `list`) or from YAML files, and measure what they say."""
    from benchmarks.declarative.loading import WorkloadError, load_workload
    from benchmarks.environment import environment
    from benchmarks.measuring import MeasureOptions, measure_workload
    from benchmarks.processes.parts.server_limits import ServerLimits
    from benchmarks.reports.tables import print_workloads
    from benchmarks.targets.base import TargetError
    from poseidon.testbed.harness.child import ChildDiedError

    given = parse_params(params) | ({"nodes": nodes} if nodes else {})
    server = ServerLimits(server_binding_rate, server_latency, server_max_writes)
    if options["kubeconfig"] is not None and server.arguments():
        raise click.UsageError("--server-…: only the simulated server can be limited; leave out --kubeconfig")
    if "end-to-end" not in stages and (
        options["kubeconfig"] or options["kube_scheduler"] or options["bindings_only"] or server.arguments()
    ):
        raise click.UsageError(
            "--kubeconfig, --kube-scheduler, --bindings-only and --server-… are for --stage end-to-end; add that"
        )
    chosen = MeasureOptions(progress=progress(), server=server, **options)

    async def measure_all() -> list[dict[str, Any]]:
        # One event loop for all: gRPC's poller stays with the first that it has seen.
        return [
            result
            for workload in loaded
            for stage in stages
            for result in await measure_workload(workload, stage, chosen)  # type: ignore[arg-type]  # click checked it
        ]

    try:
        loaded = [load_workload(name, size=size, params=given, seed=seed) for name in workloads]
        results = asyncio.run(measure_all())
    except WorkloadError as error:
        for line in error.lines:
            click.echo(line, err=True)
        raise SystemExit(2) from None
    except (TargetError, ChildDiedError) as error:
        tail = getattr(error, "tail", "")
        raise click.ClickException(f"{error}\n{tail}".strip()) from None
    report = {"kind": "workloads", "environment": environment(), "results": results}
    emit(report, output, save, print_workloads)


@click.command("list")
def list_workloads() -> None:
    """List the workloads that come with the harness."""
    from rich.table import Table

    from benchmarks.declarative.loading import available, load_workload

    table = Table("workload", "parameters", "sizes", "what")
    for name in available():
        file = load_workload(name).file
        params = " ".join(f"{key}={value}" for key, value in file.params.items())
        table.add_row(name, params, " ".join(file.sizes), file.description)
    Console().print(table)
