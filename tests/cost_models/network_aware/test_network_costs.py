"""Regions and zones as domains: what traffic between them costs, whether it keeps limits, and its links."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from cost_models.network_aware.network_costs import costs_between, domains_of, links_between
from cost_models.network_aware.records import TopologyRecord
from tests.cost_models.network_aware.scenes import labels

PLACES = [("r", "a"), ("r", "b"), ("s", "a"), ("r", "a"), ("", ""), ("s", ""), ("", "c")]
DOMAINS = domains_of([labels(*each) for each in PLACES])
A, B, OTHER, NOWHERE, REGION_ONLY, ZONE_ONLY = range(6)

Pairs = Mapping[str, Mapping[str, int]]


def test_machines_are_numbered_by_region_and_zone():
    assert DOMAINS.by_machine.tolist() == [0, 1, 2, 0, 3, 4, 5]
    assert DOMAINS.names == (("r", "a"), ("r", "b"), ("s", "a"), ("", ""), ("s", ""), ("", "c"))
    assert domains_of([]).names == ()


def costs(region: Pairs, zone: Pairs) -> tuple[np.ndarray, np.ndarray]:
    return costs_between(DOMAINS, {"region": region, "zone": zone})


class TestCosts:
    COST, RATING = costs(
        {"r": {"s": 20}, "s": {"r": 30}}, {"a": {"b": 5, "": 9}, "b": {"a": 6}, "c": {"": 1}}
    )

    @pytest.mark.parametrize(
        ("here", "there", "cost", "rating"),
        [
            (A, A, 1.0, -np.inf),
            (A, B, 5.0, 5.0),
            (B, A, 6.0, 6.0),
            (A, OTHER, 20.0, 20.0),
            (OTHER, A, 30.0, 30.0),
            (OTHER, B, 30.0, 30.0),
            (A, NOWHERE, 100.0, np.inf),
            (NOWHERE, NOWHERE, 100.0, np.inf),
            (NOWHERE, A, 100.0, np.nan),
            (OTHER, REGION_ONLY, 9.0, 9.0),
            (REGION_ONLY, REGION_ONLY, 1.0, -np.inf),
            (REGION_ONLY, OTHER, 100.0, np.nan),
            (ZONE_ONLY, ZONE_ONLY, 1.0, -np.inf),
            (A, ZONE_ONLY, 100.0, np.nan),
        ],
    )
    def test_of_pairs(self, here: int, there: int, cost: float, rating: float):
        assert self.COST[here, there] == cost
        assert np.array_equal(self.RATING[here, there], rating, equal_nan=True)

    def test_without_lists_only_the_same_zone_is_cheap(self):
        cost, rating = costs_between(DOMAINS, {})
        assert cost[A, A] == 1.0
        assert cost[A, B] == 100.0
        assert np.isnan(rating[A, B])


def links(region: Pairs, zone: Pairs) -> tuple[np.ndarray, list[int]]:
    topology = TopologyRecord(weights={}, capacity={"region": region, "zone": zone})
    rows, limits = links_between(DOMAINS, topology)
    return rows, limits.tolist()


def test_zones_of_one_region_use_the_link_between_them_and_others_that_of_their_regions():
    rows, limits = links({"r": {"s": 7}}, {"a": {"b": 3}, "b": {"a": 4}})
    assert limits == [3, 7, 4]
    assert (rows[A, B], rows[B, A]) == (0, 2)
    assert rows[A, OTHER] == rows[B, OTHER] == rows[A, REGION_ONLY] == 1
    assert rows[OTHER, A] == -1, "no capacity is known that way"
    assert rows[A, A] == rows[OTHER, OTHER] == -1
    assert int((rows >= 0).sum()) == 2 + 4


def test_without_capacities_there_are_no_links():
    rows, limits = links({}, {})
    assert limits == []
    assert (rows == -1).all()
