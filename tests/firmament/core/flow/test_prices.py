"""Prices of an optimal flow, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.core.flow.column_generation import GenerationOptions, optimal_flow
from firmament.core.flow.network.network import Network
from firmament.core.flow.optimality.node_prices import (
    NotOptimalError,
    Prices,
    least_class_prices,
    node_prices,
)
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


@pytest.mark.parametrize(
    ("tasks", "cost"),
    [([2, 1], [[0, 10], [5, 7]]), ([3, 3], [[0, 10], [5, 7]]), ([1, 1], [[3, 3], [900, 950]])],
    ids=["room for all", "too little room", "one dear class"],
)
def test_the_least_price_of_a_class_is_what_one_task_less_would_save(tasks: list[int], cost: list[list[int]]):
    def solved(counts: list[int]) -> tuple[Network, np.ndarray, int]:
        made = problem(tasks=counts, requests=[[1], [1]], free=[[2], [2]], cost=cost, crowd=4)
        residual = Residual(made)
        outcome = optimal_flow(
            residual, fits(residual), OrToolsSolver(), GenerationOptions(whole=0), tuning=FLOW
        )
        assert outcome is not None
        return outcome.network, outcome.flows, int(outcome.flows @ outcome.network.problem.costs)

    network, flows, total = solved(tasks)
    saved = [total - solved([each - (at == cls) for at, each in enumerate(tasks)])[2] for cls in range(2)]
    assert least_class_prices(network, flows).tolist() == saved
