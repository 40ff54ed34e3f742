"""The AppGroup controller in the bridge, over HTTP: create, change, delete, restart, conflicts and bad objects."""

from __future__ import annotations

import pytest

from poseidon.app_network.options import NetworkOptions
from tests.poseidon.app_network import boutique
from tests.poseidon.app_network.scene import APP_GROUPS, CRDS, PODS, scene
from tests.support.waiting import until

SHOP = f"{APP_GROUPS}/shop"


def app_group(*edges, algorithm="KahnSort", name="shop", **dependency):
    """Return an AppGroup; ``edges`` are pairs of selectors, or single ones."""
    children: dict[str, list[str]] = {}
    for edge in edges:
        children.setdefault(edge[0], [])
        for child in edge[1:]:
            children.setdefault(child, [])
            children[edge[0]].append(child)
    return {
        "apiVersion": "appgroup.diktyo.x-k8s.io/v1alpha1",
        "kind": "AppGroup",
        "metadata": {"name": name},
        "spec": {
            "numMembers": len(children),
            "topologySortingAlgorithm": algorithm,
            "workloads": [
                {
                    "workload": boutique.workload(each),
                    "dependencies": [
                        {"workload": boutique.workload(other), "minBandwidth": "10M", "maxNetworkCost": 30}
                        | dependency
                        for other in others
                    ],
                }
                for each, others in children.items()
            ],
        },
    }


@pytest.fixture
async def stage():
    async with scene() as made:
        await made.define()
        await made.node("n1", "west", "z1")
        yield made


def order(status):
    """Return selectors by index."""
    listed = sorted(status.get("topologyOrder", ()), key=lambda each: each["index"])
    return "".join(each["workload"]["selector"] for each in listed)


def holds(status, kind):
    return status["conditions"].get(kind, {}).get("status")


@pytest.mark.parametrize("subresource", [False, True])
async def test_create_change_and_delete(subresource):
    async with scene() as stage:
        await stage.define(status=subresource)
        await stage.node("n1", "west", "z1")
        async with stage.bridge():
            await stage.create(APP_GROUPS, app_group("ab", "bc"))
            status = await stage.until_status(SHOP, lambda found: order(found) == "abc")
            assert [each["workload"]["selector"] for each in status["topologyOrder"]] == ["a", "b", "c"]
            assert status["topologyOrder"][0] == {"index": 1, "workload": boutique.workload("a")}
            assert status["runningWorkloads"] == 0
            assert "scheduleStartTime" not in status
            assert status["topologyCalculationTime"].endswith("Z")
            assert (holds(status, "Valid"), holds(status, "Ordered")) == ("True", "True")
            await until(lambda: stage.record("AppGroup", "shop"))
            assert [each["order"] for each in stage.record("AppGroup", "shop")["workloads"]] == [1, 2, 3]

            await stage.patch(SHOP, {"spec": app_group("cb", "ba")["spec"]})
            await stage.until_status(SHOP, lambda found: order(found) == "cba")
            await stage.patch(SHOP, {"spec": {"topologySortingAlgorithm": "ReverseKahn"}})
            await stage.until_status(SHOP, lambda found: order(found) == "abc")
            await until(lambda: stage.record("AppGroup", "shop")["algorithm"] == "ReverseKahn")

            await stage.delete(SHOP)
            await until(lambda: stage.record("AppGroup", "shop") is None)
        assert await stage.warnings("AppGroup") == []


async def test_running_pods_are_counted_as_they_come_and_go(stage):
    await stage.create(APP_GROUPS, app_group("ab"))
    async with stage.bridge():
        await stage.until_status(SHOP, lambda found: order(found) == "ab")
        await stage.pod("a-0", "a", "n1")
        await stage.pod("b-0", "b", "n1")
        await stage.pod("b-1", "b", phase="Pending")
        await stage.pod("other", "a", "n1", app_group="elsewhere")
        status = await stage.until_status(SHOP, lambda found: found.get("runningWorkloads") == 2)
        started = status["scheduleStartTime"]
        await stage.delete(f"{PODS}/a-0")
        status = await stage.until_status(SHOP, lambda found: found.get("runningWorkloads") == 1)
        assert status["scheduleStartTime"] == started


async def test_a_restart_writes_nothing_again(stage):
    await stage.create(APP_GROUPS, app_group("ab", "ba"))  # a circle: also the event must not come again
    await stage.pod("a-0", "a", "n1")
    async with stage.bridge():
        await stage.until_status(SHOP, lambda found: found.get("runningWorkloads") == 1)
        await until(lambda: stage.record("AppGroup", "shop"))
    before = await stage.get(SHOP)
    assert len(await stage.warnings("AppGroup")) == 1
    async with stage.bridge():
        await until(lambda: stage.record("AppGroup", "shop"))
        await stage.create(APP_GROUPS, app_group("xy", name="later"))
        await stage.until_status(f"{APP_GROUPS}/later", lambda found: order(found) == "xy")
    assert await stage.get(SHOP) == before
    (event,) = await stage.warnings("AppGroup")
    assert event["reason"] == "DependencyCycle"


async def test_changes_made_while_no_bridge_ran_are_taken_up(stage):
    await stage.create(APP_GROUPS, app_group("ab"))
    async with stage.bridge():
        await stage.until_status(SHOP, lambda found: order(found) == "ab")
    await stage.patch(SHOP, {"spec": app_group("ba")["spec"]})
    async with stage.bridge():
        await stage.until_status(SHOP, lambda found: order(found) == "ba")


