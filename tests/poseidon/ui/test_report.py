"""What commands have found as a page: the report stands in it whole, and ends no element whatever is in it."""

from __future__ import annotations

import json
import re

from poseidon.offline.audit.costs import Bounded, Costs
from poseidon.offline.audit.findings import Audit, Hot, Misplaced
from poseidon.offline.plan import Pending
from poseidon.ui.report import BarChart, LineChart, PageReport, Section, StackChart, Table, report_page
from poseidon.ui.views.audit import audit_report

HOSTILE = "</script><script>alert(1)</script>"


def answers_of(page: str):
    (answers,) = re.findall(r'<script type="application/json" id="answers">(.*?)</script>', page)
    return json.loads(answers)


def test_all_of_a_report_stands_in_its_page_as_text():
    charts = (
        LineChart(HOSTILE, HOSTILE, [1.0, 2.0], {HOSTILE: [1.0, None]}, logarithmic=True),
        BarChart([(HOSTILE, 1.0, HOSTILE)], most=2.0),
        StackChart([HOSTILE], [(HOSTILE, [1.0], HOSTILE)]),
    )
    sections = [Section(HOSTILE, chart, Table([HOSTILE], [[HOSTILE]], 1), [HOSTILE]) for chart in charts]
    page = report_page(PageReport(HOSTILE, [(HOSTILE, HOSTILE)], [HOSTILE], sections))
    assert HOSTILE not in page
    found = answers_of(page)
    assert found["session"]["capabilities"] == {"report": True}
    assert [each["chart"]["type"] for each in found["report"]["sections"]] == ["lines", "bars", "stacks"]
    assert found["report"]["sections"][0]["chart"]["series"] == {HOSTILE: [1.0, None]}
    assert found["report"]["sections"][2]["table"] == {
        "headings": [HOSTILE],
        "rows": [[HOSTILE]],
        "figures": 1,
    }


def audit(**found):
    nothing = dict.fromkeys(
        ("freed", "moves", "staying", "overcommitted", "hot", "misplaced", "pending", "cures", "warnings"), ()
    )
    return Audit(**{"nodes": 3, "pods": 2, "most_freed": 0, "costs": None, **nothing, **found})


def test_an_audit_that_found_nothing_has_figures_alone():
    report = audit_report(audit())
    assert list(report.figures[:2]) == [("3", "nodes"), ("2", "pods run")]
    assert list(report.sections) == []


def test_an_audit_has_a_section_for_all_that_it_found():
    costs = Costs(30.0, 20.0, (), (Bounded(0, 0.0, 0.0), Bounded(2, 8.0, 12.0)))
    short = "0/3 nodes are available: {} Insufficient cpu, 1 node(s) were unschedulable."
    report = audit_report(
        audit(
            costs=costs,
            pending=(Pending("shop/a", short.format(2)), Pending("shop/b", short.format(1))),
            hot=(Hot("n1", "cpu", 71.0), Hot("n2", "cpu", 93.4)),
            misplaced=(Misplaced("shop/c", "n3", "why"),),
        )
    )
    sections = {each.title: each for each in report.sections}
    savings = sections["What moves could save"].chart
    assert isinstance(savings, LineChart)
    assert list(savings.at) == [0.0, 2.0]
    assert [list(each) for each in savings.series.values()] == [[0.0, 8.0], [0.0, 12.0]]
    waiting, hot = sections["Why pods wait"].chart, sections["Hot nodes"].chart
    assert isinstance(waiting, BarChart)
    assert isinstance(hot, BarChart)
    assert list(waiting.items) == [("Insufficient cpu, node(s) were unschedulable", 2.0, "2")]
    assert list(hot.items) == [("n2: cpu", 93.4, "93 %"), ("n1: cpu", 71.0, "71 %")]
    assert sections["Misplaced pods"].table == Table(("Pod", "Node", "Why"), [("shop/c", "n3", "why")])
    assert report.notes == (costs.summary,)
