"""``end-to-end``: measures bridge and solver together with an API server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, SEED, emit, progress


@click.command("end-to-end")
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
@SEED
@OUTPUT
@SAVE
def end_to_end(output: str, save: Path | None, **options: Any) -> None:
    """Measure from creation to binding: both processes against an API server, verified by what the API server
    says.
    """
    from benchmarks.environment import environment
    from benchmarks.processes.end_to_end import EndToEndOptions, run_end_to_end
    from poseidon.testbed.harness.child import ChildDiedError

    try:
        result = run_end_to_end(EndToEndOptions(**options), progress=progress())
    except (ChildDiedError, TimeoutError) as error:
        raise click.ClickException(str(error) or "not all pods were bound in time; raise --timeout") from None
    emit({"kind": "end-to-end", "environment": environment(), **result}, output, save)
    sys.exit(1 if result["boundTwice"] or result["overcommittedNodes"] else 0)
