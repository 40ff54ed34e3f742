"""By how much placed tasks cost more at most: never below nothing, never beyond all, and never less than the truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.flow.residual import Residual
from firmament.core.placement.cost import compute_charged_cost, compute_gap, flow_bound, least_cost
from firmament.core.placement.outcome import Means, PassOptions
from firmament.core.placement.placing import place
from firmament.core.rounds import decide
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.oracle.network import cost_by_ortools, full_network
from tests.support.effort import examples
from tests.support.histories.problems import FEW_COLUMNS, SEEDS, penalties_of, placement_problem, plain

OPTIONS = st.sampled_from([PassOptions(), PassOptions(generation=FEW_COLUMNS)])
SIZES = {"seed": SEEDS, "classes": st.integers(1, 4), "machines": st.integers(1, 5), "options": OPTIONS}


def cost_of_the_best_flow(problem, counts):
    """What so many tasks of each class cost at least, None if a flow cannot place as many."""
    waiting = np.zeros_like(problem.counts)
    waiting[:, 0] = counts
    fewer = replace(problem, counts=waiting)
    dear = [[10**6 for _ in each] for each in penalties_of(Residual(fewer))]
    found = cost_by_ortools(*full_network(plain(Residual(fewer)), dear))
    return found if found < 10**6 else None


@settings(max_examples=examples(300))
@given(**SIZES, data=st.data())
def test_prices_of_a_flow_bound_every_number_of_tasks(seed, classes, machines, options, data):
    problem = placement_problem(seed, classes, machines)
    placed = place(problem, Means(OrToolsSolver(), options))
    if placed.first is None or not placed.first.outcome.certified or placed.about is None:
        return
    whole = placed.about.problem
    waiting = whole.counts.sum(axis=1).tolist()
    counts = np.array([data.draw(st.integers(0, each + 1)) for each in waiting], dtype=np.int64)
    best = cost_of_the_best_flow(whole, counts)
    if best is not None:
        assert flow_bound(placed.first.outcome, counts, placed.first.classes) <= best


@settings(max_examples=examples(300))
@given(**SIZES, joint=st.booleans())
def test_the_gap_is_a_share_of_the_cost_that_no_placement_of_as_many_tasks_undercuts(
    seed, classes, machines, options, joint
):
    problem = placement_problem(seed, classes, machines, joint=joint)
    placement = decide(problem, OrToolsSolver(), options, lambda: 0.0)
    gap = placement.stats.gap
    assert 0 <= gap <= 1
    cost = compute_charged_cost(problem, placement.assignments)
    best = cost_of_the_best_flow(problem, placement.assignments.count_per_class(problem.classes))
    assert best is not None
    assert cost * (1 - gap) <= best + 1e-6


@settings(max_examples=examples(100))
@given(**SIZES)
def test_a_round_whose_flow_is_admitted_as_it_is_has_none(seed, classes, machines, options):
    problem = placement_problem(seed, classes, machines, roomy=True)
    placement = decide(problem, OrToolsSolver(), options, lambda: 0.0)
    if placement.stats.certified:
        assert placement.stats.gap == pytest.approx(0)


def test_without_a_certificate_the_tasks_are_measured_one_by_one():
    problem = placement_problem(7, 3, 4)
    placed = place(problem, Means(OrToolsSolver(), PassOptions()))
    assert placed.first is not None
    uncertified = replace(placed.first, outcome=replace(placed.first.outcome, certified=False))
    cost = compute_charged_cost(problem, placed.assignments)
    expected = (cost - least_cost(problem, placed.assignments)) / cost
    assert compute_gap(problem, replace(placed, first=uncertified), None) == pytest.approx(expected)
    assert compute_gap(problem, replace(placed, first=None), None) == pytest.approx(expected)
