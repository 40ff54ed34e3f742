"""Every view shows what the server says, in any window, and what it says when there is nothing or something fails."""

from __future__ import annotations

import json

import pytest

from tests.poseidon.ui.browser.fixture_server import FixtureServer
from tests.poseidon.ui.browser.fixtures import HOSTILE
from tests.support.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="session")

IMAGE = HOSTILE[0]
VIEWS = {
    "#/overview": [
        "10,000",
        "Throughput",
        "Creation to binding",
        "Insufficient nvidia.com/gpu",
        "poseidon-7c9f8d6b5-h8wzt",
        "Standby",
        "Utilisation",
        "198,400 of 320,000, 121,000 measured",
        "62 %",
        "6,006 unschedulable, 388 new, 12 gated",
        "flow certified",
    ],
    "#/flow?round=3": ["The flow of round 3 is not kept", "The newest round"],
    "#/flow": [
        "Placed on, or prevented by",
        "eu-west-1b",
        "train-large-0",
        "waiting",
        "flow certified",
        "Price of a place",
    ],
    "#/flow?as=table": ["train-large-0", "used", "no room left"],
    "#/flow?at=c5&round=1100": [
        "812 of 1,204 pods",
        "nvidia.com/gpu 1",
        "network_overhead",
        "4,311 machines",
        "Why the other pods wait",
        "didn't match pod anti-affinity rules",
    ],
    "#/flow?at=k2&round=1100": ["Machines that refuse them", "9,712", "Classes that wait because of it"],
    "#/flow?at=g1&round=1100": ["2,000, 1,422 of them saturated", "310 more pods", "Classes placed there"],
    "#/flow?at=waiting&round=1100": ["got no node in this round", "Why they wait"],
    "#/cluster": ["10,000 nodes", "over a threshold", "CPU requested"],
    "#/cluster?scale=100": ["10,000 nodes", "0 to 10 %"],
    "#/cluster?as=table&level=topology.example.com/rack": ["rack-", "1 to 100 of 10,000"],
    "#/cluster?node=eu-west-1a-r000-n00000": [
        "nvidia.com/gpu",
        "28500m",
        "node-1",
        "7 of 16 free",
        "3 of 9 free",
        "research/train-gpus",
        "6 more are not shown",
        "212 pods",
        "Reserved for",
    ],
    "#/pending": ["6,406 pods in 7 groups", "Insufficient cpu", "4,120", "oldest 24 h"],
    "#/pending?at=%3Cimg+src%3Dx+onerror%3Dwindow.harm%3D1%3E": [],
    "#/pending?by=class&at=class-1-web-front": ["class-1-web-front", "research/web-front-00000"],
    "#/pods": ["research/train-large-00000", "1 to 50 of 6,406"],
    "#/pods?q=spark-exec&phase=pending": ["research/spark-exec-00001"],
    "#/pods/research/web-front-1": [
        "Cost of its placement",
        "price of the place",
        "next best node",
        "chosen",
        "212 nodes feasible",
        "16Gi memory",
        "node has disk=ssd",
        "apart from pods with app=train by kubernetes.io/hostname",
        "dedicated=training:NoSchedule",
    ],
    "#/pods/research/train-large-1": [
        "Why it waits",
        "6120 Insufficient cpu",
        "Pods in the way",
        "told to the solver",
        "Cheapest cures",
    ],
    "#/pods/research/absent": ["There is no such pod"],
    "#/groups": ["research/web-front-1", "9 of 16", "7 pods wait for Insufficient cpu"],
    "#/groups?show=nested": [
        "serving/llm",
        "1 of 2 groups",
        "5 of 12 pods",
        "at least 8",
        "rack-11",
        "rack-3, rack-7 and 12 more",
        "not placed",
        "2 more groups are not shown",
    ],
    "#/groups?show=trees": ["research/llm-pretrain", "block-0", "rack-11", "no block has room for 8 racks"],
    "#/groups?show=applications": ["shop/online-boutique", "2 pairs over", "eu-west-1c"],
    "#/groups?show=evictions": ["preempted", "leaving", "research/train-large-0001"],
    "#/queues": [
        "Cohort/research",
        "ClusterQueue/team-vision",
        "no limit",
        "is stopped",
        "When do they start?",
    ],
    "#/queues/ClusterQueue%2Fteam-vision": ["a100", "research/Job/train-1", "1 to 50 of 120", "Insufficient"],
    "#/queues?workload=research%2FJob%2Ftrain-100": ["ClusterQueue/team-vision", "51 to 100 of 120"],
    "#/nothing": ["There is no such view"],
}

