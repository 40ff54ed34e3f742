"""How many tasks of a group each machine of a tree takes if some tasks there go."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.preemption.node_state import Prospect
from firmament.core.preemption.tree_groups.ordered_capacity import KeptLeaves

MANY = 2**31
"""Slots where nothing bounds them."""


class LeafSlots:
    """Slots of the leaves of a tree for the classes of one group, all of whose tasks ask for the same.

    ``classes``: int64[B]; ``leaves``: int64[L], machine rows; ``open``: bool[B, L], what filters, pins, models' room
    and rules between tasks let in. Evicting opens no machine that these refuse, those aside whose room a ledger keeps.
    """

    def __init__(self, prospect: Prospect, classes: Int64, leaves: Int64) -> None:
        self._prospect = prospect
        self._leaf_of = np.full(prospect.problem.machines, -1, dtype=np.int64)
        self._leaf_of[leaves] = np.arange(len(leaves))
        # Of resources all ask for the same, of joint rows perhaps not.
        request = np.max([prospect.request(cls) for cls in classes.tolist()], axis=0)
        self._wanted = np.flatnonzero(np.logical_or.reduce([prospect.heeds(cls) for cls in classes.tolist()]))
        self._request = request[self._wanted]
        self._room = prospect.room[np.ix_(leaves, self._wanted)]
        self.open: Bool = np.stack([self._usable(cls)[leaves] for cls in classes.tolist()])
        self._most = np.where([self._one_each(cls) for cls in classes.tolist()], 1, MANY)[:, None] * np.ones(
            len(leaves), dtype=np.int64
        )
        for row, cls in enumerate(classes.tolist()):
            self._most[row] = np.minimum(self._most[row], self._by_models(cls, leaves))
        self._kept = KeptLeaves(prospect, classes, leaves)

    def after(self, victims: Int64) -> Int64:
        """int64[B, L]: slots once ``victims`` (tasks) are gone."""
        room = self._room.copy()
        at = self._leaf_of[self._prospect.preemption.machine[victims]]
        there = at >= 0
        np.add.at(room, at[there], self._prospect.sizes[victims[there]][:, self._wanted])
        # Where nothing is asked for, what is owed has to be back.
        units = np.where(self._request > 0, room // np.maximum(self._request, 1), MANY)
        fitting = np.where((room >= 0).all(axis=1), units.min(axis=1, initial=MANY), 0)
        return np.where(self.open, np.minimum(fitting, self._most), self._kept.slots(victims, fitting > 0))

    def _usable(self, cls: int) -> Bool:
        usable = self._prospect.usable(cls)
        state = self._prospect.state
        allowed = None if state is None else state.allowed(cls)
        return usable if allowed is None else usable & allowed

    def _one_each(self, cls: int) -> bool:
        return self._prospect.rules(cls).excludes_itself()

    def _by_models(self, cls: int, leaves: Int64) -> Int64:
        """int64[L]: tasks that limits and ledgers let in, by themselves."""
        problem = self._prospect.problem
        shape = int(problem.shape[cls])
        most = np.full(len(leaves), MANY, dtype=np.int64)
        for limit in self._prospect.limits:
            amount, row = int(limit.rows.amount[shape]), limit.rows.row_of[leaves]
            if amount > 0:
                most = np.minimum(most, np.where(row >= 0, limit.left[row] // amount, MANY))
        known_as = problem.known_as(np.full(len(leaves), shape))
        for ledger in self._prospect.ledgers:
            most = np.minimum(most, ledger.room_at(known_as, leaves))
        return np.maximum(most, 0)
