"""One Chromium and one tab for all tests of a process, and a server for each: what a page stores, it stores apart."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.poseidon.ui.browser.browser import Browser, Page, program
from tests.poseidon.ui.browser.fixture_server import FixtureServer


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    if program() is None:
        pytest.skip("no Chromium is installed (apt-get install chromium)")
    async with Browser() as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def server() -> AsyncIterator[FixtureServer]:
    served = FixtureServer()
    await served.start()
    yield served
    await served.stop()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def tab(browser: Browser) -> Page:
    return await browser.page()


@pytest_asyncio.fixture(loop_scope="session")
async def page(tab: Page, server: FixtureServer) -> AsyncIterator[Page]:
    """The tab; whatever a test does in it, nothing may break the policy, complain or leave the page's own origin."""
    await tab.begin(server.origin)
    yield tab
    violations, harm = await tab.value("window.violations"), await tab.value("window.harm")
    await tab.leave()
    assert violations == []
    assert [text for text in tab.complaints if "favicon" not in text] == []
    assert [url for url in tab.requests if not url.startswith((server.origin, "about:"))] == []
    assert harm is None
