"""What groups leave to the tasks that belong to none: the problem of those, and what places are worth to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.network.network import crowding_cost
from firmament.core.flow.optimality.node_prices import NotOptimalError, Prices, node_prices
from firmament.core.flow.optimality.pricing import full_machine_prices
from firmament.core.flow.outcome import FlowOutcome
from firmament.core.flow.problem import Assignments, PlacementProblem, Residual
from firmament.core.placement.class_aggregation import bundled
from firmament.core.placement.outcome import Means, PlacementState, StageFigures
from firmament.core.placement.passes import propose
from firmament.core.placement.subclasses import LARGEST_COST
from firmament.core.rules.counters import RuleState
from firmament.core.rules.ruleset import RuleSet
from firmament.solvers.base import SolverTimeoutError

HIGHEST = 2**40
"""Prices are cut off here, in units, so that the sum over a group's tasks fits 64 bits."""


def rest_of(state: PlacementState, placed: Assignments, among: Bool) -> PlacementProblem:
    """The tasks of the classes in ``among`` (bool[C]) that still wait, in the room that ``state`` leaves.

    ``placed``: what has been booked on ``state``. Groups are left out of it: their classes are nobody's gang.
    """
    residual, problem = state.residual, state.residual.problem
    grouped = _grouped(problem)
    tasks = placed.tasks()
    gang = np.where(grouped, -1, problem.gang) if len(problem.gang) else problem.gang
    need = problem.gang_need.copy()
    if problem.topology is not None:
        need[list(problem.topology.groups)] = 0
    if not need.any():
        gang, need = gang[:0], need[:0]
    more = crowding_cost(residual, np.arange(problem.machines))
    cost = problem.cost
    if more.any():
        cost = np.minimum(cost + more, LARGEST_COST).astype(np.int32)
    return replace(
        problem,
        counts=np.where((among & ~grouped)[:, None], residual.remaining, 0),
        cost=cost,
        free=residual.free.T.copy(),
        joint=tuple(joint.as_limit() for joint in residual.joint),
        ledgers=tuple(ledger.copy() for ledger in residual.ledgers),
        rules=None if problem.rules is None else _rules(problem.rules, state.rules),
        pairs=None if problem.pairs is None else problem.pairs.with_residents(tasks.cls, tasks.machine),
        gang=gang,
        gang_need=need,
        topology=None,
    )


def _grouped(problem: PlacementProblem) -> Bool:
    """bool[C]: classes whose tasks belong to a group with rules."""
    if problem.topology is None:
        return np.zeros(problem.classes, dtype=np.bool_)
    return np.isin(problem.gang, sorted(problem.topology.groups))


def _rules(rules: RuleSet, state: RuleState) -> RuleSet:
    """The rules, with the counts of ``state`` as those at the beginning."""
    counters = [
        replace(counter, start=counts.copy())
        for counter, counts in zip(rules.counters, state.counts, strict=True)
    ]
    return replace(rules, counters=counters, modelled=tuple(each.copy() for each in state.modelled))


def machine_prices(problem: PlacementProblem, means: Means) -> tuple[Int64, StageFigures]:
    """int64[M], units: what the tasks of a problem would pay for one more place on each machine; and what that took.

    From the prices of an optimal flow of all of them: a machine's own, and what the class pays that would most like
    more of it. 0 everywhere if nothing waits, or no optimum is found in time. Raises what the solver raises, time-outs
    excepted.
    """
    nothing = np.zeros(problem.machines, dtype=np.int64)
    residual = Residual(bundled(problem).problem)
    if not residual.remaining.any():
        return nothing, StageFigures()
    try:
        proposed = propose(residual, means)
    except SolverTimeoutError:
        return nothing, StageFigures(time_limited=True)
    figures = replace(proposed.figures, passes=0, time_limited=False)
    if proposed.first is None:
        return nothing, figures
    outcome, alike = proposed.first.outcome, proposed.first.alike
    try:
        prices = node_prices(outcome.network, outcome.flows)
    except NotOptimalError:
        return nothing, figures
    worth = full_machine_prices(residual if alike is None else alike.residual, outcome.network, prices)
    worth[outcome.network.machines] += _rents(outcome, prices)
    worth = np.minimum(worth // 2, HIGHEST)
    if alike is None:
        return worth, figures
    nothing[alike.members] = np.repeat(worth, np.diff(alike.first))
    return nothing, figures


def _rents(outcome: FlowOutcome, prices: Prices) -> Int64:
    """int64[M'], half units: what the class that pays most gains by each task more that a machine would take of it."""
    network = outcome.network
    columns, _, _, _ = network.blocks
    full = outcome.flows[columns] >= network.problem.capacities[columns]
    cls, machine = network.column_class[full], network.column_machine[full]
    gained = prices.cls[cls] - 2 * network.problem.costs[columns][full] - prices.machine[machine]
    rents = np.zeros(len(network.machines), dtype=np.int64)
    np.maximum.at(rents, machine, gained)
    return rents
