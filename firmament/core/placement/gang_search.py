"""Searches depth first for places of one gang with rules between its tasks, if placing in turn finds none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from cost_models.interface import Int64
from firmament.core.board.board import Board
from firmament.core.flow.problem import Assignments

_Choice = tuple[int, int]


class GangSearch:
    """Places of one gang, whose tasks have rules between them, on top of ``board``: depth first.

    Placing in turn takes the first domain that has room for the first task, and fills machines one after another; where
    room is tight, the other members of a gang find none. Here every task may go to every machine that takes it, and
    what does not lead to a place for all is taken back; in at most ``steps`` tries of a machine for a task.

    What has not been used of ``steps`` is left there.
    """

    def __init__(self, board: Board, steps: int) -> None:
        self._board = board
        self.steps = steps
        self._seen: set[frozenset[tuple[_Choice, int]]] = set()

    def find(self, wanted: Mapping[int, int]) -> Assignments | None:
        """Return places for all ``wanted`` tasks (how many by class), None if none were found."""
        chosen: dict[_Choice, int] = {}
        if not self._descend(self._board, dict(wanted), chosen, self.steps):
            return None
        each = Assignments.of_tasks([*chosen])
        return replace(each, count=np.array([*chosen.values()], dtype=np.int64))

    def _descend(self, board: Board, wanted: dict[int, int], chosen: dict[_Choice, int], budget: int) -> bool:
        """Place the ``wanted`` tasks beside the ``chosen`` ones, with ``budget`` of the remaining steps."""
        if not wanted:
            return True
        cls, machines = self._next(board, wanted)
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
        """Return the class that has the fewest machines to choose from, and these, the fullest first.

        A class that no machine takes may be let in by later ones; but if no class has a machine, it is a dead end.
        """
        best, where = -1, np.empty(0, dtype=np.int64)
        residual = board.residual
        for cls in wanted:
            machines = np.flatnonzero(board.takes(cls))
            if not len(machines):
                continue
            shape = int(residual.problem.shape[cls])
            room = residual.units(np.full(len(machines), shape), machines)
            if best < 0 or len(machines) < len(where):
                best, where = cls, machines[np.argsort(room, kind="stable")]
        return best, where
