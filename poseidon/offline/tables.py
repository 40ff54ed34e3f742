"""Plans and explanations as tables for people."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table
from rich.tree import Tree

from poseidon.explanations import plain
from poseidon.offline.tree_view import group_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poseidon.explanations import PodExplanation
    from poseidon.offline.plan import NodeUse, Plan

_MOST_TEXTS = 10
_UNWRAPPED = 10_000
"""Columns assumed where output goes to a file or pipe: lines are for grep then, and must not be broken."""


def print_plan(plan: Plan) -> None:
    """Print what would happen, the nodes that it touches, and a summary."""
    console = _Printer()
    if plan.bindings:
        table = (
            _table("POD", "NODE", "AFTER")
            if any(each.after for each in plan.bindings)
            else _table("POD", "NODE")
        )
        for binding in plan.bindings:
            table.add_row(*(binding.pod, binding.node, ", ".join(binding.after))[: len(table.columns)])
        console.print(table)
        console.print()
    if plan.preemptions:
        table = _table("PREEMPTED POD", "NODE", "FOR")
        for preemption in plan.preemptions:
            table.add_row(preemption.pod, preemption.node, preemption.preemptor)
        console.print(table)
        console.print()
    if plan.migrations:
        table = _table("MIGRATED POD", "FROM", "TO", "SAVES")
        for migration in plan.migrations:
            table.add_row(migration.pod, migration.source, migration.target, f"{migration.saves:,.0f}")
        console.print(table)
        console.print()
    if plan.groups:
        _print_groups(console, plan)
    if plan.pending:
        table = _table("PENDING POD", "REASON")
        for pending in plan.pending:
            table.add_row(pending.pod, pending.reason)
        console.print(table)
        console.print()
    _print_nodes(console, plan)
    console.print(_summary(plan))


def print_rows(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table behind an empty line, or nothing if it has no rows."""
    if not rows:
        return
    console, table = _Printer(), _table(*headings)
    for row in rows:
        table.add_row(*row)
    console.print()
    console.print(table)


def print_explanation(explanation: PodExplanation, most: int = 0) -> None:
    """Print one line per node, the cheapest first, those that are not feasible last with their reasons.

    ``most``: of so many nodes; what the others say is counted. 0: of all.
    """
    console = _Printer()
    where = f"runs on {explanation.node}" if explanation.node else "waits for a node"
    feasible = sum(each.feasible for each in explanation.nodes.values())
    console.print(
        f"Pod {explanation.pod} {where}; {feasible} of {len(explanation.nodes)} nodes are feasible."
    )
    if explanation.nodes:
        _print_verdicts(console, explanation, most or len(explanation.nodes))
    if explanation.outlook:
        console.print()
        console.print("\n".join(explanation.outlook))


def _print_groups(console: _Printer, plan: Plan) -> None:
    """Print how groups stand, and where those are that a tree has placed."""
    table = _table("GROUP", "STATUS", "PODS", "NODES", "MESSAGE")
    for group in plan.groups:
        nodes = group.pods_by_node()
        placed = sum(map(len, nodes.values()))
        table.add_row(
            group.group,
            group.status,
            f"{placed} of {len(group.members)}",
            str(len(nodes)),
            group.message,
        )
    console.print(table)
    console.print()
    for group in plan.groups:
        if group.ranks:
            console.print(group_tree(group))
            console.print()


def _print_verdicts(console: _Printer, explanation: PodExplanation, most: int) -> None:
    models = list(dict.fromkeys(name for each in explanation.nodes.values() for name in each.models))
    table = _table("NODE", "FEASIBLE", "COST", *(name.upper() for name in models), "REASONS")
    ranked = sorted(explanation.nodes.items(), key=lambda each: (not each[1].feasible, each[1].cost, each[0]))
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


def _print_details(console: _Printer, shown: set[str], explanation: PodExplanation) -> None:
    """Print what models have to say of the nodes that are shown beyond figures, if anything."""
    table = _table("NODE", "MODEL", "RAW", "SCORE", "DETAIL")
    for node, verdict in ((name, explanation.nodes[name]) for name in explanation.nodes if name in shown):
        for model, charge in verdict.models.items():
            score = "-" if charge.score is None else str(plain(charge.score))
            for detail in charge.details:
                table.add_row(node, model, str(plain(charge.raw)), score, detail)
    if table.row_count:
        console.print()
        console.print(table)


def _print_nodes(console: _Printer, plan: Plan) -> None:
    touched = {each.node for each in plan.bindings}
    if not touched:
        return
    new: dict[str, int] = {}
    for binding in plan.bindings:
        new[binding.node] = new.get(binding.node, 0) + 1
    table = _table("NODE", "NEW PODS", "PODS", "CPU", "MEMORY")
    for use in plan.nodes:
        if use.node in touched:
            table.add_row(
                use.node, str(new[use.node]), str(use.pods), _share(use, "cpu"), _share(use, "memory")
            )
    console.print(table)
    console.print()


def _share(use: NodeUse, resource: str) -> str:
    total = use.allocatable.get(resource, 0)
    return f"{100 * (total - use.free.get(resource, 0)) / total:.0f}%" if total else "-"


def _summary(plan: Plan) -> str:
    figures = plan.round
    used = len({each.node for each in plan.bindings})
    milliseconds = 1000 * sum(figures.seconds.values())
    proof = "optimal, certified" if figures.certified else f"within {100 * figures.gap:.2f}% of the bound"
    return (
        f"{_count(len(plan.bindings), 'pod')} bound to {_count(used, 'node')} of {len(plan.nodes)}, "
        f"{len(plan.pending)} pending"
        + (f"; cost {figures.cost}, {proof}, {milliseconds:.0f} ms." if figures.tasks else ".")
        + ("" if figures.network_cost is None else f" Total network cost {plain(figures.network_cost)}.")
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class _Printer:
    """Prints to standard output. On a terminal long cells are folded; elsewhere each row is one line."""

    def __init__(self) -> None:
        self._width = None if sys.stdout.isatty() else _UNWRAPPED
        self._console = Console(width=self._width, highlight=False, markup=False, emoji=False)

    def print(self, what: str | Table | Tree = "") -> None:
        """Print text, a table or a tree, without the blanks that pad the last column."""
        with self._console.capture() as captured:
            self._console.print(what)
        for line in captured.get().splitlines():
            click.echo(line.rstrip())


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
