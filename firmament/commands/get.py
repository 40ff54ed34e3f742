"""``firmament get``: lists what a running solver knows about its clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from firmament.commands.inspection_options import asking, echo_json, output_option, solver_options

_STATES = ("PENDING", "BACKOFF", "ASSUMED", "BOUND")


@click.group()
def get() -> None:
    """List what a running solver knows: clusters, tasks or machines."""


@get.command("clusters")
@solver_options
@output_option
def clusters(*, target: str, cluster: str | None, timeout: float, output: str) -> None:
    """List clusters: whether a driver is connected, how many machines and tasks exist, how many rounds have run."""
    with asking(target, timeout) as client:
        known = client.clusters()
        names = list(known) if cluster is None else [cluster]
        states = [(name, known.get(name, False), client.state(name, lists=False)) for name in names]
    _show("clusters", states, output)


@get.command("tasks")
@solver_options
@click.option(
    "--state",
    "states",
    type=click.Choice(_STATES, case_sensitive=False),
    multiple=True,
    help="Only tasks in this state. Repeatable.",
)
@click.option("--machine", help="Only tasks on this machine.")
@output_option
def get_tasks(
    *,
    target: str,
    cluster: str | None,
    timeout: float,
    states: tuple[str, ...],
    machine: str | None,
    output: str,
) -> None:
    """List tasks with their states and machines, and why they wait."""
    with asking(target, timeout) as client:
        listed = client.state(client.cluster_named(cluster)).tasks
    wanted = [
        task
        for task in listed
        if (not states or task.state in states) and (machine is None or task.machine == machine)
    ]
    _show("tasks", sorted(wanted, key=lambda task: (task.name, task.uid)), output)


@get.command("machines")
@solver_options
@output_option
def get_machines(*, target: str, cluster: str | None, timeout: float, output: str) -> None:
    """List machines: how many tasks run on each, and how much of each resource is free."""
    with asking(target, timeout) as client:
        listed = client.state(client.cluster_named(cluster)).machine_states
    _show("machines", sorted(listed, key=lambda machine: machine.name), output)


def _show(what: str, rows: Sequence[Any], output: str) -> None:
    """Print rows as a JSON document or as a table, and import only what that form needs."""
    if output == "json":
        from firmament.inspection.documents import cluster_document, machine_document, task_document

        documents: dict[str, Callable[[Any], Any]] = {
            "clusters": lambda row: cluster_document(*row),
            "tasks": task_document,
            "machines": machine_document,
        }
        echo_json({what: [documents[what](row) for row in rows]})
    else:
        from firmament.inspection.tables import print_clusters, print_machines, print_tasks

        tables: dict[str, Callable[[Any], None]] = {
            "clusters": print_clusters,
            "tasks": print_tasks,
            "machines": print_machines,
        }
        tables[what](rows)