HARMFUL = {
    "#/overview": IMAGE,
    "#/flow": "<img src=x",
    "#/flow?as=table": IMAGE,
    "#/cluster?node=eu-west-1a-r000-n00000": '"><script>',
    "#/pending?at=%3Cimg+src%3Dx+onerror%3Dwindow.harm%3D1%3E": "research/__proto__",
    "#/pods/research/train-large-1": f"{IMAGE} said something",
    "#/groups?show=applications": IMAGE,
    "#/groups?show=nested": IMAGE,
    "#/groups?show=trees": "research/__proto__",
    "#/queues": IMAGE,
    "#/queues/ClusterQueue%2Fteam-vision": IMAGE,
}
"""Views that show names which would do harm if they were markup."""


EMPTY = {
    "#/overview": "No rounds yet",
    "#/flow": "No flow yet",
    "#/cluster": "No nodes",
    "#/pending": "No pod waits",
    "#/pods": "No such pod",
    "#/groups": "No gangs",
    "#/queues": "No queues",
}
"""What views say where there is nothing."""


@pytest.mark.parametrize("view", VIEWS)
async def test_a_view_shows_its_data_as_text_and_fits_narrow_windows(shown, view):
    if view in {"#/pods/research/absent", "#/flow?round=3"}:  # the server answers that it has none
        await shown.call("Log.disable")
    await shown.value(f"location.hash = {view!r}")
    await shown.shows(*VIEWS[view])
    if view in HARMFUL:
        await shown.until(f"document.body.textContent.includes({HARMFUL[view]!r})")
    assert await shown.value("document.querySelectorAll('main img, main script, main [onerror]').length") == 0
    for width in (390, 360):
        await shown.look(width=width, height=844)
        # Charts follow a frame or two after the page, once they have been measured anew.
        await shown.until(f"document.documentElement.scrollWidth <= {width}")


async def test_a_cluster_without_anything_is_told_in_words(page, server):
    server.empty = True
    await page.open("#/overview")
    for view, words in EMPTY.items():
        await page.value(f"location.hash = {view!r}")
        await page.shows(words)


async def test_what_the_source_does_not_tell_is_said_in_one_line(page, server):
    server.capabilities |= {"pending": False, "flow": False}
    await page.open("#/pending")
    await page.shows("Pending is not known here")
    await page.value("location.hash = '#/flow'")
    await page.shows("Flow is not known here")


async def test_a_failure_is_told_while_the_data_stay(page, server):
    await page.call("Log.disable")  # the browser itself reports answers of 503
    await page.open("#/pending")
    server.failing = True
    server.change()
    await page.shows("the API server did not answer")
    assert await page.value("document.body.innerText.includes('Insufficient cpu')")
    server.failing = False
    server.change()
    await page.until("!document.body.innerText.includes('the API server did not answer')")


