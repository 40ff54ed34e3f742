"""Names that mean harm do none, whoever has them; that each view shows them as text is tested with the views."""

from __future__ import annotations

import pytest

from tests.poseidon.ui.browser.fixtures import HOSTILE

pytestmark = pytest.mark.asyncio(loop_scope="session")

IMAGE = HOSTILE[0]


async def test_a_pod_and_a_node_may_have_any_name(page):
    await page.open("#/overview")
    for name in HOSTILE[:-1]:
        await page.value(f"location.hash = '#/pods/research/' + encodeURIComponent({name!r})")
        await page.until(f"document.querySelector('main h1')?.textContent.includes({name!r})")
        await page.shows("Verdict by node")
        assert await page.value("document.documentElement.scrollWidth") <= 1440
        await page.value(f"location.hash = '#/cluster?node=' + encodeURIComponent({name!r})")
        title = "document.querySelector('aside.panel h2 .name')?.textContent"
        await page.until(f"!!document.querySelector('aside.panel .resources') && {title} === {name!r}")
        assert await page.value("document.documentElement.scrollWidth") <= 1440


async def test_a_name_of_ten_thousand_letters_is_cut_where_it_is_shown(page):
    await page.look(width=390, height=844)
    await page.open("#/pods?q=xxxxxxxxxxxx")
    await page.shows("research/xxx")
    assert await page.value("document.documentElement.scrollWidth") <= 390
    assert await page.value("document.querySelector('td a').textContent.length") < 100


async def test_the_search_for_markup_finds_it_as_text(page):
    await page.open("#/overview")
    await page.key("/")
    await page.type("<img")
    await page.shows(f"research/{IMAGE}")


async def test_a_hash_of_nonsense_does_no_harm(page):
    await page.open("#/overview")
    for hash_ in (
        "#/__proto__",
        "#/constructor?at=__proto__",
        "#/pods/%E0%A4%A",
        "#/flow?at=__proto__",
        "#/cluster?metric=constructor",
    ):
        await page.value(f"location.hash = {hash_!r}")
        await page.until(
            "document.querySelector('main').textContent.length > 10 && !document.querySelector('.bone')"
        )
    await page.value("location.hash = '#/overview'")
    await page.shows("Throughput")
