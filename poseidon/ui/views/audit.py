"""Makes a web page of an audit: the main findings as figures and charts, and all findings as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from poseidon.ui.report import BarChart, LineChart, PageReport, Section, Table
from poseidon.ui.views.pending import reason_key

if TYPE_CHECKING:
    from poseidon.offline.audit.costs import Costs
    from poseidon.offline.audit.findings import Audit

_TABLES = {
    "freed": ("Nodes that could be freed together", ("Node",)),
    "moves": ("Moves that free them", ("Pod", "From", "To")),
    "keeping": ("Why nodes cannot be freed", ("Pods", "Nodes", "Why")),
    "staying": ("Pods that keep nodes from being freed", ("Node", "Pod", "Why")),
    "cheaper": ("Moves that save most", ("Pod", "From", "To", "Points saved")),
    "overcommitted": ("Overcommitted nodes", ("Node", "Lacks")),
    "hot": ("Hot nodes", ("Node", "Resource", "Used")),
    "misplaced": ("Misplaced pods", ("Pod", "Node", "Why")),
    "pending": ("Pods that wait", ("Pod", "Why")),
    "cures": ("Changes that would place them", ("Pod", "Would get", "Cure")),
}
"""Title and headings of each table."""
_FIGURES = {"cheaper": 1, "hot": 1}
"""How many of a table's last columns contain numbers."""
_MOST_BARS = 20


def audit_report(audit: Audit) -> PageReport:
    """Return an audit as the content of a web page."""
    cured = len({each.pod for each in audit.cures})
    figures = (
        (audit.nodes, "nodes"),
        (audit.pods, "pods run"),
        (len(audit.freed), f"nodes could be freed; {audit.proof}"),
        (len(audit.moves), "moves free them"),
        (len(audit.overcommitted), "nodes are overcommitted"),
        (len({each.node for each in audit.hot}), "nodes are hot by measured use"),
        (len(audit.misplaced), "pods are misplaced"),
        (len(audit.pending), f"pods wait; {cured} of them have a cure"),
    )
    sections = [
        *([] if audit.costs is None else [_savings(audit.costs)]),
        _draw_counts("Why pods wait", (reason_key(each.reason) for each in audit.pending)),
        *(
            Section(
                title,
                _hottest(audit) if part == "hot" else None,
                Table(headings, rows, _FIGURES.get(part, 0)),
            )
            for part, (title, headings) in _TABLES.items()
            if (rows := audit.rows()[part])
        ),
    ]
    return PageReport(
        "Audit",
        [(f"{number:,}", text) for number, text in figures],
        () if audit.costs is None else (audit.costs.summary,),
        [each for each in sections if each.chart or each.table],
    )


def _savings(costs: Costs) -> Section:
    """Draw how many points a given number of moves could save, from 0 moves on."""
    frontier = [
        (0, 0.0, 0.0),
        *((each.moves, each.saved, each.most_saved) for each in costs.frontier if each.moves),
    ]
    moves, saved, most = zip(*frontier, strict=True)
    series = {"possible if only the number of pods per node counted": saved, "no plan saves more": most}
    return Section(
        "What moves could save", LineChart("Moves", "points", [float(each) for each in moves], series)
    )


def _draw_counts(title: str, texts: Iterable[str]) -> Section:
    """Draw how often each text occurs, the most frequent first."""
    counted = sorted(Counter(texts).items(), key=lambda item: (-item[1], item[0]))[:_MOST_BARS]
    return Section(
        title, BarChart([(text, float(count), f"{count:,}") for text, count in counted]) if counted else None
    )


def _hottest(audit: Audit) -> BarChart:
    """Draw the use of the hottest nodes, as a share of the allocatable amount."""
    hottest = sorted(audit.hot, key=lambda each: (-each.percent, each.node, each.resource))[:_MOST_BARS]
    items = [(f"{each.node}: {each.resource}", each.percent, f"{each.percent:.0f} %") for each in hottest]
    return BarChart(items, most=100.0)
