"""``throughput`` and ``policies``: measure tasks placed per second by the core, without pods and API server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from benchmarks.commands.options import OUTPUT, SAVE, SEED, emit, make_runs_option, progress

NODES = click.option("--nodes", default=10_000, show_default=True, type=click.IntRange(1, 1_000_000))
TASKS = click.option("--tasks", default=10_000, show_default=True, type=click.IntRange(1, 10_000_000))


def _check_fill(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return what was given, if all of it is "empty" or a share; else an error for the user."""
    for text in given:
        try:
            share = 0.0 if text == "empty" else float(text)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            raise click.BadParameter(f'{text!r} is neither "empty" nor a number from 0 to 1')
    return given


FILL = click.option(
    "--fill",
    multiple=True,
    default=("0.5", "empty"),
    show_default=True,
    callback=_check_fill,
    help='Mean share of the machines that is taken, 0 to 1, or "empty" for identical empty ones. Repeatable.',
)


@click.command()
@NODES
@TASKS
@click.option("--classes", default=100, show_default=True, type=click.IntRange(1, 100_000))
@FILL
@make_runs_option(5)
@click.option(
    "--rounds",
    default=1,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="Bursts that a run places one after another; each ends before the next, of the same classes.",
)
@SEED
@click.option(
    "--owners",
    default=0,
    show_default=True,
    type=click.IntRange(0, 100_000),
    help="The tasks belong to so many Deployments, which default spread keeps apart, on machines in three zones.",
)
@click.option("--grpc/--no-grpc", default=True, show_default=True, help="Also through `firmament serve`.")
@OUTPUT
@SAVE
def throughput(
    nodes: int,
    tasks: int,
    classes: int,
    fill: tuple[str, ...],
    runs: int,
    rounds: int,
    seed: int,
    owners: int,
    grpc: bool,
    output: str,
    save: Path | None,
) -> None:
    """Measure tasks placed per second: by the core alone, and through gRPC.

    Beside the rates stand two ratios of processor seconds: a whole round to the solver within it, and to OR-Tools alone
    on the networks of the round, each solved from nothing and at its true costs. With several rounds the later ones
    have a line of their own.
    """
    from benchmarks.rounds.throughput import ThroughputOptions, measure
    from benchmarks.scenario import Scenario

    if 0 < owners < classes:
        raise click.BadParameter(f"{owners} owners cannot have {classes} classes", param_hint="--owners")
    scenarios = [Scenario(nodes, tasks, classes, each, seed, owners) for each in fill]
    options = ThroughputOptions(runs=runs, bursts=rounds, grpc=grpc, progress=progress())
    emit(measure(scenarios, options), output, save, print_throughput)


@click.command()
@NODES
@TASKS
@click.option("--classes", default=1, show_default=True, type=click.IntRange(1, 100_000))
@FILL
@click.option("--policy", multiple=True, metavar="NAME", help="A policy to measure; all, if none is named.")
@make_runs_option(5)
@SEED
@OUTPUT
@SAVE
def policies(
    nodes: int,
    tasks: int,
    classes: int,
    fill: tuple[str, ...],
    policy: tuple[str, ...],
    runs: int,
    seed: int,
    output: str,
    save: Path | None,
) -> None:
    """Measure tasks placed per second under each base policy, snapshot to deltas, by the core alone."""
    from benchmarks.rounds.policies import list_installed, measure_policies
    from benchmarks.scenario import Scenario

    unknown = sorted(set(policy) - set(list_installed()))
    if unknown:
        raise click.BadParameter(
            f"{unknown[0]!r} is no base policy; use one of: {', '.join(list_installed())}",
            param_hint="--policy",
        )
    scenarios = [Scenario(nodes, tasks, classes, each, seed) for each in fill]
    report = measure_policies(scenarios, policy or list_installed(), runs=runs, progress=progress())
    emit({"kind": "policies", **report}, output, save)


def print_throughput(report: dict[str, Any], console: Console) -> None:
    """Print rates, time, ratios and the certificate of each scenario in a line; a second line has its later rounds, if
    they were measured.
    """
    from benchmarks.reports.tables import print_environment

    table = Table(
        title="Placements per second (medians); a whole round to OR-Tools within it, and to OR-Tools alone"
    )
    for heading in (
        "scenario",
        "algorithm /s",
        "seconds",
        "solver s",
        "to solver",
        "to OR-Tools",
        "networks",
        "gRPC /s",
        "certified",
        "gap",
        "pending",
    ):
        table.add_column(heading, justify="left" if heading == "scenario" else "right")
    for result in report["results"]:
        table.add_row(result["label"], *_figures(result["algorithm"], result.get("grpc")))
        if "warm" in result:
            table.add_row("  later rounds", *_figures(result["warm"], None))
    console.print(table)
    print_environment(report["environment"], console)


def _figures(part: dict[str, Any], grpc: dict[str, Any] | None) -> list[str]:
    """Return the cells of a line after its name."""
    through = "-"
    if grpc is not None:
        share = grpc["tasks_per_second"] / part["tasks_per_second"]
        through = f"{grpc['tasks_per_second']:,.0f} ({share:.0%})"
    return [
        f"{part['tasks_per_second']:,.0f}",
        f"{part['seconds']:.4f}",
        f"{part['stats']['solve_seconds']:.4f}",
        *("-" if part[name] is None else f"{part[name]:.2f}" for name in ("ratio", "bare")),
        f"{part['networks']:g}",
        through,
        f"{part['certified']}/{part['rounds']}",
        f"{part['gap']:.3%}",
        f"{part['pending']:,}",
    ]
