"""A mended flow is an optimum, its prices prove it, and pricing only what came closer finds all that violates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from cost_models.interface import Int64
from firmament.core.flow.network.arc_columns import ArcColumns, UnpinnedArcs
from firmament.core.flow.network.network import (
    Network,
    build_network,
    compute_unscheduled_penalties,
    dearest_path,
)
from firmament.core.flow.network.widening import map_flow_to_wider_network
from firmament.core.flow.optimality.node_prices import node_prices
from firmament.core.flow.optimality.pricing import FullPrices, price_out
from firmament.core.flow.optimality.primal_dual_repair import RepairedFlow, repair_flow
from firmament.core.flow.residual import Residual
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.oracle.network import cost_by_networkx, slackness_faults, unbalanced
from tests.support.effort import examples
from tests.support.histories.problems import SEEDS, arcs_of, fits_of, placement_problem
from tests.support.tuning import FLOW

SIZES = {"seed": SEEDS, "classes": st.integers(1, 6), "machines": st.integers(1, 9)}
SHARES = st.floats(0.0, 1.0)


def some_columns(residual: Residual, random: np.random.Generator, share: float) -> ArcColumns:
    """About ``share`` of all columns; those of pinned classes are always there."""
    problem, fits = residual.problem, fits_of(residual)
    pairs = [
        (cls, machine)
        for cls in residual.active().tolist()
        for machine in np.flatnonzero(fits[int(problem.shape[cls])]).tolist()
        if (machine in problem.pins[cls] if cls in problem.pins else random.random() < share)
    ]
    cls, machine = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return ArcColumns(cls, machine)


def network_of(residual: Residual, columns: ArcColumns, steps: Int64) -> Network:
    penalties = compute_unscheduled_penalties(residual, dearest_path(residual))
    return build_network(residual, columns, penalties, steps)


def check(network: Network, found: RepairedFlow) -> None:
    """Feasible, as cheap as the oracle's, and proved so by the prices; aggregators have none of their own."""
    arcs, supply = arcs_of(network.problem)
    flows = found.flows.tolist()
    assert unbalanced(arcs, supply, flows) == []
    cost = sum(arc.cost * flow for arc, flow in zip(arcs, flows, strict=True))
    assert cost == cost_by_networkx(arcs, supply)
    first_machine = 2 * len(network.classes)
    price = dict(enumerate(found.prices.cls.tolist()))
    price |= dict(enumerate(found.prices.machine.tolist(), start=first_machine))
    price[first_machine + len(network.machines)] = 0
    doubled = [replace(arc, cost=2 * arc.cost) for arc in arcs]
    assert slackness_faults(doubled, flows, price) == []


@settings(max_examples=examples(200))
@given(**SIZES, before=SHARES, after=SHARES)
def test_the_optimum_of_a_narrow_network_becomes_that_of_a_wide_one(
    seed: int, classes: int, machines: int, before: float, after: float
):
    residual = Residual(placement_problem(seed, classes, machines, joint=True))
    random = np.random.default_rng(seed)
    few, many = random.integers(1, 4, machines), random.integers(3, 9, machines)
    columns = some_columns(residual, random, before)
    narrow = network_of(residual, columns, few)
    wide = network_of(residual, columns.merge(some_columns(residual, random, after), machines), many)
    flows = OrToolsSolver().solve(narrow.problem).flows
    prices = FullPrices.from_network(residual, narrow, node_prices(narrow, flows))
    found = repair_flow(
        wide, map_flow_to_wider_network(narrow, flows, wide, machines), prices, 1_000, tuning=FLOW.repair
    )
    assert found is not None
    check(wide, found)


@settings(max_examples=examples(100))
@given(**SIZES, share=SHARES)
def test_any_flow_and_any_prices_will_do(seed: int, classes: int, machines: int, share: float):
    residual = Residual(placement_problem(seed, classes, machines))
    random = np.random.default_rng(seed)
    network = network_of(residual, some_columns(residual, random, share), np.full(machines, 9))
    nothing_placed = np.zeros_like(network.problem.costs)
    _, aggregation, unscheduled, _ = network.blocks
    for block in (aggregation, unscheduled):
        nothing_placed[block] = network.problem.capacities[block]
    prices = FullPrices(random.integers(0, 200, len(network.classes)), random.integers(0, 200, machines))
    found = repair_flow(network, nothing_placed, prices, 1_000, tuning=FLOW.repair)
    event(f"mended: {found is not None}")
    if found is not None:
        check(network, found)


@settings(max_examples=examples(200))
@given(**SIZES, share=SHARES, limit=st.sampled_from([1, 1_000_000]))
def test_only_what_came_closer_needs_to_be_priced_again(
    seed: int, classes: int, machines: int, share: float, limit: int
):
    residual = Residual(placement_problem(seed, classes, machines))
    random = np.random.default_rng(seed)
    steps = np.full(machines, 1000)
    columns = some_columns(residual, random, share)
    network = network_of(residual, columns, steps)
    unpinned = UnpinnedArcs(residual, fits_of(residual), np.arange(machines // 2))
    flows = OrToolsSolver().solve(network.problem).flows
    before = FullPrices.from_network(residual, network, node_prices(network, flows))
    violations = price_out(residual, network, flows, before, unpinned, limit=limit)
    wide = network_of(residual, columns.merge(violations.columns, machines), steps)
    found = repair_flow(
        wide, map_flow_to_wider_network(network, flows, wide, machines), before, 1_000, tuning=FLOW.repair
    )
    assert found is not None
    after = FullPrices.from_network(residual, wide, found.prices)
    everything = price_out(residual, wide, found.flows, after, unpinned, limit=1_000_000)
    closer = price_out(
        residual, wide, found.flows, after, unpinned, limit=1_000_000, settled=violations.settled
    )
    event(f"violators: {min(2, violations.total)}, then {min(2, everything.total)}")
    assert closer.columns.cls.tolist() == everything.columns.cls.tolist()
    assert closer.columns.machine.tolist() == everything.columns.machine.tolist()
    assert closer.total == everything.total
