"""The machines and rules of a round as a board on which single tasks can be put and taken up again."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.rules.counters import RuleState
from firmament.core.rules.joint_room import JointRoom
from firmament.core.rules.ruleset import RuleSet


class Board:
    """Tasks of a round on machines. ``on[m]``: classes of the tasks on machine m, in the order in which they came.

    Ledgers are not supported: what they take they do not give back.
    """

    def __init__(self, problem: PlacementProblem) -> None:
        self.problem = problem
        self.free = problem.free.copy()
        self.joint = [JointRoom.of(rows) for rows in problem.joint]
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
        for joint in self.joint:
            joint.add(int(self.problem.shape[cls]), machine, count)
        self.state.add(cls, machine, count)

    def has_room(self, cls: int, machine: int) -> bool:
        """Whether one more task of a class fits a machine; rules aside."""
        wanted, shape = self._requests[cls], int(self.problem.shape[cls])
        if ((self.free[machine] < wanted) & (wanted > 0)).any():
            return False
        return all(joint.takes(shape, machine) for joint in self.joint)

    def with_room(self, cls: int) -> Bool:
        """bool[M]: machines that a class may use and that have room for one task of it; rules aside."""
        wanted, shape = self._requests[cls], int(self.problem.shape[cls])
        asked = np.flatnonzero(wanted)
        fits = (self.free[:, asked] >= wanted[asked]).all(axis=1)
        fits &= self.problem.feasible[shape]
        for joint in self.joint:
            joint.close_full(fits, shape)
        return self.problem.within_pins(cls, fits)

    def open_to(self, cls: int) -> Bool:
        """bool[M]: machines that would take one more task of a class now."""
        allowed = self.state.allowed(cls)
        return self.with_room(cls) if allowed is None else self.with_room(cls) & allowed

    def cost(self, cls: int) -> Int64:
        """int64[M]: units for one more task of a class, crowding by the tasks of the round included."""
        return self.problem.cost[self.problem.shape[cls]] + self.problem.crowd * self._load

    def assignments(self) -> Assignments:
        """All tasks on the board, one by one, by machine."""
        return Assignments.of_tasks([(cls, row) for row, tasks in enumerate(self.on) for cls in tasks])
