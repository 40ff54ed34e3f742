"""Bundles of victims: the tasks that would have to leave each machine for one task of a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.ranks import runs


@dataclass(frozen=True, slots=True)
class Bundles:
    """One bundle for each of R machines, with at most J tasks each; the lower, the better, in
    kube-scheduler's order.

    Tasks on other machines that leave with their gangs count in all figures, and are not listed.
    """

    rows: Int64
    """int64[R], machines."""
    slots: Int64
    """int64[R, J], tasks."""
    victims: Bool
    """bool[R, J], which of the ``slots`` leave."""
    over: Int64
    """int64[R], tasks that a budget does not allow to leave."""
    top: Int64
    """int64[R], highest priority of those that leave."""
    total: Int64
    """int64[R], sum of their weights (``PreemptionProblem.weight``)."""
    count: Int64
    """int64[R], their number."""
    age: Float64
    """float64[R], minus the start of the first of the most important of them."""

    def keys(self) -> tuple[Float64 | Int64, ...]:
        """Return what bundles compare by, the most telling first."""
        return self.over, self.top, self.total, self.count, self.age

    def select(self, where: Bool | Int64) -> Bundles:
        """Return the bundles for which ``where`` (bool[R]) holds, or those that it names."""
        return Bundles(*(getattr(self, each.name)[where] for each in fields(self)))

    @classmethod
    def join(cls, parts: Sequence[Bundles], nobody: int) -> Bundles:
        """Return all bundles in order of machine; ``nobody`` stands for no task in ``slots``."""
        if len(parts) == 1:
            return parts[0]
        width = max(part.slots.shape[1] for part in parts)
        order = np.argsort(np.concatenate([part.rows for part in parts]), kind="stable")
        columns = []
        for each in fields(cls):
            arrays = [getattr(part, each.name) for part in parts]
            if arrays[0].ndim > 1:
                filler = nobody if each.name == "slots" else 0
                arrays = [
                    np.pad(array, ((0, 0), (0, width - array.shape[1])), constant_values=filler)
                    if array.shape[1] < width
                    else array
                    for array in arrays
                ]
            columns.append(np.concatenate(arrays)[order])
        return cls(*columns)

    @classmethod
    def best(cls, parts: Sequence[Bundles], nobody: int) -> Bundles:
        """Return the best bundle of each machine; the earlier part's of equals. ``nobody`` as for ``join``."""
        found = cls.join(parts, nobody)
        if len(parts) == 1:
            return found
        order = np.lexsort((*reversed(found.keys()), found.rows))
        return found.select(order[runs(found.rows[order])[0]])

    def or_better(self, other: Bundles) -> Bundles:
        """Return the better of two bundles for each machine; of equal ones, this one."""
        second = np.zeros(len(self.rows), dtype=np.bool_)
        equal = np.ones(len(self.rows), dtype=np.bool_)
        for mine, yours in zip(self.keys(), other.keys(), strict=True):
            second |= equal & (yours < mine)
            equal &= yours == mine
        columns = []
        for each in fields(self):
            mine, yours = getattr(self, each.name), getattr(other, each.name)
            columns.append(np.where(second[:, None] if mine.ndim > 1 else second, yours, mine))
        return Bundles(*columns)

    def list_tasks(self, place: int) -> list[int]:
        """Return the tasks of one bundle that are on its machine."""
        victims: list[int] = self.slots[place][self.victims[place]].tolist()
        return victims
