"""Plans and explanations as tables for people, and groups as trees."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from poseidon.explanations import PodExplanation, describe_outcome, plain
from poseidon.group_trees.status.placement import Placement, pods_of
from poseidon.offline.plan import NodeUse, Plan, Round
from poseidon.offline.planned_groups import PlannedGroup
from poseidon.offline.planned_queues import PlannedQueue
from poseidon.offline.waiting_workloads import waiting_workloads
from protos.conventions.command_line import format_count

_MOST_TEXTS = 10
_UNWRAPPED = 10_000
"""Columns assumed where output goes to a file or pipe: lines are for grep then, and must not be broken."""


def print_plan(plan: Plan, *, wide: bool = False) -> None:
    """Print a plan: decisions, the nodes of bindings, and a summary; ``wide``: also devices and each waiting pod."""
    console = _Printer()
    waiting = plan.waiting
    placed = [each for each in plan.bindings if each not in waiting]
    columns = 3 if any(each.after for each in placed) else 2
    console.print_part(
        ("POD", "NODE", "AFTER")[:columns],
        [(each.pod, each.node, ", ".join(each.after))[:columns] for each in placed],
    )
    if wide:
        having = [(each.pod, device) for each in plan.bindings for device in each.devices]
        console.print_part(("POD", "DEVICE"), having)
    going = [(each.pod, each.node, ", ".join(each.after)) for each in waiting]
    console.print_part(("PREEMPTING POD", "NODE", "WAITS FOR"), going)
    preemptions = [(each.pod, each.node, each.preemptor) for each in plan.preemptions]
    console.print_part(("PREEMPTED POD", "NODE", "FOR"), preemptions)
    moves = [(each.pod, each.source, each.target, f"{each.saves:,.0f}") for each in plan.migrations]
    console.print_part(("MIGRATED POD", "FROM", "TO", "SAVES"), moves)
    console.print_part(("GROUP", "STATUS", "PODS", "NODES", "MESSAGE"), list(map(_group_row, plan.groups)))
    console.print_part(_QUEUE_HEADINGS, list(_queue_rows(plan.queues)))
    for group in plan.groups:
        if group.ranks:
            console.print(group_tree(group))
            console.print()
    if wide:
        console.print_part(("PENDING POD", "REASON"), [(each.pod, each.reason) for each in plan.pending])
    else:
        rows = waiting_workloads(plan.pending, plan.workloads)
        console.print_part(
            ("PENDING", "PODS", "REASON"), [(row.name, str(row.pods), row.text) for row in rows]
        )
    console.print_part(("NODE", "NEW PODS", "PODS", "CPU", "MEMORY"), _node_rows(plan))
    console.print(_summary(plan))


_MOST_INDENTED = 20
"""How many levels of queues are indented; thousands of levels would fill the terminal."""

_QUEUE_HEADINGS = (
    "QUEUE",
    "ADMITTED",
    "WAITING",
    "FLAVOR",
    "RESOURCE",
    "NOMINAL",
    "USED",
    "BORROWED",
    "LENT",
)


def _queue_rows(queues: Iterable[PlannedQueue]) -> Iterator[Sequence[str]]:
    """Yield rows of queues, indented as a tree: one row per flavor and resource, or why the queue admits nothing."""
    for queue in queues:
        first = (
            f"{'  ' * min(queue.depth, _MOST_INDENTED)}{queue.queue}",
            str(queue.admitted),
            str(queue.waiting),
        )
        uses: list[tuple[str, ...]] = [
            (use.flavor, use.resource, *use.format_amounts()) for use in queue.uses
        ]
        if queue.message:
            uses = [(queue.message, "", "", "", "", "")]
        for cells in uses or [("", "", "", "", "", "")]:
            yield (*first, *cells)
            first = ("", "", "")


def print_queues(queues: Sequence[PlannedQueue], starts: Mapping[str, tuple[str, str]] | None = None) -> None:
    """Print queues as a tree; ``starts``: by queue, when its first and its last waiting pod get nodes."""
    headings: tuple[str, ...] = _QUEUE_HEADINGS
    rows = _queue_rows(queues)
    if starts is not None:
        names = iter([queue.queue for queue in queues])
        headings = (*headings, "FIRST IN", "LAST IN")
        rows = ((*row, *(starts.get(next(names), ("", "")) if row[0] else ("", ""))) for row in rows)
    _Printer().print(_table(headings, rows))


def print_rows(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print an empty line and a table; print nothing if there are no rows."""
    if rows:
        console = _Printer()
        console.print()
        console.print(_table(headings, rows))


def print_explanation(explanation: PodExplanation, most: int = 0) -> None:
    """Print what becomes of a pod, a line per node, and cures: its own node, feasible nodes by cost, refusing nodes.

    ``most``: how many nodes are shown, 0 for all; the verdicts of the others are counted.
    """
    console = _Printer()
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


