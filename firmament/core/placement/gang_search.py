"""Searches depth-first for places of a gang with rules between its tasks, after placing them in turn has failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from cost_models.interface import Int64
from firmament.core.board.board import Board
from firmament.core.flow.problem import Assignments

_Choice = tuple[int, int]


class GangSearch:
    """Finds places for one gang with rules between its tasks on ``board``, depth-first.

    Placing tasks in turn takes the first domain where the first task fits, and fills one machine after another. If
    capacity is scarce, the other members of the gang find no place there. `GangSearch` tries every machine that takes a
    task, and backtracks from choices after which not all tasks find places. ``steps`` limits how often a machine is
    tried for a task.

    After a search, ``steps`` is the number of steps that the search has not used.
    """

    def __init__(self, board: Board, steps: int) -> None:
        self._board = board
        self.steps = steps
        self._seen: set[frozenset[tuple[_Choice, int]]] = set()

    def find(self, wanted: Mapping[int, int]) -> Assignments | None:
        """Return places for all ``wanted`` tasks (number by class), or None if the search finds none."""
        chosen: dict[_Choice, int] = {}
        if not self._descend(self._board, dict(wanted), chosen, self.steps):
            return None
        each = Assignments.from_single_tasks([*chosen])
        return replace(each, count=np.array([*chosen.values()], dtype=np.int64))

    def _descend(self, board: Board, wanted: dict[int, int], chosen: dict[_Choice, int], budget: int) -> bool:
        """Place the ``wanted`` tasks beside the ``chosen`` ones in at most ``budget`` steps; return whether all fit."""
        if not wanted:
            return True
        cls, machines = self._next(board, wanted)
        least = self.steps - budget
        # The gang's first task decides on the domain, so each of its machines gets a share of the steps.
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
                beside = board.copy()
                beside.book(Assignments.single(cls, machine))
                rest = {each: count - (each == cls) for each, count in wanted.items()}
                rest = {each: count for each, count in rest.items() if count}
                if self._descend(beside, rest, chosen, min(share, self.steps - least)):
                    return True
            chosen[choice] -= 1
            if not chosen[choice]:
                del chosen[choice]
        return False

    def _next(self, board: Board, wanted: Mapping[int, int]) -> tuple[int, Int64]:
        """Return the class with the fewest machines to choose from, and these; machines that take fewest tasks first.

        A class that no machine takes now may find a machine after later tasks are placed. If no class has a machine,
        the result is -1.
        """
        best, where = -1, np.empty(0, dtype=np.int64)
        residual = board.residual
        for cls in wanted:
            machines = np.flatnonzero(board.find_fitting(cls))
            if not len(machines):
                continue
            shape = int(residual.problem.shape[cls])
            room = residual.count_fitting(np.full(len(machines), shape), machines)
            if best < 0 or len(machines) < len(where):
                best, where = cls, machines[np.argsort(room, kind="stable")]
        return best, where
