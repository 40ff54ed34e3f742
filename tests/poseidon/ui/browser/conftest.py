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


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def still_server(tab: Page) -> AsyncIterator[FixtureServer]:
    """A server that no test changes."""
    served = FixtureServer()
    await served.start()
    yield served
    await tab.leave()
    await served.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def page(tab: Page, server: FixtureServer) -> AsyncIterator[Page]:
    """The tab, with nothing in it; whatever a test does in it, the page has to be well-behaved."""
    await tab.leave()
    await tab.begin(server.origin)
    yield tab
    violations, harm = await tab.value("[window.violations, window.harm]")
    await tab.leave()
    _judge(tab, violations, harm)


@pytest_asyncio.fixture(loop_scope="session")
async def shown(tab: Page, still_server: FixtureServer) -> AsyncIterator[Page]:
    """The tab with a page that shows no view; it is loaded once for all tests that only go from view to view."""
    await tab.begin(still_server.origin)
    if not await tab.value(f"location.href.startsWith({still_server.origin!r})"):
        await tab.open("#/overview")
    await tab.value("location.hash = '#/none'")
    await tab.shows("There is no such view")
    yield tab
    violations, harm = await tab.value("[window.violations, window.harm]")
    if violations or harm:
        await tab.leave()
    _judge(tab, violations, harm)


def _judge(tab: Page, violations: list[str], harm: object) -> None:
    """Raise AssertionError if a page broke the policy, complained, left its origin or was harmed."""
    assert violations == []
    assert [text for text in tab.complaints if "favicon" not in text] == []
    assert [url for url in tab.requests if not url.startswith((tab.origin, "about:"))] == []
    assert harm is None