BAD = {
    "an unknown workload": ({"workload": {"name": "ghost"}}, "'ghost' is no workload of this AppGroup"),
    "a negative cost": ({"workload": {"name": "b-deployment"}, "maxNetworkCost": -5}, "-5 is too small"),
    "an unparsable bandwidth": (
        {"workload": {"name": "b-deployment"}, "minBandwidth": "wide"},
        "'wide' is not",
    ),
}


@pytest.mark.parametrize("fault", BAD)
async def test_a_bad_spec_is_reported_and_the_last_good_one_stays_in_force(stage, fault):
    dependency, words = BAD[fault]
    await stage.create(APP_GROUPS, app_group("ab"))
    async with stage.bridge():
        await stage.until_status(SHOP, lambda found: order(found) == "ab")
        await until(lambda: stage.record("AppGroup", "shop"))
        good = stage.record("AppGroup", "shop")
        spoilt = app_group("ab", "c")["spec"]
        spoilt["workloads"][0]["dependencies"] = [dependency]
        await stage.patch(SHOP, {"spec": spoilt})
        status = await stage.until_status(SHOP, lambda found: holds(found, "Valid") == "False")
        assert status["conditions"]["Valid"]["reason"] == "InvalidSpec"
        assert words in status["conditions"]["Valid"]["message"]
        assert "the last good spec stays in force" in status["conditions"]["Valid"]["message"]
        assert order(status) == "ab"
        await until(lambda: stage.warnings("AppGroup"))
        (event,) = await stage.warnings("AppGroup")
        assert (event["type"], event["reason"]) == ("Warning", "InvalidSpec")
        assert words in event["message"]
        assert stage.record("AppGroup", "shop") == good
    async with (
        stage.bridge()
    ):  # another process does not know what was good, but for what the former has left
        await until(lambda: stage.record("AppGroup", "shop") == good)
        await stage.patch(SHOP, {"spec": app_group("ba")["spec"]})
        status = await stage.until_status(SHOP, lambda found: holds(found, "Valid") == "True")
        assert order(status) == "ba"
    metadata = (await stage.get(SHOP))["metadata"]
    assert not metadata.get("annotations")


async def test_what_was_never_good_is_not_in_force(stage):
    await stage.create(APP_GROUPS, app_group("ab", maxNetworkCost=-1))
    async with stage.bridge():
        status = await stage.until_status(SHOP, lambda found: holds(found, "Valid") == "False")
        assert "nothing is in force" in status["conditions"]["Valid"]["message"]
        assert "topologyOrder" not in status
        assert stage.record("AppGroup", "shop") is None


async def test_unknown_algorithms_and_circles_are_reported_and_the_rest_goes_on(stage):
    await stage.create(APP_GROUPS, app_group("ab", algorithm="Bogus"))
    async with stage.bridge():
        status = await stage.until_status(SHOP, lambda found: order(found) == "ab")
        assert status["conditions"]["Ordered"]["reason"] == "UnknownAlgorithm"
        await stage.patch(SHOP, {"spec": app_group("ba", "ab")["spec"]})
        status = await stage.until_status(SHOP, lambda found: holds(found, "Ordered") == "False")
        assert order(status) == "ba"
        assert "b-deployment -> a-deployment -> b-deployment" in status["conditions"]["Ordered"]["message"]
        await until(lambda: stage.record("AppGroup", "shop"))

        async def told():
            return {each["reason"] for each in await stage.warnings("AppGroup")} == {
                "UnknownAlgorithm",
                "DependencyCycle",
            }

        await until(told)


async def test_conflicting_writes_are_computed_anew(stage):
    """Somebody else writes the object all the time: neither's fields get lost."""
    await stage.create(APP_GROUPS, app_group("ab"))
    async with stage.bridge():
        for index in range(40):
            edges = ("ab",) if index % 2 else ("ba",)
            await stage.patch(
                SHOP,
                {
                    "metadata": {"annotations": {"turn": str(index)}},
                    "spec": app_group(*edges)["spec"],
                    "status": {"runningWorkloads": index + 1, "theirs": index},
                },
            )
        status = await stage.until_status(
            SHOP, lambda found: order(found) == "ab" and found.get("runningWorkloads") == 0
        )
        assert status["theirs"] == 39
    assert (await stage.get(SHOP))["metadata"]["annotations"] == {"turn": "39"}


async def test_definitions_may_come_later_and_go(stage):
    for name in ("appgroups.appgroup.diktyo.x-k8s.io", "networktopologies.networktopology.diktyo.x-k8s.io"):
        await stage.delete(f"{CRDS}/{name}")
    async with stage.bridge():
        assert stage.record("AppGroup", "shop") is None
        await stage.define()
        await stage.create(APP_GROUPS, app_group("ab"))
        await until(lambda: stage.record("AppGroup", "shop"))
        await stage.delete(f"{CRDS}/appgroups.appgroup.diktyo.x-k8s.io")
        await until(lambda: stage.record("AppGroup", "shop") is None)


async def test_without_controllers_records_are_told_and_nothing_is_written(stage):
    await stage.create(APP_GROUPS, app_group("ab", "ba"))
    before = await stage.get(SHOP)
    for options in ({"network": NetworkOptions(controllers="never")}, {"dry_run": True}):
        async with stage.bridge(**options):
            await until(lambda: stage.record("AppGroup", "shop"))
    assert await stage.get(SHOP) == before
    assert await stage.warnings("AppGroup") == []


async def test_controllers_work_without_the_overlay(stage):
    await stage.create(APP_GROUPS, app_group("ab"))
    async with stage.bridge(overlay=False, network=NetworkOptions(controllers="always")):
        await stage.until_status(SHOP, lambda found: order(found) == "ab")
        assert stage.record("AppGroup", "shop") is None
