"""What is left of a problem after some of its tasks have been placed, as a problem of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cost_models.interface import Bool, JointRows
from firmament.core.flow.network.network import crowding_cost
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.placement.priority_tiers import Standing
from firmament.core.rules.counters import RuleState
from firmament.core.rules.pairs import PairRules
from firmament.core.rules.ruleset import RuleSet

LARGEST_COST = 1_000_000_000


def rest_of(
    problem: PlacementProblem, standing: Standing, placed: Assignments, among: Bool
) -> PlacementProblem:
    """The tasks of the classes in ``among`` (bool[C]) that still wait, in the room that ``standing`` leaves.

    ``placed``: what has been booked on ``standing``. Groups are left out of it: their classes are nobody's gang.
    """
    residual = standing.residual
    grouped = _grouped(problem)
    gang = np.where(grouped, -1, problem.gang) if len(problem.gang) else problem.gang
    need = problem.gang_need.copy()
    if problem.topology is not None:
        need[list(problem.topology.groups)] = 0
    if not need.any():
        gang, need = gang[:0], need[:0]
    everyone = np.arange(problem.machines)
    more = crowding_cost(residual, everyone, np.zeros_like(everyone))
    cost = problem.cost
    if more.any():
        cost = np.minimum(cost + more, LARGEST_COST).astype(np.int32)
    return replace(
        problem,
        counts=np.where((among & ~grouped)[:, None], residual.remaining, 0),
        cost=cost,
        free=residual.free.T.copy(),
        joint=tuple(
            JointRows(rows.row_of, rows.amount, left.copy(), rows.reason)
            for rows, left in zip(problem.joint, residual.joint_left, strict=True)
        ),
        ledgers=tuple(ledger.copy() for ledger in residual.ledgers),
        rules=None
        if problem.rules is None or standing.state is None
        else _rules(problem.rules, standing.state),
        pairs=None if problem.pairs is None else _pairs(problem.pairs, placed),
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


def _pairs(pairs: PairRules, placed: Assignments) -> PairRules:
    """The pairs, with what has been placed among the tasks that are there."""
    kind = np.repeat(pairs.kind[placed.cls], placed.count)
    machine = np.repeat(placed.machine, placed.count)[kind >= 0]
    return replace(
        pairs,
        resident_kind=np.concatenate([pairs.resident_kind, kind[kind >= 0]]),
        resident_machine=np.concatenate([pairs.resident_machine, machine]),
    )
