"""The page with the server that it is made for: `poseidon ui` of the first example's manifests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.poseidon.ui.browser.browser import Page
from tests.support.preloaded import quick_python
from tests.support.time_limits import stretch

pytestmark = pytest.mark.asyncio(loop_scope="session")

ROOT = Path(__file__).resolve().parents[4]


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser) -> AsyncIterator[Page]:
    process = await asyncio.create_subprocess_exec(
        quick_python(),
        *("-m", "poseidon", "ui", "--snapshot", "examples/01-online-boutique", "--listen", "127.0.0.1:0"),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    tab: Page = await browser.page()
    tab.origin = (await asyncio.wait_for(process.stdout.readline(), stretch(60))).decode().split()[-1]
    yield tab
    await tab.close()
    process.terminate()
    await process.wait()


async def test_all_views_show_what_the_plan_came_to(page):
    await page.open("#/overview")
    await page.shows("which binds 14 pods", seconds=90)
    await page.value("location.hash = '#/flow'")
    await page.until("document.querySelectorAll('.flow-picture .ribbon').length > 10")
    await page.click(".flow-picture .node[data-id=g0]")
    await page.shows("Classes placed there")
    await page.value("location.hash = '#/cluster?node=boutique-a-3'")
    await page.until("!!document.querySelector('aside.panel .resources')")
    await page.value("location.hash = '#/pending'")
    await page.shows("No pod waits")
    await page.key("/")
    await page.type("frontend-0")
    await page.shows("boutique/frontend-0")
    await page.key("Enter")
    await page.shows("Cost of its placement")
    await page.shows("node(s) were unschedulable")
    await page.value("location.hash = '#/groups'")
    await page.shows("No gangs")
    assert await page.value("window.violations") == []
    assert page.complaints == []
    assert [url for url in page.requests if not url.startswith((page.origin, "about:"))] == []
