"""Places a round's tasks: groups by their rules, gangs as a whole, and by priority if capacity is scarce.

A *gang* needs a certain number of its tasks placed in one round; if they cannot be, none of its tasks is placed. All
tasks are first placed together; if all fit, that is the result. If some gang is incomplete, gangs are tried one after
another on a copy of the board, by priority, then by age. A gang that fits as a whole keeps its places; any other gang
gives them back before the next is tried. The tasks without a gang follow within each priority. This series of tries,
the *trial*, decides which gangs are placed. All tasks are then solved jointly once more with only the gangs that the
trial placed. If the joint solve places each of these gangs and no fewer tasks, it is the result, as it is cheaper;
otherwise the trial is. Last, gangs without places are tried once more in the remaining capacity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.board.board import Board, is_displaced
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.reduction import merge_classes
from firmament.core.flow.residual import Residual
from firmament.core.placement.gang_search import GangSearch
from firmament.core.placement.outcome import Means, Placed, StageFigures
from firmament.core.placement.pairs.waves import place_pairs, place_rest_of_pairs
from firmament.core.placement.passes import place_all, place_greedily, place_leftovers
from firmament.core.placement.pod_sets import find_divided, number_pod_sets, pin_pod_sets, place_pod_set
from firmament.core.placement.quota_parts import list_by_quota
from firmament.core.placement.strict_queues import StrictQueues
from firmament.core.placement.tree_groups.groups import place_with_groups
from firmament.core.placement.tuning import PlacementTuning
from firmament.core.placement.waves import place_in_waves
from firmament.core.search.relocation import relocate_tasks


def place(problem: PlacementProblem, means: Means) -> Placed:
    """Return a placement of as many tasks as possible, in order of admission.

    Solver errors but time-outs are raised.
    """
    if problem.topology.groups or problem.topology.nested:
        return place_with_groups(problem, problem.topology, means, place)
    if len(problem.gang_need):
        return place_whole_gangs(problem, means)
    watch = means.stopwatch()
    bundle = merge_classes(problem)
    bundling = watch.seconds()
    placed, residual = place_by_priority(bundle.problem, means)
    watch = means.stopwatch()
    found = placed.assignments
    if residual.remaining.any() and means.options.relocates:
        tuning = means.tuning.relocation
        found = relocate_tasks(bundle.problem, found, problem.rotation, tuning, means.searches)
    found = bundle.distribute(found)
    return replace(placed.replace_assignments(found, bundling + watch.seconds()), about=bundle)


def place_whole_gangs(problem: PlacementProblem, means: Means) -> Placed:
    """Return a placement in which each gang gets at least as many places as it needs, or none, in order of admission.

    Errors of the solver are raised, except for time-outs.
    """
    placed = _place_together(problem, means)
    refused = _incomplete(problem, placed.assignments) | find_divided(problem, placed.assignments)
    if not refused.any():
        return placed
    trial_of = GangTrial(Board(problem), means.tuning)
    tried = trial_of.place(means)
    trial = tried.assignments
    chosen = _gang_counts(problem, trial) > 0
    pinned = pin_pod_sets(problem, trial)
    again = _place_together(_drop_gangs(pinned, ~chosen, trial_of.withheld), means)
    joint = again.assignments
    worse = _incomplete(problem, joint)[chosen].any() or _value(problem, joint) < _value(problem, trial)
    best = trial if worse else joint
    if not len(best.count):  # Nothing is booked, so free capacity is as it was when the gangs were tried.
        return replace(again, figures=placed.figures + tried.figures + again.figures).replace_assignments(
            best
        )
    watch = means.stopwatch()
    board = Board(problem)
    board.book(best)
    late = GangTrial(board, trial_of.get_remaining_budget(), trial_of.strict.closed).place_gangs(
        np.flatnonzero(~chosen)
    )
    figures = placed.figures + tried.figures + again.figures  # bounds hold only if the same gangs take part
    return replace(again, figures=figures).replace_assignments(
        Assignments.join([best, late]), watch.seconds()
    )


def _drop_gangs(problem: PlacementProblem, rejected: Bool, withheld: Bool) -> PlacementProblem:
    """Return the problem without the tasks of ``rejected`` gangs (bool[G]) and of ``withheld`` classes (bool[C])."""
    counts = problem.counts.copy()
    counts[withheld] = 0
    counts[(problem.gang >= 0) & np.append(rejected, False)[problem.gang]] = 0
    return replace(problem, counts=counts)


def _place_together(problem: PlacementProblem, means: Means) -> Placed:
    """Place all tasks together. An incomplete gang gets nothing, and its places stay empty."""
    bundle = merge_classes(problem)
    placed, _ = place_by_priority(bundle.problem, means)
    return replace(placed, assignments=bundle.distribute(placed.assignments), about=bundle)


def _gang_counts(problem: PlacementProblem, placed: Assignments) -> Int64:
    """Return how many tasks of each gang are placed: int64[G]."""
    members = problem.gang >= 0
    placed_of = placed.count_per_class(problem.classes)[members]
    return np.bincount(problem.gang[members], placed_of, len(problem.gang_need)).astype(np.int64)


def _incomplete(problem: PlacementProblem, placed: Assignments) -> Bool:
    """Return which gangs have fewer places than they need: bool[G]."""
    incomplete: Bool = _gang_counts(problem, placed) < problem.gang_need
    return incomplete


def _value(problem: PlacementProblem, placed: Assignments) -> tuple[int, ...]:
    """Return the number of tasks placed per priority, the highest first."""
    counts = np.bincount(problem.priority, weights=placed.count_per_class(problem.classes))
    return tuple(counts[::-1].astype(np.int64).tolist())


# --- Gangs one by one: finds which gangs fit as a whole into the capacity that earlier gangs have left.


class GangTrial:
    """Places gangs one by one, starting from ``board``, to find which of them fit as a whole."""

    def __init__(
        self, board: Board, tuning: PlacementTuning, closed: frozenset[int] | set[int] = frozenset()
    ) -> None:
        """``closed``: strict queues (quota nodes) whose first task or gang has found no place."""
        self._tuning = tuning
        self._problem = board.residual.problem
        self.strict = StrictQueues(self._problem, closed)
        #: bool[C], classes without a gang that were not tried because their strict queue is closed.
        self.withheld: Bool = np.zeros(self._problem.classes, dtype=np.bool_)
        self._board = board
        self._waiting = board.residual.remaining
        self._searches = 0
        self._search_cells = self._tuning.gang_search_cells
        self._refused: set[tuple[object, ...]] = set()
        self._pod_sets = number_pod_sets(self._problem)
        #: The classes of each gang.
        self._members = self._problem.split_by_gang()

    def place(self, means: Means) -> Placed:
        """Place all tasks by priority, gangs first; return them in order of admission.

        Errors of the solver are raised.
        """
        problem = self._problem
        rank_of = np.full(len(problem.gang_need), -1, dtype=np.int64)
        members = problem.gang >= 0
        np.maximum.at(rank_of, problem.gang[members], problem.priority[members])
        parts = []
        for rank in np.unique(problem.priority)[::-1].tolist():
            self.withheld |= (problem.gang < 0) & (problem.priority == rank) & self.strict.find_closed()
            parts.append(Placed(self.place_gangs(np.flatnonzero(rank_of == rank))))
            parts.append(self._place_others(rank, means))
        if self._board.ruled:
            self._limit_waiting((problem.gang < 0) & (self._waiting.sum(axis=1) > 0) & ~self.withheld)
            parts.append(Placed(place_rest(self._board)))
        return Placed.join(parts)

    def get_remaining_budget(self) -> PlacementTuning:
        """Return the tuning for another trial in the same round, with the search budget that this trial has left."""
        return replace(self._tuning, gang_search_cells=self._search_cells)

    def place_gangs(self, numbers: Int64) -> Assignments:
        """Place the gangs among ``numbers`` that fit as a whole, one after another."""
        parts = []
        if (quotas := self._board.residual.quotas) is not None:
            quotas.restrict_draws({})  # quota flavors chosen for single tasks do not bind gangs
        for gang in self._list_in_turn(numbers[self._find_waiting()[numbers]]):
            members = self._members[gang]
            members = members[self._waiting[members].sum(axis=1) > 0]
            if self.strict.closed and self.strict.find_closed()[members].any():
                continue
            # Free capacity only shrinks while gangs are tried, except with rules between tasks.
            kind = self._kind(gang, members)
            if not self._board.ruled and kind in self._refused:
                self.strict.close(members)
                continue
            placed = self._try(gang, members)
            if placed is None:
                self._refused.add(kind)
                self.strict.close(members)
            else:
                parts.append(placed)
        return Assignments.join(parts)

    def _find_waiting(self) -> Bool:
        """Return which gangs have tasks waiting in this problem: bool[G].

        All other gangs have places already, or their tasks wait in another part of the round.
        """
        gang, waits = self._problem.gang, self._waiting.any(axis=1)
        found: Bool = np.zeros(len(self._problem.gang_need) + 1, dtype=np.bool_)
        found[gang[waits]] = True  # -1, for no gang, is the last index
        return found[:-1]

    def _list_in_turn(self, numbers: Int64) -> Iterator[int]:
        """Yield gangs in order; if they draw on quotas, by their queues' use of quota at each gang's turn."""
        if self._problem.quotas is None:
            yield from numbers.tolist()
            return
        waiting = self._waiting.sum(axis=1)
        members = {gang: self._members[gang] for gang in numbers.tolist()}
        yield from list_by_quota(lambda: self._board.residual, members, waiting)

    def _kind(self, gang: int, members: Int64) -> tuple[object, ...]:
        """Return a key that is equal for gangs that need the same number of equal places."""
        waiting = self._waiting[members].sum(axis=1).tolist()
        return (int(self._problem.gang_need[gang]), *self._problem.make_key(members.tolist(), waiting))

    def _try(self, gang: int, members: Int64) -> Assignments | None:
        """Place a gang if it fits as a whole; otherwise change nothing, and return None."""
        need = int(self._problem.gang_need[gang])
        before = self._board
        order, most = self._by_places(members)
        if most < need:
            return None
        for attempt in (order, order[::-1])[: 2 if len(members) > 1 else 1]:
            self._board = before.copy()
            placed = self._one_by_one(attempt)
            if int(placed.count.sum()) >= need:
                self._waiting[members] = 0
                return placed
        self._board = before
        if not before.ruled or self._searches >= self._tuning.gang_searches:
            return None
        return self._search(members, need)

    def _by_places(self, members: Int64) -> tuple[Int64, int]:
        """Return a gang's classes, those with the fewest places first, and a bound on how many tasks find places.

        The bound counts for each class the tasks that would find places if no other class came.
        """
        residual = self._board.residual
        every = np.arange(self._problem.machines)
        places = []
        for cls in members.tolist():
            where = self._problem.pins.get(cls, every)
            shape = int(self._problem.shape[cls])
            where = where[self._problem.feasible[shape, where]]
            places.append(int(residual.count_fitting(np.full(len(where), shape), where).clip(0, 10**6).sum()))
        most = np.minimum(places, self._waiting[members].sum(axis=1))
        return members[np.argsort(np.array(places, dtype=np.int64), kind="stable")], int(most.sum())

    def _one_by_one(self, order: Int64) -> Assignments:
        """Place the classes of a gang in this order, as many tasks of each as possible."""
        parts = []
        # A pod set is placed at the position of its first class.
        _, first = np.unique(
            np.where(self._pod_sets[order] < 0, -1 - order, self._pod_sets[order]), return_index=True
        )
        for cls in order[np.sort(first)].tolist():
            number = int(self._pod_sets[cls])
            together = order[self._pod_sets[order] == number] if number >= 0 else np.array([cls])
            self._limit_waiting(np.isin(np.arange(self._problem.classes), together))
            if number >= 0:
                self._board, placed = place_pod_set(self._board, together.tolist(), place_rest)
                parts.append(placed)
            else:
                parts.append(place_rest(self._board))
        if self._board.ruled and len(order) > 1:
            left = self._waiting.sum(axis=1)
            for part in parts:
                np.subtract.at(left, part.cls, part.count)
            again = np.isin(np.arange(self._problem.classes), order) & (left > 0) & (self._pod_sets < 0)
            remaining = np.zeros_like(self._waiting)
            remaining[again, -1] = left[again]
            self._board.residual.remaining = remaining
            parts.append(place_rest(self._board))
        return Assignments.join(parts)

    def _search(self, members: Int64, need: int) -> Assignments | None:
        """Search for places of a whole gang with rules between its tasks; book and return them, or return None."""
        self._searches += 1
        waiting = {int(cls): int(self._waiting[cls].sum()) for cls in members.tolist()}
        if sum(waiting.values()) > need or sum(waiting.values()) > self._tuning.gang_search_tasks:
            return None
        cells = self._problem.machines * weigh_rules(self._board, members)
        steps = min(self._tuning.gang_search_steps, self._search_cells // cells)
        search = GangSearch(self._board, steps)
        placed = search.find(waiting)
        self._search_cells -= (steps - search.steps) * cells
        if placed is None or find_divided(self._problem, placed).any():
            return None
        self._board.book(placed)
        self._waiting[members] = 0
        return placed

    def _place_others(self, rank: int, means: Means) -> Placed:
        """Place the tasks of one priority that belong to no gang."""
        chosen = (self._problem.gang < 0) & (self._problem.priority == rank) & ~self.withheld
        self._limit_waiting(chosen)
        placed = place_remaining(self._board, means)
        self._waiting[chosen] = self._board.residual.remaining[chosen]
        self.strict.close(np.flatnonzero(chosen & self._waiting.any(axis=1)))
        return placed

    def _limit_waiting(self, chosen: Bool) -> None:
        """Let only the tasks of the classes ``chosen`` (bool[C]) wait on the board."""
        self._board.residual.remaining = np.where(chosen[:, None], self._waiting, 0)


_CHECKS_AT_ONCE, _CHECKS_PER_CLASS = 32, 12
"""Checks of rules between tasks that take as long as a search step without them; and such checks per further class."""


def weigh_rules(board: Board, members: Int64) -> int:
    """Return how many times as long a search step takes for a gang's classes as for one class with few rules.

    A step checks the rules of each class, and copies all counters.
    """
    checks = sum(board.rules_of(cls).checks for cls in members.tolist())
    all_checks = _CHECKS_PER_CLASS * (len(members) - 1) + checks + len(board.problem.rules.counters)
    return 1 + all_checks // _CHECKS_AT_ONCE


# --- Priorities: no task stays pending that would fit if less important tasks of the same round gave up their places.
#
# All priorities are first placed together; that is best as long as all tasks fit. The round is placed anew, priority
# by priority from the highest, only if a task is left pending whose place a less important task has taken. With rules
# between tasks, less important tasks may make places usable for others, so tasks of all priorities are then tried
# once more together.


class _Engine(NamedTuple):
    """One way to place as many of a board's remaining tasks as possible."""

    serves: Callable[[Board], bool]
    """Return whether the engine can place the tasks of a board."""
    place: Callable[[Board, Means], Placed]
    """Place and book tasks as cheaply as possible."""
    place_rest: Callable[[Board], Assignments]
    """Place and book tasks one by one, without a network."""


