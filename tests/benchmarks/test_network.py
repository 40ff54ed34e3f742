"""The comparison of joint placement with the plugin pod by pod: its own arithmetic, and a short run."""

from __future__ import annotations

import numpy as np

from benchmarks.comparators.network_plugin import (
    fullest_link,
    network_cost,
    place_pod_by_pod,
    total_cost,
    violations,
)
from benchmarks.quality.network import NetworkOptions, measure_network, place_jointly
from benchmarks.quality.network_applications import Application, Site, random_application, random_site
from poseidon.app_network.spec.ordering import ALGORITHMS


def site() -> Site:
    """Two machines in zone 0, one in zone 1 of the same region, one in another region."""
    return Site(
        region=np.array([0, 0, 0, 1]),
        zone=np.array([0, 0, 1, 2]),
        used=np.zeros((4, 3), dtype=np.int64),
        zone_cost=np.array([[0, 5, 9], [5, 0, 9], [9, 9, 0]]),
        region_cost=np.array([[0, 20], [20, 0]]),
        capacity=100,
    )


def pair(limit: int = 10, bandwidth: int = 30) -> Application:
    """Workload 0 with one pod depends on workload 1 with two."""
    return Application(
        replicas=np.array([1, 2]),
        cpu=np.array([500, 500]),
        memory=np.array([0, 0]),
        edges=np.array([[0, 1]]),
        limit=limit,
        bandwidth=bandwidth,
    )


def test_total_cost_counts_every_pair_once() -> None:
    assert [
        total_cost(site(), pair(), np.array([0, *there])) for there in ([0, 0], [1, 2], [3, 2], [3, -1])
    ] == [
        0,
        1 + 5,
        20 + 5,
        20,
    ]


def test_violations_and_links() -> None:
    assert violations(site(), pair(limit=10), np.array([0, 3, 2])) == 1
    assert violations(site(), pair(limit=4), np.array([0, 3, 2])) == 2
    assert fullest_link(site(), pair(), np.array([0, 3, 3])) == 0.6
    assert fullest_link(site(), pair(), np.array([0, 1, 0])) == 0.0


def test_the_plugin_sees_what_is_placed_alone() -> None:
    on = np.array([[0, 0, 0, 0], [1, 0, 1, 0]])
    cost, allowed = network_cost(site(), site().get_zone_costs(), pair(limit=4), 0, on)
    assert cost.tolist() == [0 + 5, 1 + 5, 5 + 0, 40]
    assert allowed.tolist() == [True, True, True, False]


def test_orders_end_differently() -> None:
    rng = np.random.default_rng(3)
    where, application = random_site(rng), random_application(rng)
    costs = {
        name: total_cost(
            where, application, place_pod_by_pod(where, application, order(application.graph()), 5)
        )
        for name, order in ALGORITHMS.items()
    }
    assert len(set(costs.values())) > 2
    joint = place_jointly(where, application, 5)
    assert (joint >= 0).all()
    assert total_cost(where, application, joint) <= 0.85 * min(costs.values())


def test_a_short_run() -> None:
    report = measure_network(
        NetworkOptions(applications=3, groups=2, nodes=30, runs=1, seed=2), progress=lambda _: None
    )
    quality, throughput = report["quality"], report["throughput"]
    assert isinstance(quality, dict)
    assert isinstance(throughput, dict)
    assert quality["worse_than_cheapest_order"] == 0
    assert quality["median_saving_against_default"] >= 0.3
    assert (throughput["placed"], throughput["pending"]) == (22, 0)
