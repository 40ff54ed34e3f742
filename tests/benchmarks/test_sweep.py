"""Sweeps look on both sides of every edge, and name what is steep."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.reports.core import sweep_sheets
from benchmarks.rounds.growing import sweep
from benchmarks.rounds.growing.sweep import FACTOR, Series, measure_sweep, series, sizes
from benchmarks.scenario import Scenario

SERIES = Series("tasks", "tasks", 4, 64, (15, 31), lambda size: Scenario(10, size, 1))


@given(st.integers(1, 50), st.integers(1, 3_000), st.lists(st.integers(1, 3_000), max_size=4))
def test_sizes_are_near_each_other_and_on_both_sides_of_edges(low: int, more: int, edges: list[int]):
    found = sizes(low, low + more, edges)
    assert found == sorted(set(found))
    assert (found[0], found[-1]) == (low, low + more)
    assert {size for edge in edges for size in (edge, edge + 1) if low <= size <= low + more} <= set(found)
    assert all(after <= FACTOR * before + 1 for before, after in pairwise(found))


def test_every_series_has_its_edges_within_its_range():
    for each in series():
        assert all(each.low <= edge < each.high for edge in each.edges), each.name
        assert all(each.scenario(size).tasks > 0 for size in sizes(each.low, each.high, each.edges))


@pytest.mark.parametrize(
    ("cost", "steep"),
    [
        (lambda tasks: 1.0 + tasks, []),
        (lambda tasks: tasks if tasks <= 31 else 1.6 * tasks, [32]),
        (lambda tasks: tasks if tasks <= 31 else 0.5 * tasks, [32]),  # the way beyond would have done before
        (lambda tasks: tasks**2.5, [6, 8, 11, 15, 22, 31, 45, 64]),
    ],
    ids=["even", "a cliff", "a cliff downwards", "steep throughout"],
)
def test_what_is_steep_is_named(monkeypatch, cost, steep):
    monkeypatch.setattr(sweep, "_seconds", lambda scenario, _cluster: float(cost(scenario.tasks)))
    (result,) = (report := measure_sweep([SERIES], runs=1, most=None, progress=lambda _: None))["results"]
    assert [point["size"] for point in result["points"] if point["steep"]] == steep
    assert [point["size"] for point in result["points"] if point["edge"]] == [16, 32]
    (sheet,) = sweep_sheets(report)
    assert sum("(steep)" in row[-1] for row in sheet.rows) == len(steep)
