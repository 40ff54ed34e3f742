"""Counts how many tasks of a group each machine of a tree takes after evictions there."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.ranks import places_in

MANY = 2**31
"""Number of tasks that a leaf takes if nothing limits them."""


class LeafSlots:
    """How many tasks the leaves of a tree take of the classes of one group, whose tasks all have the same request.

    ``classes``: int64[B]; ``leaves``: int64[L], machine rows; ``open``: bool[B, L], what filters, pins, models'
    limits and rules between tasks allow. Evictions make no machine usable that is not in ``open``, unless only a
    ledger closes it (see ``models_room``).
    """

    def __init__(self, now: PreemptionState, classes: Int64, leaves: Int64) -> None:
        self._now = now
        self._leaf_of = places_in(leaves, now.problem.machines)
        # The classes request the same resources, but perhaps different amounts of joint rows.
        request = np.max([now.request(cls) for cls in classes.tolist()], axis=0)
        self._wanted = np.flatnonzero(np.logical_or.reduce([now.heeds(cls) for cls in classes.tolist()]))
        self._request = request[self._wanted]
        self._room = now.room[np.ix_(leaves, self._wanted)]
        self.open: Bool = np.stack(
            [_apply_rules(now, cls, now.usable(cls))[leaves] for cls in classes.tolist()]
        )
        self._most = np.stack([self._by_models(cls, leaves) for cls in classes.tolist()])
        self._closed = _ClosedLeaves(now, classes, leaves)

    def count_after(self, victims: Int64) -> Int64:
        """Return how many tasks of each class each leaf takes once ``victims`` (tasks) are gone: int64[B, L]."""
        room = self._room.copy()
        at = self._leaf_of[self._now.preemption.machine[victims]]
        there = at >= 0
        np.add.at(room, at[there], self._now.sizes[victims[there]][:, self._wanted])
        # The amount by which a joint row is overdrawn must be paid back even if the class requests nothing of the row.
        units = np.where(self._request > 0, room // np.maximum(self._request, 1), MANY)
        fitting = np.where((room >= 0).all(axis=1), units.min(axis=1, initial=MANY), 0)
        return np.where(self.open, np.minimum(fitting, self._most), self._closed.slots(victims, fitting > 0))

    def _by_models(self, cls: int, leaves: Int64) -> Int64:
        """Return how many tasks each leaf takes by limits, ledgers and rules among the group's own tasks: int64[L]."""
        problem = self._now.problem
        shape = int(problem.shape[cls])
        shapes = np.full(len(leaves), shape)
        most = np.full(len(leaves), 1 if self._now.rules(cls).excludes_itself() else MANY, dtype=np.int64)
        for limit in self._now.limits:
            limit.limit_units(most, shapes, leaves)
        for ledger in self._now.ledgers:
            most = np.minimum(most, ledger.room_at(problem.map_to_ledgers(shapes), leaves))
        return np.maximum(most, 0)


class _ClosedLeaves:
    """Machines whose ledger is full or depends on the order of arrival; says whether they open for a group's task.

    A machine of such a leaf takes one task at a time (see ``models_room``), if the model says that it certainly opens
    once the victims are gone. The more victims leave, the more machines open.

    ``classes``: int64[B]; ``leaves``: int64[L], machine rows. The models' answers are cached.
    """

    def __init__(self, now: PreemptionState, classes: Int64, leaves: Int64) -> None:
        self._now = now
        self._classes = classes.tolist()
        self._leaves = leaves
        self._open: Bool = np.stack(
            [_apply_rules(now, cls, now.openable(cls))[leaves] for cls in self._classes]
        )
        self._places = np.flatnonzero(self._open.any(axis=0)).tolist()
        self._known: dict[tuple[int, int, tuple[int, ...]], bool] = {}
        self._questions = now.tuning.most_questions

    def slots(self, victims: Int64, roomy: Bool) -> Int64:
        """Return 1 where a leaf takes a task of a class once ``victims`` (tasks) have left, else 0: int64[B, L].

        ``roomy``: bool[L], leaves that have the free resources then; all other leaves get 0.
        """
        found = np.zeros(self._open.shape, dtype=np.int64)
        if not self._places:
            return found
        machine = self._now.preemption.machine[victims]
        order = np.lexsort((victims, machine))
        going, machine = victims[order], machine[order]
        for place in self._places:
            if not roomy[place]:
                continue
            at = int(self._leaves[place])
            first, last = np.searchsorted(machine, [at, at + 1]).tolist()
            gone = (*self._now.list_gone(at), *going[first:last].tolist())
            for row, cls in enumerate(self._classes):
                found[row, place] = self._open[row, place] and self._opens(cls, at, gone)
        return found

    def _opens(self, cls: int, machine: int, gone: tuple[int, ...]) -> bool:
        key = cls, machine, gone
        if key not in self._known:
            if self._questions <= 0:
                return False
            self._questions -= 1
            self._known[key] = self._now.ledger_closed.admits(cls, machine, gone)
        return self._known[key]


def _apply_rules(now: PreemptionState, cls: int, machines: Bool) -> Bool:
    """Return ``machines`` (bool[M]) without those that rules between tasks close to a class."""
    allowed = now.state.find_allowed(cls)
    return machines if allowed is None else machines & allowed
