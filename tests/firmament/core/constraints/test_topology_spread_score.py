"""Scores by preferred topology spread, against kube-scheduler's formula written down machine by machine."""

from __future__ import annotations

import random

import numpy as np
import pytest

from firmament.core.constraints.counters import RuleState
from firmament.core.constraints.ruleset import ClassRules, RuleSet
from firmament.core.constraints.topology_spread_score import score_topology_spread
from tests.support.effort import examples
from tests.support.rules import counter, ints, soft_spreading


def scores(
    domains: list[list[int]],
    counts: list[list[int]],
    *,
    feasible: list[bool] | None = None,
    factor: float = 1.0,
    max_skew: int = 1,
    at: list[int] | None = None,
) -> tuple[list[float], list[float]] | None:
    """One constraint for each list of domains (by machine), with so many tasks in each domain."""
    rules = ClassRules(
        soft_spreadings=tuple(
            soft_spreading(number, each, factor=factor, max_skew=max_skew)
            for number, each in enumerate(domains)
        )
    )
    counters = tuple(counter(each, count) for each, count in zip(domains, counts, strict=True))
    state = RuleState(RuleSet(counters, {0: rules}))
    some = len(domains[0]) if at is None else len(at)
    open_to = np.array([True] * some if feasible is None else feasible)
    found = score_topology_spread(state, rules, open_to, None if at is None else ints(*at))
    return None if found is None else (found[0].tolist(), found[1].tolist())


@pytest.mark.parametrize(
    ("domains", "counts", "more", "expected"),
    [
        ([[0, 1, 2]], [[0, 1, 4]], {}, ([100.0, 75.0, 0.0], [0.0, -1.0, -4.0])),
        ([[0, 1, 2]], [[2, 4, 4]], {}, ([100.0, 50.0, 50.0], [-2.0, -4.0, -4.0])),
        ([[0, 1]], [[1, 4]], {"max_skew": 3}, ([100.0, 50.0], [-3.0, -6.0])),
        (
            [[0, 1]],
            [[1, 3]],
            {"factor": 1.5},
            ([100.0, 50.0], [-2.0, -4.0]),
        ),  # 1.5 and 4.5, to the even number
        ([[0, 1, -1]], [[1, 3]], {}, ([100.0, 33.0, 0.0], [-1.0, -3.0, 0.0])),
        ([[0, 0, -1]], [[3]], {}, ([100.0, 100.0, 0.0], [-3.0, -3.0, 0.0])),
        ([[0, 0, -1]], [[0]], {}, ([100.0, 100.0, 0.0], [0.0, 0.0, 0.0])),
        ([[0, 1, 2]], [[0, 9, 3]], {"feasible": [True, False, True]}, ([100.0, 0.0, 0.0], [0.0, -9.0, -3.0])),
        (
            [[0, 1, 2]],
            [[3, 0, 6]],
            {"feasible": [True, False, True]},
            ([100.0, 100.0, 50.0], [-3.0, 0.0, -6.0]),
        ),
        ([[0, 1], [1, 0]], [[1, 2], [2, 5]], {}, ([66.0, 100.0], [-6.0, -4.0])),
        ([[0, 1, 2]], [[1, 2, 3]], {"at": [2, 0]}, ([33.0, 100.0], [-3.0, -1.0])),
    ],
)
def test_fewer_tasks_in_the_domain_score_more(domains, counts, more, expected):
    found = scores(domains, counts, **more)
    assert found is not None
    assert found[0] == expected[0]
    assert found[1] == expected[1]


@pytest.mark.parametrize(
    ("domains", "counts", "more"),
    [
        ([[0, 1]], [[2, 2]], {}),
        ([[0, 1, 2]], [[2, 2, 7]], {"feasible": [True, True, False]}),
        ([[0, 1]], [[1, 2]], {"feasible": [False, False]}),
        ([[-1, -1]], [[]], {}),
        ([[0, -1]], [[1]], {"feasible": [False, True]}),
    ],
)
def test_equal_machines_and_none_have_no_score(domains, counts, more):
    assert scores(domains, counts, **more) is None


def test_without_a_preference_there_is_no_score():
    state = RuleState(RuleSet((counter([0, 1], [1, 2]),), {}))
    assert score_topology_spread(state, ClassRules(), np.ones(2, dtype=np.bool_), None) is None


def test_scores_are_those_of_the_formula():
    for seed in range(examples(100, least=40)):
        draw = random.Random(seed)
        machines, rules = draw.randint(2, 5), draw.randint(1, 2)
        domains = [[draw.choice((-1, 0, 0, 1, 2)) for _ in range(machines)] for _ in range(rules)]
        counts = [[draw.randint(0, 6) for _ in range(max(max(each) + 1, 0))] for each in domains]
        feasible = [draw.random() < 0.8 for _ in range(machines)]
        factor, skew = draw.choice((1.0, 1.5, 2.25)), draw.randint(1, 3)
        sums = [
            round(
                sum(
                    (count[own[m]] if own[m] >= 0 else 0) * factor + skew - 1
                    for own, count in zip(domains, counts, strict=True)
                )
            )
            for m in range(machines)
        ]
        lacking = [any(own[m] < 0 for own in domains) for m in range(machines)]
        known = [sums[m] for m in range(machines) if feasible[m] and not lacking[m]]
        found = scores(domains, counts, feasible=feasible, factor=factor, max_skew=skew)
        if not known or (min(known) == max(known) and not any(lacking)):
            assert found is None, seed
            continue
        most, least = max(known), min(known)
        assert found is not None
        for m in range(machines):
            each = 0 if lacking[m] else 100 * (most + least - sums[m]) // most if most else 100
            assert found[0][m] == min(100, max(0, each)), seed
