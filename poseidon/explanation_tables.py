"""Prints tables, and the explanation of a pod as tables."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence

import click
from rich.console import Console
from rich.table import Table
from rich.tree import Tree

from poseidon.explanations import PodExplanation, describe_outcome, plain

_MOST_TEXTS = 10
_UNWRAPPED = 10_000
"""The width for output to a file or pipe, so wide that no line is broken and grep finds whole lines."""


def print_rows(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print an empty line and a table; print nothing if there are no rows."""
    if rows:
        console = Printer()
        console.print()
        console.print(make_table(headings, rows))


def print_explanation(explanation: PodExplanation, most: int = 0) -> None:
    """Print what happens to a pod, one line for each node, and the changes that would give the pod a node.

    The pod's own node comes first, then feasible nodes by cost, then the other nodes. ``most``: the number of nodes
    that are shown, 0 for all; the verdicts of the other nodes are counted.
    """
    console = Printer()
    for line in (*describe_outcome(explanation), *explanation.outlook):
        console.print(line)
    if explanation.nodes:
        _print_verdicts(console, explanation, most or len(explanation.nodes))
    if explanation.cures:
        console.print()
        for cure in explanation.cures:
            console.print(cure.text)
            for command in cure.commands:
                console.print(f"    {command}")


def _print_verdicts(console: Printer, explanation: PodExplanation, most: int) -> None:
    models = list(dict.fromkeys(name for each in explanation.nodes.values() for name in each.models))
    table = make_table(("NODE", "FEASIBLE", "COST", *(name.upper() for name in models), "REASONS"))
    ranked = sorted(
        explanation.nodes.items(),
        key=lambda each: (each[0] != explanation.chosen, not each[1].feasible, each[1].cost, each[0]),
    )
    for name, verdict in ranked[:most]:
        costs = (verdict.models.get(model) for model in models)
        table.add_row(
            name,
            "yes" if verdict.feasible else "no",
            str(plain(verdict.cost)),
            *("-" if cost is None else str(plain(cost.cost)) for cost in costs),
            "; ".join(verdict.reasons),
        )
    console.print()
    console.print(table)
    if ranked[most:]:
        said = Counter("; ".join(verdict.reasons) or "feasible" for _, verdict in ranked[most:])
        console.print()
        for text, count in said.most_common(_MOST_TEXTS):
            console.print(f"{count} more: {text}")
        console.print("--most 0 shows all nodes, and so does -o json.")
    _print_details(console, {name for name, _ in ranked[:most]}, explanation)


def _print_details(console: Printer, shown: set[str], explanation: PodExplanation) -> None:
    """Print the details that models add to their figures for the nodes in ``shown``, if there are any."""
    table = make_table(("NODE", "MODEL", "RAW", "SCORE", "DETAIL"))
    for node, verdict in ((name, explanation.nodes[name]) for name in explanation.nodes if name in shown):
        for model, charge in verdict.models.items():
            score = "-" if charge.score is None else str(plain(charge.score))
            for detail in charge.details:
                table.add_row(node, model, str(plain(charge.raw)), score, detail)
    if table.row_count:
        console.print()
        console.print(table)


class Printer:
    """A printer to standard output: on a terminal long cells are folded, otherwise each row is one line."""

    def __init__(self) -> None:
        self._width = None if sys.stdout.isatty() else _UNWRAPPED
        self._console = Console(width=self._width, highlight=False, markup=False, emoji=False)

    def print_part(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a table and an empty line; print nothing if there are no rows."""
        if rows:
            self.print(make_table(headings, rows))
            self.print()

    def print(self, what: str | Table | Tree = "") -> None:
        """Print a text, a table or a tree without trailing blanks."""
        with self._console.capture() as captured:
            self._console.print(what)
        for line in captured.get().splitlines():
            click.echo(line.rstrip())


def make_table(headings: Sequence[str], rows: Iterable[Sequence[str]] = ()) -> Table:
    """Return a table without borders whose cells are folded if they are too long."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table
