"""Prices of an optimal flow, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.core.flow.column_generation import GenerationOptions, optimal_flow
from firmament.core.flow.network.network import Network
from firmament.core.flow.optimality.node_prices import NotOptimalError, Prices, node_prices
from firmament.core.flow.residual import Residual
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.firmament.core.flow.test_generation_loop import fits, varied
from tests.support.core import problem
from tests.support.tuning import FLOW


def reduced_costs(network: Network, prices: Prices) -> np.ndarray:
    """Twice the reduced cost of every column."""
    cost = network.problem.costs[network.blocks[0]]
    return 2 * cost + prices.machine[network.column_machine] - prices.cls[network.column_class]


@pytest.mark.parametrize("seed", range(4))
def test_no_open_column_is_worth_taking_and_no_used_one_worth_leaving(seed: int):
    residual = Residual(varied(seed=seed))
    outcome = optimal_flow(residual, fits(residual), OrToolsSolver(), GenerationOptions(whole=0), tuning=FLOW)
    assert outcome is not None
    reduced = reduced_costs(outcome.network, node_prices(outcome.network, outcome.flows))
    block = outcome.network.blocks[0]
    flows, capacities = outcome.flows[block], outcome.network.problem.capacities[block]
    assert (reduced[flows < capacities] >= 0).all()
    assert (reduced[flows > 0] <= 0).all()


def test_a_flow_that_could_be_cheaper_has_no_prices():
    residual = Residual(problem(tasks=[1, 1], requests=[[1], [1]], free=[[1], [1]], cost=[[0, 10], [0, 100]]))
    outcome = optimal_flow(residual, fits(residual), OrToolsSolver(), GenerationOptions(whole=0), tuning=FLOW)
    assert outcome is not None
    swapped = outcome.flows.copy()
    swapped[outcome.network.blocks[0]] = [1, 0, 0, 1]  # each class on the other's machine
    with pytest.raises(NotOptimalError, match="cheaper alternative"):
        node_prices(outcome.network, swapped)


def test_a_flow_that_leaves_a_task_for_no_reason_has_no_prices():
    residual = Residual(problem(tasks=[2], requests=[[1]], free=[[1], [1]], cost=[[0, 10]]))
    outcome = optimal_flow(residual, fits(residual), OrToolsSolver(), GenerationOptions(whole=0), tuning=FLOW)
    assert outcome is not None
    columns, aggregation, unscheduled, steps = outcome.network.blocks
    worse = outcome.flows.copy()
    worse[columns], worse[steps] = [1, 0], [1, 0]
    worse[aggregation], worse[unscheduled] = 1, [0, 0, 0, 1]
    with pytest.raises(NotOptimalError, match="cheaper alternative"):
        node_prices(outcome.network, worse)


def test_a_flow_on_a_dear_machine_beside_an_idle_cheap_one_has_no_prices():
    residual = Residual(problem(tasks=[1], requests=[[1]], free=[[1], [1]], cost=[[0, 10]]))
    outcome = optimal_flow(residual, fits(residual), OrToolsSolver(), GenerationOptions(whole=0), tuning=FLOW)
    assert outcome is not None
    columns, _, _, steps = outcome.network.blocks
    worse = outcome.flows.copy()
    worse[columns], worse[steps] = [0, 1], [0, 1]
    with pytest.raises(NotOptimalError, match="cheaper alternative"):
        node_prices(outcome.network, worse)
