"""Finds the tasks that took the place that a pending task could have had when the round began.

A message only names tasks without which the pending task would have had the place: as few as possible, the least
important first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from cost_models.interface import Int64
from firmament.core.board.board import Board
from firmament.core.flow.problem import Assignments
from firmament.core.snapshot.snapshot import Snapshot
from firmament.core.state.cluster import Cluster

NAMED = 2
"""Most tasks that a message names, all in the namespace of the reader.

The message gives only the number of all further tasks.
"""

_MACHINES = 4
"""Most machines that are examined for each waiting class: those on which the round has put the fewest tasks."""

_CHECKS = 1_000
"""Most sets of tasks that are tried in one round.
After that, messages say that a place was lost, but not to which tasks.
"""

_PAIRED_KINDS = 12
"""Most classes on a machine for which pairs of tasks are tried; only tasks that the round put there count."""


class LostPlace(NamedTuple):
    """A machine (row of the snapshot), and the tasks that took it from another task: class -> number of tasks."""

    machine: int
    occupants: Mapping[int, int]


class Contention:
    """Compares the places that were open when a round began with the tasks that took them."""

    def __init__(self, cluster: Cluster, snapshot: Snapshot, placed: Assignments) -> None:
        self._cluster = cluster
        self._snapshot = snapshot
        self._placed = placed
        self._start = Board(snapshot.problem)
        self._left = _CHECKS

    def explain(self, index: int, readers: Iterable[int]) -> str:
        """Return a sentence that says which tasks took the place of a pending class; "" if it had no place to lose.

        The class is one of the snapshot (``index``). The sentence is for the owners of the tasks ``readers`` (rows):
        it names no tasks in namespaces other than theirs.
        """
        lost = self.find_lost_place(index)
        if lost is None:
            return ""
        names = self._cluster.tasks.name
        others = [names[row] for row in self._members(lost)]
        spaces = {_space(names[row]) for row in readers}
        named = [each for each in others if spaces == {_space(each)}][:NAMED]
        machine = self._snapshot.machine_names[lost.machine]
        if not named:
            return f" {machine} had room until other pods of the same round were placed."
        more = f" and {len(others) - len(named)} more" if len(others) > len(named) else ""
        return f" {machine} had room until {', '.join(named)}{more} took it in the same round."

    def find_lost_place(self, index: int) -> LostPlace | None:
        """Return the place that a class lost to the fewest tasks.

        The result's ``occupants`` are empty if the tasks that took the place are gone or unknown.

        The result is None if no machine could take the class, or some machine still can.
        """
        if len(self._placed.cls) == 0:
            return None
        places = self._start.find_fitting(index)
        if not places.any():
            return None
        closed = np.flatnonzero(places & ~self._end.find_fitting(index))
        if len(closed) == 0:
            return None
        taken = closed[self._tasks_on[closed] > 0]
        nearest = taken[np.argsort(self._tasks_on[taken], kind="stable")][:_MACHINES]
        found: list[LostPlace] = []
        for machine in nearest.tolist():
            if occupants := self._find_fewest(index, machine):
                found.append(LostPlace(machine, occupants))
                if sum(occupants.values()) == 1:
                    break  # no machine needs fewer tasks to leave
        return min(found, key=self._rank, default=LostPlace(int((taken if len(taken) else closed)[0]), {}))

    @cached_property
    def _end(self) -> Board:
        """The board after all placements of the round."""
        after = self._start.copy()
        after.book(self._placed)
        return after

    @cached_property
    def _end_without_ledgers(self) -> Board:
        """The board after the round, but without ledgers, so that tasks can be removed from it."""
        after = self._end.copy()
        after.residual.ledgers = []
        return after

    @cached_property
    def _tasks_on(self) -> Int64:
        """int64[M]: number of tasks that the round has put on each machine."""
        return self._placed.count_per_machine(self._snapshot.problem.machines)

    @cached_property
    def _by_machine(self) -> Assignments:
        """The placements of the round, in order of their machines."""
        return self._placed.select(np.argsort(self._placed.machine, kind="stable"))

    def _count_arrivals(self, machine: int) -> dict[int, int]:
        """Return how many tasks of each class the round has put on a machine, the least important first."""
        begin, end = np.searchsorted(self._by_machine.machine, [machine, machine + 1]).tolist()
        found: dict[int, int] = {}
        for cls, _, count in self._by_machine.select(np.arange(begin, end)).entries():
            found[cls] = found.get(cls, 0) + count
        return dict(sorted(found.items(), key=lambda each: (self._importance(each[0]), each[0])))

    def _importance(self, cls: int) -> int:
        return int(self._snapshot.problem.priority[cls])

    def _rank(self, lost: LostPlace) -> tuple[int, int]:
        return sum(lost.occupants.values()), max(map(self._importance, lost.occupants))

    def _find_fewest(self, index: int, machine: int) -> dict[int, int]:
        """Return the fewest tasks, by class, without which a machine takes one more task of a class.

        The result is empty if no such set of tasks is found.
        """
        came = self._count_arrivals(machine)
        if not self._may_free_quota(index, machine, came):
            return {}
        trial = _OneMachine(self._start, self._end_without_ledgers, index, machine, came)
        if not self._try_without(trial, came):
            return {}
        for occupants in _small_sets(came):
            if self._left <= 0:
                return {}
            if self._try_without(trial, occupants):
                return occupants
        return self._find_by_returning(trial, came)

    def _may_free_quota(self, index: int, machine: int, came: Iterable[int]) -> bool:
        """Return whether a class has quota on a machine, or some of the classes ``came`` draw on its tree of quotas."""
        quotas, shape = self._end.residual.quotas, self._snapshot.problem.shape
        if quotas is None or quotas.lets_in(int(shape[index]), machine):
            return True
        draws, numbers = quotas.terms.draws, quotas.terms.draw[shape[[index, *came]]].tolist()
        nodes = [draws[number].node if number >= 0 else -1 for number in numbers]
        roots = [quotas.use.list_path(node)[-1] if node >= 0 else -1 for node in nodes]
        return roots[0] in roots[1:]

    def _find_by_returning(self, trial: _OneMachine, came: Mapping[int, int]) -> dict[int, int]:
        """Return a set of tasks, by class, without which the machine takes the waiting task.

        The search removes all tasks, and then puts them back one by one as long as the waiting task still fits. The
        tasks that take the smallest share of the request come back first; among equal ones, the more important.
        """
        out = dict(came)
        for cls in sorted(came, key=lambda cls: (trial.share(cls), -self._importance(cls), cls)):
            while out.get(cls, 0):
                if self._left <= 0:
                    return {}
                less = {**out, cls: out[cls] - 1}
                if not self._try_without(trial, less):
                    break
                out = less
        return {cls: out[cls] for cls in came if out[cls]}

    def _try_without(self, trial: _OneMachine, occupants: Mapping[int, int]) -> bool:
        self._left -= 1
        return trial.has_room_without(occupants)

    def _members(self, lost: LostPlace) -> list[int]:
        """Return the rows of the tasks that took a place; of each class, the tasks that have waited least.

        The result is empty if one of the tasks that took the place is gone.
        """
        name = self._snapshot.machine_names[lost.machine]
        row, tasks = self._cluster.machines.row_of.get(name), self._cluster.tasks
        found: list[int] = []
        for cls, count in lost.occupants.items():
            members = self._snapshot.members[cls]
            there = members[tasks.machine[members] == row]
            if len(there) < count:
                return []
            found += there[len(there) - count :].tolist()
        return found


def _small_sets(came: Mapping[int, int]) -> Iterator[dict[int, int]]:
    """Yield each task by itself, then pairs of tasks unless there are too many classes.

    The least important tasks first.
    """
    yield from ({cls: 1} for cls in came)
    if len(came) <= _PAIRED_KINDS:
        kinds = list(came)
        pairs = combinations_with_replacement(range(len(kinds)), 2)
        for low, high in sorted(pairs, key=lambda pair: (pair[1], pair[0])):
            first, second = kinds[low], kinds[high]
            if first != second:
                yield {first: 1, second: 1}
            elif came[first] > 1:
                yield {first: 2}


class _OneMachine:
    """Decides whether a machine could take one more task of a class if some tasks that this round put there were gone.

    All other tasks are where the round put them: on the board ``end``, without ledgers. After each question, this
    board is in the same state as before it.
    """

    def __init__(self, start: Board, end: Board, index: int, machine: int, came: Mapping[int, int]) -> None:
        problem = start.residual.problem
        self._problem, self._index, self._machine, self._came = problem, index, machine, came
        self._request: Int64 = problem.requests[problem.shape[index]]
        self._end, self._ledgers = end, start.residual.ledgers

    def share(self, cls: int) -> float:
        """Return which part of each requested amount a task of ``cls`` takes, summed over all resources.

        The largest part would not do as a measure: every task takes one of ``pods``, so for small tasks the largest
        part is always the same.
        """
        asked = self._request > 0
        parts = self._problem.requests[self._problem.shape[cls]][asked] / self._request[asked]
        return float(parts.sum())

    def has_room_without(self, occupants: Mapping[int, int]) -> bool:
        """Return whether the machine would take the waiting task without the tasks ``occupants``, given by class."""
        if self._ledgers and not self._has_ledgers(occupants):
            return False
        for cls, count in occupants.items():
            self._end.give_back(cls, self._machine, count)
        opens = self._end.fits(self._index, self._machine)
        for cls, count in occupants.items():
            self._end.place(cls, self._machine, count)
        return opens

    def _has_ledgers(self, occupants: Mapping[int, int]) -> bool:
        """Return whether the task fits by ledgers if only the remaining tasks came; ledgers cannot release tasks."""
        problem = self._problem
        shapes = problem.map_to_ledgers(problem.shape)
        stay = {cls: count - occupants.get(cls, 0) for cls, count in self._came.items()}
        classes = np.array([cls for cls, count in stay.items() if count], dtype=np.int64)
        counts = np.array([count for count in stay.values() if count], dtype=np.int64)
        here = np.array([self._machine])
        for ledger in self._ledgers:
            booked = ledger.copy()
            booked.book(shapes[classes], np.repeat(here, len(classes)), counts)
            if booked.room_at(shapes[[self._index]], here)[0] <= 0:
                return False
        return True


def _space(name: str) -> str:
    """Return the namespace in a name such as ``namespace/name``, "" if there is none."""
    return name.rpartition("/")[0]
