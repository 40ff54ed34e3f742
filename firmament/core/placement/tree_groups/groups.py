"""Groups that are distributed over a tree of machines, in a round with other tasks.

Groups come in order of priority, then of age; each is placed as a whole, by the best way to share it out that its rules
know, or leaves its room to others. For those that find no place another order is looked for (`reorder_groups`). Among
equally good ways the one counts that costs least, by the models and by the prices that the other tasks would pay for
the machines: those are solved for first. The other tasks are then placed jointly in what is left. Only if that leaves
one of them without a place that a less important group has taken is the round done again, priority by priority from the
top.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.board.board import Board, is_displaced
from firmament.core.flow.column_generation import FlowOutcome
from firmament.core.flow.network.network import crowding_cost
from firmament.core.flow.optimality.node_prices import NotOptimalError, Prices, node_prices
from firmament.core.flow.optimality.pricing import full_machine_prices
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.reduction import merge_classes
from firmament.core.flow.residual import Residual
from firmament.core.placement.outcome import Means, Placed, StageFigures
from firmament.core.placement.passes import propose
from firmament.core.placement.subclasses import LARGEST_COST
from firmament.core.placement.tree_groups.placer import GroupPlacer
from firmament.core.placement.tree_groups.reorder_groups import Arrangement, rearrange
from firmament.core.tree_solver.groups import NO_GROUPS, GroupTerms
from firmament.solvers.base import SolverTimeoutError

Place: TypeAlias = Callable[[PlacementProblem, Means], Placed]


def place_with_groups(problem: PlacementProblem, terms: GroupTerms, means: Means, place: Place) -> Placed:
    """Place a problem's groups by their rules, and the other tasks by ``place``; in order of admission.

    ``shortages`` of the result tells why groups were not placed. Raises what the solver raises, time-outs excepted.
    """
    round_ = _Round(problem, terms, means, place)
    placed = round_.groups_first()
    if not round_.is_displaced(placed.assignments):
        return placed
    again = round_.by_priority()
    return replace(again, figures=placed.figures + again.figures)


class _Round:
    """One way after another to place a round."""

    def __init__(self, problem: PlacementProblem, terms: GroupTerms, means: Means, place: Place) -> None:
        self._problem = problem
        self._terms = terms
        self._means = means
        self._place = place
        everyone = np.ones(problem.classes, dtype=np.bool_)
        others = rest_of(Board(problem), Assignments.empty(), everyone)
        self._prices, self._pricing = machine_prices(others, means)
        self._rank = _ranks(problem, terms)

    def groups_first(self) -> Placed:
        """Return all groups, then the others together."""
        placer = self._placer()
        groups = self._groups(placer, list(self._rank))
        rest = self._others(placer, groups.assignments, np.ones(self._problem.classes, dtype=np.bool_))
        return _in_turn([Placed(figures=self._pricing), groups, rest], placer.shortages)

    def is_displaced(self, placed: Assignments) -> bool:
        """Return whether a task without a place would have one were it not for less important groups."""
        problem = self._problem
        of_group: Bool = np.isin(problem.gang, list(self._rank))
        left = problem.counts.sum(axis=1) - placed.count_per_class(problem.classes)
        return is_displaced(problem, np.flatnonzero((left > 0) & ~of_group), placed, of_group)

    def by_priority(self) -> Placed:
        """Return priority by priority from the top: the groups, then the others."""
        placer = self._placer()
        parts: list[Placed] = []

        def so_far() -> Assignments:
            return Assignments.join([part.assignments for part in parts])

        for rank in np.unique(self._problem.priority)[::-1].tolist():
            parts.append(self._groups(placer, [gang for gang, of in self._rank.items() if of == rank]))
            parts.append(self._others(placer, so_far(), self._problem.priority == rank))
        if placer.board.ruled:  # a lower one may have opened the way for a higher one
            everyone = np.ones(self._problem.classes, dtype=np.bool_)
            parts.append(self._others(placer, so_far(), everyone))
        return _in_turn(parts, placer.shortages)

    def _placer(self) -> GroupPlacer:
        return GroupPlacer(self._terms, Board(self._problem), self._prices, self._means)

    def _groups(self, placer: GroupPlacer, gangs: list[int]) -> Placed:
        """Place groups, the most important first; the places in order of admission, booked."""
        watch = self._means.stopwatch()
        begin = placer.board.copy()
        tried = {gang: placer.place(gang) for gang in gangs}
        found = {gang: places for gang, places in tried.items() if gang not in placer.shortages}
        blocked = [gang for gang in gangs if gang not in found and not self._terms.every[gang].refused]
        if found and blocked:
            now, tuning = Arrangement(placer.board, found), self._means.tuning.groups
            better = rearrange(begin, placer, now, blocked, tuning, self._means.searches)
            if better.board is not placer.board:
                placer.adopt(better.board, better.placed)
                found = better.placed
        return Placed(Assignments.join(list(found.values())), StageFigures(solve_seconds=watch.seconds()))

    def _others(self, placer: GroupPlacer, placed: Assignments, among: Bool) -> Placed:
        """Place the tasks of some other classes in what is left, and book them."""
        rest = rest_of(placer.board, placed, among)
        if not rest.counts.any():
            return Placed()
        found = self._place(rest, self._means)
        placer.board.book(found.assignments)
        return found


def _in_turn(parts: Sequence[Placed], shortages: Mapping[int, str]) -> Placed:
    """Return all of ``parts`` as one result. Its bound is that of the last part that has one: each bound holds given
    what was placed before.
    """
    flows = [part.first for part in parts if part.about is not None]
    return replace(Placed.join(parts), first=flows[-1] if flows else None, shortages=dict(shortages))


def _ranks(problem: PlacementProblem, terms: GroupTerms) -> dict[int, int]:
    """Return priority of each group, the most important first, then by age."""
    rank = {gang: int(problem.priority[problem.gang == gang].max(initial=-1)) for gang in sorted(terms.every)}
    return dict(sorted(rank.items(), key=lambda item: -item[1]))


# --- What groups leave to the tasks that belong to none: the problem of those, and what places are worth to them.


HIGHEST = 2**40
"""Prices are cut off here, in units, so that the sum over a group's tasks fits 64 bits."""


