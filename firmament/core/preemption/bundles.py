"""Represents bundles of victims: for each machine, the tasks that would have to leave it for one task of a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.ranks import find_runs


@dataclass(frozen=True, slots=True)
class Bundles:
    """One bundle of victims for each of R machines, at most J tasks each; lower figures are better.

    If a gang leaves as a whole, its members on other machines count in all figures, but are not listed in ``slots``.
    """

    rows: Int64
    """int64[R], machine of each bundle."""
    slots: Int64
    """int64[R, J], tasks on the bundle's machine."""
    victims: Bool
    """bool[R, J], which of the ``slots`` leave."""
    over: Int64
    """int64[R], number of victims that exceed a disruption budget."""
    top: Int64
    """int64[R], highest priority among the victims."""
    total: Int64
    """int64[R], sum of the victims' weights (``PreemptionProblem.weight``)."""
    count: Int64
    """int64[R], number of victims."""
    age: Float64
    """float64[R], minus the earliest start of a victim of the bundle's highest priority, in seconds since the epoch."""

    def keys(self) -> tuple[Float64 | Int64, ...]:
        """Return the columns by which bundles are compared, the most important first."""
        return self.over, self.top, self.total, self.count, self.age

    def select(self, where: Bool | Int64) -> Bundles:
        """Return the bundles that ``where`` selects: bool[R], or indices."""
        return Bundles(*(getattr(self, each.name)[where] for each in fields(self)))

    @classmethod
    def join(cls, parts: Sequence[Bundles], nobody: int) -> Bundles:
        """Return the bundles of all ``parts`` by machine; ``nobody``: the number for "no task" in ``slots``."""
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
        """Return the best bundle of each machine; of equal bundles, the one of the first part.

        ``nobody``: as for ``join``.
        """
        found = cls.join(parts, nobody)
        if len(parts) == 1:
            return found
        order = np.lexsort((*reversed(found.keys()), found.rows))
        return found.select(order[find_runs(found.rows[order])[0]])

    def or_better(self, other: Bundles) -> Bundles:
        """Return for each machine the better of this object's bundle and the bundle of ``other``.

        If the two bundles are equal, the function takes this object's.
        """
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
        """Return those victims of one bundle that run on the bundle's machine."""
        victims: list[int] = self.slots[place][self.victims[place]].tolist()
        return victims
