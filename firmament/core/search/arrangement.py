"""Keeps all tasks of a round, placed or waiting, while a search places and removes them one by one."""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias

import numpy as np

from cost_models.interface import Int64
from firmament.core.board.admit_one_by_one import in_valid_order
from firmament.core.board.board import Board
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.core.search.driver import SearchBudget
from firmament.core.search.tuning import RelocationTuning

Step: TypeAlias = list[tuple[int, int, bool]]
"""Changes made by a move, to be undone: (class, machine, True if a task was placed there, False if removed)."""

Value: TypeAlias = tuple[int, ...]
"""Minus the number of waiting tasks of each priority, the highest priority first: a greater value is better."""


class TaskArrangement:
    """The present and the best placement of all tasks in a search.

    A problem with ledgers cannot be searched this way, as ledgers release nothing.
    """

    def __init__(
        self, problem: PlacementProblem, placed: Assignments, seed: int, tuning: RelocationTuning
    ) -> None:
        self.problem = problem
        self.tuning = tuning
        self.random = np.random.default_rng(seed)
        #: number of tasks of each class, placed or waiting
        self.all = Counter({cls: int(count) for cls, count in enumerate(problem.counts.sum(axis=1)) if count})
        self._start = Residual(problem)
        self._candidates: dict[int, Int64] = {}
        self.clear()
        for cls, machine, _ in placed.tasks().entries():
            self.put(cls, machine, [])
        #: the best placement so far, in an order in which the rules allow to place the tasks
        self.best = placed
        self.value = self._best_value = self.compute_value()

    def clear(self) -> None:
        """Remove all tasks from their machines."""
        #: free capacity and state of rules, with the tasks that are placed now
        self.board = Board(self.problem)
        #: classes of the tasks on each machine, in the order in which they came
        self.on: list[list[int]] = [[] for _ in range(self.problem.machines)]
        #: number of tasks of each class without a machine
        self.waiting = self.all.copy()

    def list_hopeful(self) -> list[int]:
        """Return the classes with waiting tasks of which an empty cluster could take at least one, ascending."""
        return sorted(cls for cls, count in self.waiting.items() if count > 0 and len(self.list_places(cls)))

    def list_places(self, cls: int) -> Int64:
        """Return the machines where a task of the class fits without the round's other tasks; rules do not count."""
        found = self._candidates.get(cls)
        if found is None:
            fits = self._start.find_fitting(int(self.problem.shape[cls]))
            found = self._candidates[cls] = np.flatnonzero(self.problem.limit_to_pins(cls, fits))
        return found

    def compute_value(self) -> Value:
        """Return minus the number of waiting tasks of each priority, the highest first.

        Of two arrangements, the one with the larger tuple is better.
        """
        ranks = int(self.problem.priority.max(initial=0)) + 1
        waiting = [0] * ranks
        for cls, count in self.waiting.items():
            waiting[ranks - 1 - int(self.problem.priority[cls])] -= count
        return tuple(waiting)

    # --- placing and removing single tasks -------------------------------------------------------------------------

    def settle(self, cls: int, step: Step, budget: SearchBudget) -> bool:
        """Place one waiting task of a class, often where it costs least, else anywhere; return whether it fits."""
        budget.spend()
        machines = np.flatnonzero(self.board.find_fitting(cls, paired=False))
        if len(machines) == 0:
            return False
        if self.random.random() < self.tuning.cheapest:
            machine = int(machines[np.argmin(self._cost(cls)[machines])])
        else:
            machine = self.pick(machines)
        self.put(cls, machine, step)
        return True

    def pick(self, machines: Int64) -> int:
        """Return one of ``machines``, chosen at random."""
        return int(machines[int(self.random.integers(len(machines)))])

    def _cost(self, cls: int) -> Int64:
        """Return what one more task of a class costs, with the crowding by the round's tasks: int64[M], in units."""
        problem = self.problem
        return problem.cost[problem.shape[cls]] + problem.crowd * self.board.residual.placed

    def put(self, cls: int, machine: int, step: Step) -> None:
        """Place a waiting task on a machine that takes it; add the change to ``step``."""
        self.board.place(cls, machine)
        self.on[machine].append(cls)
        self.waiting[cls] -= 1
        step.append((cls, machine, True))

    def withdraw(self, cls: int, machine: int, step: Step) -> None:
        """Remove a task from a machine; add the change to ``step``."""
        self.board.give_back(cls, machine)
        self.on[machine].remove(cls)
        self.waiting[cls] += 1
        step.append((cls, machine, False))

    def undo(self, step: Step) -> None:
        """Undo all changes of a step, the last one first."""
        for cls, machine, was_put in reversed(step):
            (self.withdraw if was_put else self.put)(cls, machine, [])

    # --- the best so far -------------------------------------------------------------------------------------------

    def is_best(self, value: Value) -> bool:
        """Return whether ``value`` is better than the value of the best placement so far."""
        return value > self._best_value

    def keep(self, placed: Assignments, value: Value) -> None:
        """Store a placement, in an order in which the rules allow to place its tasks, as the best."""
        self.best, self._best_value = placed, value

    def keep_now(self, value: Value) -> bool:
        """Store the present placement as the best if rules allow it in some order; return whether they do."""
        tasks = Assignments.from_single_tasks(
            [(cls, row) for row, there in enumerate(self.on) for cls in there]
        )
        ordered = in_valid_order(self.problem, tasks)
        if ordered is not None:
            self.keep(ordered, value)
        return ordered is not None
