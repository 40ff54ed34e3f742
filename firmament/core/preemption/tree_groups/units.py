"""Who could go for a group: gangs as wholes and single tasks, in the order in which they are let off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.preemption.node_state import Prospect


@dataclass(frozen=True, slots=True)
class Units:
    """``tasks``: int64[N], those that could go, unit by unit; ``first``: int64[U + 1], where each unit begins."""

    tasks: Int64
    first: Int64

    def __len__(self) -> int:
        return len(self.first) - 1

    def members(self, units: Int64) -> Int64:
        """All tasks of some units (int64[A])."""
        sizes = self.first[units + 1] - self.first[units]
        within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self.tasks[np.repeat(self.first[units], sizes) + within]

    def taken(self, units: Int64) -> Units:
        """Some of the units, in that order."""
        sizes = self.first[units + 1] - self.first[units]
        return Units(self.members(units), np.cumsum([0, *sizes.tolist()], dtype=np.int64))


def units_for(prospect: Prospect, cls: int, help_: Float64, *, lenient: bool) -> Units:
    """The units that could go for a class, in the order in which they are let off.

    First what budgets protect, then the most important; of equals those that help least for each task that goes, then
    the oldest. ``help_``: float64[M], places that each machine gains for each of its tasks that goes. Without
    ``lenient`` only so many tasks take part that no disruption budget would be exceeded if all of them went: the least
    important.
    """
    preemption = prospect.preemption
    units = _units(prospect, cls)
    start, sizes = units.first[:-1], np.diff(units.first)
    if not len(start):
        return units
    top = np.maximum.reduceat(preemption.victim_priority[units.tasks], start)
    helps = np.add.reduceat(help_[preemption.machine[units.tasks]], start) / sizes
    started = np.minimum.reduceat(preemption.started[units.tasks], start)
    order = np.lexsort((np.arange(len(start)), started, helps, -top))
    within = _within_budgets(prospect, units, order)
    order = np.concatenate([order[~within], order[within]]) if lenient else order[within]
    return units.taken(order)


def _units(prospect: Prospect, cls: int) -> Units:
    """Gangs that may go as wholes, then single tasks that may go."""
    may_go = prospect.may_go(cls)
    alone = np.ones(len(may_go), dtype=np.bool_)
    found: list[Int64] = []
    if len(prospect.spare):
        alone = prospect.preemption.gang < 0
        for gang in np.flatnonzero(prospect.whole(cls)).tolist():
            members = prospect.gangs.members(gang)
            members = members[~prospect.gone[members]]
            if len(members) and may_go[members].all():
                found.append(members)
    singles = np.flatnonzero(may_go & alone)
    sizes = [len(members) for members in found] + [1] * len(singles)
    return Units(np.concatenate([*found, singles]), np.cumsum([0, *sizes], dtype=np.int64))


def _within_budgets(prospect: Prospect, units: Units, order: Int64) -> Bool:
    """bool[U], in ``order``: units that could go together without exceeding a budget; the last in order come first."""
    within: Bool = np.ones(len(order), dtype=np.bool_)
    if not len(prospect.allowed):
        return within
    left = np.maximum(prospect.allowed, 0)
    preemption = prospect.preemption
    for place in range(len(order) - 1, -1, -1):
        wanted = np.zeros_like(left)
        for kind in preemption.kind[units.members(order[[place]])].tolist():
            wanted[list(preemption.budgets[kind])] += 1
        within[place] = bool((wanted <= left)[wanted > 0].all())
        if within[place]:
            left -= wanted
    return within
