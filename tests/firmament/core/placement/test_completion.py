"""What a pass leaves is placed without another network."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings

from firmament.core.flow.joint_admission import admit
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.core.placement.cost import placement_cost
from firmament.core.placement.outcome import Means
from firmament.core.placement.passes import place_all, place_greedily
from firmament.core.search.moves.exchange import exchange_sizes
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import problem
from tests.support.effort import examples
from tests.support.heights import with_heights
from tests.support.histories.problems import SEEDS, as_dict, placement_problem, plain
from tests.support.tuning import PLACING

ALWAYS_A_NETWORK = Means(OrToolsSolver(), tuning=replace(PLACING, small_rest=0.0))


def begun(seed: int) -> Residual:
    """A problem on which up to one task of each class has been placed."""
    random = np.random.default_rng(seed)
    residual = Residual(placement_problem(seed, 4, 12, tasks=1))
    snapshot = plain(residual)
    chosen = [
        (cls, machine)
        for cls, machine in enumerate(random.integers(0, 12, 4).tolist())
        if seed % 2 and snapshot.units(cls, machine) > 0
    ]
    cls, machine = np.array(chosen, dtype=np.int64).reshape(-1, 2).T
    admit(residual, Assignments(cls, machine, np.ones(len(chosen), dtype=np.int64)))
    return residual


@settings(max_examples=examples(200))
@given(SEEDS)
def test_nothing_is_overfilled_and_nothing_that_is_left_fits(seed: int):
    residual = begun(seed)
    before = residual.copy()
    placed = place_greedily(residual)
    assert plain(before).violated(as_dict(placed)) == []
    after = plain(residual)
    for cls in residual.active().tolist():
        assert all(after.units(cls, machine) == 0 for machine in after.machines)


def test_a_task_takes_the_cheapest_machine_by_then():
    residual = Residual(problem(tasks=[3], requests=[[1]], free=[[9], [9], [9]], cost=[[5, 0, 9]], crowd=4))
    assert as_dict(place_greedily(residual)) == {(0, 0): 1, (0, 1): 1, (0, 2): 1}
    alone = Residual(problem(tasks=[1], requests=[[1]], free=[[9], [9], [9]], cost=[[5, 0, 0]]))
    assert as_dict(place_greedily(alone)) == {(0, 1): 1}


def crowded() -> PlacementProblem:
    """Tasks of complementary resources; a flow of single units puts a few on machines that are full by then."""
    random = np.random.default_rng(0)
    return problem(
        tasks=[40] * 3,
        requests=[[1, 4], [4, 1], [2, 2]],
        free=random.integers(4, 24, (60, 2)).tolist(),
        cost=random.integers(0, 50, (3, 60)).tolist(),
        crowd=2,
    )


def test_a_small_rest_is_placed_without_another_network_and_at_about_the_same_cost():
    residual = Residual(crowded())
    placing = place_all(residual, Means(OrToolsSolver()))
    placed = placing.assignments
    assert (placing.figures.passes, int(placed.count.sum())) == (1, 120)
    assert (residual.free >= 0).all()
    with_networks = Residual(crowded())
    placing = place_all(with_networks, ALWAYS_A_NETWORK)
    solved = placing.assignments
    assert placing.figures.passes > 1
    assert placement_cost(crowded(), placed) <= 1.005 * placement_cost(crowded(), solved)


def test_a_rest_placed_without_a_network_ends_about_as_level_as_with_one():
    given = with_heights(crowded(), np.random.default_rng(1).integers(0, 60, 60).tolist(), [9, 3, 1])
    placing = place_all(Residual(given), Means(OrToolsSolver()))
    placed = exchange_sizes(given, placing.assignments, tuning=PLACING.exchange, log=[])
    assert placing.figures.passes == 1
    placing = place_all(Residual(given), ALWAYS_A_NETWORK)
    with_networks = exchange_sizes(given, placing.assignments, tuning=PLACING.exchange, log=[])
    assert placing.figures.passes > 1
    assert placement_cost(given, placed) < 1.01 * placement_cost(given, with_networks)
