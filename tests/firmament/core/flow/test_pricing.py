"""What pricing finds for sale, against one look at every pair."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.flow.network.arc_columns import ArcColumns, UnpinnedArcs
from firmament.core.flow.network.network import (
    Network,
    build_network,
    compute_unscheduled_penalties,
    dearest_path,
)
from firmament.core.flow.optimality.node_prices import node_prices
from firmament.core.flow.optimality.pricing import FullPrices, price_out
from firmament.core.flow.residual import Residual
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.effort import examples
from tests.support.histories.problems import SEEDS, placement_problem


def violating(residual: Residual, network: Network, prices: FullPrices) -> set[tuple[int, int]]:
    """Pairs that are left out and would lower the cost."""
    problem = residual.problem
    inside = set(zip(network.columns.cls.tolist(), network.columns.machine.tolist(), strict=True))
    machine_price = prices.machine.tolist()
    found = set()
    for index, cls in enumerate(network.classes.tolist()):
        shape = int(problem.shape[cls])
        usable = residual.find_fitting(shape)
        for machine in range(problem.machines):
            reduced = 2 * int(problem.cost[shape, machine]) + machine_price[machine] - int(prices.cls[index])
            if cls not in problem.pins and usable[machine] and (cls, machine) not in inside and reduced < 0:
                found.add((cls, machine))
    return found


@settings(max_examples=examples(100))
@pytest.mark.parametrize("narrow", [True, False])
@given(SEEDS, st.integers(1, 6), st.integers(1, 8), st.floats(0.0, 1.0), st.sampled_from([1, 12, 1_000_000]))
def test_all_violators_are_found_and_nothing_else(
    narrow: bool, seed: int, classes: int, machines: int, share: float, limit: int
):
    problem = placement_problem(seed, classes, machines)
    if not narrow:
        problem = replace(problem, cost=problem.cost * np.int32(20_000_000))
    residual = Residual(problem)
    random = np.random.default_rng(seed)
    pairs = [
        (cls, machine)
        for cls in residual.active().tolist()
        for machine in range(machines)
        if residual.find_fitting(int(problem.shape[cls]))[machine]
        and (machine in problem.pins.get(cls, range(machines)))
        and (cls in problem.pins or random.random() < share)
    ]
    if not pairs:
        return
    columns = ArcColumns.join([ArcColumns(*np.array(pairs, dtype=np.int64).T)], machines)
    penalties = compute_unscheduled_penalties(residual, dearest_path(residual))
    network = build_network(residual, columns, penalties, np.full(machines, 1000))
    flows = OrToolsSolver().solve(network.problem).flows
    fits = {shape: residual.find_fitting(shape) for shape in range(len(problem.requests))}
    full = FullPrices.from_network(residual, network, node_prices(network, flows))
    unpinned = UnpinnedArcs(residual, fits, np.flatnonzero(random.random(machines) < 0.5))
    found = price_out(residual, network, flows, full, unpinned, limit=limit)
    expected = violating(residual, network, full)
    got = set(zip(found.columns.cls.tolist(), found.columns.machine.tolist(), strict=True))
    assert found.total == len(expected) + len(found.machines)
    assert got <= expected
    assert {cls for cls, _ in got} == {cls for cls, _ in expected}
    if limit == 1_000_000:
        assert got == expected
    # At the prices said to be settled only what has been found may violate.
    assert violating(residual, network, found.settled) <= got
    assert (found.settled.cls <= full.cls).all()
    assert (found.settled.machine == full.machine).all()
