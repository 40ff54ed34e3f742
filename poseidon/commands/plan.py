"""``poseidon plan``: one offline round over manifests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from poseidon.commands.move_options import move_cost_option
from poseidon.commands.offline_options import offline_options, read_configuration, read_input, warn

if TYPE_CHECKING:
    from pathlib import Path


@click.command("plan")
@offline_options
@click.option(
    "--scheduler-name",
    "scheduler_names",
    multiple=True,
    metavar="NAME",
    help="Schedule only pods of this spec.schedulerName; default: all pending pods. May be repeated.",
)
@click.option(
    "--reschedule", is_flag=True, help="Also say which running pods should move to where they cost less."
)
@move_cost_option("With --reschedule: what a move has to save, in points of cost models.")
def plan(
    *,
    paths: tuple[str, ...],
    config: Path | None,
    print_config: bool,
    now: float | None,
    output: str,
    scheduler_names: tuple[str, ...],
    reschedule: bool,
    move_cost: float,
) -> None:
    """Say which pods of the manifests would be bound to which nodes, and why the others would wait.

    Reads what `kubectl get nodes,pods,deployments,... -o yaml` prints, or manifests as people write them.
    """
    if print_config:
        click.echo(read_configuration(config).effective_yaml(), nl=False)
        return
    given = read_input(paths, config, now)
    from poseidon.offline.plan import make_plan

    made = make_plan(
        given.manifests,
        given.configuration,
        given.now,
        frozenset(scheduler_names),
        move_cost if reschedule else None,
    )
    warn(made.warnings)
    if output == "json":
        click.echo(json.dumps(made.as_json(), indent=2, ensure_ascii=False))
        return
    from poseidon.offline.tables import print_plan

    print_plan(made)
