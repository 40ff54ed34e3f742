"""``compare``: compares the core with other algorithms that place the same tasks."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from benchmarks.commands.options import OUTPUT, PARAM, SAVE, SEED, SIZE, emit, parse_params, progress


@click.command()
@click.argument("workload", default="basic")
@SIZE
@click.option("--nodes", type=click.IntRange(1), help="Short for --param nodes=N.")
@PARAM
@click.option(
    "--with", "names", multiple=True, metavar="NAME", help="A comparator by its name; all, if none is named."
)
@click.option(
    "--firmament-binary",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The original Firmament service, to be compared as well.",
)
@click.option(
    "--firmament-flag", multiple=True, help="A flag for it, instead of those for cpu_mem. Repeatable."
)
@click.option("--runs", default=3, show_default=True, type=click.IntRange(1, 100), help="Runs of the core.")
@SEED
@OUTPUT
@SAVE
def compare(
    workload: str,
    size: str | None,
    nodes: int | None,
    params: tuple[str, ...],
    names: tuple[str, ...],
    firmament_binary: Path | None,
    firmament_flag: tuple[str, ...],
    runs: int,
    seed: int,
    output: str,
    save: Path | None,
) -> None:
    """Place one round pod by pod, and as whole flow networks; speed and cost beside the core's.

    Rules between pods are not known to the comparators; use workloads without them.
    """
    from benchmarks.comparators.original_firmament import CPU_MEM, OriginalFirmament
    from benchmarks.declarative.loading import WorkloadError, load_workload
    from benchmarks.environment import environment
    from benchmarks.quality import comparing
    from benchmarks.reports.tables import print_comparison

    known = list(comparing.comparators())
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise click.BadParameter(
            f"{unknown[0]!r} is no comparator; use one of: {'; '.join(known)}", param_hint="--with"
        )
    chosen = {name: found for name, found in comparing.comparators().items() if not names or name in names}
    if firmament_binary is not None:
        chosen["original Firmament"] = OriginalFirmament(firmament_binary, firmament_flag or CPU_MEM)
    given = parse_params(params) | ({"nodes": nodes} if nodes else {})
    try:
        loaded = load_workload(workload, size=size, params=given, seed=seed)
    except WorkloadError as error:
        for line in error.lines:
            click.echo(line, err=True)
        raise SystemExit(2) from None
    try:
        result = asyncio.run(comparing.compare(loaded, chosen, runs=runs, progress=progress()))
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    report = {"kind": "comparison", "environment": environment(), "results": [result]}
    emit(report, output, save, print_comparison)
