"""All can be reached and done by keys alone."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_slash_finds_a_pod_from_everywhere(page):
    await page.open("#/cluster")
    await page.key("/")
    assert await page.value("document.activeElement.getAttribute('aria-label')") == "Find a pod"
    await page.type("web-front-00001")
    await page.shows("research/web-front-00001")
    await page.key("ArrowDown")
    assert await page.value("document.activeElement.getAttribute('aria-activedescendant')") == "found-0"
    await page.key("Enter")
    await page.until("location.hash === '#/pods/research/web-front-00001'")
    await page.shows("Cost of its placement")


async def test_enter_without_a_choice_lists_all_that_match(page):
    await page.open("#/overview")
    await page.key("/")
    await page.type("spark")
    await page.key("Enter")
    await page.shows("212 pods")
    assert await page.value("location.hash") == "#/pods?q=spark"


async def test_escape_leaves_the_search_box(page):
    await page.open("#/overview")
    await page.key("/")
    await page.type("web")
    await page.until("!!document.querySelector('[role=listbox]')")
    await page.key("Escape")
    await page.until("!document.querySelector('[role=listbox]') && document.activeElement === document.body")


async def test_arrows_walk_through_the_flow_and_enter_opens(page):
    await page.open("#/flow")
    await page.until("!!document.querySelector('.flow-picture .node')")
    await page.value("document.querySelector('.flow-picture .node[tabindex=\"0\"]').focus()")
    where = "document.activeElement.dataset.id"
    assert await page.value(where) == "c0"
    await page.key("ArrowDown")
    assert await page.value(where) == "c1"
    await page.key("ArrowRight")
    assert str(await page.value(where)).startswith("g")
    await page.key("Enter")
    await page.until("!!document.querySelector('aside.panel')")
    await page.until("document.activeElement.tagName === 'H2'")
    await page.key("Escape")
    await page.until("!document.querySelector('aside.panel')")
    await page.until(f"{where}?.startsWith('g')")


async def test_arrows_walk_over_the_heat_map_and_enter_opens(page):
    await page.open("#/cluster")
    await page.value("document.querySelector('.heat').focus()")
    await page.key("ArrowRight")
    said = "document.getElementById('announcements').textContent"
    await page.until(f"{said}.startsWith('eu-west-1a-r000-n00000, CPU requested')")
    await page.key("ArrowRight")
    await page.until(f"{said}.startsWith('eu-west-1a-r005-n00005')")
    await page.key("PageDown")
    await page.until(f"{said}.startsWith('eu-west-1b-r001-n00001')")
    await page.key("Enter")
    await page.shows("What happened")
    assert "node=eu-west-1b-r001-n00001" in await page.value("location.hash")
    await page.key("Escape")
    await page.until("document.activeElement.className === 'heat'")


async def test_arrows_walk_over_the_rounds_and_enter_shows_a_flow(page):
    await page.open("#/overview")
    await page.value("document.querySelector('.strip').focus()")
    first = await page.value("document.activeElement.getAttribute('aria-valuenow')")
    await page.key("ArrowLeft")
    await page.until(f"document.activeElement.getAttribute('aria-valuenow') === '{int(first) - 1}'")
    await page.key("Enter")
    await page.until(f"location.hash === '#/flow?round={int(first) - 1}'")


async def test_tab_begins_with_the_skip_link_and_reaches_the_content(page):
    await page.open("#/pending")
    await page.key("Tab")
    assert await page.value("document.activeElement.textContent") == "Skip to the content"
    await page.key("Enter")
    assert await page.value("document.activeElement.id") == "content"
    assert await page.value("location.hash") == "#/pending"
    for _ in range(3):
        await page.key("Tab")
    assert await page.value("document.activeElement.className") == "group-head"
    assert await page.value("getComputedStyle(document.activeElement).outlineStyle") != "none"
