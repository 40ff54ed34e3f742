"""``firmament get``: what a running solver knows of its clusters."""

from __future__ import annotations

import click

from firmament.commands.inspection_options import asking, echo_json, output_option, solver_options

_STATES = ("PENDING", "BACKOFF", "ASSUMED", "BOUND")


@click.group()
def get() -> None:
    """List what a running solver knows: clusters, tasks, machines."""


@get.command("clusters")
@solver_options
@output_option
def clusters(*, target: str, cluster: str | None, timeout: float, output: str) -> None:
    """Whether each cluster is live or ended, how many machines and tasks it has, and how many rounds were run."""
    with asking(target, timeout) as client:
        known = client.clusters()
        names = list(known) if cluster is None else [cluster]
        states = [(name, known.get(name, False), client.state(name, lists=False)) for name in names]
    if output == "json":
        from firmament.inspection.documents import cluster_document

        echo_json({"clusters": [cluster_document(*each) for each in states]})
        return
    from firmament.inspection.tables import print_clusters

    print_clusters(states)


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
def tasks(
    *,
    target: str,
    cluster: str | None,
    timeout: float,
    states: tuple[str, ...],
    machine: str | None,
    output: str,
) -> None:
    """State, place and, if it waits, the reason of every task."""
    with asking(target, timeout) as client:
        listed = client.state(client.cluster_named(cluster)).tasks
    wanted = sorted(
        (
            task
            for task in listed
            if (not states or task.state in states) and (machine is None or task.machine == machine)
        ),
        key=lambda task: (task.name, task.uid),
    )
    if output == "json":
        from firmament.inspection.documents import task_document

        echo_json({"tasks": [task_document(task) for task in wanted]})
        return
    from firmament.inspection.tables import print_tasks

    print_tasks(wanted)


@get.command("machines")
@solver_options
@output_option
def machines(*, target: str, cluster: str | None, timeout: float, output: str) -> None:
    """Tasks on every machine, and what it has left."""
    with asking(target, timeout) as client:
        listed = client.state(client.cluster_named(cluster)).machine_states
    wanted = sorted(listed, key=lambda machine: machine.name)
    if output == "json":
        from firmament.inspection.documents import machine_document

        echo_json({"machines": [machine_document(machine) for machine in wanted]})
        return
    from firmament.inspection.tables import print_machines

    print_machines(wanted)
