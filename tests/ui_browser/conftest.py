"""One Chromium for all tests of a process, a server and a tab for each."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.ui_browser.browser import Browser, Page, program
from tests.ui_browser.fixture_server import FixtureServer


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


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, server: FixtureServer) -> AsyncIterator[Page]:
    """A tab; whatever a test does in it, nothing may break the policy, complain or leave the page's own origin."""
    tab = await browser.page()
    tab.origin = server.origin
    yield tab
    assert await tab.value("window.violations") == []
    assert [text for text in tab.complaints if "favicon" not in text] == []
    assert [url for url in tab.requests if not url.startswith((server.origin, "about:"))] == []
    assert await tab.value("window.harm") is None
    await tab.close()
