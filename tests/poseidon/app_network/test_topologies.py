"""NetworkTopologies without I/O: which measurements count, and which specs, statuses and records follow from them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from poseidon.app_network.spec.keys import ObjectKey
from poseidon.app_network.topologies import Topologies
from poseidon.app_network.used_bandwidth import Demand, Members
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.other_projects.app_network import NetworkTopology
from poseidon.kube.api.pods import Pod, PodSpec, PodStatus

REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
KEY = ObjectKey("NetworkTopology", "web", "net")
MAP = ("web", "netperf")
LATENCY = "netperf.p90.latency.milliseconds.origin.{}.destination.{}"


def measured(**latencies: str) -> dict[str, str]:
    return {LATENCY.format(*pair.split("_")): value for pair, value in latencies.items()}


def weights(cost: int = 20, name: str = "UserDefined", **pair: Any) -> dict[str, Any]:
    pairs = [{"destination": "east", "networkCost": cost, **pair}]
    origins = [{"origin": "west", "costList": pairs}]
    return {"name": name, "topologyList": [{"topologyKey": REGION, "originList": origins}]}


def topology(*lists: Any, uid: str = "1", name: str = "net", config_map: str = "netperf", **parts: Any):
    spec = {"configmapName": config_map, "weights": list(lists or [weights()])}
    return NetworkTopology(ObjectMeta(name=name, namespace="web", uid=uid), **{"spec": spec, **parts})


@pytest.fixture
def members() -> Members:
    """Two nodes in different zones of the west, one in the east."""
    made = Members()
    for name, region, zone in (("w1", "west", "z1"), ("w2", "west", "z2"), ("e3", "east", "z3")):
        made.node_changed(name, {REGION: region, ZONE: zone})
    return made


@pytest.fixture
def topologies() -> Any:
    made: Any = Topologies("p90")
    made.put(topology())
    return made


def finding(topologies: Any, members: Members, now: str = "now") -> dict[str, Any]:
    """Return the condition that speaks of measurements."""
    proposal, _ = topologies.reconcile(KEY, members, now)
    [found] = [each for each in proposal.status["conditions"] if each["type"] == "Measured"]
    return found


def test_the_config_maps_that_specs_name_are_wanted(topologies):
    assert topologies.list_config_maps() == {MAP}
    topologies.put(topology(uid="2", name="other", config_map=""))
    topologies.put(topology(uid="3", name="third", config_map="more"))
    assert topologies.list_config_maps() == {MAP, ("web", "more")}
    assert list(topologies.config_map_changed(MAP, {})) == [KEY]
    assert list(topologies.config_map_changed(("app", "netperf"), {})) == []


@pytest.mark.parametrize(
    ("data", "status", "reason", "message"),
    [
        (None, "False", "NotMeasured", "ConfigMap web/netperf is not there"),
        (
            {},
            "False",
            "NotMeasured",
            "ConfigMap web/netperf holds no p90 latency between nodes of different zones or regions",
        ),
        (
            measured(w1_w9="5"),
            "False",
            "NotMeasured",
            "ConfigMap web/netperf holds no p90 latency between nodes of different zones or regions",
        ),
        (measured(w1_w2="5"), "True", "Computed", "costs follow from the p90 of ConfigMap web/netperf"),
        (measured(w1_e3="5"), "True", "Computed", "costs follow from the p90 of ConfigMap web/netperf"),
        (
            measured(w1_e3="fast"),
            "False",
            "InvalidMeasurements",
            (
                f"ConfigMap web/netperf: data[{LATENCY.format('w1', 'e3')}]: "
                "'fast' is not a number of milliseconds; the last good costs stay in force"
            ),
        ),
    ],
)
def test_what_measurements_lead_to_is_a_condition(topologies, members, data, status, reason, message):
    topologies.config_map_changed(MAP, data)
    found = finding(topologies, members)
    assert (found["status"], found["reason"], found["message"]) == (status, reason, message)
    assert found["lastTransitionTime"] == "now"


def test_without_a_config_map_nothing_is_measured(members):
    topologies: Any = Topologies("p90")
    topologies.put(topology(config_map=""))
    found = finding(topologies, members)
    assert (found["status"], found["message"]) == ("False", "spec.configmapName names no ConfigMap")
    proposal, notices = topologies.reconcile(KEY, members, "now")
    assert proposal.spec is None
    assert "weightCalculationTime" not in proposal.status
    assert notices == []


def test_an_object_that_is_unknown_has_nothing_to_write(topologies, members):
    other = ObjectKey("NetworkTopology", "web", "other")
    assert topologies.reconcile(other, members, "now") is None
    assert topologies.payload(other, members) is None
    assert topologies.remove("unknown") is None


def test_costs_are_written_behind_the_lists_of_people(topologies, members):
    topologies.config_map_changed(MAP, measured(w1_e3="30", w1_w2="4"))
    proposal, notices = topologies.reconcile(KEY, members, "now")
    first, computed = proposal.spec["weights"]
    assert first == weights()
    assert computed["name"] == "NetperfCosts"
    regions, zones = computed["topologyList"]
    assert (regions["topologyKey"], zones["topologyKey"]) == (REGION, ZONE)
    assert regions["originList"] == [
        {
            "origin": "east",
            "costList": [{"destination": "west", "networkCost": 30, "bandwidthAllocated": "0"}],
        },
        {
            "origin": "west",
            "costList": [{"destination": "east", "networkCost": 30, "bandwidthAllocated": "0"}],
        },
    ]
    assert [each["origin"] for each in zones["originList"]] == ["z1", "z2"]
    assert proposal.status["weightCalculationTime"] == "now"
    assert proposal.status["nodeCount"] == 3
    assert notices == []


def computed_list(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the computed list of a spec."""
    [found] = [each for each in spec["weights"] if each["name"] == "NetperfCosts"]
    return found


