"""``failover``: ends bridges, solvers and an API server one after another, and measures how long no pod is bound."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, SEED, emit, progress


@click.command("failover")
@click.option("--nodes", default=1000, show_default=True, type=click.IntRange(1, 100_000))
@click.option("--ends", default=20, show_default=True, type=click.IntRange(1, 10_000), help="How many.")
@click.option(
    "--bridges",
    default=2,
    show_default=True,
    type=click.IntRange(1, 2),
    help="Two elect a leader; one does not, and only others end.",
)
@click.option(
    "--down",
    default=0.0,
    show_default=True,
    type=click.FloatRange(0.0),
    help="Seconds that a killed API server stays away.",
)
@click.option("--rate", default=50, show_default=True, type=click.IntRange(1, 2000), help="Pods a second.")
@click.option(
    "--keep",
    default=10_000,
    show_default=True,
    type=click.IntRange(1, 1_000_000),
    help="Bound pods beyond which the oldest are deleted.",
)
@click.option(
    "--lease", default=15.0, show_default=True, type=click.FloatRange(1.0, 60.0), help="Seconds of the Lease."
)
@click.option(
    "--binaries",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of a real control plane; its kube-scheduler places every third pod on the same nodes.",
)
@click.option(
    "--timeout", default=120.0, show_default=True, type=click.FloatRange(1.0), help="Seconds per wait."
)
@SEED
@OUTPUT
@SAVE
def failover(output: str, save: Path | None, **options: Any) -> None:
    """Return how long no pod is bound when a leader, a standby, a solver or the API server ends, under a
    steady load.
    """
    from benchmarks.environment import environment
    from benchmarks.processes.failover import run_failover
    from benchmarks.processes.parts.failover_processes import FailoverOptions
    from poseidon.testbed.harness.child import ChildDiedError

    try:
        result = run_failover(FailoverOptions(**options), progress=progress())
    except (ChildDiedError, TimeoutError) as error:
        raise click.ClickException(str(error)) from None
    emit({"kind": "failover", "environment": environment(), **result}, output, save)
    sys.exit(1 if result["boundTwice"] or result["overcommittedNodes"] else 0)
