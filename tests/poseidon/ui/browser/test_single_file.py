"""A page that is one file, opened as such."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from poseidon.cli import main
from poseidon.ui.report import BarChart, Chart, LineChart, PageReport, Section, StackChart, Table, report_page

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_verdicts_are_read_without_a_server(browser, tmp_path):
    page = tmp_path / "frontend.html"
    arguments = ["explain", "-f", "examples/01-online-boutique", "--pod", "boutique/frontend-0"]
    result = CliRunner().invoke(main, [*arguments, "--html", str(page)])
    assert result.exit_code == 0, result.output
    tab = await browser.page()
    await tab.call("Page.navigate", url=page.as_uri())
    await tab.shows("6 nodes feasible, 2 not")
    await tab.shows("node(s) were unschedulable")
    nav = "[...document.querySelectorAll('.nav a')].map((each) => each.textContent.trim()).join()"
    assert await tab.value(nav) == "Pod"
    await tab.click(".nav a")
    await tab.shows("6 nodes feasible, 2 not")
    assert await tab.value("!document.querySelector('[role=combobox], .search')")
    # Nothing leads to a view that the file has not.
    assert await tab.value("[...document.querySelectorAll('main a[href]')].length") == 0
    await tab.value("location.hash = '#/cluster'")
    await tab.until("!document.body.innerText.includes('6 nodes feasible')")
    assert tab.complaints == []
    assert [url for url in tab.requests if not url.startswith(("file:", "data:", "about:"))] == []
    await tab.close()


HOSTILE = "<img src=x onerror='window.harm=1'>"


async def test_a_report_is_read_without_a_server(browser, tmp_path):
    charts: tuple[Chart, ...] = (
        LineChart("Moves", "points", [0.0, 2.0, 5.0], {"known": [0.0, None, 8.0], HOSTILE: [0.0, 9.0, 12.0]}),
        LineChart("Nodes", "pods per second", [100.0, 1000.0], {"basic": [50.0, 4000.0]}, logarithmic=True),
        BarChart([(HOSTILE, 3.0, "x 3"), ("one", 1.0, "x 1")], logarithmic=True),
        StackChart(["solve", HOSTILE], [("basic", [1.0, 2.0], "3 s")]),
    )
    sections = [Section(f"Picture {number}", chart) for number, chart in enumerate(charts)]
    rows = [[f"pod-{number}", HOSTILE, str(number)] for number in range(120)]
    sections.append(Section("Table", None, Table(["Pod", "Why", "Points"], rows, 1), ["A note."]))
    page = tmp_path / "report.html"
    page.write_text(report_page(PageReport("Findings", [("7", "nodes")], ["In one sentence."], sections)))
    tab = await browser.page()
    await tab.call("Page.navigate", url=page.as_uri())
    await tab.until("document.querySelectorAll('.plot canvas').length === 2")
    for text in ("Findings", "In one sentence.", "A note.", "x 3", HOSTILE, "pod-49", "1 to 50 of 120"):
        await tab.shows(text)
    await tab.click("button", "Later")
    await tab.shows("pod-99")
    assert await tab.value("document.querySelectorAll('.bar .fill').length") == 2
    assert await tab.value("document.querySelectorAll('.bar .piece').length") == 2
    assert await tab.value("[...document.querySelectorAll('.nav a')].map((each) => each.textContent)") == [
        "Report"
    ]
    assert await tab.value("window.harm") is None
    assert tab.complaints == []
    assert [url for url in tab.requests if not url.startswith(("file:", "data:", "about:"))] == []
    await tab.close()
