"""The page of a plan: figures, why pods wait, how full nodes are, and all results as tables."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from poseidon.offline.plan import Binding, NodeUse, Pending, Preemption
from poseidon.ui.report import BarChart, PageReport, Section
from poseidon.ui.views.plan import plan_report


def plan(**parts: Any) -> Any:
    empty = dict.fromkeys(("bindings", "preemptions", "pending", "nodes", "groups", "migrations"), ())
    return SimpleNamespace(**{**empty, **parts})


def use(node: str, cpu: int, memory: int = 50) -> NodeUse:
    """Return a node of which so many percent are requested."""
    return NodeUse(
        node, 1, {"cpu": 1000, "memory": 200}, {"cpu": 1000 - 10 * cpu, "memory": 200 - 2 * memory}
    )


def sections(report: PageReport) -> dict[str, Section]:
    return {each.title: each for each in report.sections}


def bars(section: Section) -> list[tuple[str, float, str]]:
    assert isinstance(section.chart, BarChart)
    return list(section.chart.items)


def test_a_plan_of_nothing_has_figures_alone():
    report = plan_report(plan())
    assert list(report.figures) == [
        ("0", "pods bound"),
        ("0", "of 0 nodes get pods"),
        ("0", "pods pending"),
        ("0", "pods would be evicted"),
    ]
    assert list(report.sections) == []


def test_figures_count_pods_and_the_nodes_that_get_them():
    bindings = [Binding("a", "n1"), Binding("b", "n1"), Binding("c", "n2", ("a", "b"))]
    report = plan_report(
        plan(
            bindings=bindings,
            pending=[Pending("d", "x")],
            preemptions=[Preemption("v", "n1", "c")],
            nodes=[use("n1", 10), use("n2", 20), use("n3", 30)],
        )
    )
    assert list(report.figures) == [
        ("3", "pods bound"),
        ("2", "of 3 nodes get pods"),
        ("1", "pods pending"),
        ("1", "pods would be evicted"),
    ]
    table = sections(report)["Pods and their nodes"].table
    assert table is not None
    assert list(table.rows) == [("a", "n1", ""), ("b", "n1", ""), ("c", "n2", "a, b")]
    table = sections(report)["Pods that would be evicted"].table
    assert table is not None
    assert list(table.rows) == [("v", "n1", "c")]


def test_reasons_are_counted_without_their_figures_the_most_frequent_first():
    text = "0/{0} nodes are available: {0} Insufficient cpu."
    pending = [Pending("a", "zzz"), Pending("b", "yyy"), *(Pending(str(n), text.format(n)) for n in (3, 4))]
    found = sections(plan_report(plan(pending=pending)))
    assert bars(found["Why pods wait"]) == [
        ("Insufficient cpu", 2.0, "2"),
        ("yyy", 1.0, "1"),
        ("zzz", 1.0, "1"),
    ]
    many = [Pending(str(number), f"reason {number:02}") for number in range(21)]
    shown = bars(sections(plan_report(plan(pending=many)))["Why pods wait"])
    assert [text for text, _, _ in shown] == [f"reason {number:02}" for number in range(20)]


def test_nodes_that_get_pods_are_shown_the_fullest_first():
    nodes = [use("half", 50), use("b", 80, 25), use("a", 80), use("idle", 99), NodeUse("bare", 0, {}, {})]
    bindings = [Binding(str(n), name) for n, name in enumerate(("half", "b", "a", "a", "bare"))]
    found = sections(plan_report(plan(bindings=bindings, nodes=nodes)))
    section = found["CPU requested of the nodes that get pods, the fullest first"]
    assert bars(section) == [
        ("a", 80.0, "80 % of cpu, 50 % of memory, 2 new"),
        ("b", 80.0, "80 % of cpu, 25 % of memory, 1 new"),
        ("half", 50.0, "50 % of cpu, 50 % of memory, 1 new"),
        ("bare", 0.0, "0 % of cpu, 0 % of memory, 1 new"),
    ]
    assert isinstance(section.chart, BarChart)
    assert section.chart.most == 100.0
    many = [use(f"n{number:02}", 10) for number in range(21)]
    shown = sections(plan_report(plan(bindings=[Binding("p", each.node) for each in many], nodes=many)))
    assert len(bars(shown[section.title])) == 20


def test_long_tables_are_cut_and_say_so():
    for count, notes in ((1000, ()), (1001, ("1 more are not shown.",))):
        found = sections(plan_report(plan(pending=[Pending(str(n), "x") for n in range(count)])))
        section = found["Pods that wait"]
        assert section.table is not None
        assert len(section.table.rows) == 1000
        assert tuple(section.notes) == notes
