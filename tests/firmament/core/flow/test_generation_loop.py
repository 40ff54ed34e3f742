"""Column generation: few columns to begin with, the optimum in the end, and an honest certificate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.comparators.networkx_solver import NetworkxSolver
from firmament.core.flow.column_generation import FlowOutcome, GenerationOptions, optimal_flow
from firmament.core.flow.network.arc_columns import ArcColumns, UnpinnedArcs, choose_first_columns
from firmament.core.flow.price_estimate.equilibrium import estimate_prices
from firmament.core.flow.problem import PlacementProblem
from firmament.core.flow.residual import Residual, machine_units
from firmament.core.placement.cost import placement_cost
from firmament.solvers.base import FlowProblem, FlowSolution, SolverTimeoutError
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import problem
from tests.support.rules import ints
from tests.support.tuning import FLOW, PRICES


def fits(residual: Residual) -> dict[int, np.ndarray]:
    shapes = np.unique(residual.problem.shape[residual.active()]).tolist()
    return {shape: residual.find_fitting(shape) for shape in shapes}


def solve(
    given: PlacementProblem, options: GenerationOptions | None = None, solver=None
) -> FlowOutcome | None:
    residual = Residual(given)
    return optimal_flow(
        residual,
        fits(residual),
        solver or OrToolsSolver(),
        options or GenerationOptions(whole=0),
        tuning=FLOW,
    )


def varied(classes: int = 12, machines: int = 60, seed: int = 5) -> PlacementProblem:
    """Classes with differing preferences for machines with room for 0 to 3 tasks each."""
    random = np.random.default_rng(seed)
    return problem(
        tasks=random.integers(1, 12, classes).tolist(),
        requests=[[1]] * classes,
        free=random.integers(0, 4, (machines, 1)).tolist(),
        cost=random.integers(0, 5_000, (classes, machines)).tolist(),
        feasible=(random.random((classes, machines)) < 0.8).tolist(),
        crowd=random.integers(1, 400, machines).tolist(),
    )


FEW = GenerationOptions(whole=0, base_total=0, base_least=1, base_most=1, samples=0.0, sampled=0)
REPAIRING = replace(FEW, repaired_most=0)


# --- the optimum -----------------------------------------------------------------------------------------------------


def test_nothing_fits_anywhere():
    assert solve(problem(tasks=[1], requests=[[2]], free=[[1]])) is None
    assert solve(problem(tasks=[1], requests=[[1]], free=[[1]], feasible=[[False]])) is None
    assert solve(problem(tasks=[1], requests=[[1]], free=[[1], [0]], pins={0: [1]})) is None


def test_the_cheapest_assignment_is_found():
    # Greedy would give class 0 its favourite and leave class 1 with the dear machine.
    outcome = solve(problem(tasks=[1, 1], requests=[[1], [1]], free=[[1], [1]], cost=[[0, 10], [0, 100]]))
    assert outcome is not None
    placed = outcome.assignments()
    assert list(zip(placed.cls.tolist(), placed.machine.tolist(), placed.count.tolist(), strict=True)) == [
        (0, 1, 1),
        (1, 0, 1),
    ]
    assert outcome.bound == 10
    assert outcome.certified


@pytest.mark.parametrize("seed", range(6))
def test_a_few_columns_lead_to_the_same_certified_optimum_as_all(seed: int):
    given = varied(seed=seed)
    everything = solve(given, GenerationOptions(whole=0, base_least=given.machines))
    few = solve(given, FEW)
    oracle = solve(given, GenerationOptions(whole=0, base_least=given.machines), NetworkxSolver())
    assert everything is not None
    assert few is not None
    assert oracle is not None
    assert everything.certified
    assert few.certified
    assert few.bound == everything.bound == oracle.bound
    assert few.solves + few.mends > 1


@pytest.mark.parametrize("seed", range(3))
def test_mending_and_repairing_end_at_the_same_cost(seed: int):
    given = varied(seed=seed)
    mending, repairing = solve(given, FEW), solve(given, replace(FEW, repaired_most=0))
    assert mending is not None
    assert repairing is not None
    assert mending.mends > 0
    assert mending.solves < repairing.solves
    assert repairing.mends == 0
    assert mending.bound == repairing.bound
    assert mending.certified
    assert repairing.certified


def test_costs_too_large_to_mend_are_repaired():
    given = varied()
    dear = replace(given, cost=given.cost * np.int32(200_000))
    outcome, best = solve(dear, FEW), solve(dear, GenerationOptions(whole=0, base_least=given.machines))
    assert outcome is not None
    assert best is not None
    assert outcome.mends == 0
    assert outcome.solves > 1
    assert outcome.certified
    assert outcome.bound == best.bound


def test_the_bound_is_the_cost_of_the_flow():
    given = varied()
    outcome = solve(given)
    assert outcome is not None
    assert placement_cost(given, outcome.assignments()) == outcome.bound


def test_stopped_early_the_flow_is_not_certified():
    given = varied(classes=40, machines=300)
    outcome, best = solve(given, replace(FEW, iterations=1)), solve(given)
    assert outcome is not None
    assert best is not None
    assert not outcome.certified
    assert outcome.solves == 1
    assert outcome.bound > best.bound


def test_pinned_classes_stay_on_their_machines():
    given = problem(
        tasks=[3, 2],
        requests=[[1], [1]],
        free=[[2], [2], [2]],
        cost=[[0, 50, 0], [0, 0, 0]],
        pins={0: [1, 2]},
    )
    outcome = solve(given, FEW)
    assert outcome is not None
    assert outcome.certified
    placed = outcome.assignments()
    assert set(placed.machine[placed.cls == 0].tolist()) == {1, 2}
    assert outcome.bound == 50


def test_machines_that_fill_up_get_more_steps():
    # Everything wants the one cheap machine; crowding sends the rest elsewhere only late.
    given = problem(
        tasks=[40, 1], requests=[[1], [1]], free=[[100], [100]], cost=[[0, 500], [0, 500]], crowd=[10, 10]
    )
    outcome = solve(given, FEW)
    assert outcome is not None
    assert outcome.certified
    on_cheap = int(outcome.assignments().count[outcome.assignments().machine == 0].sum())
    step = given.crowd_step()
    # The levels meet where 10 x n = 500 + 10 x (41 - n), to within a step.
    assert abs(on_cheap - 41) <= step


# --- time-outs -------------------------------------------------------------------------------------------------------


class Limited(OrToolsSolver):
    """Runs out of time after some solves."""

    def __init__(self, solves: int) -> None:
        self._left = solves

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
        if self._left == 0:
            raise SolverTimeoutError(f"cut off after {time_limit} s")
        self._left -= 1
        return super().solve(problem, time_limit=time_limit)


def test_a_time_out_of_the_first_solve_is_passed_on():
    with pytest.raises(SolverTimeoutError):
        solve(varied(), solver=Limited(0))


def test_after_a_first_solve_the_last_flow_stands_uncertified():
    given = varied()
    outcome = solve(given, REPAIRING, Limited(1))
    assert outcome is not None
    assert not outcome.certified
    assert placement_cost(given, outcome.assignments()) == outcome.bound


class Idle(OrToolsSolver):
    """Solves networks, but finds nothing to repair: flows that later arcs made too dear stay as they are."""

    def __init__(self, networks: int) -> None:
        self._left = networks

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
        if not problem.supplies.any():
            return FlowSolution(np.zeros_like(problem.costs), seconds=0.0)
        if self._left == 0:
            raise SolverTimeoutError(f"cut off after {time_limit} s")
        self._left -= 1
        return super().solve(problem, time_limit=time_limit)


def test_a_flow_that_was_not_repaired_is_found_out_and_solved_afresh():
    given = varied(classes=40, machines=300)
    outcome, best = solve(given, REPAIRING, Idle(networks=100)), solve(given)
    assert outcome is not None
    assert best is not None
    assert outcome.certified
    assert outcome.bound == best.bound


def test_without_time_for_a_fresh_solve_the_last_flow_stands_uncertified():
    given = varied(classes=40, machines=300)
    outcome = solve(given, REPAIRING, Idle(networks=1))
    assert outcome is not None
    assert not outcome.certified
    assert placement_cost(given, outcome.assignments()) == outcome.bound


# --- the first columns -----------------------------------------------------------------------------------------------


def starting(given: PlacementProblem, base: int, samples: float = 2.0) -> ArcColumns:
    residual = Residual(given)
    usable = fits(residual)
    estimate = estimate_prices(residual, usable, tuning=PRICES)
    return choose_first_columns(
        residual,
        UnpinnedArcs(residual, usable, estimate.candidates),
        estimate,
        base=base,
        samples=samples,
        samples_each=0.0,
        tuning=FLOW.columns,
    )


def pairs(columns: ArcColumns) -> list[tuple[int, int]]:
    return list(zip(columns.cls.tolist(), columns.machine.tolist(), strict=True))


def test_a_class_starts_with_its_cheapest_machines():
    given = problem(tasks=[2], requests=[[1]], free=[[1]] * 6, cost=[[50, 10, 40, 20, 60, 30]])
    found = {machine for _, machine in pairs(starting(given, base=2))}
    assert {1, 3, 5} <= found
    assert found.isdisjoint({0, 4})


def test_machines_that_a_class_may_not_use_or_that_are_full_are_no_columns():
    given = problem(
        tasks=[9, 9],
        requests=[[1], [2]],
        free=[[1], [2], [0], [2]],
        feasible=[[True, True, True, False], [True] * 4],
    )
    assert pairs(starting(given, base=9)) == [(0, 0), (0, 1), (1, 1), (1, 3)]


def test_equal_machines_are_shared_out_in_turn():
    given = problem(tasks=[4, 4, 4], requests=[[1]] * 3, free=[[1]] * 12)
    found = pairs(starting(given, base=2, samples=0.01))
    assert {(cls, 4 * cls + place) for cls in range(3) for place in range(4)} <= set(found)


def test_rotation_turns_the_order_of_equal_machines():
    turned = problem(tasks=[4], requests=[[1]], free=[[1]] * 10, rotation=8)
    assert pairs(starting(turned, base=2)) == [(0, 0), (0, 1), (0, 8), (0, 9)]


def test_pinned_classes_start_with_all_their_machines():
    given = problem(tasks=[1, 1], requests=[[1], [1]], free=[[1], [1], [0], [1]], pins={1: [1, 2, 3]})
    found = starting(given, base=0)
    assert [machine for cls, machine in pairs(found) if cls == 1] == [1, 3]


def test_columns_are_sorted_and_unique():
    columns = ArcColumns.join([ArcColumns(ints(1, 0), ints(2, 5)), ArcColumns(ints(1), ints(2))], machines=10)
    assert pairs(columns) == [(0, 5), (1, 2)]
    assert pairs(columns.merge(ArcColumns(ints(0), ints(1)), 10)) == [(0, 1), (0, 5), (1, 2)]
    assert len(ArcColumns.join([], machines=10)) == 0


# --- expected prices -------------------------------------------------------------------------------------------------


def test_the_expected_loads_hold_all_tasks_where_there_is_room():
    given = varied(classes=1)
    residual = Residual(given)
    estimate = estimate_prices(residual, fits(residual), tuning=PRICES)
    room = machine_units(residual, np.array([0]))
    assert estimate.load.sum() >= min(given.counts.sum(), room[residual.find_fitting(0)].sum())
    assert (estimate.load <= room).all()


def test_expected_prices_are_never_negative_and_follow_load():
    for seed in range(4):
        residual = Residual(varied(seed=seed))
        estimate = estimate_prices(residual, fits(residual), tuning=PRICES)
        assert (estimate.price >= 0).all()
        assert (estimate.load >= 0).all()
        assert (estimate.load <= machine_units(residual, residual.active())).all()
        assert estimate.price[estimate.load == 0].mean() < estimate.price[estimate.load > 0].mean()


def test_loads_level_out_cost_and_crowding():
    given = problem(tasks=[12], requests=[[1]], free=[[99]] * 3, cost=[[0, 20, 40]], crowd=10)
    residual = Residual(given)
    estimate = estimate_prices(residual, fits(residual), tuning=PRICES)
    # The next task costs the same everywhere at 6, 4 and 2 tasks.
    assert estimate.load.tolist() == [6, 4, 2]
    assert estimate.price.tolist() == [60, 40, 20]


def test_a_bound_on_tasks_per_machine_holds_for_every_mix():
    residual = Residual(problem(tasks=[5, 5], requests=[[4, 1], [2, 3]], free=[[9, 9], [3, 0], [-5, 9]]))
    assert machine_units(residual, np.array([0, 1])).tolist() == [4, 0, 0]
    assert machine_units(residual, np.array([0])).tolist() == [2, 0, 0]


@pytest.mark.parametrize(
    ("tasks", "rate"), [(1, 8.0), (1_000, 6.0), (3_000, 2.0), (6_000, 1.0), (100_000, 1.0)]
)
def test_small_rounds_get_more_samples_per_task(tasks: int, rate: float):
    assert GenerationOptions(whole=0).compute_rate(tasks) == rate
