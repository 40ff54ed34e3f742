"""Machines of a tree whose room a model's ledger keeps in order of arrival: which open for a task of a group.

Such a machine takes one task at a time (see ``kept_rooms``), if the model says that it certainly opens once those who
go are gone. The more go, the more machines open.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.preemption.node_state import Prospect


class KeptLeaves:
    """``classes``: int64[B]; ``leaves``: int64[L], machine rows. What models have answered is remembered."""

    def __init__(self, prospect: Prospect, classes: Int64, leaves: Int64) -> None:
        self._prospect = prospect
        self._classes = classes.tolist()
        self._leaves = leaves
        self._open: Bool = np.stack([self._openable(cls)[leaves] for cls in self._classes])
        self._places = np.flatnonzero(self._open.any(axis=0)).tolist()
        self._known: dict[tuple[int, int, tuple[int, ...]], bool] = {}
        self._questions = prospect.tuning.most_questions

    def slots(self, victims: Int64, roomy: Bool) -> Int64:
        """int64[B, L]: 1 where a leaf takes a task of a class once ``victims`` (tasks) are gone, else 0.

        ``roomy``: bool[L], leaves that have the resources then; others are left out.
        """
        found = np.zeros(self._open.shape, dtype=np.int64)
        if not self._places:
            return found
        machine = self._prospect.preemption.machine[victims]
        order = np.lexsort((victims, machine))
        going, machine = victims[order], machine[order]
        for place in self._places:
            if not roomy[place]:
                continue
            at = int(self._leaves[place])
            first, last = np.searchsorted(machine, [at, at + 1]).tolist()
            gone = (*self._prospect.gone_from(at), *going[first:last].tolist())
            for row, cls in enumerate(self._classes):
                found[row, place] = self._open[row, place] and self._opens(cls, at, gone)
        return found

    def _openable(self, cls: int) -> Bool:
        """bool[M]: machines that could open, as far as rules between tasks let the class in."""
        openable = self._prospect.openable(cls)
        state = self._prospect.state
        allowed = None if state is None else state.allowed(cls)
        return openable if allowed is None else openable & allowed

    def _opens(self, cls: int, machine: int, gone: tuple[int, ...]) -> bool:
        key = cls, machine, gone
        if key not in self._known:
            if self._questions <= 0:
                return False
            self._questions -= 1
            self._known[key] = self._prospect.kept.opens(cls, machine, gone)
        return self._known[key]
