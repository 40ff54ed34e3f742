"""How long the page takes with ten thousand nodes: until it shows each view, and until it answers to a hand.

``python -m tests.poseidon.ui.browser.measure`` prints a table, of made-up data; a test asks for generous bounds.
``large_cluster`` prints it of running programs.
"""

from __future__ import annotations

import asyncio
import sys
from statistics import median

from tests.poseidon.ui.browser.browser import Browser, Page
from tests.poseidon.ui.browser.fixture_server import FixtureServer

SHOWN = {
    "#/overview": "!!document.querySelector('.plot canvas') && !!document.querySelector('.round-line')",
    "#/flow": "document.querySelectorAll('.flow-picture .ribbon').length > 3",
    "#/cluster": "document.querySelector('.heat canvas')?.height > 300",
    "#/pending": "!!document.querySelector('.group-head')",
    "#/pods": "document.querySelectorAll('tbody tr').length > 40",
    "#/groups": "document.querySelectorAll('tbody tr').length > 10",
}
# Waits in the page itself, frame by frame; the time is that since the navigation began.
_UNTIL = """new Promise((done) => {{
  const look = () => ({0}) ? done(performance.now()) : requestAnimationFrame(look);
  look();
}})"""
# What a hand does, and what has to have happened; the time is until the frame after that has been painted.
ACTIONS = {
    "point at a node of the heat map": (
        "#/cluster",
        # Between groups there is no node: it is pointed elsewhere then.
        """const box = document.querySelector('.heat canvas').getBoundingClientRect();
        const point = () => {
          document.querySelector('.heat').dispatchEvent(new MouseEvent('mousemove', {bubbles: true,
            clientX: box.x + 200 + Math.random() * 400, clientY: box.y + 150 + Math.random() * 100}));
          setTimeout(() => document.querySelector('.tooltip') || point(), 100);
        };
        point()""",
        "document.querySelector('.tooltip')",
    ),
    "colour the heat map by memory": (
        "#/cluster",
        "location.hash = '#/cluster?metric=memory'",
        "document.querySelector('.heat').getAttribute('aria-label').includes('Memory requested')",
    ),
    "find nodes by a part of the name": (
        "#/cluster",
        """const box = document.querySelector('input[type=search]');
        box.value = 'r01';
        box.dispatchEvent(new Event('input', {bubbles: true}))""",
        "document.querySelector('.title .sub').textContent.includes(' of ')",
    ),
    "sort the table of nodes": (
        "#/cluster?as=table",
        "document.querySelectorAll('th button')[2].click()",
        "document.querySelectorAll('th')[3].hasAttribute('aria-sort')",
    ),
    "point at a class of the flow": (
        "#/flow",
        "document.querySelector('.flow-picture .node').dispatchEvent(new MouseEvent('mousemove', {bubbles: true}))",
        "document.querySelector('.flow-picture.focused')",
    ),
    "open the panel of a class": (
        "#/flow",
        "document.querySelector('.flow-picture .node').dispatchEvent(new MouseEvent('click', {bubbles: true}))",
        "document.querySelector('aside.panel .facts')",
    ),
    "open a group of pending pods": (
        "#/pending",
        "document.querySelector('.group-head').click()",
        "document.querySelector('.group-body table')",
    ),
}
_ACT = """new Promise((done) => {{
  const start = performance.now();
  {0};
  const painted = () => requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
  const look = () => ({1}) ? painted() : setTimeout(look);
  look();
}})"""


async def first_view(page: Page, view: str) -> float:
    """Milliseconds from the navigation to the view with its data, with nothing in the browser's cache."""
    await page.call("Network.setCacheDisabled", cacheDisabled=True)
    await page.call("Page.navigate", url="about:blank")
    await page.call("Page.navigate", url=page.origin + view)
    return float(await page.value(_UNTIL.format(SHOWN[view])))


async def interaction(page: Page, name: str) -> float:
    """Milliseconds from the input to the painted answer."""
    view, act, happened = ACTIONS[name]
    await page.open(view)
    if view in SHOWN:
        await page.until(SHOWN[view])
    await asyncio.sleep(0.3)
    return float(await page.value(_ACT.format(act, happened)))


async def print_times(page: Page, times: int) -> None:
    """Print medians of a few tries."""
    for title, measure, names in (("first view", first_view, SHOWN), ("interaction", interaction, ACTIONS)):
        for name in names:
            taken = sorted([await measure(page, name) for _ in range(times)])
            sys.stdout.write(f"{title:12} {name:36} {median(taken):6.0f} ms  (most {taken[-1]:.0f} ms)\n")


async def main(times: int) -> None:
    """Measure the page with made-up data."""
    server = FixtureServer()
    await server.start()
    async with Browser() as browser:
        page = await browser.page()
        page.origin = server.origin
        await print_times(page, times)
    await server.stop()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3))
