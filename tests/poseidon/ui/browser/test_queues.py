"""Queues are opened, read and asked about by keys alone."""

from __future__ import annotations

import pytest

from tests.poseidon.ui.browser.browser import Page

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def press_enter_on(page: Page, find: str) -> None:
    """Give an element the focus, and press Enter."""
    await page.until(f"!!{find}")
    await page.value(f"{find}.focus()")
    await page.key("Enter")


async def test_a_queue_opens_to_its_workloads_and_expected_starts(page):
    await page.open("#/queues")
    await press_enter_on(
        page, "[...document.querySelectorAll('main button')].find((e) => e.textContent.includes('start'))"
    )
    await page.shows("Last starts in")
    await page.shows("2h")
    await press_enter_on(page, "document.querySelector('main a[href*=team-vision]')")
    await page.until("location.hash === '#/queues/ClusterQueue%2Fteam-vision'")
    await page.shows("Waiting workloads")
    assert await page.value("document.activeElement.id") == "content"
    rows = "[...document.querySelectorAll('section:last-of-type tbody tr')]"
    assert await page.value(f"{rows}[0].cells[0].textContent") == "1"
    await press_enter_on(
        page, "[...document.querySelectorAll('.pages button')].find((e) => e.textContent === 'Later')"
    )
    await page.shows("51 to 100 of 120")
    await press_enter_on(
        page, "[...document.querySelectorAll('main a')].find((e) => e.textContent === 'All queues')"
    )
    await page.until("location.hash === '#/queues'")


async def test_a_pod_leads_to_its_queue_where_its_workload_is_marked(page):
    await page.open("#/pods/research/train-large-1")
    await page.until("!!document.querySelector('a[href^=\"#/queues?workload=\"]')")
    await page.value("location.hash = '#/queues?workload=research%2FJob%2Ftrain-100'")
    await page.until(
        "document.querySelector('tr.chosen td a')?.textContent.trim() === 'research/Job/train-100'"
    )


async def test_without_queues_nothing_leads_to_them(page, server):
    server.capabilities |= {"queues": False}
    await page.open("#/pods/research/train-large-1")
    await page.shows("Tolerations")
    assert await page.value("document.querySelectorAll('a[href*=queues]').length") == 0
