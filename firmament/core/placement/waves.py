"""Places tasks with rules between them: joint solves in sequence; each sees the results of earlier ones.

A wave takes all waiting tasks that their rules allow somewhere now. For each class, a mask says which machines it may
use, and the shares that `CellShares` computes say how many tasks go to which domain. A limit per machine bounds the
capacity of arcs. The network of all these classes is solved at once, and the rules admit its proposals one by one (see
`replay`). Two kinds of tasks are left for the next wave: those that were not admitted, and those that want to be near
tasks without a place yet. The last few tasks are placed one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.board.admit_one_by_one import replay
from firmament.core.board.board import Board
from firmament.core.constraints.counters import RuleState
from firmament.core.constraints.preferences import soft_cost
from firmament.core.constraints.ruleset import ClassRules, PreferredSpread, RequiredSpread, RuleSet
from firmament.core.flow.problem import COST_UNITS_PER_POINT
from firmament.core.placement.outcome import Means, Placed, StageFigures
from firmament.core.placement.passes import place_leftovers, propose, solve_in_turn
from firmament.core.placement.subclasses import ClassPart, Wave, derive


def place_in_waves(board: Board, means: Means) -> Placed:
    """Place as many tasks as possible, book them on ``board``, and return them in the order of admission.

    Afterwards no remaining task fits any machine that it may use. Raises ``SolverError`` if the solver fails, unless it
    fails because of its time limit.
    """
    pinned_up_to = means.tuning.pinned_up_to
    placed = solve_waves(board, lambda first: plan_wave(board, pinned_up_to, first=first), means)
    watch = means.stopwatch()
    return placed.add_assignments(place_leftovers(board), watch.seconds())


def solve_waves(board: Board, plan: Callable[[bool], Wave | None], means: Means) -> Placed:
    """Solve waves one after another as long as they place enough, and book what is admitted of their flows.

    ``plan`` is called with whether the wave is the first, and returns the next wave; None if no task may go anywhere.
    """

    def propose_wave(first: bool) -> Placed:
        watch = means.stopwatch()
        wave = plan(first)
        planned = StageFigures(network_seconds=watch.seconds())
        if wave is None:
            return Placed(figures=planned)
        proposed = propose(wave.residual, means, classes=wave.stands_for())
        solved = StageFigures(waves=int(proposed.last is not None))
        figures = planned + proposed.figures + solved
        return replace(proposed, assignments=wave.in_round(proposed.assignments), figures=figures)

    return Placed.join(
        solve_in_turn(
            board.residual,
            propose_wave,
            lambda proposed: replay(board, proposed),
            means,
            most=means.options.max_waves,
            worth=means.tuning.worth_a_wave,
        )
    )


def plan_wave(
    board: Board,
    pinned_up_to: int,
    *,
    first: bool,
    decided: Mapping[int, Sequence[ClassPart]] = MappingProxyType({}),
) -> Wave | None:
    """Return the next wave, or None if no task may go anywhere now.

    ``decided``: parts of classes that are divided already.
    """
    residual, cell_shares = board.residual, CellShares(board)
    parts: list[ClassPart] = []
    for cls in residual.by_importance():
        if cls in decided:
            parts += decided[cls]
        elif cls in board.rules.rules.of:
            parts += _split_class(board, cell_shares, cls, first=first)
        else:
            parts.append(ClassPart(cls, int(residual.remaining[cls].sum())))
    return derive(residual, parts, pinned_up_to) if parts else None


def _split_class(board: Board, cell_shares: CellShares, cls: int, *, first: bool) -> list[ClassPart]:
    """Return the parts of a class in a wave; no parts if its rules allow it nowhere now."""
    residual, rules = board.residual, board.rules_of(cls)
    waiting = int(residual.remaining[cls].sum())
    if not (rules.binding or rules.soft):
        return [ClassPart(cls, waiting)]
    open_to = board.find_fitting(cls, paired=False)
    if not open_to.any():
        return []
    soft = soft_cost(board.rules, cls, open_to)
    points = soft.points if soft is not None else None
    shares = cell_shares.share_tasks(cls, open_to, coarse_topologies(rules, board.rules.rules))
    parts = []
    for share in shares:
        allowed = None
        if rules.binding or len(share.machines) < np.count_nonzero(open_to):
            allowed = np.zeros(residual.problem.machines, dtype=np.bool_)
            allowed[share.machines] = True
        most = most_per_machine(board.rules, cls, share.count, len(share.machines), first=first)
        parts.append(ClassPart(cls, share.count, allowed, points, most))
    return parts


def most_per_machine(state: RuleState, cls: int, tasks: int, machines: int, *, first: bool) -> int:
    """Return how many tasks of a class one machine should get at most in a wave, 0 for no limit.

    The limit is one task if tasks of the class exclude each other. If they spread over single machines, the limit is
    what an even distribution needs, plus what the rule allows. If the tasks of a class only prefer to spread, the
    first wave has the limit of an even distribution.
    """
    rules, counters = state.rules.rules(cls), state.rules.counters
    if rules.excludes_itself():
        return 1
    even = -(-tasks // max(1, machines))
    fine = [each for each in rules.spreadings if each.own and not counters[each.counter].coarse]
    if fine:
        return even + min(each.max_skew for each in fine) - 1
    wishes = [each.counter for each in rules.soft_spreadings]
    wishes += [each.counter for each in rules.inclinations if each.weight < 0]
    if first and any(number in rules.adds and not counters[number].coarse for number in wishes):
        return even
    return 0


# --- Domains of classes: decides before a wave is solved how many tasks go to which domain.
#
# A *cell* is a set of machines that are in the same domain of every topology on which the class has rules and which
# has several machines per domain. Tasks are distributed to cells one by one on a copy of the rule state. All classes
# of the wave share this copy, so that the second class takes account of where the first one goes. The flow chooses
# the machines within a cell, and obeys all limits of single machines.
#
# The rules of a class decide to which cell its tasks go. A task of a class that spreads goes to the emptiest cell. A
# task whose class must be together goes to the cell that takes most tasks, so that all find a place. A class that
# keeps other tasks out of its cells uses as few cells as possible. Among equal cells, the cheapest is taken.


MOST = 2.0**53
"""Limit on how many tasks a cell takes: far more than there are, and still exact in floating point."""

_MOST_SORTED = 32
"""Most sets of topologies whose sorted machines are cached; each set takes 16 bytes per machine."""


@dataclass(frozen=True, slots=True)
class Share:
    """A decision that ``count`` tasks of a class go to the machines in ``machines`` (int64, ascending)."""

    machines: Int64
    count: int


@dataclass(frozen=True, slots=True)
class _Cells:
    """Machines, cell by cell: cell i begins at ``first[i]``. There is at least one cell, and no cell is empty."""

    machines: Int64
    first: Int64

    def list_machines(self, cell: int) -> Int64:
        """Return the machines of one cell."""
        ends = self.first[cell + 1 : cell + 2]
        return self.machines[self.first[cell] : ends[0] if len(ends) else None]


def coarse_topologies(rules: ClassRules, rule_set: RuleSet) -> list[Int64]:
    """Return the domains, int64[M], of each topology with several machines per domain on which a class has rules."""
    numbers = [each.counter for each in rules.exclusions]
    numbers += rules.attraction.counters if rules.attraction is not None else ()
    domains = [rule_set.counters[number].domain for number in numbers if rule_set.counters[number].coarse]
    domains += [each.key_domain for each in _spreads(rules) if rule_set.counters[each.counter].coarse]
    # Rules share the arrays of a topology's domains, so most of these arrays are the same object.
    several: dict[int, Int64] = {id(domain): domain for domain in domains}
    if len(several) == 1:
        return list(several.values())
    distinct: dict[bytes, Int64] = {domain.tobytes(): domain for domain in several.values()}
    return list(distinct.values())


class CellShares:
    """Distributes the tasks of a wave's classes to cells.

    ``plan``: the rule state if all tasks go as planned, for topologies with several machines per domain.
    """

    def __init__(self, board: Board) -> None:
        self._residual = residual = board.residual
        self._problem = residual.problem
        self.plan = board.rules.copy()
        self._planned: Float64 = np.zeros(residual.free.shape)
        self._sorted: dict[tuple[int, ...], tuple[Int64, Int64]] = {}
        self._excluding, self._excluded = _find_exclusions(residual.active().tolist(), board.rules.rules)

    def share_tasks(self, cls: int, open_to: Bool, topologies: list[Int64]) -> list[Share]:
        """Return how many of a class's waiting tasks go to which machines; fewer than wait if capacity is lacking.

        ``open_to``: bool[M], machines that the class may use now.
        """
        machines = np.flatnonzero(open_to)
        if not topologies:
            return [Share(machines, int(self._residual.remaining[cls].sum()))] if len(machines) else []
        if not len(machines):
            return []
        cells = self._list_cells(topologies, open_to)
        counts = self._counts(cls, cells)
        shares = [
            Share(cells.list_machines(cell), int(counts[cell])) for cell in np.flatnonzero(counts).tolist()
        ]
        request = self._problem.requests[self._problem.shape[cls]].astype(np.float64)
        for share in shares:
            self._planned[:, share.machines] += (request * (share.count / len(share.machines)))[:, None]
        return shares

    def _list_cells(self, topologies: list[Int64], open_to: Bool) -> _Cells:
        """Return the cells of the machines in ``open_to``, sorted once for all classes with these topologies."""
        key = tuple(map(id, topologies))  # the arrays live as long as the rules, so no id is reused
        if key not in self._sorted:
            if len(self._sorted) >= _MOST_SORTED:
                self._sorted.clear()
            order = np.lexsort(topologies[::-1])
            begins = np.zeros(len(order), dtype=np.bool_)
            for domain in topologies:
                begins |= np.diff(domain[order], prepend=-2) != 0
            self._sorted[key] = order, np.cumsum(begins)
        order, cell_of = self._sorted[key]
        kept = np.flatnonzero(open_to[order])
        return _Cells(order[kept], np.flatnonzero(np.diff(cell_of[kept], prepend=-1)))

    def _counts(self, cls: int, cells: _Cells) -> Int64:
        """Return tasks per cell, int64, distributed one by one, or several at a time if that breaks no rule."""
        rules = self.plan.rules.rules(cls)
        first = cells.machines[cells.first]
        room = self._compute_room(cls, cells)
        cost = self._cost(cls, cells)
        left = int(self._residual.remaining[cls].sum())
        counts = np.zeros(len(first), dtype=np.int64)
        gathers = rules.attraction is not None or cls in self._excluding or cls in self._excluded
        moving = bool(set(rules.adds) & _list_counters(rules))
        while left > 0:
            allowed = self.plan.find_allowed(cls, first)
            usable = room > counts if allowed is None else allowed & (room > counts)
            if not usable.any():
                break
            height = np.zeros(len(first))
            for each in _spreads(rules):
                height += np.append(self.plan.counts[each.counter], 0)[each.key_domain[first]]
            if gathers:
                lacking = np.maximum(left - (room - counts), 0)  # tasks that would not fit into the cell
                order = np.lexsort((cost, lacking, height, counts == 0, ~usable))
            else:
                soft = soft_cost(self.plan, cls, usable, first)
                present = cost if soft is None else cost + soft.points * COST_UNITS_PER_POINT
                order = np.lexsort((present, height, ~usable))
            cell = int(order[0])
            step = 1 if moving else min(left, int(room[cell] - counts[cell]))
            counts[cell] += step
            left -= step
            self.plan.add(cls, int(first[cell]), step, coarse_only=True)
        return counts

    def _compute_room(self, cls: int, cells: _Cells) -> Int64:
        """Return how many tasks of a class each cell takes, minus the average use by earlier classes of the wave."""
        shape = int(self._problem.shape[cls])
        alone = self._residual.count_fitting(np.full(len(cells.machines), shape), cells.machines)
        most: Int64 = np.add.reduceat(alone, cells.first)
        request = self._problem.requests[shape]
        for column in np.flatnonzero(request).tolist():
            left = self._residual.free[column, cells.machines] - self._planned[column, cells.machines]
            together = np.add.reduceat(np.maximum(left, 0.0), cells.first)
            most = np.minimum(most, np.minimum(together // request[column], MOST).astype(np.int64))
        if self.plan.rules.rules(cls).excludes_itself():
            most = np.minimum(most, np.add.reduceat((alone > 0).astype(np.int64), cells.first))
        return most

    def _cost(self, cls: int, cells: _Cells) -> Float64:
        """Return the mean cost of each cell's machines, with the crowding of the round so far: float64, in units."""
        row = self._problem.cost[self._problem.shape[cls]] + self._problem.crowd * self._residual.placed
        sizes = np.diff(cells.first, append=len(cells.machines))
        return np.add.reduceat(row[cells.machines].astype(np.float64), cells.first) / sizes


def _spreads(rules: ClassRules) -> tuple[RequiredSpread | PreferredSpread, ...]:
    return (*rules.spreadings, *rules.soft_spreadings)


def _list_counters(rules: ClassRules) -> set[int]:
    """Return the counters that decide where a task of a class may or should go."""
    looked = {each.counter for each in rules.exclusions}
    looked |= {each.counter for each in _spreads(rules)}
    looked |= {each.counter for each in rules.inclinations}
    return looked | set(rules.attraction.counters if rules.attraction is not None else ())


def _find_exclusions(waiting: list[int], rules: RuleSet) -> tuple[set[int], set[int]]:
    """Return two sets of classes in ``waiting``: those that keep others out of whole domains, and those kept out."""
    active = [cls for cls in waiting if cls in rules.of]
    adders: dict[int, set[int]] = {}
    for cls in active:
        for number in rules.of[cls].adds:
            adders.setdefault(number, set()).add(cls)
    excluding: set[int] = set()
    excluded: set[int] = set()
    for cls in active:
        for exclusion in rules.of[cls].exclusions:
            others = adders.get(exclusion.counter, set()) - {cls}
            if rules.counters[exclusion.counter].coarse and others:
                excluded.add(cls)
                excluding |= others
    return excluding, excluded
