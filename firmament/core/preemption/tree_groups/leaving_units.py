"""Lists the units that could leave for a group: whole gangs and single tasks, in the order in which they may stay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.ranks import expand_ranges


@dataclass(frozen=True, slots=True)
class Units:
    """Gangs and single tasks that could leave: ``tasks``: int64[N]; ``first``: int64[U + 1], where each begins."""

    tasks: Int64
    first: Int64

    def __len__(self) -> int:
        return len(self.first) - 1

    def members(self, units: Int64) -> Int64:
        """Return all tasks of the units with these numbers (int64[A])."""
        sizes = self.first[units + 1] - self.first[units]
        return self.tasks[expand_ranges(self.first[units], sizes)]

    def select(self, units: Int64) -> Units:
        """Return the units with these numbers, in the given order."""
        sizes = self.first[units + 1] - self.first[units]
        return Units(self.members(units), np.cumsum([0, *sizes.tolist()], dtype=np.int64))


def list_units(now: PreemptionState, cls: int, gain: Float64, *, lenient: bool) -> Units:
    """Return the units that could leave for a class, in the order in which they are tried as ones that stay.

    Units that budgets protect come first, then the most important; of equal ones those that help least per victim, then
    the oldest. ``gain``: float64[M], places that a machine gains per victim. Without ``lenient``, only the least
    important units take part, as many as could all leave within disruption budgets.
    """
    preemption = now.preemption
    units = _list_units(now, cls)
    start, sizes = units.first[:-1], np.diff(units.first)
    if not len(start):
        return units
    top = np.maximum.reduceat(preemption.victim_priority[units.tasks], start)
    helps = np.add.reduceat(gain[preemption.machine[units.tasks]], start) / sizes
    started = np.minimum.reduceat(preemption.started[units.tasks], start)
    order = np.lexsort((np.arange(len(start)), started, helps, -top))
    within = _find_within_budgets(now, units, order)
    order = np.concatenate([order[~within], order[within]]) if lenient else order[within]
    return units.select(order)


def _list_units(now: PreemptionState, cls: int) -> Units:
    """Return the gangs that may leave as a whole, then the single tasks that may leave."""
    may_go = now.may_go(cls)
    alone = np.ones(len(may_go), dtype=np.bool_)
    found: list[Int64] = []
    if len(now.spare):
        alone = now.preemption.gang < 0
        whole = now.find_whole_gangs(cls)
        for gang in now.gangs.list_independent(now.spare):
            if not whole[gang]:
                continue
            members = now.gangs.members(gang)
            members = members[~now.gone[members]]
            if len(members) and may_go[members].all():
                found.append(members)
    singles = np.flatnonzero(may_go & alone)
    sizes = [len(members) for members in found] + [1] * len(singles)
    return Units(np.concatenate([*found, singles]), np.cumsum([0, *sizes], dtype=np.int64))


def _find_within_budgets(now: PreemptionState, units: Units, order: Int64) -> Bool:
    """Return which units could all leave within budgets: bool[U]; the last in ``order`` have precedence."""
    within: Bool = np.ones(len(order), dtype=np.bool_)
    if not len(now.allowed):
        return within
    left = np.maximum(now.allowed, 0)
    preemption = now.preemption
    for place in range(len(order) - 1, -1, -1):
        wanted = np.zeros_like(left)
        for kind in preemption.kind[units.members(order[[place]])].tolist():
            wanted[list(preemption.budgets[kind])] += 1
        within[place] = bool((wanted <= left)[wanted > 0].all())
        if within[place]:
            left -= wanted
    return within
