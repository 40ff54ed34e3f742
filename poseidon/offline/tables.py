"""Prints plans as tables for people, and groups of pods as trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.text import Text
from rich.tree import Tree

from poseidon.explanation_tables import Printer, make_table
from poseidon.explanations import plain
from poseidon.group_trees.status.placement import Placement, pods_of
from poseidon.offline.plan import NodeUse, Plan, Round
from poseidon.offline.planned_groups import PlannedGroup
from poseidon.offline.planned_queues import PlannedQueue
from poseidon.offline.waiting_workloads import waiting_workloads
from protos.conventions.number_formats import format_count, format_gap


def print_plan(plan: Plan, *, wide: bool = False) -> None:
    """Print a plan: decisions, nodes and a summary; if ``wide``, also devices and each waiting pod."""
    console = Printer()
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
    """Yield rows of queues, indented as a tree.

    A queue has a row per flavor and resource, or one row that says why the queue admits no workload.
    """
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
    """Print queues as a tree; ``starts`` says, by queue, when its first and last waiting pods get nodes."""
    headings: tuple[str, ...] = _QUEUE_HEADINGS
    rows = _queue_rows(queues)
    if starts is not None:
        names = iter([queue.queue for queue in queues])
        headings = (*headings, "FIRST IN", "LAST IN")
        rows = ((*row, *(starts.get(next(names), ("", "")) if row[0] else ("", ""))) for row in rows)
    Printer().print(make_table(headings, rows))


def _group_row(group: PlannedGroup) -> Sequence[str]:
    nodes = pods_of(group.placement)
    placed = sum(map(len, nodes.values()))
    return group.group, group.status, f"{placed} of {len(group.members)}", str(len(nodes)), group.message


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
    """Return what is proved about the cost of the rounds' flows and of the rules between pods."""
    share = format_gap(figures.gap)
    if not figures.certified:
        return f"flow not certified, at most {share} of it could be saved"
    return "flow certified" if share == format_gap(0) else f"flow certified, at most {share} of it for rules"


def group_tree(group: PlannedGroup) -> Tree:
    """Return a tree of a group's pods by zone, rack and node; each pod is followed by its rank."""
    tree = Tree(Text(f"{group.group} ({group.status})"))
    _add_branches(tree, group.placement, group)
    return tree


def _add_branches(tree: Tree, placement: Placement, group: PlannedGroup) -> None:
    """Add a group's placement to a printed tree, with a branch for each zone, rack or node."""
    for unit, below in placement.items():
        if isinstance(below, tuple):
            pods = (f"{name} ({group.ranks[name]})" if name in group.ranks else name for name in below)
            tree.add(Text(f"{unit}: {', '.join(pods)}"))
        else:
            _add_branches(tree.add(Text(f"{unit} ({_count_pods_below(below)})")), below, group)


def _count_pods_below(placement: Placement) -> int:
    """Return how many pods are in a zone, rack or node and below it."""
    return sum(
        len(below) if isinstance(below, tuple) else _count_pods_below(below) for below in placement.values()
    )
