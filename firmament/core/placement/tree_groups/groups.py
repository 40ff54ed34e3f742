"""Places groups that are distributed over a tree of machines, and the other tasks of the round.

Groups come in order of priority, then of age. Groups that draw on quotas of one tree come in the order of their queues'
use of quota, as other tasks do. In another order, the owners of a quota would evict tasks that have borrowed it. Each
group is placed as a whole, by the best distribution under its rules, or gets no places. If some groups find no places,
another order is tried (`reorder_groups`). Of equally good distributions, the cheapest is chosen, by the models and by
the prices that the other tasks would pay for the machines; these prices are computed first. The other tasks are then
placed jointly in the remaining capacity. If a task then waits whose place a less important group has taken, the round
is repeated, priority by priority from the highest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from firmament.core.placement.quota_parts import list_by_quota
from firmament.core.placement.subclasses import LARGEST_COST
from firmament.core.placement.tree_groups.placer import GroupPlacer
from firmament.core.placement.tree_groups.reorder_groups import Arrangement, rearrange
from firmament.core.tree_solver.groups import NO_GROUPS, GroupTerms
from firmament.solvers.base import SolverTimeoutError

Place: TypeAlias = Callable[[PlacementProblem, Means], Placed]


def place_with_groups(problem: PlacementProblem, terms: GroupTerms, means: Means, place: Place) -> Placed:
    """Place a problem's groups by their rules, and the other tasks by ``place``; return them in order of admission.

    ``shortages`` of the result says why groups were not placed. Errors of the solver are raised, except for time-outs.
    """
    round_ = _Round(problem, terms, means, place)
    placed = round_.groups_first()
    if not round_.is_displaced(placed.assignments):
        return placed
    again = round_.by_priority()
    return replace(again, figures=placed.figures + again.figures)


class _Round:
    """Places the groups and other tasks of one round: all groups first, or priority by priority."""

    def __init__(self, problem: PlacementProblem, terms: GroupTerms, means: Means, place: Place) -> None:
        self._problem = problem
        self._terms = terms
        self._means = means
        self._place = place
        everyone = np.ones(problem.classes, dtype=np.bool_)
        others = build_rest_problem(Board(problem), Assignments.empty(), everyone)
        self._prices, self._pricing = machine_prices(others, means)
        self._rank = _list_priorities(problem, terms)

    def groups_first(self) -> Placed:
        """Place all groups, then the other tasks together."""
        placer = self._placer()
        groups = self._place_groups(placer, list(self._rank))
        rest = self._place_others(placer, groups.assignments, np.ones(self._problem.classes, dtype=np.bool_))
        return _join_stages([Placed(figures=self._pricing), groups, rest], placer.shortages)

    def is_displaced(self, placed: Assignments) -> bool:
        """Return whether a task that waits would have a place without the groups that are less important."""
        problem = self._problem
        of_group: Bool = np.isin(problem.gang, list(self._rank))
        left = problem.counts.sum(axis=1) - placed.count_per_class(problem.classes)
        return is_displaced(problem, np.flatnonzero((left > 0) & ~of_group), placed, of_group)

    def by_priority(self) -> Placed:
        """Place groups, then other tasks of the same priority, for each priority from the highest on."""
        placer = self._placer()
        parts: list[Placed] = []

        def so_far() -> Assignments:
            return Assignments.join([part.assignments for part in parts])

        for rank in np.unique(self._problem.priority)[::-1].tolist():
            parts.append(self._place_groups(placer, [gang for gang, of in self._rank.items() if of == rank]))
            parts.append(self._place_others(placer, so_far(), self._problem.priority == rank))
        # a less important task that is placed now may satisfy the affinity of another one
        if placer.board.ruled:
            everyone = np.ones(self._problem.classes, dtype=np.bool_)
            parts.append(self._place_others(placer, so_far(), everyone))
        return _join_stages(parts, placer.shortages)

    def _placer(self) -> GroupPlacer:
        return GroupPlacer(self._terms, Board(self._problem), self._prices, self._means)

    def _place_groups(self, placer: GroupPlacer, gangs: list[int]) -> Placed:
        """Place and book groups, the most important first; return their places in order of admission."""
        watch = self._means.stopwatch()
        begin = placer.board.copy()
        tried = {gang: placer.place(gang) for gang in self._list_in_turn(placer, gangs)}
        found = {gang: places for gang, places in tried.items() if gang not in placer.shortages}
        every = self._terms.every
        blocked = [gang for gang in gangs if gang not in found and not every[gang].refused]
        if found and blocked:
            now, tuning = Arrangement(placer.board, found), self._means.tuning.groups
            better = rearrange(begin, placer, now, blocked, tuning, self._means.searches)
            if better.board is not placer.board:
                placer.adopt(better.board, better.placed)
                found = better.placed
        return Placed(Assignments.join(list(found.values())), StageFigures(solve_seconds=watch.seconds()))

    def _list_in_turn(self, placer: GroupPlacer, gangs: list[int]) -> Iterator[int]:
        """Yield groups in order.

        Groups that draw on one tree of quotas exchange positions, in the order of their queues' use of quota.

        A group therefore never waits for a less important one that draws on no quota, or on another tree of quotas.
        """
        quotas = self._problem.quotas
        if quotas is None:
            yield from gangs
            return
        waiting, nodes = self._problem.counts.sum(axis=1), quotas.find_nodes(self._problem.shape)
        tree_of_class = np.append(quotas.tree.roots, -1)[nodes]
        classes_of = self._problem.split_by_gang()
        members: dict[int, dict[int, Int64]] = {}
        tree_of: dict[int, int] = {}
        for gang in gangs:
            classes = classes_of[gang]
            tree = tree_of[gang] = int(tree_of_class[classes].max(initial=-1))
            members.setdefault(tree, {})[gang] = classes
        members.pop(-1, None)
        turns = {
            tree: list_by_quota(lambda: placer.board.residual, each, waiting)
            for tree, each in members.items()
        }
        for gang in gangs:
            yield next(turns[tree_of[gang]]) if tree_of[gang] >= 0 else gang

    def _place_others(self, placer: GroupPlacer, placed: Assignments, among: Bool) -> Placed:
        """Place and book the tasks of classes in ``among`` (bool[C]) that belong to no group."""
        rest = build_rest_problem(placer.board, placed, among)
        if not rest.counts.any():
            return Placed()
        found = self._place(rest, self._means)
        placer.board.book(found.assignments)
        return found


def _join_stages(parts: Sequence[Placed], shortages: Mapping[int, str]) -> Placed:
    """Return ``parts`` as one result, with the bound of the last part: each bound presupposes the parts before."""
    flows = [part.first for part in parts if part.about is not None]
    return replace(Placed.join(parts), first=flows[-1] if flows else None, shortages=dict(shortages))


def _list_priorities(problem: PlacementProblem, terms: GroupTerms) -> dict[int, int]:
    """Return the priority of each group; the most important group comes first, of equal ones the oldest."""
    rank = {gang: int(problem.priority[problem.gang == gang].max(initial=-1)) for gang in sorted(terms.every)}
    return dict(sorted(rank.items(), key=lambda item: -item[1]))


# --- The tasks that belong to no group: poses their problem, and computes what they would pay for places.


HIGHEST = 2**40
"""Limit on prices, in hundredths of a point, so that the sum over a group's tasks fits into 64 bits."""


