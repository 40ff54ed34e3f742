"""The NetworkTopology controller in the bridge, over HTTP: costs from measurements, bandwidth, and bad objects."""

from __future__ import annotations

import pytest

from poseidon.app_network.options import NetworkOptions
from tests.poseidon.app_network.scene import APP_GROUPS, CONFIG_MAPS, PODS, TOPOLOGIES, scene
from tests.poseidon.app_network.test_app_group_controller import app_group, holds
from tests.support.waiting import until

NET = f"{TOPOLOGIES}/net"
NETPERF = f"{CONFIG_MAPS}/netperf"
REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"


@pytest.fixture
async def stage():
    async with scene() as made:
        await made.define()
        await made.node("w1", "west", "z1")
        await made.node("w2", "west", "z2")
        await made.node("e3", "east", "z3")
        yield made


def weights(cost=20, capacity="1G"):
    pair = {"destination": "east", "networkCost": cost, "bandwidthCapacity": capacity}
    origins = [{"origin": "west", "costList": [pair]}]
    return {"name": "UserDefined", "topologyList": [{"topologyKey": REGION, "originList": origins}]}


def topology(*lists):
    return {
        "apiVersion": "networktopology.diktyo.x-k8s.io/v1alpha1",
        "kind": "NetworkTopology",
        "metadata": {"name": "net"},
        "spec": {"configmapName": "netperf", "weights": list(lists or [weights()])},
    }


def config_map(**latencies):
    """Return measurements; names are like w1_e3."""
    key = "netperf.p90.latency.milliseconds.origin.{}.destination.{}"
    data = {key.format(*pair.split("_")): value for pair, value in latencies.items()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "netperf"}, "data": data}


def costs(found):
    """Return the computed costs of an object by origin and destination."""
    for each in found["spec"]["weights"]:
        if each["name"] == "NetperfCosts":
            return {
                (origin["origin"], pair["destination"]): pair["networkCost"]
                for listed in each["topologyList"]
                for origin in listed["originList"]
                for pair in origin["costList"]
            }
    return {}


def links(status, what="bandwidthAllocated"):
    return {(each["origin"], each["destination"]): each.get(what) for each in status.get("links", ())}


async def until_costs(stage, expected):
    async def computed():
        return costs(await stage.get(NET)) == expected

    await until(computed, what=f"costs {expected}")


async def test_costs_follow_the_config_map_and_the_nodes(stage):
    await stage.create(TOPOLOGIES, topology())
    async with stage.bridge():
        status = await stage.until_status(NET, lambda found: found.get("nodeCount") == 3)
        assert status["conditions"]["Measured"]["reason"] == "NotMeasured"
        assert holds(status, "Valid") == "True"
        assert stage.record("NetworkTopology", "net")["weights"] == {
            "UserDefined": {"region": {"west": {"east": 20}}, "zone": {}}
        }
        await stage.create(CONFIG_MAPS, config_map(w1_e3="30", w1_w2="4"))
        west_east = {("west", "east"): 30, ("east", "west"): 30}
        zones = {("z1", "z2"): 4, ("z2", "z1"): 4}
        await until_costs(stage, west_east | zones)
        found = await stage.get(NET)
        assert found["spec"]["weights"][0] == weights()
        assert found["status"]["weightCalculationTime"].endswith("Z")
        await until(lambda: "NetperfCosts" in stage.record("NetworkTopology", "net")["weights"])

        await stage.patch(NETPERF, {"data": config_map(w1_e3="50")["data"]})
        await until_costs(stage, {("west", "east"): 50, ("east", "west"): 50} | zones)
        await stage.patch("/api/v1/nodes/w2", {"metadata": {"labels": {REGION: "north"}}})
        nodes = dict.fromkeys((("north", "west"), ("west", "north")), 4)
        through = {("north", "east"): 54, ("east", "north"): 54}
        await until_costs(stage, nodes | through | {("west", "east"): 50, ("east", "west"): 50})
        await stage.delete("/api/v1/nodes/w2")
        await until_costs(stage, {("west", "east"): 50, ("east", "west"): 50})
        await stage.until_status(NET, lambda found: found.get("nodeCount") == 2)
        await stage.delete(NET)
        await until(lambda: stage.record("NetworkTopology", "net") is None)
    assert await stage.warnings("NetworkTopology") == []


