"""Merged steps and costs that are cut off: less to solve, and the same optimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from firmament.core.flow.column_generation import GenerationOptions, optimal_flow
from firmament.core.flow.network.arc_columns import ArcColumns
from firmament.core.flow.network.network import build_network, compute_unscheduled_penalties, dearest_path
from firmament.core.flow.network.widening import map_flow_to_wider_network
from firmament.core.flow.price_estimate.equilibrium import estimate_prices
from firmament.core.flow.problem import PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.core.flow.truncation import find_unfilled_machines, plan_steps, solve_at_truncated_costs
from firmament.solvers.base import FlowProblem, FlowSolution
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import problem
from tests.support.tuning import FLOW, PRICES


class Counting(OrToolsSolver):
    """Remembers the largest cost of each problem it was given."""

    def __init__(self) -> None:
        self.largest: list[int] = []

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
        self.largest.append(int(np.abs(problem.costs).max()))
        return super().solve(problem, time_limit=time_limit)


def crowded(tasks: int = 60, room: int = 12) -> PlacementProblem:
    """Eight classes on 120 machines that each get about four tasks."""
    random = np.random.default_rng(7)
    return problem(
        tasks=[tasks] * 8,
        requests=[[1]] * 8,
        free=[[room]] * 120,
        cost=random.integers(0, 500, (8, 120)).tolist(),
        crowd=random.integers(80, 160, 120).tolist(),
    )


def prepared(given: PlacementProblem):
    """The residual, its expected prices, all columns and the penalties."""
    residual = Residual(given)
    fits = {shape: residual.find_fitting(shape) for shape in range(len(given.requests))}
    cls, machine = np.divmod(np.arange(given.classes * given.machines), given.machines)
    penalties = compute_unscheduled_penalties(residual, dearest_path(residual))
    return residual, estimate_prices(residual, fits, tuning=PRICES), ArcColumns(cls, machine), penalties


def test_merged_networks_have_fewer_steps_and_the_same_optimum():
    residual, estimate, columns, penalties = prepared(crowded())
    assert estimate.sharp
    steps, merged = plan_steps(residual, estimate, tuning=FLOW.truncation)
    whole = build_network(residual, columns, penalties, steps)
    small = build_network(residual, columns, penalties, steps, merged)
    assert len(small.step_machine) < 0.7 * len(whole.step_machine)
    found = OrToolsSolver().solve(small.problem).flows
    assert len(find_unfilled_machines(small, found, merged)) == 0
    unfolded = map_flow_to_wider_network(small, found, whole, residual.problem.machines)
    best = OrToolsSolver().solve(whole.problem).flows
    assert unfolded @ whole.problem.costs == best @ whole.problem.costs


def test_a_merged_arc_that_is_not_full_is_noticed():
    residual, estimate, columns, penalties = prepared(crowded())
    steps, _ = plan_steps(residual, estimate, tuning=FLOW.truncation)
    rash = np.zeros_like(steps)
    rash[5] = steps[5] = 12
    network = build_network(residual, columns, penalties, steps, rash)
    flows = OrToolsSolver().solve(network.problem).flows
    assert find_unfilled_machines(network, flows, rash).tolist() == [5]


def test_merging_begins_after_what_earlier_passes_placed():
    residual, _, columns, penalties = prepared(problem(tasks=[9], requests=[[1]], free=[[9]], crowd=10))
    residual.placed[0] = 3
    given = build_network(residual, columns, penalties, np.array([5]), np.array([2]))
    arcs = given.blocks[3]
    assert given.problem.capacities[arcs].tolist() == [2, 1, 1, 1]
    assert given.problem.costs[arcs].tolist() == [40, 50, 60, 70]


@pytest.mark.parametrize("scarce", [False, True])
def test_costs_relative_to_expected_prices_lead_to_the_same_optimum(scarce: bool):
    random = np.random.default_rng(11)
    given = problem(
        tasks=[60] * 30,
        requests=[[1]] * 30,
        free=[[9]] * 190 if scarce else [[40]] * 190,
        cost=(random.integers(0, 60, (30, 190)) * 8).tolist(),
        crowd=random.integers(80, 160, 190).tolist(),
    )
    residual, estimate, columns, penalties = prepared(given)
    steps = np.full(given.machines, 20)
    network = build_network(residual, columns, penalties, steps)
    assert len(network.problem.tails) > FLOW.truncation.small
    solver = Counting()
    found = solve_at_truncated_costs(
        network, replace(estimate, sharp=True), solver, None, tuning=FLOW.truncation
    )
    assert len(solver.largest) == 1
    assert solver.largest[0] < 0.01 * np.abs(network.problem.costs).max()
    # With 1,710 places for 1,800 tasks a penalty decides, and those are cut off: this is said.
    assert (found.cut is not None) == scarce
    solved = network if found.cut is None else found.cut
    exact = OrToolsSolver().solve(solved.problem)
    flows = found.solution.flows
    assert flows @ solved.problem.costs == exact.flows @ solved.problem.costs


class Recording(OrToolsSolver):
    """Remembers which problems stood for others."""

    def __init__(self) -> None:
        self.cut_off: list[bool] = []

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
        self.cut_off.append(problem.stated is not None)
        return super().solve(problem, time_limit=time_limit)


def of_kinds(kinds: int, tasks: int, machines: int, distance: int, crowd: int) -> PlacementProblem:
    """Classes of some kinds, each with machines of its own; so many that expected prices know but some of them."""
    random = np.random.default_rng(1)
    classes = 3 * PRICES.sampled_shapes
    cost = 8 * random.integers(0, 100, (classes, machines))
    kind = random.integers(0, kinds, classes)
    cost[np.arange(machines) * kinds // machines != kind[:, None]] += distance
    return problem(
        tasks=[tasks] * classes,
        requests=[[1]] * classes,
        free=[[40]] * machines,
        cost=cost.tolist(),
        crowd=random.integers(crowd, crowd + crowd // 4, machines).tolist(),
    )


@pytest.mark.parametrize(
    ("given", "cut_off", "mends"),
    [
        (of_kinds(2, tasks=4, machines=500, distance=60, crowd=200), [True], 1),
        (of_kinds(6, tasks=8, machines=600, distance=200, crowd=200), [True, False], 1),
    ],
    ids=["mended", "solved again"],
)
def test_a_misled_flow_is_mended_or_solved_again(given: PlacementProblem, cut_off: list[bool], mends: int):
    residual, solver = Residual(given), Recording()
    fits = {shape: residual.find_fitting(shape) for shape in range(given.classes)}
    found = optimal_flow(residual, fits, solver, GenerationOptions(whole=0), tuning=FLOW)
    assert found is not None
    assert found.certified
    assert solver.cut_off[: len(cut_off)] == cut_off
    assert found.mends == mends
    _, _, columns, penalties = prepared(given)
    whole = build_network(residual, columns, penalties, np.full(given.machines, 40))
    assert found.bound == OrToolsSolver().solve(whole.problem).flows @ whole.problem.costs


def test_every_step_up_to_well_above_the_expected_price_is_given():
    residual, estimate, _, _ = prepared(crowded())
    assert estimate.sharp
    steps, merged = plan_steps(residual, estimate, tuning=FLOW.truncation)
    for machine in range(residual.problem.machines):
        costs = [int(residual.problem.crowd[machine]) * nth for nth in range(12)]
        near = sum(
            cost <= int(estimate.price[machine]) + int(FLOW.truncation.ample * estimate.temperature)
            for cost in costs
        )
        load = int(estimate.load[machine])
        assert steps[machine] == min(max(near, 1), load + load // 4 + 2)
        assert merged[machine] <= max(load - 1, 0)
