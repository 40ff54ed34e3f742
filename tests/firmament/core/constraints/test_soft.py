"""Preferred rules between tasks, with kube-scheduler's figures worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from firmament.core.constraints.preferences import soft_cost
from firmament.core.constraints.ruleset import ClassRules, Counter, Inclination, PreferredSpread
from tests.support.rules import counter, ints, soft_spreading, state

ZONE = [0, 0, 1, 2, -1]


def inclined(
    *counters: Counter, weights: tuple[int, ...], where: list[int] | None = None
) -> list[float] | None:
    """Points of a class that is inclined to (or against) what ``counters`` count; ``where``: feasible machines."""
    rules = ClassRules(inclinations=tuple(Inclination(index, each) for index, each in enumerate(weights)))
    return points(state(counters, {0: rules}), where)


def points(given, where: list[int] | None = None) -> list[float] | None:
    feasible = np.ones(5, dtype=np.bool_)
    if where is not None:
        feasible[:] = False
        feasible[where] = True
    found = soft_cost(given, 0, feasible)
    return None if found is None else found.points.tolist()


# --- affinity: floor(100 x (sum - least) / (most - least)), weight 2 -------------------------------------------------


def test_no_rules_cost_nothing():
    assert points(state([counter(ZONE, [1, 2, 3])], {0: ClassRules(adds=(0,))})) is None
    assert points(state([], {})) is None


def test_affinity_is_scaled_between_the_least_and_the_most():
    # sums 10, 10, 30, 0, 0: scores 33, 33, 100, 0, 0
    assert inclined(counter(ZONE, [1, 3, 0]), weights=(10,)) == [134, 134, 0, 200, 200]


def test_anti_affinity_counts_against():
    # sums -10, -10, -30, 0, 0: scores floor(66.7), floor(66.7), 0, 100, 100
    assert inclined(counter(ZONE, [1, 3, 0]), weights=(-10,)) == [68, 68, 200, 0, 0]


def test_terms_add_up():
    # zone 20, 20, 60, 0, 0; host 0, 7, 0, 0, 63: 20, 27, 60, 0, 63; scores floor(100 x sum / 63)
    host = counter([0, 1, 2, 3, 4], [0, 1, 0, 0, 9])
    expected = [2 * (100 - math.floor(100 * each / 63)) for each in (20, 27, 60, 0, 63)]
    assert expected == [138, 116, 10, 200, 0]
    assert inclined(counter(ZONE, [1, 3, 0]), host, weights=(20, 7)) == expected


def test_only_feasible_machines_set_the_scale_and_others_stay_within_it():
    # sums 10, 10, 30, 0, 0; of machines 0, 3 and 4: least 0, most 10
    assert inclined(counter(ZONE, [1, 3, 0]), weights=(10,), where=[0, 3, 4]) == [0, 0, 0, 200, 200]
    # of machines 0 and 2: least 10, most 30; machine 3, with 0, is no worse than the worst
    assert inclined(counter(ZONE, [1, 3, 0]), weights=(10,), where=[0, 2]) == [200, 200, 0, 200, 200]


@pytest.mark.parametrize("where", [None, [0, 1], []])
def test_sums_that_tell_no_machines_apart_cost_nothing(where: list[int] | None):
    assert inclined(counter([0, 0, 0, 0, 0], [3]), weights=(5,), where=where) is None


def test_counters_that_count_nobody_cost_nothing():
    assert inclined(counter(ZONE), weights=(5,)) is None


def test_figures_of_some_machines():
    rules = ClassRules(inclinations=(Inclination(0, 10),))
    given = state([counter(ZONE, [1, 3, 0])], {0: rules})
    found = soft_cost(given, 0, np.ones(2, dtype=np.bool_), ints(3, 0))
    assert found is not None
    assert (found.points.tolist(), found.raw.tolist(), found.weight) == ([200, 0], [0, 10], 2)


# --- spreading: s = round(count x log(domains + 2) + skew - 1), score 100 x (most + least - s) // most ----------------


def spread(start: list[int], *, max_skew: int = 1, domain: list[int] | None = None) -> list[float] | None:
    domain = [0, 0, 1, 2, 2] if domain is None else domain
    rule = soft_spreading(0, domain, factor=math.log(3 + 2), max_skew=max_skew)
    return points(state([counter(domain, start)], {0: ClassRules(soft_spreadings=(rule,))}))


def test_spreading_prefers_the_emptiest_domain():
    # log 5 = 1.609: 4 x 1.609 = 6.44, 1.61, 0 -> 6, 2, 0; scores (6 + 0 - s) / 6: 0, 66, 100
    assert spread([4, 1, 0]) == [200, 200, 68, 0, 0]


def test_the_least_count_is_not_free_but_the_best_score():
    # 4, 3, 2 times 1.609 -> 6, 5, 3; scores 100 x (9 - s) / 6: 50, 66, 100
    assert spread([4, 3, 2]) == [100, 100, 68, 0, 0]


def test_the_skew_waters_differences_down():
    # 6.44 + 4, 1.61 + 4, 0 + 4 -> 10, 6, 4; scores 100 x (14 - s) / 10: 40, 80, 100
    assert spread([4, 1, 0], max_skew=5) == [120, 120, 40, 0, 0]


def test_even_domains_cost_nothing():
    assert spread([2, 2, 2]) is None
    assert spread([0, 0, 0]) is None


def test_machines_without_the_label_are_worst():
    # even domains are best, with the full score; whoever lacks the label has 0
    assert spread([2, 2, 2], domain=[0, 0, 1, 2, -1]) == [0, 0, 0, 0, 200]
    assert spread([0, 0, 0], domain=[0, 0, 1, 2, -1]) == [0, 0, 0, 0, 200]
    assert spread([4, 1, 0], domain=[0, 0, 1, 2, -1]) == [200, 200, 68, 0, 200]


def test_nobody_has_the_label():
    rule = PreferredSpread(0, ints(-1, -1, -1, -1, -1), 1.0, 1)
    assert points(state([counter([-1] * 5, [])], {0: ClassRules(soft_spreadings=(rule,))})) is None


def test_spread_rules_add_up_before_they_are_scaled():
    host = [0, 1, 2, 3, 4]
    counters = [counter([0, 0, 1, 2, 2], [1, 0, 2]), counter(host, [1, 0, 0, 2, 0])]
    rules = ClassRules(
        soft_spreadings=(
            soft_spreading(0, [0, 0, 1, 2, 2], factor=2.0),
            soft_spreading(1, host, factor=3.0, max_skew=2),
        )
    )
    # zone 2, 2, 0, 4, 4; host 3, 0, 0, 6, 0 and 1 each: 6, 3, 1, 11, 5; scores 100 x (12 - s) // 11
    expected = [2 * (100 - 100 * (12 - each) // 11) for each in (6, 3, 1, 11, 5)]
    assert expected == [92, 38, 0, 182, 74]
    assert points(state(counters, {0: rules})) == expected


def test_affinity_and_spread_are_scaled_apart_and_added():
    domain = [0, 0, 1, 2, 2]
    given = counter(domain, [4, 1, 0])
    rules = ClassRules(
        inclinations=(Inclination(0, 10),),
        soft_spreadings=(soft_spreading(0, domain, factor=math.log(5)),),
    )
    found = soft_cost(state([given], {0: rules}), 0, np.ones(5, dtype=np.bool_))
    assert found is not None
    # affinity 40, 10, 0: scores 100, 25, 0; spread as above: 0, 66, 100
    assert found.points.tolist() == [200, 200, 150 + 68, 200, 200]
    assert found.weight == 4
    assert found.raw.tolist() == [40 - 6, 40 - 6, 10 - 2, 0, 0]


def test_costs_follow_placements():
    rule = soft_spreading(0, [0, 0, 1, 2, 2], factor=math.log(5))
    given = state([counter([0, 0, 1, 2, 2])], {0: ClassRules(adds=(0,), soft_spreadings=(rule,))})
    assert points(given) is None
    given.add(0, 2)
    assert points(given) == [0, 0, 200, 0, 0]


def spread_points(
    start: list[int], where: list[int] | None = None, domain: list[int] | None = None
) -> list[float] | None:
    """Points of a class that prefers even domains of the zones, by how many tasks these have."""
    domains = domain or [0, 1, 2, 0, 1]
    rules = ClassRules(soft_spreadings=(soft_spreading(0, domains),))
    return points(state([counter(domains, start)], {0: rules}), where)


def test_a_domain_that_is_emptier_than_all_feasible_ones_is_no_better_than_the_best():
    # counts 4, 2, 0: over machines 0 and 1, least 2 and most 4; zone 2 would score 150
    assert spread_points([4, 2, 0], [0, 1]) == [100, 0, 0, 100, 0]
    assert spread_points([4, 2, 0]) == [200, 100, 0, 200, 100]


def test_where_no_domain_has_tasks_only_machines_without_one_cost_anything():
    assert spread_points([0, 0, 0]) is None
    assert spread_points([0, 0, 0], domain=[0, 1, 2, -1, 0]) == [0, 0, 0, 200, 0]
    assert spread_points([0, 0, 0], [3], domain=[0, 1, 2, -1, 0]) is None, "none of the feasible ones has one"