async def test_another_percentile(stage):
    await stage.create(TOPOLOGIES, topology())
    data = {
        f"netperf_{percentile}_latency_microseconds.origin.w1.destination.e3": value
        for percentile, value in (("p50", "1000"), ("p90", "2000"), ("p99", "8500"))
    }
    await stage.create(CONFIG_MAPS, config_map() | {"data": data})
    async with stage.bridge(network=NetworkOptions(percentile="p99")):
        await until_costs(stage, {("west", "east"): 9, ("east", "west"): 9})


async def test_a_restart_writes_nothing_again(stage):
    await stage.create(TOPOLOGIES, topology())
    await stage.create(CONFIG_MAPS, config_map(w1_e3="30"))
    async with stage.bridge():
        await until_costs(stage, {("west", "east"): 30, ("east", "west"): 30})
    before = await stage.get(NET)
    async with stage.bridge():
        assert "NetperfCosts" in stage.record("NetworkTopology", "net")["weights"]
        await stage.create(APP_GROUPS, app_group("ab"))
        await stage.until_status(f"{APP_GROUPS}/shop", lambda found: "topologyOrder" in found)
    assert await stage.get(NET) == before


async def test_bandwidth_follows_pods(stage):
    await stage.create(TOPOLOGIES, topology())
    await stage.create(CONFIG_MAPS, config_map(w1_e3="30"))
    await stage.create(APP_GROUPS, app_group("ab", minBandwidth="100M"))
    async with stage.bridge():
        await stage.pod("a-0", "a", "w1")
        await stage.pod("b-0", "b", "e3")
        await stage.pod("b-1", "b", "e3")
        await stage.pod("b-2", "b", "w2")
        await stage.pod("b-3", "b", "w1")
        taken = {("west", "east"): "200000000", ("z1", "z2"): "100000000"}
        status = await stage.until_status(NET, lambda found: links(found) == taken)
        assert links(status, "bandwidthCapacity") == {("west", "east"): "1000000000", ("z1", "z2"): None}
        assert links(status, "bandwidthAllocatable")["west", "east"] == "800000000"
        for _ in range(3):  # changes of pods that move nothing
            await stage.patch(f"{PODS}/b-0", {"metadata": {"annotations": {"touched": "yes"}}})
        await stage.delete(f"{PODS}/b-1")
        await stage.delete(f"{PODS}/b-2")
        left = {("west", "east"): "100000000"}
        await stage.until_status(NET, lambda found: links(found) == left)
        pairs = (await stage.get(NET))["spec"]["weights"][1]["topologyList"][0]["originList"]
        west = next(each for each in pairs if each["origin"] == "west")["costList"][0]
        assert (west["bandwidthAllocated"], west["bandwidthCapacity"]) == ("100000000", "1000000000")
    async with stage.bridge():
        await stage.delete(f"{PODS}/a-0")
        await stage.until_status(NET, lambda found: links(found) == {("west", "east"): "0"})