def _place_freely(board: Board, means: Means) -> Placed:
    return Placed.join([Placed(figures=StageFigures(waves=1)), place_all(board.residual, means)])


_ENGINES = (
    _Engine(lambda board: board.problem.pairs.terms.steers, place_pairs, place_rest_of_pairs),
    _Engine(lambda board: board.ruled, place_in_waves, place_leftovers),
    _Engine(lambda _: True, _place_freely, lambda board: place_greedily(board.residual)),
)
"""Ways of placing in order of precedence: the first engine that serves a board is used."""


def place_remaining(board: Board, means: Means) -> Placed:
    """Place and book as many of the board's remaining tasks as possible."""
    return _find_engine(board).place(board, means)


def place_rest(board: Board) -> Assignments:
    """Place and book as many of the board's remaining tasks as possible one by one, without a network."""
    return _find_engine(board).place_rest(board)


def _find_engine(board: Board) -> _Engine:
    return next(each for each in _ENGINES if each.serves(board))


def place_by_priority(problem: PlacementProblem, means: Means) -> tuple[Placed, Residual]:
    """Return a placement of as many tasks as possible, and what is left of the problem."""
    board = Board(problem)
    placed = place_remaining(board, means)
    residual = board.residual
    everyone = np.ones(problem.classes, dtype=np.bool_)
    # Only flows of tasks without rules between them divide quota in the order of strict queues.
    orderly = _find_engine(board) is _ENGINES[-1]
    passed = not orderly and StrictQueues(problem).are_passed(residual.active(), placed.assignments.cls)
    if not passed and not is_displaced(problem, residual.active(), placed.assignments, everyone):
        return placed, residual
    board = Board(problem)
    residual = board.residual
    left, withheld, strict = residual.remaining.copy(), ~everyone, StrictQueues(problem)
    figures = replace(placed.figures, waves=0)
    parts = [replace(placed, assignments=Assignments.empty(), figures=figures)]
    for rank in np.unique(problem.priority)[::-1].tolist():
        withheld |= (problem.priority == rank) & strict.find_closed()
        band = (problem.priority == rank) & ~withheld
        residual.remaining = np.where(band[:, None], left, 0)
        parts.append(place_remaining(board, means))
        left[band] = residual.remaining[band]
        strict.close(np.flatnonzero(band & left.any(axis=1)))
    residual.remaining = np.where(withheld[:, None], 0, left)
    if board.ruled:
        parts.append(Placed(place_rest(board)))
    residual.remaining[withheld] = left[withheld]
    return Placed.join(parts), residual
