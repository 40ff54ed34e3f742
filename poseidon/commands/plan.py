"""``poseidon plan``: one offline round over manifests."""

from __future__ import annotations

import click

from poseidon.commands.endings import print_json, warn
from poseidon.commands.offline_input import Source, offline_options
from poseidon.commands.options import move_cost_option


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
    *, source: Source, output: str, scheduler_names: tuple[str, ...], reschedule: bool, move_cost: float
) -> None:
    """Say which pods of the manifests would be bound to which nodes, and why the others would wait.

    Reads what `kubectl get nodes,pods,deployments,... -o yaml` prints, or manifests as people write them.
    """
    given = source.read()
    from poseidon.offline.plan import make_plan

    made = make_plan(*given, frozenset(scheduler_names), move_cost if reschedule else None)
    warn(made.warnings)
    if output == "json":
        print_json(made.as_json())
        return
    from poseidon.offline.tables import print_plan

    print_plan(made)
