"""Prints a solver's answers as tables for people."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import click
from rich.console import Console
from rich.table import Table

from firmament.inspection.client import liveness
from firmament.inspection.documents import COUNTS, amounts
from protos.conventions.number_formats import format_feasible
from protos.firmament.v1 import scheduler_pb2 as pb

_UNWRAPPED = 10_000
"""Number of columns if output goes to a file or pipe: it is then for grep, and its lines must not be broken."""

_GIB = 2**30


def print_clusters(states: Iterable[tuple[str, bool, pb.ListStateResponse]]) -> None:
    """Print the counts of each cluster, and whether its driver is connected."""
    table = _table("CLUSTER", "STATE", *map(str.upper, COUNTS))
    for name, driven, state in states:
        table.add_row(name, liveness(driven), *(str(getattr(state, count)) for count in COUNTS))
    _print(table)


def print_tasks(tasks: Sequence[pb.TaskState]) -> None:
    """Print one line per task."""
    if not tasks:
        click.echo("No tasks found.")
        return
    table = _table("TASK", "STATE", "MACHINE", "PRIORITY", "MESSAGE")
    for task in tasks:
        table.add_row(
            task.name or task.uid, task.state, task.machine or "-", str(task.priority), task.message
        )
    _print(table)


def print_machines(machines: Sequence[pb.MachineState]) -> None:
    """Print one line per machine: its number of tasks, and the free and total amounts of each resource."""
    if not machines:
        click.echo("No machines found.")
        return
    others = sorted(
        {name for each in machines for name in amounts(each.allocatable)} - {"cpu", "memory", "pods"}
    )
    table = _table(
        "MACHINE", "TASKS", "FREE CPU", "FREE MEMORY", "FREE PODS", *(f"FREE {o.upper()}" for o in others)
    )
    for machine in machines:
        free, total = amounts(machine.free), amounts(machine.allocatable)
        table.add_row(
            machine.name,
            str(machine.tasks),
            f"{free.get('cpu', 0) / 1000:g} of {total.get('cpu', 0) / 1000:g}",
            f"{free.get('memory', 0) / _GIB:.1f} of {total.get('memory', 0) / _GIB:.1f} GiB",
            *(f"{free.get(name, 0)} of {total.get(name, 0)}" for name in ("pods", *others)),
        )
    _print(table)


def print_explanation(explanation: pb.Explanation) -> None:
    """Print one line per machine: feasible machines first, the cheapest at the top, then others with reasons."""
    where = f" on {explanation.machine}" if explanation.machine else ""
    feasible = sum(each.feasible for each in explanation.machines)
    click.echo(
        f"Task {explanation.name or explanation.task} is {explanation.state}{where}; "
        f"{format_feasible(feasible, len(explanation.machines), 'machine')}."
    )
    if not explanation.machines:
        return
    models = list(dict.fromkeys(model.model for each in explanation.machines for model in each.models))
    table = _table("MACHINE", "FEASIBLE", "COST", *(name.upper() for name in models), "REASONS")
    for verdict in sorted(
        explanation.machines, key=lambda each: (not each.feasible, each.cost, each.machine)
    ):
        costs = {model.model: f"{model.cost:g}" for model in verdict.models}
        table.add_row(
            verdict.machine,
            "yes" if verdict.feasible else "no",
            f"{verdict.cost:g}",
            *(costs.get(model, "-") for model in models),
            "; ".join(verdict.reasons),
        )
    click.echo()
    _print(table)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _print(table: Table) -> None:
    width = None if sys.stdout.isatty() else _UNWRAPPED
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())
