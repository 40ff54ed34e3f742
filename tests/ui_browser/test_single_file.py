"""A page that is one file, opened as such."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from poseidon.cli import main

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
    await tab.value("location.hash = '#/cluster'")
    await tab.until("!document.body.innerText.includes('6 nodes feasible')")
    assert tab.complaints == []
    assert [url for url in tab.requests if not url.startswith(("file:", "data:", "about:"))] == []
    await tab.close()