def build_rest_problem(board: Board, placed: Assignments, among: Bool) -> PlacementProblem:
    """Return the problem of the tasks without a group that still wait, of classes in ``among`` (bool[C]).

    The free capacity of the problem is what ``board`` has left. ``placed``: the tasks that are booked on ``board``.
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
    """Return the cost units that tasks would pay for one more place on each machine: int64[M]; and the work that took.

    The prices follow from an optimal flow of all tasks of ``problem``. A place costs the machine's own price, plus what
    one more task on the machine saves the class that gains most. Prices are 0 everywhere if nothing waits, or if no
    optimum is found in time. Errors of the solver are raised, except for time-outs.
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
    worth[outcome.network.machines] += _compute_rents(outcome, prices)
    worth = np.minimum(worth // 2, HIGHEST)
    if alike is None:
        return worth, figures
    nothing[alike.members] = np.repeat(worth, np.diff(alike.first))
    return nothing, figures


def _compute_rents(outcome: FlowOutcome, prices: Prices) -> Int64:
    """Return the most that any class would save by one more of its tasks on a machine: int64[M'], in half cost units.

    M' are the machines of the network.
    """
    network = outcome.network
    columns, _, _, _ = network.blocks
    full = outcome.flows[columns] >= network.problem.capacities[columns]
    cls, machine = network.column_class[full], network.column_machine[full]
    gained = prices.cls[cls] - 2 * network.problem.costs[columns][full] - prices.machine[machine]
    rents = np.zeros(len(network.machines), dtype=np.int64)
    np.maximum.at(rents, machine, gained)
    return rents
