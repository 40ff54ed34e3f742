"""Tells which gangs of possible victims, or groups of their trees, must leave together, and which may.

A gang, or a group in it, may lose the members that it can spare, or it leaves as a whole; no part of one is left
behind. Groups of a tree are numbered like gangs, each directly before the groups in it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.preemption.problem import NOBODY, PreemptionProblem
from firmament.core.ranks import count_up


class VictimGangs:
    """The gangs on machines, with their members that are not leaving when a round begins. Immutable.

    ``top``: int64[G], the highest priority among the members of each gang and of the groups in it; ``nested``: whether
    some gang is a tree whose groups may leave by themselves. The argument ``spare`` of methods: int64[G], how many
    members each gang can still lose, negative if it has left.
    """

    def __init__(self, preemption: PreemptionProblem) -> None:
        gangs = len(preemption.spare)
        gang = np.where(preemption.leaving, -1, preemption.gang) if gangs else preemption.gang
        self._preemption = preemption
        self.above, self._counted = preemption.above, preemption.counted
        self.nested = bool((self.above >= 0).any())
        self._tasks = np.argsort(gang, kind="stable")[np.count_nonzero(gang < 0) :]
        self._first = np.searchsorted(gang[self._tasks], np.arange(gangs + 1))
        self.end: Int64 = np.arange(1, gangs + 1)
        """int64[G]: the groups in gang g are those from g + 1 to ``end[g] - 1``."""
        self.top: Int64 = np.full(gangs, NOBODY, dtype=np.int64)
        np.maximum.at(self.top, gang[self._tasks], preemption.victim_priority[self._tasks])
        for number in reversed(np.flatnonzero(self.above >= 0).tolist()):
            above = int(self.above[number])
            self.end[above] = max(self.end[above], self.end[number])
            self.top[above] = max(self.top[above], self.top[number])

    def members(self, gang: int) -> Int64:
        """Return the members of a gang, and of the groups in it, that were not leaving when the round began."""
        return self._tasks[self._first[gang] : self._first[self.end[gang]]]

    def expand(self, gangs: Int64) -> tuple[Int64, Int64]:
        """Return all members of several gangs, as two arrays: index in ``gangs``, and task."""
        first = self._first[gangs]
        count = self._first[self.end[gangs]] - first
        place = np.repeat(np.arange(len(gangs)), count)
        return place, self._tasks[first[place] + count_up(count)]

    def list_chain(self, gang: int) -> list[int]:
        """Return a gang and the gangs that contain it, from the inside out."""
        found = [gang]
        while self.nested and self.above[found[-1]] >= 0:
            found.append(int(self.above[found[-1]]))
        return found

    def find_whole(self, spare: Int64, priority: int) -> Bool:
        """Return which gangs may leave as a whole for a priority, with everything that must then leave: bool[G]."""
        whole: Bool = self._preemption.together & (spare >= 0) & (self.top < priority)
        for number in np.flatnonzero(self.above >= 0).tolist():
            above = int(self.above[number])
            if spare[above] < self._counted[number]:  # The gang that contains this group would leave with it.
                whole[number] &= whole[above]
        return whole

    def find_taken_along(self, gang: int, spare: Int64) -> int:
        """Return the outermost gang that leaves if a gang leaves as a whole: itself, or one that contains it."""
        while self.above[gang] >= 0 and spare[self.above[gang]] < self._counted[gang]:
            gang = int(self.above[gang])
        return gang

    def has_left(self, gang: int, spare: Int64) -> bool:
        """Return whether a gang, or one that contains it, has left as a whole."""
        return any(spare[each] < 0 for each in self.list_chain(gang))

    def find_outermost_left(self, gang: int, spare: Int64) -> int:
        """Return the outermost gang that has left as a whole among a gang and those around it; -1 if none has."""
        return next((each for each in reversed(self.list_chain(gang)) if spare[each] < 0), -1)

    def find_broken(self, gangs: Iterable[int], spare: Int64) -> list[int]:
        """Return the outermost gangs that must leave as a whole if ``gangs`` lose a task each time they are listed."""
        lost: dict[int, int] = {}
        for gang in gangs:
            if gang >= 0:
                lost[gang] = lost.get(gang, 0) + 1
        if not self.nested:
            return [gang for gang, count in lost.items() if count > spare[gang]]
        broken: dict[int, None] = {}
        todo = set(lost)
        while todo:
            gang = max(todo)  # inner groups have higher numbers than those that contain them
            todo.remove(gang)
            if 0 <= spare[gang] < lost[gang]:
                broken[gang] = None
                above = int(self.above[gang])
                if above >= 0 and self._counted[gang]:
                    lost[above] = lost.get(above, 0) + 1
                    todo.add(above)
        return [gang for gang in broken if broken.keys().isdisjoint(self.list_chain(gang)[1:])]

    def book(self, spare: Int64, gang: int, count: int) -> None:
        """Count ``count`` tasks of a gang as back on their machines in ``spare``; if negative, as gone."""
        while True:
            left = spare[gang] < 0
            spare[gang] += count
            if (spare[gang] < 0) == left or not self.nested:
                return
            if self.above[gang] < 0 or not self._counted[gang]:
                return
            count = 1 if left else -1
            gang = int(self.above[gang])

    def list_independent(self, spare: Int64) -> list[int]:
        """Return gangs that may leave alone: gangs in no other gang, or groups of a gang that can spare them all."""
        found: list[int] = []
        inside = (
            np.bincount(self.above[self.above >= 0], minlength=len(spare)).tolist() if self.nested else []
        )
        number = 0
        while number < len(spare):
            if self.nested and inside[number] and spare[number] >= inside[number]:
                number += 1
            else:
                found.append(number)
                number = int(self.end[number])
        return found
