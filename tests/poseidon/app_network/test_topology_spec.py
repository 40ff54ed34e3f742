"""Reading NetworkTopologies: both spellings, and every fault with its path."""

from __future__ import annotations

import json

import pytest

from poseidon.app_network.spec.topologies import read_topology

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


def weights(*pairs, name="UserDefined", key=ZONE):
    by_origin: dict[str, list[dict]] = {}
    for origin, pair in pairs:
        by_origin.setdefault(origin, []).append(pair)
    origins = [{"origin": origin, "costList": listed} for origin, listed in by_origin.items()]
    return {"name": name, "topologyList": [{"topologyKey": key, "originList": origins}]}


def to(destination, cost=5, **more):
    return {"destination": destination, "networkCost": cost, **more}


def test_costs_and_capacities():
    spec, defects = read_topology(
        {
            "configmapName": "netperf",
            "weights": [
                {
                    "name": "UserDefined",
                    "topologyList": [
                        {
                            "topologyKey": REGION,
                            "originList": [
                                {"origin": "r1", "costList": [to("r2", 20, bandwidthCapacity="1Gi")]}
                            ],
                        },
                        {
                            "topologyKey": ZONE,
                            "originList": [{"origin": "z1", "costList": [to("z2"), to("z3", 0)]}],
                        },
                    ],
                },
                weights(("z1", to("z2", 7, bandwidthCapacity="9G")), name="NetperfCosts"),
            ],
        }
    )
    assert defects == ()
    assert json.loads(spec.payload(None)) == {
        "configmapName": "netperf",
        "capacity": {"region": {"r1": {"r2": 2**30}}, "zone": {}},
        "weights": {
            "UserDefined": {"region": {"r1": {"r2": 20}}, "zone": {"z1": {"z2": 5, "z3": 0}}},
            "NetperfCosts": {"region": {}, "zone": {"z1": {"z2": 7}}},
        },
    }
    measured = {"region": {"r1": {"r2": 3}}, "zone": {}}
    assert json.loads(spec.payload(measured))["weights"]["NetperfCosts"] == measured


def test_the_proposals_spelling():
    proposal = {
        "configMapName": "netperf",
        "weights": [
            {
                "name": "UserDefined",
                "costList": [
                    {
                        "topologyKey": ZONE,
                        "originCosts": [
                            {
                                "origin": "z1",
                                "costs": [to("z2", bandwidthCapacity="1G", bandwidthAllocatable="1G")],
                            }
                        ],
                    }
                ],
            }
        ],
    }
    crd = {"configmapName": "netperf", "weights": [weights(("z1", to("z2", bandwidthCapacity="1G")))]}
    assert read_topology(proposal) == read_topology(crd)
    assert read_topology(proposal)[1] == ()


@pytest.mark.parametrize(
    ("pair", "field", "words"),
    [
        (to("z2", -1), "networkCost", "0 or more"),
        (to("z2", "5"), "networkCost", "not a whole number"),
        (to("z2", True), "networkCost", "not a whole number"),
        ({"destination": "z2"}, "networkCost", "missing"),
        ({"networkCost": 5}, "destination", "missing"),
        (to("z2", bandwidthCapacity="wide"), "bandwidthCapacity", "not a quantity"),
    ],
)
def test_faults_of_pairs(pair, field, words):
    spec, defects = read_topology({"weights": [weights(("z1", pair), ("z1", to("z9", 1)))]})
    path = "spec.weights[0].topologyList[0].originList[0].costList[0]"
    (defect,) = defects
    assert defect.field == f"{path}.{field}"
    assert words in defect.problem
    assert spec.weights["UserDefined"]["zone"]["z1"]["z9"] == 1


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"weights": [weights(("z1", to("z2")), key="rack")]}, "'rack' is not known"),
        ({"weights": [weights(("z1", to("z2"))), weights(("z1", to("z2")))]}, "given twice"),
        ({"weights": [weights(("z1", to("z2")), ("z1", to("z2")))]}, "z1 to z2 is given twice"),
        ({"weights": [{"name": "UserDefined", "regionCosts": []}]}, "missing"),
        ({"weights": [{"topologyList": []}]}, "missing"),
        ({"weights": "none"}, "not a list"),
    ],
)
def test_faults_of_lists(spec, words):
    assert any(words in each.problem for each in read_topology(spec)[1])


def test_segments_are_known_and_not_read():
    spec, defects = read_topology(
        {"weights": [weights(("s1", to("s2")), key="topology.kubernetes.io/segment")]}
    )
    assert defects == ()
    assert spec.weights["UserDefined"] == {"region": {}, "zone": {}}