def test_a_computed_list_is_replaced_where_it_stands(topologies, members):
    old = weights(99, name="NetperfCosts")
    last = weights(3, name="Last")
    topologies.put(topology(weights(), old, last))
    topologies.config_map_changed(MAP, measured(w1_e3="30"))
    proposal, _ = topologies.reconcile(KEY, members, "now")
    assert [each["name"] for each in proposal.spec["weights"]] == ["UserDefined", "NetperfCosts", "Last"]
    assert (
        computed_list(proposal.spec)["topologyList"][0]["originList"][1]["costList"][0]["networkCost"] == 30
    )
    assert [proposal.spec["weights"][0], proposal.spec["weights"][2]] == [weights(), last]


@pytest.mark.parametrize(("latency", "time"), [("30", "then"), ("31", "now")])
def test_the_time_of_costs_changes_with_them_alone(members, latency, time):
    first: Any = Topologies("p90")
    first.put(topology())
    first.config_map_changed(MAP, measured(w1_e3="30"))
    proposal, _ = first.reconcile(KEY, members, "then")
    stored = topology(spec={"configmapName": "netperf", **proposal.spec}, status=dict(proposal.status))
    again: Any = Topologies("p90")
    again.put(stored)
    again.config_map_changed(MAP, measured(w1_e3=latency))
    second, _ = again.reconcile(KEY, members, "now")
    assert {**stored.status, **(second.status or {})}["weightCalculationTime"] == time
    assert second.is_empty == (time == "then")


def test_nothing_is_written_into_a_spec_with_defects(topologies, members):
    topologies.config_map_changed(MAP, measured(w1_e3="30"))
    topologies.put(topology(weights(-1)))
    proposal, notices = topologies.reconcile(KEY, members, "now")
    assert proposal.spec is None
    assert "weightCalculationTime" not in proposal.status
    [notice] = notices
    assert "-1 is too small" in notice.message
    assert "the last good spec stays in force" in notice.message


def test_a_spec_that_was_never_good_has_no_links_and_no_record(members):
    topologies: Any = Topologies("p90")
    topologies.put(topology(spec="x"))
    proposal, [notice] = topologies.reconcile(KEY, members, "now")
    assert "nothing is in force" in notice.message
    assert "links" not in proposal.status
    assert topologies.payload(KEY, members) is None


def test_a_record_holds_measured_costs_in_place_of_stated_ones(topologies, members):
    topologies.put(topology(weights(), weights(99, name="NetperfCosts")))
    stated = json.loads(topologies.payload(KEY, members))["weights"]["NetperfCosts"]
    assert stated["region"] == {"west": {"east": 99}}
    topologies.config_map_changed(MAP, measured(w1_e3="30"))
    found = json.loads(topologies.payload(KEY, members))
    assert found["weights"]["NetperfCosts"]["region"] == {"east": {"west": 30}, "west": {"east": 30}}
    assert found["weights"]["UserDefined"]["region"] == {"west": {"east": 20}}


