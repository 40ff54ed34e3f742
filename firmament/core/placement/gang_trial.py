"""Tries gangs one by one: who fits as a whole in the room that those before have left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.problem import Assignments
from firmament.core.placement.local_search.relocation import improved
from firmament.core.placement.outcome import Means, Placed, PlacementState
from firmament.core.placement.priority_tiers import place_remaining, place_rest
from firmament.core.placement.tuning import PlacementTuning


class GangTrial:
    """Places gangs one by one on ``state``, as it is handed in and moves on."""

    def __init__(self, state: PlacementState, tuning: PlacementTuning) -> None:
        self._tuning = tuning
        self._problem = state.residual.problem
        self._state = state
        self._waiting = state.residual.remaining
        self._searches = 0
        self._search_cells = tuning.gang_search_cells
        self._refused: set[tuple[object, ...]] = set()

    def placed(self, means: Means) -> Placed:
        """Place all tasks, by priority gangs first, in order of admission. Raises what the solver raises."""
        problem = self._problem
        rank_of = np.full(len(problem.gang_need), -1, dtype=np.int64)
        members = problem.gang >= 0
        np.maximum.at(rank_of, problem.gang[members], problem.priority[members])
        parts = []
        for rank in np.unique(problem.priority)[::-1].tolist():
            parts.append(Placed(self.gangs(np.flatnonzero(rank_of == rank))))
            parts.append(self._others(rank, means))
        if self._state.ruled:
            self._only((problem.gang < 0) & (self._waiting.sum(axis=1) > 0))
            parts.append(Placed(place_rest(self._state)))
        return Placed.joined(parts)

    def gangs(self, numbers: Int64) -> Assignments:
        """Place those of the gangs ``numbers`` that fit as a whole, one after another."""
        parts = []
        for gang in numbers.tolist():
            members = np.flatnonzero((self._problem.gang == gang) & (self._waiting.sum(axis=1) > 0))
            # Room only shrinks while gangs are tried, unless rules between tasks are about.
            kind = self._kind(gang, members)
            if not self._state.ruled and kind in self._refused:
                continue
            placed = self._try(gang, members)
            if placed is None:
                self._refused.add(kind)
            else:
                parts.append(placed)
        return Assignments.joined(parts)

    def _kind(self, gang: int, members: Int64) -> tuple[object, ...]:
        """What tells gangs apart that cannot be served alike."""
        waiting = self._waiting[members].sum(axis=1).tolist()
        return (int(self._problem.gang_need[gang]), *self._problem.looks(members.tolist(), waiting))

    def _try(self, gang: int, members: Int64) -> Assignments | None:
        """Place a gang if it fits as a whole; else leave everything as it was, and return None."""
        need = int(self._problem.gang_need[gang])
        before = self._state
        order = self._by_places(members)
        for attempt in (order, order[::-1])[: 2 if len(members) > 1 else 1]:
            self._state = before.copy()
            placed = self._one_by_one(attempt)
            if int(placed.count.sum()) >= need:
                self._waiting[members] = 0
                return placed
        self._state = before
        if self._searches >= self._tuning.gang_searches:
            return None
        if before.ruled:
            return self._search_by_rules(members, need)
        if len(members) < 2:
            return None
        self._searches += 1
        placed = self._search(members, placed)
        if int(placed.count.sum()) < need:
            return None
        self._state.book(placed)
        self._waiting[members] = 0
        return placed

    def _by_places(self, members: Int64) -> Int64:
        """Classes with the fewest places first: others can go elsewhere more easily."""
        residual = self._state.residual
        every = np.arange(self._problem.machines)
        places = []
        for cls in members.tolist():
            where = self._problem.pins.get(cls, every)
            shape = int(self._problem.shape[cls])
            where = where[self._problem.feasible[shape, where]]
            places.append(int(residual.units(np.full(len(where), shape), where).clip(0, 10**6).sum()))
        return members[np.argsort(np.array(places, dtype=np.int64), kind="stable")]

    def _one_by_one(self, order: Int64) -> Assignments:
        """Place the classes of a gang in this order, each as far as it goes."""
        parts = []
        for cls in order.tolist():
            self._only(np.arange(self._problem.classes) == cls)
            parts.append(place_rest(self._state))
        if self._state.ruled and len(order) > 1:
            left = self._waiting.sum(axis=1)
            for part in parts:
                np.subtract.at(left, part.cls, part.count)
            again = np.isin(np.arange(self._problem.classes), order) & (left > 0)
            remaining = np.zeros_like(self._waiting)
            remaining[again, -1] = left[again]
            self._state.residual.remaining = remaining
            parts.append(place_rest(self._state))
        return Assignments.joined(parts)

    def _search(self, members: Int64, placed: Assignments) -> Assignments:
        """Look for a packing of more of a gang's tasks than ``placed`` in the room that is left."""
        problem, residual = self._problem, self._state.residual
        counts = np.zeros_like(problem.counts)
        counts[members] = self._waiting[members]
        joint = tuple(room.as_limit() for room in residual.joint)
        alone = replace(problem, counts=counts, free=residual.free.T.copy(), joint=joint)
        return improved(alone, placed, problem.rotation, self._tuning.relocation)

    def _search_by_rules(self, members: Int64, need: int) -> Assignments | None:
        """Look for places of a gang with rules between tasks, all of it if there are, and book them."""
        self._searches += 1
        waiting = {int(cls): int(self._waiting[cls].sum()) for cls in members.tolist()}
        if sum(waiting.values()) > need or sum(waiting.values()) > self._tuning.gang_search_tasks:
            return None
        steps = min(self._tuning.gang_search_steps, self._search_cells // self._problem.machines)
        search = _GangSearch(self._state, steps)
        placed = search.found(waiting)
        self._search_cells -= (steps - search.steps) * self._problem.machines
        if placed is None:
            return None
        self._state.book(placed)
        self._waiting[members] = 0
        return placed

    def _others(self, rank: int, means: Means) -> Placed:
        """Place the tasks of a priority that belong to no gang."""
        chosen = (self._problem.gang < 0) & (self._problem.priority == rank)
        self._only(chosen)
        placed = place_remaining(self._state, means)
        self._waiting[chosen] = self._state.residual.remaining[chosen]
        return placed

    def _only(self, chosen: Bool) -> None:
        """Let nobody wait but the classes in ``chosen``."""
        self._state.residual.remaining = np.where(chosen[:, None], self._waiting, 0)


_Choice = tuple[int, int]


class _GangSearch:
    """Places of one gang, whose tasks have rules between them, on top of ``state``: depth first.

    Placing in turn takes the first domain that has room for the first task, and fills machines as they come; where room
    is tight the others of a gang are left without. Here every task may go to every machine that takes it, and what does
    not lead to a place for all is taken back; in at most ``steps`` tries of a machine for a task.

    What has not been used of ``steps`` is left there.
    """

    def __init__(self, state: PlacementState, steps: int) -> None:
        self._state = state
        self.steps = steps
        self._seen: set[frozenset[tuple[_Choice, int]]] = set()

    def found(self, wanted: Mapping[int, int]) -> Assignments | None:
        """Return places for all ``wanted`` tasks (how many by class), None if none were found."""
        chosen: dict[_Choice, int] = {}
        if not self._descend(self._state, dict(wanted), chosen, self.steps):
            return None
        each = Assignments.of_tasks([*chosen])
        return replace(each, count=np.array([*chosen.values()], dtype=np.int64))

    def _descend(
        self, state: PlacementState, wanted: dict[int, int], chosen: dict[_Choice, int], budget: int
    ) -> bool:
        """Place what is ``wanted`` beside what is ``chosen``, in ``budget`` tries of those that are left."""
        if not wanted:
            return True
        cls, machines = self._next(state, wanted)
        least = self.steps - budget
        # The first of a gang decides about the domain: each of them gets its share.
        share = max(budget // max(len(machines), 1), 2 * sum(wanted.values())) if not chosen else budget
        for machine in machines.tolist():
            if self.steps <= least:
                return False
            choice = (cls, machine)
            chosen[choice] = chosen.get(choice, 0) + 1
            key = frozenset(chosen.items())
            if key not in self._seen:
                self._seen.add(key)
                self.steps -= 1
                beside = state.copy()
                beside.book(Assignments.single(cls, machine))
                rest = {each: count - (each == cls) for each, count in wanted.items()}
                rest = {each: count for each, count in rest.items() if count}
                if self._descend(beside, rest, chosen, min(share, self.steps - least)):
                    return True
            chosen[choice] -= 1
            if not chosen[choice]:
                del chosen[choice]
        return False

    def _next(self, state: PlacementState, wanted: Mapping[int, int]) -> tuple[int, Int64]:
        """The class that has the fewest machines to choose from, and these, the fullest first.

        A class that no machine takes may be let in by others yet; without any machine for anybody it is a dead end.
        """
        best, where = -1, np.empty(0, dtype=np.int64)
        residual = state.residual
        for cls in wanted:
            machines = np.flatnonzero(state.takes(cls))
            if not len(machines):
                continue
            shape = int(residual.problem.shape[cls])
            room = residual.units(np.full(len(machines), shape), machines)
            if best < 0 or len(machines) < len(where):
                best, where = cls, machines[np.argsort(room, kind="stable")]
        return best, where
