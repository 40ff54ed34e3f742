"""The machines and rules of a round as a board on which single tasks can be put and taken up again."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.rules.counters import RuleState
from firmament.core.rules.ruleset import RuleSet


class Board:
    """Tasks of a round on machines. ``on[m]``: classes of the tasks on machine m, in the order in which they came.

    Ledgers are not supported: what they take they do not give back.
    """

    def __init__(self, problem: PlacementProblem) -> None:
        self.problem = problem
        self.free = problem.free.copy()
        self.joint_left = [rows.limit.copy() for rows in problem.joint]
        self.state = RuleState(problem.rules or RuleSet([]))
        self.on: list[list[int]] = [[] for _ in range(problem.machines)]
        self._load = np.zeros(problem.machines, dtype=np.int64)
        self._requests = problem.requests[problem.shape]

    def put(self, cls: int, machine: int) -> None:
        """Put one task on a machine; the caller has seen that it may go there."""
        self._book(cls, machine, 1)
        self.on[machine].append(cls)

    def take_up(self, cls: int, machine: int) -> None:
        """Take one task off a machine again."""
        self._book(cls, machine, -1)
        self.on[machine].remove(cls)

    def _book(self, cls: int, machine: int, count: int) -> None:
        self.free[machine] -= self._requests[cls] * count
        self._load[machine] += count
        for rows, left in zip(self.problem.joint, self.joint_left, strict=True):
            row = rows.row_of[machine]
            if row >= 0:
                left[row] -= rows.amount[self.problem.shape[cls]] * count
        self.state.add(cls, machine, count)

    def has_room(self, cls: int, machine: int) -> bool:
        """Whether one more task of a class fits a machine; rules aside."""
        wanted = self._requests[cls]
        if ((self.free[machine] < wanted) & (wanted > 0)).any():
            return False
        shape = self.problem.shape[cls]
        for rows, left in zip(self.problem.joint, self.joint_left, strict=True):
            row = rows.row_of[machine]
            if row >= 0 and left[row] < rows.amount[shape]:
                return False
        return True

    def usable(self, cls: int) -> Bool:
        """bool[M]: machines that a class may ever use: filters and pins, but neither room nor rules between tasks."""
        usable: Bool = self.problem.feasible[self.problem.shape[cls]].copy()
        pinned = self.problem.pins.get(cls)
        if pinned is not None:
            inside = np.zeros_like(usable)
            inside[pinned] = True
            usable &= inside
        return usable

    def with_room(self, cls: int) -> Bool:
        """bool[M]: machines that a class may use and that have room for one task of it; rules aside."""
        wanted = self._requests[cls]
        asked = np.flatnonzero(wanted > 0)
        fits = self.usable(cls)
        fits &= (self.free[:, asked] >= wanted[asked]).all(axis=1)
        shape = self.problem.shape[cls]
        for rows, left in zip(self.problem.joint, self.joint_left, strict=True):
            on_row = rows.row_of >= 0
            fits[on_row] &= left[rows.row_of[on_row]] >= rows.amount[shape]
        return fits

    def open_to(self, cls: int) -> Bool:
        """bool[M]: machines that would take one more task of a class now."""
        wanted = self._requests[cls]
        asked = np.flatnonzero(wanted)
        fits = self.usable(cls)
        fits &= (self.free[:, asked] >= wanted[asked]).all(axis=1)
        shape = self.problem.shape[cls]
        for rows, left in zip(self.problem.joint, self.joint_left, strict=True):
            if rows.amount[shape] > 0:
                on_row = rows.row_of >= 0
                fits[on_row] &= left[rows.row_of[on_row]] >= rows.amount[shape]
        allowed = self.state.allowed(cls)
        return fits if allowed is None else fits & allowed

    def cost(self, cls: int) -> Int64:
        """int64[M]: units for one more task of a class, crowding by the tasks of the round included."""
        return self.problem.cost[self.problem.shape[cls]] + self.problem.crowd * self._load

    def assignments(self) -> Assignments:
        """All tasks on the board, one by one, by machine."""
        cls = np.array([each for tasks in self.on for each in tasks], dtype=np.int64)
        machine = np.repeat(np.arange(len(self.on)), [len(tasks) for tasks in self.on])
        return Assignments(cls, machine, np.ones(len(cls), dtype=np.int64))
