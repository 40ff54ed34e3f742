"""Who could go for a group: gangs as wholes and single tasks, in the order in which they are let off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Float64, Int64
from firmament.preemption.prospect import Prospect


@dataclass(frozen=True, slots=True)
class Units:
    """``tasks``: int64[N], those that could go, unit by unit; ``first``: int64[U + 1], where each unit begins.

    ``priority``: int64[U], the highest in each. Units are in the order in which they are let off: what budgets protect,
    then the most important; of equals those that help least for each task that goes, then the oldest.
    """

    tasks: Int64
    first: Int64
    priority: Int64

    def __len__(self) -> int:
        return len(self.priority)

    def members(self, units: Int64) -> Int64:
        """All tasks of some units (int64[A])."""
        parts = [self.tasks[self.first[unit] : self.first[unit + 1]] for unit in units.tolist()]
        return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def units_for(prospect: Prospect, cls: int, help_: Float64, *, lenient: bool) -> Units:
    """The units that could go for a class.

    ``help_``: float64[M], places that each machine gains for each of its tasks that goes. Without ``lenient`` only so
    many tasks take part that no disruption budget would be exceeded if all of them went: the least important.
    """
    preemption = prospect.preemption
    may_go = prospect.may_go(cls)
    found: list[Int64] = []
    if len(prospect.spare):
        for gang in np.flatnonzero(prospect.whole(cls)).tolist():
            members = prospect.gangs.members(gang)
            members = members[~prospect.gone[members]]
            if len(members) and bool(may_go[members].all()):
                found.append(members)
        alone = preemption.gang < 0
    else:
        alone = np.ones(preemption.victims, dtype=np.bool_)
    found += list(np.flatnonzero(may_go & alone)[:, None])
    top = np.array([int(preemption.victim_priority[unit].max()) for unit in found], dtype=np.int64)
    helps = np.array([float(help_[preemption.machine[unit]].mean()) for unit in found])
    started = np.array([float(preemption.started[unit].min()) for unit in found])
    order = np.lexsort((np.arange(len(found)), started, helps, -top))
    within = _within_budgets(prospect, [found[unit] for unit in order.tolist()])
    order = np.concatenate([order[~within], order[within]]) if lenient else order[within]
    ordered = [found[unit] for unit in order.tolist()]
    return Units(
        tasks=np.concatenate([np.empty(0, dtype=np.int64), *ordered]),
        first=np.cumsum([0, *(len(unit) for unit in ordered)], dtype=np.int64),
        priority=top[order],
    )


def _within_budgets(prospect: Prospect, ordered: list[Int64]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """bool[U]: units that could go together without exceeding a budget; the last in order come first."""
    within = np.ones(len(ordered), dtype=np.bool_)
    if not len(prospect.allowed):
        return within
    left = np.maximum(prospect.allowed, 0)
    preemption = prospect.preemption
    for place in range(len(ordered) - 1, -1, -1):
        wanted = np.zeros_like(left)
        for kind in preemption.kind[ordered[place]].tolist():
            wanted[list(preemption.budgets[kind])] += 1
        within[place] = bool((wanted <= left)[wanted > 0].all())
        if within[place]:
            left -= wanted
    return within
