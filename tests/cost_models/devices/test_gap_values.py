"""Values of free shares of a device: against a linear program with all patterns, and all sets of parts."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ortools.linear_solver import pywraplp

from cost_models.devices.gap_values import CELLS, count_cells, price_sizes, tabulate_values, value_gaps
from tests.support.effort import examples

DEMANDS = st.dictionaries(st.integers(8, 99), st.floats(0.01, 100, allow_nan=False), min_size=1, max_size=5)


def list_sets(sizes: list[int], room: int) -> list[tuple[int, ...]]:
    """All sets of parts that fit into so many cells."""
    most = room // min(sizes)
    return [
        each
        for count in range(most + 1)
        for each in combinations_with_replacement(sizes, count)
        if sum(each) <= room
    ]


def cover(demand: dict[int, float]) -> float:
    """The least number of devices that cover a demand, by a linear program over all patterns."""
    solver = pywraplp.Solver.CreateSolver("GLOP")
    rows = {size: solver.Constraint(times, solver.infinity()) for size, times in demand.items()}
    solver.Objective().SetMinimization()
    for pattern in list_sets(list(demand), CELLS):
        used = solver.NumVar(0, solver.infinity(), "")
        solver.Objective().SetCoefficient(used, 1)
        for size in set(pattern):
            rows[size].SetCoefficient(used, pattern.count(size))
    assert solver.Solve() == pywraplp.Solver.OPTIMAL
    return float(solver.Objective().Value())


@settings(max_examples=examples(60), deadline=None)
@given(DEMANDS)
def test_prices_are_an_optimal_dual_solution(demand: dict[int, float]):
    prices = price_sizes(demand)
    assert all(price >= 0 for price in prices.values())
    for pattern in list_sets(list(demand), CELLS):
        assert sum(prices[size] for size in pattern) <= 1 + 1e-6
    worth = sum(prices[size] * times for size, times in demand.items())
    assert worth == pytest.approx(cover(demand), rel=1e-6)


@settings(max_examples=examples(60), deadline=None)
@given(st.dictionaries(st.integers(12, 99), st.floats(0, 1), min_size=1, max_size=4))
def test_a_gap_is_worth_its_dearest_set_of_parts(prices: dict[int, float]):
    values, last = tabulate_values(prices)
    for room in range(0, CELLS + 1, 7):
        best = max(sum(prices[size] for size in each) for each in list_sets(list(prices), room))
        assert values[room] == pytest.approx(best)
        if last[room]:
            rest = values[room - last[room]]
            assert values[room] == pytest.approx(prices[last[room]] + rest)


def test_figures_worked_out_by_hand():
    # Parts of 0.81 use a device each; those of 0.16 find room beside them, and only 0.19 is left for them.
    values = value_gaps({81: 10, 16: 2, 47: 6})
    assert values[[15, 16, 19, 46]].tolist() == [0, 0, 0, 0]
    assert values[[47, 80, 81, 94, 99, 100]].tolist() == pytest.approx([0.5, 0.5, 1, 1, 1, 1])
    # As many of 0.16 as would fill devices of their own: six of them use one.
    assert value_gaps({16: 10})[[15, 16, 32, 96]].tolist() == pytest.approx([0, 1 / 6, 2 / 6, 1])


def test_only_a_whole_device_is_worth_something_to_tasks_that_want_whole_ones():
    assert value_gaps({CELLS: 3.0}).tolist() == [0.0] * CELLS + [1.0]
    assert value_gaps({}).tolist() == [0.0] * CELLS + [1.0]
    assert np.all(np.diff(value_gaps({CELLS: 1.0, 0: 5.0, 30: 2.0})) >= 0)


@pytest.mark.parametrize(
    ("share", "cells"), [(0.0, 0), (0.009, 0), (0.29, 29), (1 / 3, 33), (0.999, 99), (1.0, 100), (2.0, 100)]
)
def test_shares_are_counted_in_whole_cells(share: float, cells: int):
    assert count_cells(np.array([share])).tolist() == [cells]
