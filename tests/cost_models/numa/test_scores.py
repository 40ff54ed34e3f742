"""Scores are upstream's, integer for integer; figures worked out by hand from its formulas."""

from __future__ import annotations

import numpy as np
import pytest

from cost_models.numa.numa_fit import NumaFit
from tests.cost_models.numa.builders import GIB, batch, columns, container, payload, shape, zone

MIB = 2**20


def scores(strategy, records, *rows, capacity=None, **arguments):
    model = NumaFit(scoringStrategy={"type": strategy, **arguments})
    machines = columns(records, capacity or {"cpu": 64_000, "memory": 512 * GIB, "example.com/gpu": 8})
    return model.assess(machines, batch(rows, machines.resources)).score


def one(strategy, zones, row, **record):
    return scores(strategy, {"a": payload(*zones, **record)}, row)[0, 0]


class TestWorkedNumbers:
    def test_most_allocated(self):
        zones = [zone(0, {"cpu": 2000, "memory": 50 * MIB})]
        assert one("MostAllocated", zones, shape(container("c", cpu=2000, memory=20 * MIB))) == 70

    def test_balanced_allocation(self):
        zones = [zone(0, {"cpu": 4000, "memory": 500 * MIB})]
        assert one("BalancedAllocation", zones, shape(container("c", cpu=2000, memory=20 * MIB))) == 89

    def test_least_allocated(self):
        zones = [zone(0, {"cpu": 4000, "memory": 500 * MIB})]
        assert one("LeastAllocated", zones, shape(container("c", cpu=2000, memory=20 * MIB))) == 73

    def test_weights(self):
        zones = [zone(0, {"cpu": 4000, "memory": 500 * MIB})]
        found = scores(
            "LeastAllocated",
            {"a": payload(*zones)},
            shape(container("c", cpu=2000, memory=20 * MIB)),
            resources=[{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 0}],
        )
        assert found[0, 0] == (3 * 50 + 96) // 4


def test_cpu_rounds_up_to_cores():
    zones = [zone(0, {"cpu": 300}), zone(1, {"cpu": 4000})]
    assert one("LeastAllocated", zones[1:], shape(container("c", cpu=1500))) == 50  # 2 of 4
    assert (
        one("MostAllocated", zones[:1], shape(container("c", cpu=1000))) == 100
    )  # 1 of 1: 0.3 counts as one


def test_a_machine_has_its_worst_zone_but_those_that_score_nothing():
    zones = [zone(0, {"cpu": 2000}), zone(1, {"cpu": 8000}), zone(2, {"cpu": 4000})]
    assert one("LeastAllocated", zones, shape(container("c", cpu=2000))) == 50
    assert one("LeastAllocated", zones[:1], shape(container("c", cpu=2000))) == 0


def test_container_scope_takes_the_mean_and_pod_scope_the_sum():
    zones = [zone(0, {"cpu": 8000})]
    row = shape(container("a", cpu=2000), container("b", cpu=3000))
    assert one("LeastAllocated", zones, row) == (75 + 62) // 2
    assert one("LeastAllocated", zones, row, scope="pod") == 37


def test_init_containers_count_in_the_mean_and_as_the_maximum():
    zones = [zone(0, {"cpu": 8000})]
    row = shape(container("i", "init", cpu=6000), container("a", cpu=2000))
    assert one("LeastAllocated", zones, row) == (25 + 75) // 2
    assert one("LeastAllocated", zones, row, scope="pod") == 25
    assert (
        one("LeastAllocated", zones, shape(container("a", cpu=2000), overhead=(("cpu", 2000),)), scope="pod")
        == 50
    )


def test_a_resource_that_the_zone_does_not_list_scores_nothing():
    zones = [zone(0, {"cpu": 8000})]
    assert one("LeastAllocated", zones, shape(container("a", cpu=2000, gpu=1))) == 75 // 2


@pytest.mark.parametrize(
    "strategy", ["LeastAllocated", "MostAllocated", "BalancedAllocation", "LeastNUMANodes"]
)
def test_pods_that_are_not_guaranteed_score_100_and_unknown_machines_0(strategy):
    records = {"a": payload(zone(0, {"cpu": 8000})), "b": b""}
    rows = [shape(container("a", cpu=1000), qos="Burstable"), shape(container("a", cpu=1000))]
    found = scores(strategy, records, *rows)
    assert found[0].tolist() == [100, 100]
    assert found[1, 1] == 0


@pytest.mark.parametrize("policy", ["none", "best-effort", "restricted"])
def test_only_one_strategy_scores_machines_of_other_policies(policy):
    zones = [zone(0, {"cpu": 8000})]
    row = shape(container("a", cpu=1000))
    assert one("LeastAllocated", zones, row, policy=policy) == 0
    assert one("LeastNUMANodes", zones, row, policy=policy) == 88 + 6