async def test_every_view_says_at_its_top_that_a_program_has_gone(page, server):
    await page.open("#/overview")
    server.solver = {"state": "unreachable", "target": "firmament:9090", "since": 1_790_000_000}
    server.change()
    top = "document.querySelector('.banner.gone').getBoundingClientRect().bottom"
    for view in ("overview", "flow", "cluster", "pending", "pods", "groups", "queues"):
        await page.value(f"location.hash = '#/{view}'")
        await page.until(
            f"document.querySelector('[aria-current=page]')?.textContent.toLowerCase() === '{view}'"
            " && !!document.querySelector('main h1') && !document.querySelector('.bone')"
        )
        await page.shows("The solver has not answered since")
        assert await page.value(f"{top} < document.querySelector('main').getBoundingClientRect().top + 1")
        await page.shows("Not all programs answer")
    server.solver, server.bridge = {**server.solver, "state": "connected"}, {"answers": False, "since": 1.0}
    server.change()
    await page.shows("The bridge has served no metrics since")
    server.bridge = {"answers": True, "since": 2.0}
    server.change()
    await page.until("!document.querySelector('.banner.gone')")


async def test_only_what_is_shown_is_asked_for(page, server):
    await page.open("#/groups")
    asked = {path.split("?")[0] for path in server.asked if path.startswith("/api/v1/")}
    assert asked == {"/api/v1/session", "/api/v1/events", "/api/v1/groups"}


async def test_small_loads_can_be_told_apart(page):
    await page.open("#/cluster")
    module = "import('./data/node_facts.js')"
    for values, wanted, scale in (
        ("[3, null, 41]", "NaN", 50),
        ("[0, 640]", "NaN", 1000),
        ("[900]", "100", 100),
    ):
        assert await page.value(f"{module}.then((facts) => facts.scaleOf({values}, {wanted}))") == scale
    await page.click("label.field:has(select)", "Scale")
    await page.value("location.hash = '#/cluster?scale=50'")
    await page.until("document.querySelector('.flow-foot .scale').textContent.includes('5 %')")


async def test_of_several_reasons_the_first_are_shown_whole(page):
    await page.open("#/overview")
    for text, most, shown in (
        ("node(s) had taints, 3 Insufficient cpu, 2 Too many pods", 30, "node(s) had taints and 2 more"),
        (
            "node(s) had taints, 3 Insufficient cpu, 2 Too many pods",
            50,
            "node(s) had taints, 3 Insufficient cpu and 1 more",
        ),
        ("node(s) had taints, 3 Insufficient cpu", 38, "node(s) had taints, 3 Insufficient cpu"),
        ("a-name-that-is-long, b", 12, "a-name-t…, b"),
        ("a-name-that-is-long", 10, "a-name…ong"),
    ):
        said = await page.value(f"import('./data/text.js').then((m) => m.cut({json.dumps(text)}, {most}))")
        assert said == shown


async def test_dark_and_light_follow_the_system_until_the_switch_is_used(page):
    await page.open("#/overview")
    theme = "document.documentElement.dataset.theme"
    assert await page.value(theme) == "dark"
    await page.look(dark=False)
    await page.until(f"{theme} === 'light'")
    await page.click("button[aria-label='Switch to dark colours']")
    await page.until(f"{theme} === 'dark'")
    await page.open("#/pending")
    assert await page.value(theme) == "dark"


async def test_the_way_from_the_start_page_to_a_cure_is_three_clicks(page):
    await page.open("")
    await page.click("main a", "Insufficient nvidia.com/gpu")
    await page.click("button", "Cheapest cures")
    await page.shows("Effect on other pods: 1 pod is moved")
    await page.shows("spec.containers[0].resources.requests.cpu: 4 -> 3500m")


async def test_cures_of_a_single_pod_show_their_progress(page):
    await page.open("#/pods/research/train-large-1")
    await page.click("button", "Cheapest cures")
    await page.shows("of 3,600 openings tried")
    await page.shows("Ask for cpu 3500m instead of 4")
    assert await page.value("document.getElementById('announcements').textContent") == "3 cures found"


async def test_a_view_that_is_left_is_not_asked_for_any_more(page, server: FixtureServer):
    await page.open("#/overview")
    await page.value("location.hash = '#/pending'")
    await page.shows("6,406 pods in 7 groups")
    before = len(server.asked)
    server.change()
    await until(lambda: any("/pending" in path for path in server.asked[before:]))
    await page.painted()
    assert not [path for path in server.asked[before:] if "/overview" in path]
