"""``optimum``, ``growth`` and ``memory``: compare the core with an exact solver, and measure how it scales."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from benchmarks.commands.options import OUTPUT, PARAM, SAVE, SEED, emit, parse_params, progress


@click.command()
@click.option("--instances", default=1000, show_default=True, type=click.IntRange(1, 1_000_000))
@click.option(
    "--family",
    type=click.Choice(["typical", "coarse"]),
    default="typical",
    show_default=True,
    help="6 to 20 tasks per machine, or 3 to 6.",
)
@click.option(
    "--seconds", default=5.0, show_default=True, type=click.FloatRange(0.1), help="For CP-SAT, per instance."
)
@SEED
@OUTPUT
@SAVE
def optimum(instances: int, family: str, seconds: float, seed: int, output: str, save: Path | None) -> None:
    """Compare tasks placed with those that CP-SAT can place, on small instances with more work than room."""
    from benchmarks.quality.optimum import measure_optimum
    from benchmarks.reports.tables import print_optimum

    report = measure_optimum(instances, family, seed=seed, seconds=seconds, progress=progress())
    emit(report, output, save, print_optimum)


@click.command()
@click.option("--nodes", default=10_000, show_default=True, type=click.IntRange(1))
@click.option("--pods", default=10_000, show_default=True, type=click.IntRange(1))
@click.option("--classes", default=100, show_default=True, type=click.IntRange(1))
@click.option("--steps", default=1, show_default=True, type=click.IntRange(1, 4), help="How often tenfold.")
@click.option("--runs", default=3, show_default=True, type=click.IntRange(1, 100))
@click.option("--memory", is_flag=True, help="Also memory of both processes, on the simulated cluster.")
@click.option(
    "--wide",
    is_flag=True,
    help="Instead up to 100,000 nodes, 500,000 tasks, 20,000 classes, with the memory of the core.",
)
@SEED
@OUTPUT
@SAVE
def growth(
    *,
    nodes: int,
    pods: int,
    classes: int,
    steps: int,
    runs: int,
    memory: bool,
    wide: bool,
    seed: int,
    output: str,
    save: Path | None,
) -> None:
    """Return how much longer a round takes with ten times the nodes, the pods, or the classes, and with which
    exponent it grows.
    """
    from benchmarks.reports.tables import print_growth
    from benchmarks.rounds.growing.growth import measure_growth, measure_memory_growth
    from poseidon.testbed.harness.child import ChildDiedError

    if wide:
        from benchmarks.rounds.growing.wide_growth import AXES, measure_wide_growth

        emit(measure_wide_growth(AXES, runs=runs, progress=progress()), output, save)
        return
    params = {"nodes": nodes, "pods": pods, "classes": classes}
    report = asyncio.run(measure_growth(params, runs=runs, seed=seed, progress=progress(), steps=steps))
    if memory:
        try:
            report = measure_memory_growth(report, seed=seed, progress=progress())
        except (ChildDiedError, TimeoutError) as error:
            raise click.ClickException(str(error) or "not all was known in time") from None
    emit(report, output, save, print_growth)


@click.command()
@PARAM
@SEED
@click.option(
    "--timeout", default=600.0, show_default=True, type=click.FloatRange(1.0), help="Seconds per wait."
)
@OUTPUT
@SAVE
def memory(params: tuple[str, ...], seed: int, timeout: float, output: str, save: Path | None) -> None:
    """Measure resident memory of solver and bridge over 2,000 rounds of churn, end to end; takes minutes."""
    from benchmarks.processes.memory import measure_memory
    from benchmarks.reports.tables import print_memory
    from benchmarks.targets.base import TargetError

    given = parse_params(params)
    try:
        report = asyncio.run(measure_memory(given, seed=seed, patience=timeout, progress=progress()))
    except TargetError as error:
        raise click.ClickException(str(error)) from None
    emit(report, output, save, print_memory)
