"""Places gangs one by one, to find which of them fit as a whole into the capacity that earlier gangs have left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.board.board import Board
from firmament.core.flow.problem import Assignments
from firmament.core.placement.gang_search import GangSearch
from firmament.core.placement.outcome import Means, Placed
from firmament.core.placement.pod_sets import find_divided, number_pod_sets, place_pod_set
from firmament.core.placement.quota_parts import list_by_quota
from firmament.core.placement.strict_queues import StrictQueues
from firmament.core.placement.tuning import PlacementTuning


class WaysOfPlacing(NamedTuple):
    """The ways in which a trial places the remaining tasks of a board."""

    place_remaining: Callable[[Board, Means], Placed]
    """Places and books tasks as cheaply as possible."""
    place_rest: Callable[[Board], Assignments]
    """Places and books tasks one by one, without a network."""


class GangTrial:
    """Places gangs one by one, starting from ``board``, to find which of them fit as a whole."""

    def __init__(
        self,
        board: Board,
        tuning: PlacementTuning,
        ways: WaysOfPlacing,
        closed: frozenset[int] | set[int] = frozenset(),
    ) -> None:
        """``closed``: strict queues (quota nodes) whose first task or gang has found no place."""
        self._ways = ways
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
            parts.append(Placed(self._ways.place_rest(self._board)))
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
                self._board, placed = place_pod_set(self._board, together.tolist(), self._ways.place_rest)
                parts.append(placed)
            else:
                parts.append(self._ways.place_rest(self._board))
        if self._board.ruled and len(order) > 1:
            left = self._waiting.sum(axis=1)
            for part in parts:
                np.subtract.at(left, part.cls, part.count)
            again = np.isin(np.arange(self._problem.classes), order) & (left > 0) & (self._pod_sets < 0)
            remaining = np.zeros_like(self._waiting)
            remaining[again, -1] = left[again]
            self._board.residual.remaining = remaining
            parts.append(self._ways.place_rest(self._board))
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
        placed = self._ways.place_remaining(self._board, means)
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
