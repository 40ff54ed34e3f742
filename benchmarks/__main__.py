"""``python -m benchmarks``: the harness's commands."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from benchmarks.commands.burst import burst
from benchmarks.commands.compare import compare
from benchmarks.commands.everything import full, small
from benchmarks.commands.gangs import gangs
from benchmarks.commands.limits import growth, memory, optimum
from benchmarks.commands.load import load
from benchmarks.commands.network import network
from benchmarks.commands.numa import numa
from benchmarks.commands.preemption import preemption
from benchmarks.commands.report import report
from benchmarks.commands.requests import requests
from benchmarks.commands.start import start
from benchmarks.commands.topology import topology
from benchmarks.commands.workloads import list_workloads, run
from benchmarks.environment import environment
from benchmarks.scenario import Scenario

NODES = click.option("--nodes", default=10_000, show_default=True, type=click.IntRange(1, 1_000_000))
TASKS = click.option("--tasks", default=10_000, show_default=True, type=click.IntRange(1, 10_000_000))
FILL = click.option(
    "--fill",
    multiple=True,
    default=("0.5", "empty"),
    show_default=True,
    help='Mean share of the machines that is taken, 0 to 1, or "empty" for identical empty ones. Repeatable.',
)
RUNS = click.option(
    "--runs", default=5, show_default=True, type=click.IntRange(1, 100), help="Runs after a warm-up."
)


@click.group()
def main() -> None:
    """Measure the scheduler, stage by stage. Quote medians, and compare only within one run."""


main.add_command(burst)
main.add_command(run)
main.add_command(list_workloads)
main.add_command(compare)
main.add_command(optimum)
main.add_command(gangs)
main.add_command(growth)
main.add_command(load)
main.add_command(memory)
main.add_command(network)
main.add_command(numa)
main.add_command(preemption)
main.add_command(report)
main.add_command(requests)
main.add_command(small)
main.add_command(start)
main.add_command(topology)
main.add_command(full)


@main.command()
@NODES
@TASKS
@click.option("--classes", default=100, show_default=True, type=click.IntRange(1, 100_000))
@FILL
@RUNS
@click.option("--seed", default=1, show_default=True)
@click.option("--grpc/--no-grpc", default=True, show_default=True, help="Also through `firmament serve`.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def throughput(
    nodes: int, tasks: int, classes: int, fill: tuple[str, ...], runs: int, seed: int, grpc: bool, output: str
) -> None:
    """Tasks placed per second: the core by itself, and through gRPC."""
    from benchmarks.tables import print_throughput
    from benchmarks.throughput import measure

    scenarios = [Scenario(nodes, tasks, classes, _checked_fill(each), seed) for each in fill]
    console = Console(stderr=True)
    report = measure(scenarios, runs=runs, grpc=grpc, progress=lambda text: console.print(f"[dim]{text}"))
    if output == "json":
        json.dump(report, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        print_throughput(report, Console())


@main.command()
@NODES
@TASKS
@click.option("--classes", default=1, show_default=True, type=click.IntRange(1, 100_000))
@FILL
@click.option("--policy", multiple=True, metavar="NAME", help="A policy to measure; all, if none is named.")
@RUNS
@click.option("--seed", default=1, show_default=True)
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def policies(
    nodes: int,
    tasks: int,
    classes: int,
    fill: tuple[str, ...],
    policy: tuple[str, ...],
    runs: int,
    seed: int,
    output: str,
) -> None:
    """Tasks placed per second under each base policy, snapshot to deltas, by the core alone."""
    from benchmarks.policies import installed, measure_policies
    from benchmarks.tables import print_policies

    unknown = sorted(set(policy) - set(installed()))
    if unknown:
        raise click.BadParameter(
            f"{unknown[0]!r} is no base policy; use one of: {', '.join(installed())}", param_hint="--policy"
        )
    scenarios = [Scenario(nodes, tasks, classes, _checked_fill(each), seed) for each in fill]
    console = Console(stderr=True)
    report = measure_policies(
        scenarios, policy or installed(), runs=runs, progress=lambda text: console.print(f"[dim]{text}")
    )
    if output == "json":
        json.dump(report, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        print_policies(report, Console())


@main.command("end-to-end")
@click.option("--nodes", default=10_000, show_default=True, type=click.IntRange(1, 100_000))
@click.option("--pods", default=10_000, show_default=True, type=click.IntRange(1, 200_000))
@click.option("--classes", default=10, show_default=True, type=click.IntRange(1, 10_000))
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A real cluster: its nodes are used as they are, pods go to a namespace that is deleted afterwards.",
)
@click.option(
    "--waiting", is_flag=True, help="Create the pods before the bridge starts; measures binding alone."
)
@click.option(
    "--kill", type=click.Choice(["solver", "bridge"]), help="Kill and restart a process in the middle."
)
@click.option(
    "--kill-at",
    default=0.5,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="Share of pods bound by then.",
)
@click.option("--timeout", default=600.0, show_default=True, type=click.FloatRange(1.0), help="Seconds.")
@click.option("--seed", default=1, show_default=True)
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def end_to_end(output: str, **options: Any) -> None:
    """From creation to binding: both processes against an API server, verified by what the API server says."""
    from benchmarks.end_to_end import EndToEndOptions, run_end_to_end
    from benchmarks.tables import print_end_to_end
    from poseidon.demo.child import ChildDiedError

    console = Console(stderr=True)
    try:
        result = run_end_to_end(
            EndToEndOptions(**options), progress=lambda text: console.print(f"[dim]{text}")
        )
    except (ChildDiedError, TimeoutError) as error:
        raise click.ClickException(str(error) or "not all pods were bound in time; raise --timeout") from None
    if output == "json":
        json.dump({"environment": environment(), **result}, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        print_end_to_end(result, Console())
    sys.exit(1 if result["boundTwice"] or result["overcommittedNodes"] else 0)


def _checked_fill(text: str) -> str:
    """``text`` if it is "empty" or a share; else an error for the user."""
    if text != "empty":
        try:
            share = float(text)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            raise click.BadParameter(
                f'{text!r} is neither "empty" nor a number from 0 to 1', param_hint="--fill"
            )
    return text


if __name__ == "__main__":
    main()
