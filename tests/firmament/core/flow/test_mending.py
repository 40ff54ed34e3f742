"""Mending a flow in place: what changes, what stays, and what is left to the solver."""

from __future__ import annotations

import numpy as np

from firmament.core.flow.network.arc_columns import ArcColumns
from firmament.core.flow.network.network import (
    Network,
    build_network,
    compute_unscheduled_penalties,
    dearest_path,
)
from firmament.core.flow.network.widening import map_flow_to_wider_network
from firmament.core.flow.optimality.node_prices import node_prices
from firmament.core.flow.optimality.pricing import FullPrices
from firmament.core.flow.optimality.primal_dual_repair import repair_flow
from firmament.core.flow.problem import PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.firmament.core.flow.test_generation_loop import varied
from tests.support.core import problem
from tests.support.tuning import FLOW


def network_of(residual: Residual, pairs: list[tuple[int, int]]) -> Network:
    """The network of some (class, machine) columns."""
    given = residual.problem
    cls, machine = np.array(sorted(pairs), dtype=np.int64).T
    penalties = compute_unscheduled_penalties(residual, dearest_path(residual))
    return build_network(residual, ArcColumns(cls, machine), penalties, np.full(given.machines, 9))


def everywhere(given: PlacementProblem) -> list[tuple[int, int]]:
    residual = Residual(given)
    return [
        (cls, int(machine))
        for cls in range(given.classes)
        for machine in np.flatnonzero(residual.find_fitting(int(given.shape[cls])))
    ]


def solved(residual: Residual, network: Network) -> tuple[np.ndarray, FullPrices]:
    flows = OrToolsSolver().solve(network.problem).flows
    return flows, FullPrices.from_network(residual, network, node_prices(network, flows))


def test_an_optimal_flow_stays_as_it_is_and_so_do_its_prices():
    given = varied()
    residual = Residual(given)
    network = network_of(residual, everywhere(given))
    flows, prices = solved(residual, network)
    found = repair_flow(network, flows, prices, 1_000, tuning=FLOW.repair)
    assert found is not None
    assert np.array_equal(found.flows, flows)
    assert np.array_equal(found.prices.cls, prices.cls)
    assert np.array_equal(found.prices.machine, prices.machine[network.machines])


def test_a_new_column_draws_one_task_and_pushes_another_aside():
    # Machine 0 is dear to class 0 until it may use machine 1, from where class 1 then makes way for little.
    residual = Residual(
        problem(tasks=[1, 1], requests=[[1], [1]], free=[[1], [1], [1]], cost=[[90, 10, 99], [99, 20, 30]])
    )
    narrow = network_of(residual, [(0, 0), (1, 1), (1, 2)])
    flows, prices = solved(residual, narrow)
    wide = network_of(residual, [(0, 0), (0, 1), (1, 1), (1, 2)])
    found = repair_flow(
        wide, map_flow_to_wider_network(narrow, flows, wide, 3), prices, 1_000, tuning=FLOW.repair
    )
    assert found is not None
    assert found.flows[wide.blocks[0]].tolist() == [0, 1, 0, 1]


def test_a_tempting_column_that_gains_nothing_changes_prices_alone():
    # At this price of class 0 the new column violates; but what it gains there, class 1 would lose.
    residual = Residual(
        problem(tasks=[1, 1], requests=[[1], [1]], free=[[1], [1]], cost=[[50, 30], [50, 10]])
    )
    narrow = network_of(residual, [(0, 0), (1, 0), (1, 1)])
    flows, prices = solved(residual, narrow)
    prices.cls[0] += 44
    wide = network_of(residual, [(0, 0), (0, 1), (1, 0), (1, 1)])
    carried = map_flow_to_wider_network(narrow, flows, wide, 2)
    arcs, node = wide.problem, prices.nodes(wide)
    reduced = 2 * arcs.costs + node[arcs.heads] - node[arcs.tails]
    assert (reduced[carried < arcs.capacities] < 0).any()
    found = repair_flow(wide, carried, prices, 1_000, tuning=FLOW.repair)
    assert found is not None
    assert np.array_equal(found.flows, carried)


def test_tasks_that_waited_come_in_when_a_machine_opens():
    residual = Residual(problem(tasks=[3], requests=[[1]], free=[[1], [5]]))
    narrow = network_of(residual, [(0, 0)])
    flows, prices = solved(residual, narrow)
    wide = network_of(residual, [(0, 0), (0, 1)])
    found = repair_flow(
        wide, map_flow_to_wider_network(narrow, flows, wide, 2), prices, 1_000, tuning=FLOW.repair
    )
    assert found is not None
    assert found.flows[wide.blocks[0]].sum() == 3
    assert found.flows[wide.blocks[1]].tolist() == [0]


def test_a_task_that_was_left_out_at_a_penalty_beyond_what_lengths_can_hold_finds_a_place():
    dear = 2**27
    residual = Residual(
        problem(tasks=[2, 1], requests=[[1], [1]], free=[[1], [1], [1]], cost=[[5, 8, dear], [dear, 3, 9]])
    )
    narrow = network_of(residual, [(0, 0), (0, 1), (1, 1)])
    flows, _ = solved(residual, narrow)
    assert flows[narrow.blocks[1]].sum() == 1
    wide = network_of(residual, [(0, 0), (0, 1), (1, 1), (1, 2)])
    # Prices as they would be if the task had its place.
    *_, right = solved(residual, wide)
    found = repair_flow(
        wide, map_flow_to_wider_network(narrow, flows, wide, 3), right, 1_000, tuning=FLOW.repair
    )
    assert found is not None
    assert found.flows[wide.blocks[0]].tolist() == [1, 1, 0, 1]


def test_costs_beyond_what_lengths_can_hold_are_left_to_the_solver():
    given = varied()
    residual = Residual(given)
    network = network_of(residual, everywhere(given))
    flows, prices = solved(residual, network)
    assert (
        repair_flow(network, flows, FullPrices(prices.cls + 2**40, prices.machine), 1_000, tuning=FLOW.repair)
        is None
    )


def test_given_prices_and_flow_are_not_written_to():
    given = varied()
    residual = Residual(given)
    narrow = network_of(residual, everywhere(given)[::3])
    flows, prices = solved(residual, narrow)
    wide = network_of(residual, everywhere(given))
    carried = map_flow_to_wider_network(narrow, flows, wide, given.machines)
    copies = carried.copy(), prices.cls.copy(), prices.machine.copy()
    assert repair_flow(wide, carried, prices, 1_000, tuning=FLOW.repair) is not None
    for given_array, copy in zip((carried, prices.cls, prices.machine), copies, strict=True):
        assert np.array_equal(given_array, copy)


def test_more_contradictions_than_allowed_are_left_to_the_solver():
    residual = Residual(problem(tasks=[3], requests=[[1]], free=[[1], [5]]))
    narrow = network_of(residual, [(0, 0)])
    flows, prices = solved(residual, narrow)
    wide = network_of(residual, [(0, 0), (0, 1)])
    carried = map_flow_to_wider_network(narrow, flows, wide, 2)
    assert repair_flow(wide, carried, prices, 0, tuning=FLOW.repair) is None
    assert repair_flow(wide, flows=carried, prices=prices, most=10, tuning=FLOW.repair) is not None
