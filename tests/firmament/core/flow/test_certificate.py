"""A certified flow is an optimum of the full network, and the certificate is refused when an arc is withheld."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from firmament.core.flow.column_generation import FlowOutcome, GenerationOptions, optimal_flow
from firmament.core.flow.joint_admission import admit
from firmament.core.flow.network.arc_columns import ArcColumns, UnpinnedArcs
from firmament.core.flow.network.network import (
    Network,
    build_network,
    compute_unscheduled_penalties,
    dearest_path,
)
from firmament.core.flow.optimality.node_prices import node_prices
from firmament.core.flow.optimality.pricing import FullPrices, price_out
from firmament.core.flow.problem import PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.oracle.network import cost_by_networkx, cost_by_ortools, full_network, slackness_faults, unbalanced
from tests.support.effort import examples
from tests.support.histories.problems import (
    FEW_COLUMNS,
    SEEDS,
    arcs_of,
    as_dict,
    fits_of,
    penalties_of,
    placement_problem,
    plain,
)
from tests.support.tuning import FLOW

SOLVER = OrToolsSolver()
SIZES = {"seed": SEEDS, "classes": st.integers(1, 5), "machines": st.integers(1, 7)}


def full_optimum(residual: Residual, *, by_networkx: bool = False) -> int:
    """Least cost of the network with every arc there is."""
    arcs, supply = full_network(plain(residual), penalties_of(residual))
    cost = cost_by_ortools(arcs, supply)
    if by_networkx:
        assert cost_by_networkx(arcs, supply) == cost
    return cost


def check_certified(residual: Residual, options: GenerationOptions, *, by_networkx: bool = False) -> None:
    """The flow found is certified and optimal, mended or repaired; None stands for leaving everything pending."""
    optimum = full_optimum(residual, by_networkx=by_networkx)
    for way in (options, replace(options, repaired_most=0)):
        check_outcome(residual, optimal_flow(residual, fits_of(residual), SOLVER, way, tuning=FLOW), optimum)


def check_outcome(residual: Residual, outcome: FlowOutcome | None, optimum: int) -> None:
    if outcome is None:
        everything = np.array(penalties_of(residual)) * residual.remaining
        assert optimum == int(everything.sum())
        return
    event(f"solves: {min(outcome.solves, 3)}, mended: {outcome.mends > 0}")
    arcs, supply = arcs_of(outcome.network.problem)
    flows = outcome.flows.tolist()
    assert unbalanced(arcs, supply, flows) == []
    assert outcome.bound == sum(arc.cost * flow for arc, flow in zip(arcs, flows, strict=True))
    assert outcome.certified
    assert outcome.bound == optimum
    check_prices(outcome)


def check_prices(outcome: FlowOutcome) -> None:
    """Prices, which are in half units, prove the flow an optimum of its network; aggregators have none."""
    network = outcome.network
    prices = node_prices(network, outcome.flows)
    first_machine = 2 * len(network.classes)
    price = dict(enumerate(prices.cls.tolist()))
    price |= dict(enumerate(prices.machine.tolist(), start=first_machine))
    price[first_machine + len(network.machines)] = 0
    arcs = [replace(arc, cost=2 * arc.cost) for arc in arcs_of(network.problem)[0]]
    assert slackness_faults(arcs, outcome.flows.tolist(), price) == []


@settings(max_examples=examples(150))
@given(**SIZES, joint=st.booleans())
def test_certified_flow_is_an_optimum_of_the_full_network(
    seed: int, classes: int, machines: int, joint: bool
):
    residual = Residual(placement_problem(seed, classes, machines, joint=joint))
    check_certified(residual, GenerationOptions(whole=0), by_networkx=True)


@settings(max_examples=examples(250))
@given(seed=SEEDS, classes=st.integers(1, 6), machines=st.integers(1, 24))
def test_few_columns_to_begin_with_do_not_change_the_optimum(seed: int, classes: int, machines: int):
    check_certified(Residual(placement_problem(seed, classes, machines)), FEW_COLUMNS)


@settings(max_examples=examples(25))
@given(seed=SEEDS, classes=st.integers(20, 40), machines=st.integers(30, 80), joint=st.booleans())
def test_many_classes_that_compete(seed: int, classes: int, machines: int, joint: bool):
    check_certified(Residual(placement_problem(seed, classes, machines, joint=joint)), FEW_COLUMNS)


@settings(max_examples=examples(60))
@given(seed=SEEDS, classes=st.integers(1, 3), machines=st.integers(1, 2))
def test_crowding_in_wide_steps(seed: int, classes: int, machines: int):
    problem = placement_problem(seed, classes, machines, tasks=40)
    problem.free[:] *= 10
    check_certified(Residual(problem), FEW_COLUMNS)


@settings(max_examples=examples(100))
@given(**SIZES)
def test_later_passes_continue_the_costs_of_earlier_ones(seed: int, classes: int, machines: int):
    residual = Residual(placement_problem(seed, classes, machines, joint=True))
    before = plain(residual)
    outcome = optimal_flow(residual, fits_of(residual), SOLVER, FEW_COLUMNS, tuning=FLOW)
    if outcome is not None:
        admitted = admit(residual, outcome.assignments())
        assert before.violated(as_dict(admitted)) == []
        check_certified(residual, FEW_COLUMNS)


def withheld(
    residual: Residual, network: Network, column: int, penalties: list[list[int]]
) -> tuple[int, int] | None:
    """Solve without one column: the cost, and how many left-out arcs the certificate objects to."""
    columns = network.columns
    keep = np.arange(len(columns)) != column
    if not keep.any() or int(columns.cls[column]) in residual.problem.pins:
        return None
    fewer = build_network(
        residual,
        ArcColumns(columns.cls[keep], columns.machine[keep]),
        compute_unscheduled_penalties(residual, dearest_path(residual)),
        np.full(residual.problem.machines, 1000),
    )
    flows = SOLVER.solve(fewer.problem).flows
    violations = price_out(
        residual,
        fewer,
        flows,
        FullPrices.from_network(residual, fewer, node_prices(fewer, flows)),
        UnpinnedArcs(residual, fits_of(residual), np.arange(residual.problem.machines // 2)),
        limit=1_000_000,
    )
    return int(flows @ fewer.problem.costs), violations.total


@settings(max_examples=examples(120))
@given(**SIZES)
def test_certificate_is_refused_when_an_arc_that_matters_is_withheld(seed: int, classes: int, machines: int):
    residual = Residual(placement_problem(seed, classes, machines))
    outcome = optimal_flow(residual, fits_of(residual), SOLVER, GenerationOptions(whole=0), tuning=FLOW)
    if outcome is None:
        return
    block = outcome.network.blocks[0]
    for column in np.flatnonzero(outcome.flows[block]).tolist():
        found = withheld(residual, outcome.network, column, penalties_of(residual))
        if found is None:
            continue
        cost, violations = found
        assert cost >= outcome.bound
        if cost > outcome.bound:
            event("the optimum rose")
            assert violations > 0


def small_problem(cost: list[int], crowd: list[int], tasks: int) -> PlacementProblem:
    """One class, one shape, machines with room for five."""
    machines = len(cost)
    return PlacementProblem(
        counts=np.array([[tasks, 0, 0, 0]]),
        priority=np.array([0]),
        shape=np.array([0]),
        requests=np.array([[1]]),
        feasible=np.ones((1, machines), dtype=np.bool_),
        cost=np.array([cost], dtype=np.int32),
        crowd=np.array(crowd),
        free=np.full((machines, 1), 5),
    )


def test_withheld_cheap_machine_is_missed():
    residual = Residual(small_problem([1, 5, 5], [0, 0, 0], 2))
    outcome = optimal_flow(residual, fits_of(residual), SOLVER, GenerationOptions(whole=0), tuning=FLOW)
    assert outcome is not None
    assert outcome.bound == 2
    column = int(np.flatnonzero(outcome.flows[outcome.network.blocks[0]])[0])
    assert withheld(residual, outcome.network, column, penalties_of(residual)) == (10, 1)


def test_withheld_crowding_step_is_missed():
    residual = Residual(small_problem([1, 9], [1, 1], 3))
    columns = ArcColumns(np.array([0, 0]), np.array([0, 1]))
    penalties = compute_unscheduled_penalties(residual, dearest_path(residual))
    network = build_network(residual, columns, penalties, np.array([1, 5]))
    flows = SOLVER.solve(network.problem).flows
    violations = price_out(
        residual,
        network,
        flows,
        FullPrices.from_network(residual, network, node_prices(network, flows)),
        UnpinnedArcs(residual, fits_of(residual), np.arange(residual.problem.machines // 2)),
        limit=100,
    )
    assert violations.machines.tolist() == [0]
    assert violations.total == 1
