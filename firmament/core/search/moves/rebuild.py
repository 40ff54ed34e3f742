"""Places all tasks of a round anew, in random orders in which tasks that were left over before come early.

(Squeaky wheel optimisation, Joslin and Clements 1999.)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from firmament.core.board.board import Board
from firmament.core.flow.problem import Assignments
from firmament.core.search.arrangement import Step, TaskArrangement, Value
from firmament.core.search.driver import SearchBudget


@dataclass(frozen=True, slots=True)
class Rebuilding:
    """A placement of all tasks from scratch.

    ``step``: the changes made; ``value``: the value of the result; ``left``: classes of the tasks that found no place.
    """

    step: Step
    value: Value
    left: list[int]
    #: what was there before: the board, the classes on each machine, the waiting tasks
    before: tuple[Board, list[list[int]], Counter[int]]


class RebuildAll:
    """A move that places all tasks from scratch; the result is kept unless it is worse than before."""

    name = "rebuild"

    def __init__(self, arrangement: TaskArrangement) -> None:
        self._now = arrangement
        self._left_over: Counter[int] = Counter()
        self._turn = 0

    def evaluate(self, budget: SearchBudget) -> Rebuilding | None:
        """Place all tasks from scratch, as many as fit; return None if no waiting task could ever be placed."""
        now = self._now
        if not now.list_hopeful():
            return None
        self._left_over.update(cls for cls, count in now.waiting.items() if count > 0)
        before = now.board, now.on, now.waiting
        now.clear()
        queue = self._draw_order()
        step: Step = []
        moved = True
        while queue and moved:
            count = len(queue)
            full: set[int] = set()
            rest = []
            for cls in queue:
                if cls in full or not now.settle(cls, step, budget):
                    full.add(cls)
                    rest.append(cls)
            queue, moved = rest, len(rest) < count
        return Rebuilding(step, now.compute_value(), queue, before)

    def _draw_order(self) -> list[int]:
        """Return the classes of all tasks, in a random order in which to place the tasks."""
        now = self._now
        queue = [cls for cls in sorted(now.all) for _ in range(now.all[cls])]
        urgency = now.random.random(len(queue))
        # Every other turn places whole classes one after another, so that tasks which want others near find them.
        if self._turn % 2:
            urgency = 0.2 * urgency + now.random.random(now.problem.classes)[queue]
        self._turn += 1
        urgency += np.array([self._left_over[cls] for cls in queue]) * 0.5
        order = np.lexsort((-urgency, -now.problem.priority[queue]))
        return [queue[index] for index in order.tolist()]

    def accepts(self, change: Rebuilding) -> bool:
        """Return whether the new placement is no worse than the placement before the change."""
        return change.value >= self._now.value

    def apply(self, change: Rebuilding) -> None:
        """Store the new placement's value; keep the placement if it is the best, in an order that rules allow."""
        self._now.value = change.value
        if self._now.is_best(change.value):
            self._now.keep(
                Assignments.from_single_tasks([(cls, row) for cls, row, _ in change.step]), change.value
            )

    def undo(self, change: Rebuilding) -> None:
        """Return to the placement before the change."""
        self._left_over.update(change.left)
        self._now.board, self._now.on, self._now.waiting = change.before
