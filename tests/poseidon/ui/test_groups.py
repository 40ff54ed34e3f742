"""Gangs, trees and applications of a small cluster, by hand."""

from __future__ import annotations

import msgspec
import pytest

from cost_models.network_aware import network_costs
from poseidon.app_network.spec.keys import Domain
from poseidon.kube.api.other_projects.app_network import AppGroup, ConfigMap, NetworkTopology
from poseidon.kube.api.pod_groups import PodGroup
from poseidon.kube.api.resource import Change
from poseidon.pod_groups.group_names import POD_GROUP
from poseidon.ui.views.groups import applications
from poseidon.ui.views.groups.all_groups import show_groups
from poseidon.ui.views.groups.applications import cost_between
from tests.poseidon.ui.objects import gone, known, make_node, make_pod, store

GANG = {"scheduling.x-k8s.io/pod-group": "gang"}
TREE = {"sakkara.group.name": "ring"}
APP = "appgroup.diktyo.x-k8s.io"


def labelled(app, workload):
    return {APP: app, f"{APP}.workload": workload}


def zone(name):
    return {
        "topology.kubernetes.io/zone": name,
        "topology.kubernetes.io/region": "r",
        "sakkara.topology.rack": name,
    }


@pytest.fixture
def everything():
    nodes = [make_node("n1", zone("z1")), make_node("n2", zone("z1")), make_node("n3", zone("z2"))]
    found = store(
        *nodes,
        make_pod("a/g1", node="n1", labels=GANG),
        make_pod("a/g2", labels=GANG, reason="0/3 nodes are available: 3 Insufficient cpu."),
        make_pod("a/t-0", node="n3", labels=TREE | {"sakkara.member.rank": "1"}),
        make_pod("a/t-1", node="n1", labels=TREE | {"sakkara.member.rank": "0"}),
        # two web pods talk to two of the database
        make_pod("a/w1", node="n1", labels=labelled("shop", "web")),
        make_pod("a/w2", node="n3", labels=labelled("shop", "web")),
        make_pod("a/d1", node="n1", labels=labelled("shop", "db")),
        make_pod("a/d2", node="n2", labels=labelled("shop", "db")),
        make_pod("a/d3", labels=labelled("shop", "db")),
    )
    made = known(found)
    made.groups.nodes_changed([Change(each.metadata.uid, each) for each in nodes])
    group = msgspec.convert(
        {"metadata": {"name": "gang", "namespace": "a"}, "spec": {"minMember": 2}}, PodGroup
    )
    made.groups.groups_changed(POD_GROUP, [Change("g", group)])
    ring = {
        "metadata": {"name": "ring-map", "namespace": "a", "uid": "m", "labels": {"sakkara.group": "yes"}},
        "data": {"name": "ring", "size": "2", "status": "Bound"},
    }
    made.groups.group_config_maps_changed([Change("m", msgspec.convert(ring, ConfigMap))])
    app = {
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {
            "topologySortingAlgorithm": "KahnSort",
            "workloads": [
                {
                    "workload": {"name": "web", "selector": "web"},
                    "dependencies": [{"workload": {"name": "db", "selector": "db"}, "maxNetworkCost": 5}],
                },
                {"workload": {"name": "db", "selector": "db"}},
            ],
        },
    }
    made.groups.app_groups_changed([Change("app", msgspec.convert(app, AppGroup))])
    pair = {"origin": "z2", "costList": [{"destination": "z1", "networkCost": 9}]}
    topology = {
        "metadata": {"name": "net", "namespace": "default"},
        "spec": {
            "weights": [
                {
                    "name": "UserDefined",
                    "topologyList": [{"topologyKey": "topology.kubernetes.io/zone", "originList": [pair]}],
                }
            ]
        },
    }
    made.groups.topologies_changed([Change("net", msgspec.convert(topology, NetworkTopology))])
    return made


def test_gangs(everything):
    (gang,) = show_groups(everything)["gangs"]
    assert gang == {
        "name": "a/gang",
        "kind": "PodGroup",
        "wanted": 2,
        "bound": 1,
        "pending": 1,
        "status": "Waiting",
        "message": "Insufficient cpu",
        "pods": 2,
    }


def test_a_gang_that_is_whole_waits_for_nothing(everything):
    gone(everything.store, "uid-a/g2")
    everything.store.pods_changed([Change("uid-a/g2", make_pod("a/g2", node="n2", labels=GANG))])
    (gang,) = show_groups(everything)["gangs"]
    assert (gang["status"], gang["message"], gang["bound"]) == ("Bound", "", 2)


def test_trees(everything):
    (tree,) = show_groups(everything)["trees"]
    assert tree == {
        "group": "a/ring",
        "status": "Bound",
        "message": "",
        "placement": {"z1": {"n1": ["t-1"]}, "z2": {"n3": ["t-0"]}},
        "ranks": {"t-1": 0, "t-0": 1},
        "levels": ["rack", "node"],
    }


def test_applications(everything):
    (app,) = show_groups(everything)["applications"]
    assert (app["appGroup"], app["zones"]) == ("default/shop", ["z1", "z2"])
    web = {"workload": "web", "order": 1, "zones": {"z1": 1, "z2": 1}, "pending": 0}
    db = {"workload": "db", "order": 2, "zones": {"z1": 2}, "pending": 1}
    assert app["workloads"] == [web, db]
    # w1 and d1 share a node, w1 and d2 a zone: 0 + 1; w2 is in another zone than both: 9 + 9, which is more than 5
    assert app["edges"] == [{"from": "web", "to": "db", "cost": 19, "max": 5, "broken": 2}]
    assert app["cost"] == 19


@pytest.mark.parametrize(
    ("one", "other", "cost"),
    [
        (Domain("r", "a"), Domain("r", "a"), 1),
        (Domain("r", "a"), Domain("r", "b"), 7),
        (Domain("r", "b"), Domain("r", "a"), 100),
        (Domain("r", "a"), Domain("s", "a"), 20),
        (Domain("s", "a"), Domain("r", "a"), 100),
    ],
)
def test_what_it_costs_to_talk(one, other, cost):
    costs = {"zone": {"a": {"b": 7}}, "region": {"r": {"s": 20}}}
    assert cost_between(one, other, costs) == cost


def test_objects_come_and_go(everything):
    everything.groups.app_groups_changed([Change("app", None)])
    everything.groups.group_config_maps_changed([Change("m", None)])
    everything.groups.groups_changed(POD_GROUP, [Change("g", None)])
    found = show_groups(everything)
    assert found["applications"] == []
    (tree,) = found["trees"]
    assert tree["group"] == "a/ring"
    (gang,) = found["gangs"]
    assert gang["wanted"] == 0


def test_who_had_to_go():
    target = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    found = store(make_pod("a/x", node="n", conditions=[target]))
    (one,) = show_groups(known(found))["evictions"]
    assert (one["pod"], one["node"], one["kind"], one["for"], one["state"]) == (
        "a/x",
        "n",
        "evicted",
        None,
        "leaving",
    )


def test_costs_that_nobody_stated_are_those_of_the_cost_model():
    assert applications.SAME_ZONE_COST == network_costs.SAME_ZONE_COST
    assert applications.UNMEASURED_COST == network_costs.UNMEASURED_COST
