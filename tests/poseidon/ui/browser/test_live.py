"""Changes are shown as they come, breaks of the stream are survived, and hours of changes leave nothing behind."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.effort import examples
from tests.support.time_limits import stretch
from tests.support.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_change_is_shown(page, server):
    await page.open("#/overview")
    before = await page.value("document.querySelector('.round-line a').textContent")
    server.change()
    await page.until(f"document.querySelector('.round-line a').textContent !== {before!r}")


async def test_ages_grow_while_nothing_changes(page, server):
    await page.open("#/pending")
    await page.shows("oldest 24 h")
    asked = len(server.asked)
    await page.value("void (Date.now = ((now) => () => now() + 7_200_000)(Date.now))")
    await page.shows("oldest 26 h")
    assert len(server.asked) == asked


async def test_ages_are_counted_from_the_clock_of_the_server(page, server):
    source = "Date.now = ((now) => () => now() - 7_200_000)(Date.now)"
    added = await page.call("Page.addScriptToEvaluateOnNewDocument", source=source)
    try:
        await page.open("#/pending")
        await page.shows("oldest 24 h")
    finally:
        await page.call("Page.removeScriptToEvaluateOnNewDocument", identifier=added["identifier"])


async def test_a_bar_of_a_round_leads_to_its_flow_or_nowhere(page, server):
    await page.open("#/overview")
    strip = await page.value("document.querySelector('.strip').getBoundingClientRect().toJSON()")
    number = "document.querySelector('.strip').getAttribute('aria-valuenow')"
    kept = "document.querySelector('.strip').classList.contains('leads')"
    seen: set[bool] = set()
    x = strip["right"] - 4
    while len(seen) < 2 and x > strip["left"] + 60:
        await page.move(x, strip["top"] + 40)
        await page.painted()
        if (leads := await page.value(kept)) not in seen:
            seen.add(leads)
            at = await page.value(number)
            await page.press_at(x, strip["top"] + 40)
            if leads:
                await page.until(f"location.hash === '#/flow?round={at}'")
            else:
                await page.painted()
                assert await page.value("location.hash") == "#/overview"
            if leads:
                await page.value("history.back()")
                await page.until("!!document.querySelector('.strip svg')")
        x -= 7
    assert seen == {True, False}


async def test_the_heat_map_keeps_its_place_when_a_node_is_opened(page, server):
    await page.look(height=420)
    await page.open("#/cluster")
    place = (
        "(() => { const box = document.querySelector('.heat canvas').getBoundingClientRect();"
        " return [box.x, box.y, box.width, box.height, scrollY].join(); })()"
    )
    await page.until("document.querySelector('.heat canvas').getBoundingClientRect().width > 500")
    await page.until("(scrollTo({top: 50, behavior: 'instant'}), scrollY) > 0")
    before = await page.value(place)
    box = await page.value("document.querySelector('.heat canvas').getBoundingClientRect().toJSON()")
    await page.press_at(box["x"] + 25, box["y"] + 60)
    await page.shows("What happened")
    assert await page.value(place) == before
    await page.key("Escape")
    await page.shows("requested, mean over nodes")
    assert await page.value(place) == before


async def test_data_stay_while_the_server_is_gone_and_come_again_with_it(page, server):
    await page.open("#/pending")
    # The other views are loaded once there is time.
    await until(lambda: any("views/groups.js" in each for each in server.asked))
    await page.value("import('./views/groups.js').then(() => true)")
    await page.call("Log.disable")  # the browser itself reports refused connections
    await server.stop()
    await page.shows("Disconnected, retrying")
    assert await page.value("document.body.innerText.includes('Insufficient cpu')")
    assert "Disconnected" in await page.value("document.getElementById('announcements').textContent")
    await page.value("location.hash = '#/groups'")
    await page.shows("The dashboard's server does not answer")
    await server.start(server.port)
    await page.shows("research/web-front-1", seconds=20)
    await page.until("!document.body.innerText.includes('Disconnected')")
    asked = len(server.asked)
    while not any("/groups" in each for each in server.asked[asked:]):
        server.hears.clear()
        server.change()
        await asyncio.wait_for(server.hears.wait(), stretch(10))


async def test_the_picture_of_the_flow_holds_still_under_the_pointer(page, server):
    await page.open("#/flow")
    await page.until("!!document.querySelector('.flow-picture .node')")
    assert await page.value("document.querySelectorAll('.flow-picture .ribbon').length") > 30
    await page.value("document.querySelector('.flow-picture').dataset.mark = 'same'")
    await updated(page, server, 1)
    await page.painted()
    assert await page.value("document.querySelector('.flow-picture').dataset.mark") == "same"


async def updated(page, server, times: int) -> None:
    for _ in range(times):
        server.hears.clear()
        server.change()
        await server.hears.wait()
        await page.value("new Promise(requestAnimationFrame)")


@pytest.mark.parametrize(
    "view",
    [
        "#/overview",
        *(pytest.param(each, marks=pytest.mark.full) for each in ("#/flow", "#/cluster", "#/pending")),
    ],
)
@pytest.mark.timeout(300)
async def test_many_changes_leave_nothing_behind(page, server, view):
    many = examples(200, 60)
    await page.open(view)
    await updated(page, server, 20)
    before = await page.measures()
    await updated(page, server, many)
    after = await page.measures()
    assert after["JSHeapUsedSize"] < before["JSHeapUsedSize"] * 1.15 + 1_000_000
    assert after["Nodes"] < before["Nodes"] + many
    assert after["JSEventListeners"] <= before["JSEventListeners"] + 20


async def test_going_through_all_views_again_and_again_leaves_nothing_behind(page, server):
    async def around() -> None:
        for view in ("overview", "flow", "cluster", "pending", "pods", "groups"):
            await page.value(f"location.hash = '#/{view}'")
            await page.until(
                f"document.querySelector('[aria-current=page]')?.textContent.toLowerCase() === '{view}'"
                " && !!document.querySelector('main h1') && !document.querySelector('.bone')"
            )

    times = examples(10, 4)
    await page.open("#/overview")
    for _ in range(3):
        await around()
    before = await page.measures()
    for _ in range(times):
        await around()
    after = await page.measures()
    assert after["JSHeapUsedSize"] < before["JSHeapUsedSize"] * 1.15 + 1_500_000
    assert after["Nodes"] < before["Nodes"] + 40 * times
    assert after["JSEventListeners"] <= before["JSEventListeners"] + 20