class TestLeastNUMANodes:
    NEAR_AND_FAR = (
        zone(0, {"cpu": 4000}, {0: 10, 1: 20, 2: 40}),
        zone(1, {"cpu": 4000}, {0: 20, 1: 10, 2: 30}),
        zone(2, {"cpu": 4000}, {0: 40, 1: 30, 2: 10}),
    )

    def test_fewer_zones_score_more(self):
        row = [shape(container("c", cpu=cpu)) for cpu in (4000, 8000, 12_000, 13_000)]
        found = scores("LeastNUMANodes", {"a": payload(*self.NEAR_AND_FAR)}, *row)
        assert found[:, 0].tolist() == [94, 82, 70, 0]

    def test_a_set_that_is_not_the_nearest_is_not_optimal(self):
        zones = (zone(0, {"cpu": 1000}, {0: 10, 1: 20, 2: 40}), *self.NEAR_AND_FAR[1:])
        assert one("LeastNUMANodes", zones, shape(container("c", cpu=8000))) == 76

    def test_the_step_follows_the_number_of_nodes_allowed(self):
        row = shape(container("c", cpu=4000))
        assert one("LeastNUMANodes", self.NEAR_AND_FAR, row, maxNUMANodes=2) == 100 - 50 + 25
        assert one("LeastNUMANodes", self.NEAR_AND_FAR, row, maxNUMANodes=1024) == 100

    def test_containers_are_subtracted_from_their_zones(self):
        row = shape(container("a", cpu=3000), container("b", cpu=6000))
        assert one("LeastNUMANodes", self.NEAR_AND_FAR, row) == 100 - 2 * 12  # 1 + 4 + 4 left: zones 1 and 2
        row = shape(container("a", cpu=3000), container("b", cpu=3000))
        assert one("LeastNUMANodes", self.NEAR_AND_FAR, row) == 94

    def test_every_zone_of_a_set_must_list_everything(self):
        zones = [zone(0, {"cpu": 4000, "example.com/gpu": 1}), zone(1, {"cpu": 4000})]
        row = shape(container("c", cpu=6000, gpu=1))
        assert one("LeastNUMANodes", zones, row) == 0

    def test_requests_that_touch_no_zone_score_100(self):
        row = shape(container("c", gpu=1))
        assert one("LeastNUMANodes", self.NEAR_AND_FAR, row) == 100
        assert (
            one("LeastNUMANodes", self.NEAR_AND_FAR, shape(container("c", gpu=1), container("d", cpu=4000)))
            == 94
        )
        assert one("LeastNUMANodes", [], row) == 100


def test_the_native_figure_is_the_score_less_the_distance_of_the_zones():
    near = zone(0, {"cpu": 4000}, {0: 10, 1: 30}), zone(1, {"cpu": 4000}, {0: 30, 1: 10})
    machines = columns({"a": payload(*near)}, {"cpu": 8000})
    row = shape(container("a", cpu=3000), container("b", cpu=3000))
    answer = NumaFit(distanceCost=5).assess(machines, batch([row], machines.resources))
    assert answer.score is not None
    assert np.array_equal(answer.raw, answer.score - 5 * 1.0)  # a mean of 20 is 10 beyond the local distance


def test_machines_of_other_policies_score_nothing_beside_those_that_are_scored():
    zones = [zone(0, {"cpu": 4000})]
    records = {"single": payload(*zones), "none": payload(*zones, policy="none")}
    for row in (shape(container("c", cpu=2000)), shape(container("c", cpu=1000), container("d", cpu=1000))):
        found = scores("LeastAllocated", records, row)[0]
        assert found[0] > 0
        assert found[1] == 0


@pytest.mark.parametrize(
    ("cpu", "memory", "score"),
    [
        (10_000, 10 * GIB, 100),  # all of both: balanced
        (12_000, 9 * GIB, 0),  # more than there is of one
        (5_000, 5 * GIB, 100),
    ],
)
def test_a_zone_that_has_too_little_is_not_balanced(cpu, memory, score):
    zones = [zone(0, {"cpu": 10_000, "memory": 10 * GIB})]
    assert one("BalancedAllocation", zones, shape(container("c", cpu=cpu, memory=memory))) == score


@pytest.mark.parametrize("strategy", ["LeastAllocated", "MostAllocated", "BalancedAllocation"])
def test_only_resources_that_are_requested_count(strategy):
    alone = one(strategy, [zone(0, {"cpu": 4000})], shape(container("c", cpu=1000)))
    beside = one(strategy, [zone(0, {"cpu": 4000, "memory": GIB})], shape(container("c", cpu=1000)))
    assert alone == beside > 0
