"""Makes a web page of a plan: the main results as figures and charts, and all results as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from poseidon.ui.report import BarChart, PageReport, Section, Table
from poseidon.ui.views.pending import reason_key

if TYPE_CHECKING:
    from poseidon.offline.plan import NodeUse, Plan

_MOST_BARS = 20
_MOST_ROWS = 1_000


def plan_report(plan: Plan) -> PageReport:
    """Return a plan as the content of a web page."""
    used = len({each.node for each in plan.bindings})
    figures = (
        (len(plan.bindings), "pods bound"),
        (used, f"of {len(plan.nodes):,} nodes get pods"),
        (len(plan.pending), "pods pending"),
        (len(plan.preemptions), "pods would be evicted"),
    )
    sections = (_draw_reasons(plan), _draw_nodes(plan), *_tables(plan))
    return PageReport(
        "Plan",
        [(f"{number:,}", text) for number, text in figures],
        (),
        [each for each in sections if each.chart or each.table],
    )


def _draw_reasons(plan: Plan) -> Section:
    """Draw how many pods stay pending for each reason, the most frequent reason first."""
    counted = sorted(
        Counter(reason_key(each.reason) for each in plan.pending).items(),
        key=lambda item: (-item[1], item[0]),
    )
    items = [(text, float(count), f"{count:,}") for text, count in counted[:_MOST_BARS]]
    return Section("Why pods wait", BarChart(items) if items else None)


def _draw_nodes(plan: Plan) -> Section:
    """Draw how much is requested of those nodes that get pods and are fullest."""
    new = Counter(each.node for each in plan.bindings)
    fullest = sorted(
        (each for each in plan.nodes if each.node in new), key=lambda each: (-_share(each, "cpu"), each.node)
    )
    items = [
        (
            each.node,
            _share(each, "cpu"),
            f"{_share(each, 'cpu'):.0f} % of cpu, {_share(each, 'memory'):.0f} % of memory, {new[each.node]:,} new",
        )
        for each in fullest[:_MOST_BARS]
    ]
    return Section(
        "CPU requested of the nodes that get pods, the fullest first",
        BarChart(items, most=100.0) if items else None,
    )


def _share(use: NodeUse, resource: str) -> float:
    total = use.allocatable.get(resource, 0)
    return 100.0 * (total - use.free.get(resource, 0)) / total if total else 0.0


def _tables(plan: Plan) -> list[Section]:
    rows: dict[str, tuple[Sequence[str], Sequence[Sequence[str]]]] = {
        "Pods and their nodes": (
            ("Pod", "Node", "After"),
            [(each.pod, each.node, ", ".join(each.after)) for each in plan.bindings],
        ),
        "Pods that would be evicted": (
            ("Pod", "Node", "For"),
            [(each.pod, each.node, each.preemptor) for each in plan.preemptions],
        ),
        "Groups": (
            ("Group", "Status", "Message"),
            [(each.group, each.status, each.message) for each in plan.groups],
        ),
        "Pods that wait": (("Pod", "Why"), [(each.pod, each.reason) for each in plan.pending]),
        "Moves": (
            ("Pod", "From", "To"),
            [(each.pod, each.source, each.target) for each in plan.migrations],
        ),
    }
    return [
        Section(
            title,
            None,
            Table(headings, found[:_MOST_ROWS]),
            () if len(found) <= _MOST_ROWS else (f"{len(found) - _MOST_ROWS:,} more are not shown.",),
        )
        for title, (headings, found) in rows.items()
        if found
    ]