def test_costs_stay_while_measurements_are_wrong_or_gone_and_leave_with_the_object(topologies, members):
    def cost() -> Any:
        found = json.loads(topologies.payload(KEY, members))["weights"]
        return found.get("NetperfCosts", {}).get("region", {}).get("west", {}).get("east")

    topologies.config_map_changed(MAP, measured(w1_e3="30"))
    assert cost() == 30
    topologies.config_map_changed(MAP, measured(w1_e3="fast"))
    assert cost() == 30
    topologies.config_map_changed(MAP, None)
    assert cost() == 30
    assert finding(topologies, members)["message"] == "ConfigMap web/netperf is not there"
    assert topologies.remove("1") == KEY
    topologies.put(topology())
    assert cost() is None


def test_costs_follow_the_regions_of_nodes(topologies, members):
    topologies.config_map_changed(MAP, measured(w1_e3="30"))
    assert finding(topologies, members)["status"] == "True"
    members.node_gone("e3")
    assert finding(topologies, members)["status"] == "False"


def run_pods(members: Members, *nodes: str) -> None:
    """Run a pod of workload ``a`` on the first node, and of ``b`` on the others, with 100 bits per second for each."""
    members.set_demands("shop", (Demand("a", "b", 100),))
    for number, node in enumerate(nodes):
        workload = "b" if number else "a"
        labels = {"appgroup.diktyo.x-k8s.io": "shop", "appgroup.diktyo.x-k8s.io.workload": workload}
        metadata = ObjectMeta(name=f"p{number}", namespace="web", uid=f"p{number}", labels=labels)
        found = Pod(metadata=metadata, spec=PodSpec(node_name=node), status=PodStatus(phase="Running"))
        members.pod_changed(metadata.uid, found)


@pytest.mark.parametrize(
    ("capacity", "free"), [(None, None), ("201", "1"), ("200", "0"), ("199", "0"), ("1k", "800")]
)
def test_links_say_what_is_used_and_what_is_left(topologies, members, capacity, free):
    pair = {} if capacity is None else {"bandwidthCapacity": capacity}
    topologies.put(topology(weights(**pair)))
    run_pods(members, "w1", "e3", "e3", "w2")
    proposal, _ = topologies.reconcile(KEY, members, "now")
    region, zone = proposal.status["links"]
    limit = {} if capacity is None else {"bandwidthCapacity": {"1k": "1000"}.get(capacity, capacity)}
    left = {} if free is None else {"bandwidthAllocatable": free}
    assert region == {
        "topologyKey": REGION,
        "origin": "west",
        "destination": "east",
        "bandwidthAllocated": "200",
        **limit,
        **left,
    }
    assert zone == {
        "topologyKey": ZONE,
        "origin": "z1",
        "destination": "z2",
        "bandwidthAllocated": "100",
    }


def test_a_link_with_a_capacity_is_listed_though_nobody_uses_it(topologies, members):
    topologies.put(topology(weights(bandwidthCapacity="5")))
    proposal, _ = topologies.reconcile(KEY, members, "now")
    assert proposal.status["links"] == [
        {
            "topologyKey": REGION,
            "origin": "west",
            "destination": "east",
            "bandwidthCapacity": "5",
            "bandwidthAllocated": "0",
            "bandwidthAllocatable": "5",
        }
    ]


def test_costs_carry_the_capacity_and_use_of_their_link(topologies, members):
    topologies.put(topology(weights(bandwidthCapacity="1k")))
    topologies.config_map_changed(MAP, measured(w1_e3="30"))
    run_pods(members, "w1", "e3")
    proposal, _ = topologies.reconcile(KEY, members, "now")
    east, west = computed_list(proposal.spec)["topologyList"][0]["originList"]
    assert west["costList"] == [
        {
            "destination": "east",
            "networkCost": 30,
            "bandwidthCapacity": "1000",
            "bandwidthAllocated": "100",
        }
    ]
    assert east["costList"] == [{"destination": "west", "networkCost": 30, "bandwidthAllocated": "0"}]
