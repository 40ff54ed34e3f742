"""Reading AppGroups: both spellings, every fault with its path, and the record that solvers get."""

from __future__ import annotations

import json

import pytest

from poseidon.app_network.spec.app_groups import read_app_group
from poseidon.app_network.spec.ordering import app_group_payload, topology_order
from tests.poseidon.app_network import boutique


@pytest.mark.parametrize("algorithm", boutique.ORDERS)
def test_online_boutique(algorithm):
    spec, defects = read_app_group(boutique.spec(algorithm))
    assert defects == ()
    order = topology_order(spec)
    assert order.problem == ""
    names = [name.removesuffix("-deployment") for name in order.positions]
    assert " ".join(names) == boutique.ORDERS[algorithm]
    assert list(order.positions.values()) == list(range(1, 12))


def test_the_proposals_spelling_has_no_selectors():
    written = boutique.spec(suffix="")
    for each in written["workloads"]:
        del each["workload"]["selector"]
        for other in each["dependencies"]:
            del other["workload"]["selector"]
    assert read_app_group(written) == read_app_group(boutique.spec(suffix=""))


def test_dependencies_may_be_named_by_selector():
    spec, defects = read_app_group(
        {
            "workloads": [
                {"workload": {"name": "a-deployment", "selector": "a"}, "dependencies": [_on("b")]},
                {"workload": {"name": "b-deployment", "selector": "b"}},
            ]
        }
    )
    assert defects == ()
    assert spec.workloads[0].dependencies[0].name == "b-deployment"
    assert spec.workloads[0].dependencies[0].selector == "b"


@pytest.mark.parametrize(
    ("second", "twice"),
    [
        ({"name": "a", "selector": "other"}, True),
        ({"name": "other", "selector": "x"}, True),
        ({"name": "other", "selector": "y"}, False),
    ],
)
def test_a_workload_is_known_by_its_name_and_by_its_selector(second, twice):
    spec, defects = read_app_group(
        {"workloads": [{"workload": {"name": "a", "selector": "x"}}, {"workload": second}]}
    )
    assert [each.name for each in spec.workloads] == (["a"] if twice else ["a", "other"])
    assert any("declared twice" in each.problem for each in defects) is twice


def test_the_record():
    spec, _ = read_app_group(
        {
            "workloads": [
                {"workload": {"name": "a"}, "dependencies": [_on("b", minBandwidth="100Mi")]},
                _of("b"),
            ]
        }
    )
    assert json.loads(app_group_payload(spec, topology_order(spec))) == {
        "algorithm": "KahnSort",
        "workloads": [
            {
                "name": "a",
                "selector": "a",
                "order": 1,
                "dependencies": [
                    {"workload": "b", "selector": "b", "minBandwidth": 100 * 2**20, "maxNetworkCost": 0}
                ],
            },
            {"name": "b", "selector": "b", "order": 2, "dependencies": []},
        ],
    }


def test_an_unknown_algorithm_counts_as_kahn_and_is_reported():
    spec, defects = read_app_group(boutique.spec("Bogus"))
    order = topology_order(spec)
    assert defects == ()
    assert order.algorithm == "KahnSort"
    assert not order.cyclic
    assert "'Bogus' is unknown" in order.problem
    assert order.positions == topology_order(read_app_group(boutique.spec())[0]).positions


def test_a_circle_is_reported_and_ordered_as_declared():
    spec, defects = read_app_group(
        {
            "topologySortingAlgorithm": "TarjanSort",
            "workloads": [
                {"workload": {"name": "b"}, "dependencies": [_on("a")]},
                {"workload": {"name": "a"}, "dependencies": [_on("b")]},
                _of("c"),
            ],
        }
    )
    order = topology_order(spec)
    assert defects == ()
    assert order.cyclic
    assert "b -> a -> b" in order.problem
    assert order.positions == {"b": 1, "a": 2, "c": 3}


def test_replicas_of_a_workload_may_depend_on_each_other():
    spec, defects = read_app_group(
        {"workloads": [{"workload": {"name": "redis"}, "dependencies": [_on("redis")]}]}
    )
    order = topology_order(spec)
    assert (defects, order.problem, order.positions) == ((), "", {"redis": 1})
    assert spec.workloads[0].dependencies[0].selector == "redis"


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        (None, "spec", "missing"),
        ([], "spec", "not a map"),
        ({}, "spec.workloads", "at least one"),
        ({"workloads": []}, "spec.workloads", "at least one"),
        ({"workloads": {"a": 1}}, "spec.workloads", "not a list"),
        ({"numMembers": 0, "workloads": [{"workload": {"name": "a"}}]}, "spec.numMembers", "1 or more"),
        ({"workloads": ["a"]}, "spec.workloads[0]", "not a map"),
        ({"workloads": [{}]}, "spec.workloads[0].workload", "missing"),
        ({"workloads": [{"workload": {"kind": "x"}}]}, "spec.workloads[0].workload", "neither name"),
        ({"workloads": [{"workload": {"name": 5}}]}, "spec.workloads[0].workload.name", "not a string"),
        (
            {"workloads": [{"workload": {"name": "a"}}, {"workload": {"name": "a"}}]},
            "spec.workloads[1].workload",
            "declared twice",
        ),
    ],
)
def test_faults_of_workloads(spec, field, words):
    _, defects = read_app_group(spec)
    assert any(each.field == field and words in each.problem for each in defects), defects


@pytest.mark.parametrize(
    ("dependency", "field", "words"),
    [
        ({"workload": {"name": "z"}}, "workload", "'z' is no workload of this AppGroup"),
        ({"workload": {"name": "b", "selector": "c"}}, "workload.selector", "not the selector of 'b'"),
        ({"workload": {"name": "b"}, "maxNetworkCost": -1}, "maxNetworkCost", "0 or more"),
        ({"workload": {"name": "b"}, "maxNetworkCost": 10_001}, "maxNetworkCost", "at most 10000"),
        ({"workload": {"name": "b"}, "maxNetworkCost": "5"}, "maxNetworkCost", "not a whole number"),
        ({"workload": {"name": "b"}, "minBandwidth": "lots"}, "minBandwidth", "not a quantity"),
        ({"workload": {"name": "b"}, "minBandwidth": "-1M"}, "minBandwidth", "negative"),
        ({"workload": {"name": "b"}, "minBandwidth": ["1M"]}, "minBandwidth", "not a quantity"),
    ],
)
def test_faults_of_dependencies(dependency, field, words):
    spec, defects = read_app_group(
        {"workloads": [{"workload": {"name": "a"}, "dependencies": [dependency]}, _of("b"), _of("c")]}
    )
    (defect,) = defects
    assert defect.field == f"spec.workloads[0].dependencies[0].{field}"
    assert words in defect.problem
    found = spec.workloads[0].dependencies[0]
    assert (found.min_bandwidth, found.max_network_cost) == (0, 0)
    assert topology_order(spec).positions["a"] >= 1


def _of(name):
    return {"workload": {"name": name}}


def _on(name, **more):
    return {"workload": {"name": name}, **more}
