"""Groups that share out over a tree of machines, in a round with other tasks.

Groups come in order of priority, then of age; each is placed as a whole, by the best way to share it out that its rules
know, or leaves its room to others. For those that find no place another order is looked for (`topology_order`). Among
equally good ways the one counts that costs least, by the models and by the prices that the other tasks would pay for
the machines: those are solved for first. The others are then placed jointly in what is left. Only if that leaves one of
them without a place that a less important group has taken is the round done again, priority by priority from the top.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from cost_models.interface import Bool
from firmament.core.flow.group_terms import GroupTerms
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.placement.passes import PassLog, PassOptions
from firmament.core.placement.priority_tiers import Standing
from firmament.core.placement.stopwatch import Stopwatch
from firmament.core.placement.tree_groups.order_search import Arrangement, rearranged
from firmament.core.placement.tree_groups.place_prices import machine_prices
from firmament.core.placement.tree_groups.placer import GroupPlacer
from firmament.core.placement.tree_groups.rest_problem import rest_of
from firmament.solvers.base import Solver

Place: TypeAlias = Callable[[PlacementProblem, Solver, PassOptions, PassLog], Assignments]


def place_with_groups(
    problem: PlacementProblem,
    terms: GroupTerms,
    solver: Solver,
    options: PassOptions,
    log: PassLog,
    place: Place,
) -> Assignments:
    """Place a problem's groups by their rules, and the other tasks by ``place``; in order of admission.

    ``log.shortages`` tells why groups were not placed. Raises what the solver raises, time-outs excepted.
    """
    round_ = _Round(problem, terms, solver, options, log, place)
    placed = round_.groups_first()
    return round_.by_priority() if round_.displaced(placed) else placed


class _Round:
    """One way after another to place a round."""

    def __init__(
        self,
        problem: PlacementProblem,
        terms: GroupTerms,
        solver: Solver,
        options: PassOptions,
        log: PassLog,
        place: Place,
    ) -> None:
        self._problem = problem
        self._terms = terms
        self._solver = solver
        self._options = options
        self._log = log
        self._place = place
        everyone = np.ones(problem.classes, dtype=np.bool_)
        others = rest_of(problem, Standing(problem), Assignments.empty(), everyone)
        self._prices = machine_prices(others, solver, options, log)
        self._rank = _ranks(problem, terms)

    def groups_first(self) -> Assignments:
        """All groups, then the others together."""
        placer = self._placer()
        groups = self._groups(placer, list(self._rank))
        rest = self._others(placer, groups, np.ones(self._problem.classes, dtype=np.bool_))
        return Assignments.joined([groups, rest])

    def displaced(self, placed: Assignments) -> bool:
        """Whether a task without a place would have one were it not for less important groups."""
        problem = self._problem
        rank = problem.priority[placed.cls]
        of_group = np.isin(problem.gang[placed.cls], list(self._rank))
        left = problem.counts.sum(axis=1)
        np.subtract.at(left, placed.cls, placed.count)
        waiting = np.flatnonzero((left > 0) & ~np.isin(problem.gang, list(self._rank)))
        for each in np.unique(problem.priority[waiting])[::-1].tolist():
            if not (of_group & (rank < each)).any():
                continue
            without = Standing(problem)
            without.book(placed.taken(rank >= each))
            if any(without.takes(cls).any() for cls in waiting[problem.priority[waiting] == each].tolist()):
                return True
        return False

    def by_priority(self) -> Assignments:
        """Priority by priority from the top: the groups, then the others."""
        placer = self._placer()
        parts: list[Assignments] = []
        for rank in np.unique(self._problem.priority)[::-1].tolist():
            parts.append(self._groups(placer, [gang for gang, of in self._rank.items() if of == rank]))
            among = self._problem.priority == rank
            parts.append(self._others(placer, Assignments.joined(parts), among))
        if placer.standing.state is not None:  # a lower one may have opened the way for a higher one
            everyone = np.ones(self._problem.classes, dtype=np.bool_)
            parts.append(self._others(placer, Assignments.joined(parts), everyone))
        return Assignments.joined(parts)

    def _placer(self) -> GroupPlacer:
        standing = Standing(self._problem)
        return GroupPlacer(self._problem, self._terms, standing, self._prices, self._solver)

    def _groups(self, placer: GroupPlacer, gangs: list[int]) -> Assignments:
        """Place groups, the most important first; the places in order of admission, booked."""
        watch = Stopwatch(self._log.timer)
        begin = placer.standing.copy()
        tried = {gang: placer.place(gang) for gang in gangs}
        found = {gang: places for gang, places in tried.items() if gang not in placer.shortages}
        blocked = [gang for gang in gangs if gang not in found and not self._terms.groups[gang].refused]
        if found and blocked:
            better = rearranged(begin, placer, Arrangement(placer.standing, found), blocked)
            if better.standing is not placer.standing:
                placer.adopt(better.standing, better.placed)
                found = better.placed
        self._log.shortages = dict(placer.shortages)
        self._log.solve_seconds += watch.seconds()
        return Assignments.joined(list(found.values()))

    def _others(self, placer: GroupPlacer, placed: Assignments, among: Bool) -> Assignments:
        """Place the other tasks of some classes in what is left, and book them."""
        rest = rest_of(self._problem, placer.standing, placed, among)
        if not rest.counts.any():
            return Assignments.empty()
        log = self._log
        log.first, log.first_alike, log.first_classes = None, None, None  # bounds hold given the groups
        found = self._place(rest, self._solver, self._options, log)
        placer.standing.book(found)
        return found


def _ranks(problem: PlacementProblem, terms: GroupTerms) -> dict[int, int]:
    """Priority of each group, the most important first, then by age."""
    rank = {
        gang: int(problem.priority[problem.gang == gang].max(initial=-1)) for gang in sorted(terms.groups)
    }
    return dict(sorted(rank.items(), key=lambda item: -item[1]))