def _group_row(group: PlannedGroup) -> Sequence[str]:
    nodes = pods_of(group.placement)
    placed = sum(map(len, nodes.values()))
    return group.group, group.status, f"{placed} of {len(group.members)}", str(len(nodes)), group.message


def _print_verdicts(console: _Printer, explanation: PodExplanation, most: int) -> None:
    models = list(dict.fromkeys(name for each in explanation.nodes.values() for name in each.models))
    table = _table(("NODE", "FEASIBLE", "COST", *(name.upper() for name in models), "REASONS"))
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


def _print_details(console: _Printer, shown: set[str], explanation: PodExplanation) -> None:
    """Print the lines that models add to their figures, for the nodes that are ``shown``, if there are any."""
    table = _table(("NODE", "MODEL", "RAW", "SCORE", "DETAIL"))
    for node, verdict in ((name, explanation.nodes[name]) for name in explanation.nodes if name in shown):
        for model, charge in verdict.models.items():
            score = "-" if charge.score is None else str(plain(charge.score))
            for detail in charge.details:
                table.add_row(node, model, str(plain(charge.raw)), score, detail)
    if table.row_count:
        console.print()
        console.print(table)


def _node_rows(plan: Plan) -> list[Sequence[str]]:
    new = Counter(each.node for each in plan.bindings)
    return [
        (use.node, str(new[use.node]), str(use.pods), _share(use, "cpu"), _share(use, "memory"))
        for use in plan.nodes
        if use.node in new
    ]


def _share(use: NodeUse, resource: str) -> str:
    total = use.allocatable.get(resource, 0)
    return f"{100 * (total - use.free.get(resource, 0)) / total:.0f}%" if total else "-"


def _summary(plan: Plan) -> str:
    figures, waiting = plan.round, plan.waiting
    placed = [each for each in plan.bindings if each not in waiting]
    used = len({each.node for each in placed})
    milliseconds = 1000 * sum(figures.seconds.values())
    proof = _proof(figures)
    parts = [f"{format_count(len(placed), 'pod')} bound to {format_count(used, 'node')} of {len(plan.nodes)}"]
    if waiting:
        verb = "waits" if len(waiting) == 1 else "wait"
        parts.append(f"{len(waiting)} {verb} for {format_count(len(plan.preemptions), 'pod')} to make way")
    parts.append(f"{len(plan.pending)} pending")
    return (
        ", ".join(parts)
        + (f"; cost {figures.cost} points, {proof}, {milliseconds:.0f} ms." if figures.tasks else ".")
        + ("" if figures.network_cost is None else f" Total network cost {plain(figures.network_cost)}.")
    )


def _proof(figures: Round) -> str:
    """Return what is proved about the cost of the rounds: of their flow, and of the rules between pods at most."""
    share = f"{100 * figures.gap:.2f}%"
    if not figures.certified:
        return f"flow not certified, at most {share} of it could be saved"
    return "flow certified" if share == "0.00%" else f"flow certified, at most {share} of it for rules"


class _Printer:
    """Prints to standard output. On a terminal long cells are folded; elsewhere each row is one line."""

    def __init__(self) -> None:
        self._width = None if sys.stdout.isatty() else _UNWRAPPED
        self._console = Console(width=self._width, highlight=False, markup=False, emoji=False)

    def print_part(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a table and an empty line; print nothing if there are no rows."""
        if rows:
            self.print(_table(headings, rows))
            self.print()

    def print(self, what: str | Table | Tree = "") -> None:
        """Print text, a table or a tree without trailing blanks."""
        with self._console.capture() as captured:
            self._console.print(what)
        for line in captured.get().splitlines():
            click.echo(line.rstrip())


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]] = ()) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def group_tree(group: PlannedGroup) -> Tree:
    """Return a tree of a group's pods by unit and node; each pod is followed by its rank."""
    tree = Tree(Text(f"{group.group} ({group.status})"))
    _grow(tree, group.placement, group)
    return tree


def _grow(tree: Tree, placement: Placement, group: PlannedGroup) -> None:
    for unit, below in placement.items():
        if isinstance(below, tuple):
            pods = (f"{name} ({group.ranks[name]})" if name in group.ranks else name for name in below)
            tree.add(Text(f"{unit}: {', '.join(pods)}"))
        else:
            _grow(tree.add(Text(f"{unit} ({_count_pods_below(below)})")), below, group)


def _count_pods_below(placement: Placement) -> int:
    """Return how many pods are below a unit."""
    return sum(
        len(below) if isinstance(below, tuple) else _count_pods_below(below) for below in placement.values()
    )
