"""Rounds put sizes where they fit: what nodes are expected to use ends more even than single tasks could tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from firmament.core.flow.problem import COST_UNITS_PER_POINT, PlacementProblem
from firmament.core.placement.cost import compute_placed_cost, network_cost
from firmament.core.results import RoundResult
from firmament.core.scheduler import Scheduler
from tests.cost_models.load_aware.oracle import Pod
from tests.cost_models.load_aware.scenes import cluster, overlay
from tests.cost_models.load_aware.test_rounds import EXACT, measured
from tests.support.core import placed

SIZES = (400, 800, 1200, 1600)


def pods(count: int) -> list[Pod]:
    return [
        Pod(f"t-{index}", "koord-batch", limits={"kubernetes.io/batch-cpu": SIZES[index % len(SIZES)]})
        for index in range(count)
    ]


def scene(count: int = 60, nodes: int = 20, **more: Any) -> Scheduler:
    """Nodes whose use differs, each of them to get a few tasks of four sizes."""
    rng = np.random.default_rng(3)
    use = rng.integers(0, 3_000, nodes).tolist()
    there = [measured(f"n{index:02d}", used) for index, used in enumerate(use)]
    return cluster(there, pods(count), overlay(**EXACT, **more))


def problem_of(core: Scheduler) -> PlacementProblem:
    snapshot = core.open_round().snapshot
    assert snapshot is not None
    return snapshot.problem


def heights(result: RoundResult, nodes: int = 20) -> list[int]:
    """Milli-cores that each node is expected to use after the round."""
    rng = np.random.default_rng(3)
    total = dict(
        zip([f"n{index:02d}" for index in range(nodes)], rng.integers(0, 3_000, nodes).tolist(), strict=True)
    )
    for uid, machine in placed(result).items():
        total[machine] += SIZES[int(uid.removeprefix("t-")) % len(SIZES)]
    return list(total.values())


def test_a_batch_of_several_sizes_ends_even():
    result = scene().run_round()
    assert len(placed(result)) == 60
    assert np.ptp(heights(result)) <= 800  # far apart without: the largest size is 1600


@pytest.mark.parametrize(
    "more",
    [
        {"dominantResourceWeight": 1},
        {"scoreAccordingProdUsage": True},
        {"scoringStrategy": {"type": "MostUsed"}},
        {"scoringStrategy": {"type": "TargetLoadPacking"}},
    ],
)
def test_where_use_is_no_one_sum_sizes_are_left_alone(more: dict[str, Any]):
    assert not problem_of(scene(**more)).heights.charges


def test_tasks_of_one_size_have_no_heights():
    core = cluster([measured("n0", 0)], pods(1), overlay(**EXACT))
    assert not problem_of(core).heights.charges


def test_the_gap_is_that_of_the_network_and_the_cost_that_of_what_is_bound():
    core = scene()
    problem = problem_of(core)
    placement = core.open_round().solve()
    assert placement.stats.certified
    assert placement.stats.gap == 0
    assert placement.first is not None
    assert network_cost(problem, placement.assignments) >= placement.first.outcome.bound
    assert placement.stats.cost == round(
        compute_placed_cost(problem, placement.assignments) / COST_UNITS_PER_POINT
    )
