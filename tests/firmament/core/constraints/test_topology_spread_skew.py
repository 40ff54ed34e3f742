"""How many tasks a domain may have under maxSkew and minDomains."""

from __future__ import annotations

import pytest

from firmament.core.constraints.topology_spread_skew import (
    NO_MINIMUM,
    count_in_emptiest_domain,
    find_highest_count,
)
from tests.support.rules import ints, spreading

ZONE = [0, 1, 2]


@pytest.mark.parametrize(
    ("counts", "counted", "min_domains", "fewest"),
    [
        ([4, 2, 3], [True, True, True], 1, 2),
        ([4, 2, 3], [True, False, True], 1, 3),
        ([4, 2, 3], [True, True, True], 3, 2),
        ([4, 2, 3], [True, True, True], 4, 0),
        ([4, 2, 3], [True, False, True], 3, 0),
        ([4, 2, 3], [False, False, False], 0, NO_MINIMUM),
    ],
)
def test_the_emptiest_domain_that_counts(
    counts: list[int], counted: list[bool], min_domains: int, fewest: int
):
    rule = spreading(0, ZONE, counted=counted, min_domains=min_domains)
    assert count_in_emptiest_domain(rule, ints(*counts)) == fewest


@pytest.mark.parametrize(("max_skew", "own", "highest"), [(1, 1, 2), (3, 1, 4), (1, 0, 3), (3, 0, 5)])
def test_one_more_task_may_exceed_the_emptiest_domain_by_the_skew(max_skew: int, own: int, highest: int):
    assert find_highest_count(spreading(0, ZONE, max_skew=max_skew, own=own), ints(4, 2, 3)) == highest