@pytest.mark.parametrize("value", ["fast", "-3", ""])
async def test_wrong_measurements_are_reported_and_the_last_good_costs_stay(stage, value):
    await stage.create(TOPOLOGIES, topology())
    await stage.create(CONFIG_MAPS, config_map(w1_e3="30"))
    good = {("west", "east"): 30, ("east", "west"): 30}
    async with stage.bridge():
        await until_costs(stage, good)
        await stage.patch(NETPERF, {"data": config_map(w1_e3=value, w1_w2="7")["data"]})
        status = await stage.until_status(NET, lambda found: holds(found, "Measured") == "False")
        assert status["conditions"]["Measured"]["reason"] == "InvalidMeasurements"
        assert f"{value!r} is not a number of milliseconds" in status["conditions"]["Measured"]["message"]
        await until(lambda: stage.warnings("NetworkTopology"))
        (event,) = await stage.warnings("NetworkTopology")
        assert event["reason"] == "InvalidMeasurements"
        assert costs(await stage.get(NET)) == good
        kept = stage.record("NetworkTopology", "net")
    async with stage.bridge():
        assert stage.record("NetworkTopology", "net") == kept
        assert costs(await stage.get(NET)) == good
        await stage.patch(NETPERF, {"data": config_map(w1_e3="31")["data"]})
        await until_costs(
            stage, {("west", "east"): 31, ("east", "west"): 31, ("z1", "z2"): 7, ("z2", "z1"): 7}
        )
        await stage.until_status(NET, lambda found: holds(found, "Measured") == "True")


BAD = {
    "a negative cost": (weights(cost=-1), "-1 is too small"),
    "an unparsable bandwidth": (weights(capacity="wide"), "'wide' is not a quantity"),
    "an unknown key": (
        {"name": "UserDefined", "topologyList": [{"topologyKey": "rack"}]},
        "'rack' is not known",
    ),
}


@pytest.mark.parametrize("fault", BAD)
async def test_a_bad_spec_is_reported_and_the_last_good_one_stays_in_force(stage, fault):
    broken, words = BAD[fault]
    await stage.create(TOPOLOGIES, topology())
    async with stage.bridge():
        await until(lambda: stage.record("NetworkTopology", "net"))
        good = stage.record("NetworkTopology", "net")
        await stage.patch(NET, {"spec": {"weights": [broken]}})
        status = await stage.until_status(NET, lambda found: holds(found, "Valid") == "False")
        assert words in status["conditions"]["Valid"]["message"]
        await until(lambda: stage.warnings("NetworkTopology"))
        assert stage.record("NetworkTopology", "net") == good
    async with stage.bridge():
        assert stage.record("NetworkTopology", "net") == good
        assert (await stage.get(NET))["spec"]["weights"] == [broken]
        await stage.patch(NET, {"spec": {"weights": [weights(cost=3)]}})
        await until(
            lambda: (
                stage.record("NetworkTopology", "net")["weights"]["UserDefined"]["region"]
                == {"west": {"east": 3}}
            )
        )


async def test_conflicting_writes_lose_nothing(stage):
    await stage.create(TOPOLOGIES, topology())
    await stage.create(CONFIG_MAPS, config_map(w1_e3="30"))
    async with stage.bridge():
        for cost in range(30):
            await stage.patch(NETPERF, {"data": config_map(w1_e3=str(cost))["data"]})
            listed = (await stage.get(NET))["spec"]["weights"]
            await stage.patch(NET, {"spec": {"weights": [weights(cost=cost), *listed[1:]]}})
        await until_costs(stage, {("west", "east"): 29, ("east", "west"): 29})
        assert (await stage.get(NET))["spec"]["weights"][0] == weights(cost=29)


async def test_the_config_map_may_be_another_one(stage):
    await stage.create(TOPOLOGIES, topology())
    await stage.create(CONFIG_MAPS, config_map(w1_e3="30"))
    other = config_map(w1_e3="5")
    other["metadata"]["name"] = "other"
    await stage.create(CONFIG_MAPS, other)
    async with stage.bridge():
        await until_costs(stage, {("west", "east"): 30, ("east", "west"): 30})
        await stage.patch(NET, {"spec": {"configmapName": "other"}})
        await until_costs(stage, {("west", "east"): 5, ("east", "west"): 5})
        await stage.delete(NETPERF)
        await stage.patch(f"{CONFIG_MAPS}/other", {"data": config_map(w1_e3="6")["data"]})
        await until_costs(stage, {("west", "east"): 6, ("east", "west"): 6})