def rest_of(board: Board, placed: Assignments, among: Bool) -> PlacementProblem:
    """Return the tasks of the classes in ``among`` (bool[C]) that still wait, in the room that ``board``
    leaves.

    ``placed``: what has been booked on ``board``. Groups are left out of it: their classes are nobody's gang.
    """
    residual, problem = board.residual, board.residual.problem
    grouped = problem.find_grouped()
    tasks = placed.tasks()
    gang = np.where(grouped, -1, problem.gang) if len(problem.gang) else problem.gang
    need = problem.gang_need.copy()
    need[list(problem.topology.every)] = 0
    if not need.any():
        gang, need = gang[:0], need[:0]
    more = crowding_cost(residual, np.arange(problem.machines))
    cost = problem.cost
    if more.any():
        cost = np.minimum(cost + more, LARGEST_COST).astype(np.int32)
    return replace(
        board.remaining_problem(np.where((among & ~grouped)[:, None], residual.remaining, 0)),
        cost=cost,
        pairs=problem.pairs.add_residents(tasks.cls, tasks.machine),
        gang=gang,
        gang_need=need,
        topology=NO_GROUPS,
    )


def machine_prices(problem: PlacementProblem, means: Means) -> tuple[Int64, StageFigures]:
    """Return int64[M], units: what the tasks of a problem would pay for one more place on each machine; and
    what that took.

    From the prices of an optimal flow of all of them: a machine's own, and what the class pays that would most like
    more of it. 0 everywhere if nothing waits, or no optimum is found in time. Raises what the solver raises, time-outs
    excepted.
    """
    nothing = np.zeros(problem.machines, dtype=np.int64)
    residual = Residual(merge_classes(problem).problem)
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
    """Return int64[M'], half units: what the class that pays most gains by each task more that a machine
    would take of it.
    """
    network = outcome.network
    columns, _, _, _ = network.blocks
    full = outcome.flows[columns] >= network.problem.capacities[columns]
    cls, machine = network.column_class[full], network.column_machine[full]
    gained = prices.cls[cls] - 2 * network.problem.costs[columns][full] - prices.machine[machine]
    rents = np.zeros(len(network.machines), dtype=np.int64)
    np.maximum.at(rents, machine, gained)
    return rents
