"""Every view against both programs as they run. What is seen is kept in ``build/screenshots``."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from tests.poseidon.ui.browser.browser import Page
from tests.poseidon.ui.browser.cable import Cable
from tests.poseidon.ui.browser.running_pair import VIEWS, picture_of, running_pair

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

SCREENSHOTS = Path(__file__).resolve().parents[4] / "build" / "screenshots"


async def test_each_view_shows_what_is_so(browser, tmp_path):
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    async with running_pair(tmp_path) as server, Cable(server) as cable:
        tab = await browser.page()
        tab.origin = origin = cable.origin
        await tab.look(width=1280, height=800)
        await tab.open("#/overview")
        await tab.shows("1,310", seconds=60)
        for view in VIEWS:
            (SCREENSHOTS / f"{view}.png").write_bytes(await picture_of(tab, view))
        await tab.value("location.hash = '#/flow?as=table'")
        await tab.shows("Insufficient nvidia.com/gpu")
        await tab.value("location.hash = '#/cluster?node=west-1a-r3-n00'")
        await tab.shows("west-1a-r3-n00")  # the view before it tells of GPUs as well
        await tab.shows("nvidia.com/gpu")
        # From the start page to why a pod waits, and what would make it fit: three clicks.
        await tab.value("location.hash = '#/overview'")
        await tab.shows("Why pods wait")
        await _follow(tab, "a, button", "Insufficient nvidia.com/gpu")
        await tab.click("button", "Cheapest cures")
        await tab.until("/one more node|more of|request|move /.test(document.body.innerText)", seconds=120)
        await _is_cut_and_comes_back(tab, cable)
        assert await tab.value("window.violations") == []
        assert tab.complaints == []
        assert [url for url in tab.requests if not url.startswith((origin, "about:"))] == []
        await tab.close()


async def _follow(tab: Page, selector: str, text: str) -> None:
    """Click until the page goes elsewhere: what is clicked at may move while plots are drawn."""
    before = await tab.value("location.hash")
    while await tab.value("location.hash") == before:
        await tab.click(selector, text)
        with suppress(AssertionError):
            await tab.until(f"location.hash !== {before!r}", 0.5)


async def _is_cut_and_comes_back(tab: Page, cable: Cable) -> None:
    await tab.value("location.hash = '#/pending?by=class'")
    await tab.shows("64 pods")
    await tab.call("Log.disable")  # the browser itself reports refused connections
    cable.cut()
    await tab.shows("Disconnected, retrying")
    await tab.shows("64 pods")  # what was known stays
    cable.mend()
    await tab.until("!document.body.innerText.includes('Disconnected')", seconds=60)
    await tab.value("location.hash = '#/pods/research/sweep-00'")
    await tab.shows("Insufficient nvidia.com/gpu", seconds=60)
