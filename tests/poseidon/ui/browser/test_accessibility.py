"""axe-core finds no serious barrier in any view, dark or light, and colours are told apart by every eye."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.poseidon.ui.browser.browser import Page

pytestmark = pytest.mark.asyncio(loop_scope="session")

AXE = Path(__file__).with_name("axe") / "axe.min.js"
VIEWS = [
    "#/overview",
    "#/flow",
    "#/flow?as=table",
    "#/flow?at=c5&round=1100",
    "#/cluster",
    "#/cluster?as=table",
    "#/cluster?node=eu-west-1a-r000-n00000",
    "#/pending?at=Insufficient+cpu",
    "#/pods",
    "#/pods/research/web-front-1",
    "#/pods/research/train-large-1",
    "#/groups",
    "#/groups?show=nested",
    "#/groups?show=trees",
    "#/groups?show=applications",
    "#/groups?show=evictions",
    "#/queues",
    "#/queues/ClusterQueue%2Fteam-vision",
]


async def list_barriers(page: Page, options: str = "") -> Any:
    """Return what axe finds serious on the page as it is; ``options`` are further ones of axe."""
    return json.loads(
        await page.value(
            f"axe.run(document, {{resultTypes: ['violations'], {options}}})"
            ".then((result) => JSON.stringify(result.violations"
            ".filter((each) => ['serious', 'critical'].includes(each.impact))"
            ".map((each) => [each.id, each.nodes.slice(0, 4).map((node) => [node.html.slice(0, 200),"
            " node.failureSummary])])))"
        )
    )


@pytest.mark.parametrize("view", VIEWS)
async def test_axe_finds_no_serious_barrier(page, view):
    await page.look(dark=True)
    await page.open(view)
    await page.call("Runtime.evaluate", expression=AXE.read_text(encoding="utf-8"))
    assert await list_barriers(page) == []
    await page.look(dark=False)  # changes colours, and nothing else
    await page.until("document.documentElement.dataset.theme === 'light'")
    assert await list_barriers(page, "runOnly: ['color-contrast', 'link-in-text-block']") == []


def linear(rgb: list[int]) -> list[float]:
    parts = [each / 255 for each in rgb]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def oklab(rgb: list[int]) -> tuple[float, float, float]:
    """Björn Ottosson's colour space, in which distances are those that eyes see."""
    r, g, b = linear(rgb)
    l_, m, s = (
        (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3),
        (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3),
        (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3),
    )
    return (
        0.2104542553 * l_ + 0.7936177850 * m - 0.0040720468 * s,
        1.9779984951 * l_ - 2.4285922050 * m + 0.4505937099 * s,
        0.0259040371 * l_ + 0.7827717662 * m - 0.8086757660 * s,
    )


@pytest.mark.parametrize("theme", ["dark", "light"])
async def test_the_scale_of_prices_is_even_and_told_apart_by_lightness_alone(page, theme):
    await page.open("#/overview")
    ramp = await page.value(f"import('./charts/colour.js').then((module) => module.rampOf('{theme}'))")
    colours = [oklab([int(part) for part in each[4:-1].split()]) for each in ramp]
    steps = [
        sum((a - b) ** 2 for a, b in zip(*pair, strict=True)) ** 0.5
        for pair in zip(colours, colours[8:], strict=False)
    ]
    assert max(steps) < 1.1 * min(steps)
    lightness = [each[0] for each in colours]
    assert lightness == sorted(lightness, reverse=theme == "light")
    assert abs(lightness[-1] - lightness[0]) > 0.3
