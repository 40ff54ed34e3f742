"""Gangs among the tasks on machines: what each can lose, and who has to go with whom.

One rule: a gang loses no more than it can and still be whole, or it goes as a whole. Half a gang is never left behind.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.preemption.bundles import NOBODY
from firmament.core.preemption.problem import PreemptionProblem


class VictimGangs:
    """The members of gangs that are not on their way out when a round begins. Never changes.

    ``top``: int64[G], the highest priority among the members of each gang.
    """

    def __init__(self, preemption: PreemptionProblem) -> None:
        gangs = len(preemption.spare)
        gang = np.where(preemption.leaving, -1, preemption.gang) if gangs else preemption.gang
        self._tasks = np.argsort(gang, kind="stable")[np.count_nonzero(gang < 0) :]
        self._first = np.searchsorted(gang[self._tasks], np.arange(gangs + 1))
        self.top: Int64 = np.full(gangs, NOBODY, dtype=np.int64)
        np.maximum.at(self.top, gang[self._tasks], preemption.victim_priority[self._tasks])

    def members(self, gang: int) -> Int64:
        """The tasks of a gang."""
        return self._tasks[self._first[gang] : self._first[gang + 1]]

    def expanded(self, gangs: Int64) -> tuple[Int64, Int64]:
        """All tasks of several gangs: place in ``gangs``, and task."""
        first = self._first[gangs]
        count = self._first[gangs + 1] - first
        place = np.repeat(np.arange(len(gangs)), count)
        within = np.arange(len(place)) - np.repeat(np.cumsum(count) - count, count)
        return place, self._tasks[first[place] + within]


def nth_of_its_kind(kind: Int64, turn: Int64 | None = None) -> Int64:
    """int64[R, J]: how many entries of the same row before each one are equal to it.

    ``turn``: int64[R, J], places in the order in which entries are counted; None: from left to right.
    """
    if turn is not None:
        nth = np.empty_like(kind)
        np.put_along_axis(nth, turn, nth_of_its_kind(np.take_along_axis(kind, turn, axis=1)), axis=1)
        return nth
    order = np.argsort(kind, axis=1, kind="stable")
    ordered = np.take_along_axis(kind, order, axis=1)
    place = np.broadcast_to(np.arange(kind.shape[1]), kind.shape)
    new = np.ones(kind.shape, dtype=np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.maximum.accumulate(np.where(new, place, 0), axis=1)
    nth = np.empty_like(kind)
    np.put_along_axis(nth, order, place - first, axis=1)
    return nth


def pairs_of(kind: Int64, where: Bool) -> tuple[Int64, Int64, Int64]:
    """Row, kind and number of the entries of ``kind`` (int64[R, J], not negative) for which ``where`` holds."""
    row, slot = np.nonzero(where)
    width = int(kind.max(initial=0)) + 1
    key, count = np.unique(row * width + kind[row, slot], return_counts=True)
    return key // width, key % width, count
