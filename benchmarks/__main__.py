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
from benchmarks.commands.throughput import policies, throughput
from benchmarks.commands.topology import topology
from benchmarks.commands.workloads import list_workloads, run
from benchmarks.environment import environment
from firmament.command_line import OneLineGroup


@click.group("benchmarks", cls=OneLineGroup)
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
main.add_command(policies)
main.add_command(preemption)
main.add_command(report)
main.add_command(requests)
main.add_command(small)
main.add_command(start)
main.add_command(throughput)
main.add_command(topology)
main.add_command(full)


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


if __name__ == "__main__":
    main()
