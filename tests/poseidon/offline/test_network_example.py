"""The example's folders, through the commands."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path

import pytest
import yaml

from tests.poseidon.app_network.boutique import ORDERS

EXAMPLE = Path(__file__).parents[3] / "examples" / "10-network-aware"
COSTS = {("z1", "z2"): 5, ("z3", "z4"): 10}


def options(folder, config="config.yaml"):
    return ["-f", EXAMPLE / "cluster", "-f", EXAMPLE / folder, "--config", EXAMPLE / config, "-o", "json"]


@cache
def domains():
    nodes = yaml.safe_load_all((EXAMPLE / "cluster" / "nodes.yaml").read_text())
    keys = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")
    return {
        each["metadata"]["name"]: tuple(each["metadata"]["labels"][key] for key in keys) for each in nodes
    }


def distance(one, other):
    """The cost between two nodes, by the letter of the NetworkTopology."""
    where = domains()
    (region, zone), (other_region, other_zone) = where[one], where[other]
    if one == other:
        return 0
    if region != other_region:
        return 20
    return 1 if zone == other_zone else COSTS[min(zone, other_zone), max(zone, other_zone)]


def total_cost(folder, bindings):
    """The cost of all pairs of pods that depend on each other."""
    documents = yaml.safe_load_all((EXAMPLE / folder / "app.yaml").read_text())
    app_group = next(each for each in documents if each["kind"] == "AppGroup")
    total = 0
    for each in app_group["spec"]["workloads"]:
        for dependency in each.get("dependencies", ()):
            ends = [part["workload"]["name"] for part in (each, dependency)]
            pods = [
                [name for name in bindings if name.rpartition("-")[0] == f"default/{end}"] for end in ends
            ]
            total += sum(distance(bindings[a], bindings[b]) for a, b in product(*pods) if a != b)
    return total


def test_the_six_orders(run):
    answer = run("plan", "-f", EXAMPLE / "orders", "-o", "json").json
    found = {
        each["appGroup"]: " ".join(workload["workload"] for workload in each["topologyOrder"])
        for each in answer["appGroups"]
    }
    assert found == {f"default/{name.lower()}": order for name, order in ORDERS.items()}


def judged(run, folder):
    nodes = run("explain", *options(folder), "--pod", "default/p1-0").json["nodes"]
    return {name: each["models"]["network_overhead"] for name, each in nodes.items()}


def test_the_filter_with_the_figures_limit(run):
    found = judged(run, "filter")
    assert {name for name, each in found.items() if each["feasible"]} == {"n1", "n2", "n3", "n4"}
    assert [found[name]["raw"] for name in ("n1", "n2", "n3", "n4")] == [0, 1, 5, 5]
    assert [found[name]["score"] for name in ("n1", "n2", "n3", "n4")] == [100, 80, 0, 0]


def test_the_filter_with_the_texts_limit(run):
    found = judged(run, "score")
    assert all(each["feasible"] for each in found.values())
    assert [found[f"n{index}"]["raw"] for index in range(1, 9)] == [0, 1, 5, 5, 20, 20, 20, 20]


@pytest.mark.parametrize("folder", ["boutique", "redis", "spark"])
def test_applications_land_nearer_to_each_other_with_the_overlay(run, folder):
    costs = {}
    for config in ("config.yaml", "watching.yaml"):
        answer = run("plan", *options(folder, config)).json
        assert answer["pending"] == []
        costs[config] = total_cost(folder, {each["pod"]: each["node"] for each in answer["bindings"]})
        assert answer["round"]["networkCost"] == costs[config]
    assert 2 * costs["config.yaml"] < costs["watching.yaml"], costs
