"""Terms of a problem that its network does not contain: sizes of tasks, spread, groups over a tree, earlier
prices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Float64, Int64
from firmament.core.ranks import distinct
from firmament.core.tree_solver.solver import ExactSolver
from firmament.core.tree_solver.tree import Rule, Tree

# --- How high machines stand in what models charge for use, in the sum of what single tasks add.
#
# A flow counts tasks: the k-th of a round on a machine costs more than the one before by the mean task's size g,
# whatever sizes they have. Use itself is a sum of sizes. Where a model states its figure as a height that tasks raise
# by their sizes (``cost_models.api.assessment.Heights``), this is what all tasks on a machine cost together:
#
#     ((x + S)^2 - x^2) / 2 g + S / 2        x: the height before the round, S: the sum of sizes
#
# A height is what one more task of mean size is charged, so each part of a size is charged the height at which it comes
# to lie. Where all tasks have the mean size, that is what the network charges: n x + g n (n + 1) / 2. Units throughout.


@dataclass(frozen=True, slots=True)
class HeightCharge:
    """What a model charges a first task: ``per_unit`` units, of either sign, for each unit by which ``raw`` is above
    ``best``; at least 0, at most ``most``. ``raw``: numeric[S, M].
    """

    raw: NDArray[Any]
    best: float
    per_unit: float
    most: float

    def units(self, shapes: Int64, machines: Int64) -> Float64:
        """Return float64[A]: for tasks of ``shapes[i]`` on ``machines[i]``."""
        units: Float64 = entries(self.raw, shapes, machines).astype(np.float64)
        units -= self.best
        units *= self.per_unit
        np.maximum(units, 0.0, out=units)
        return np.minimum(units, self.most, out=units)


@dataclass(frozen=True, slots=True)
class RoundHeights:
    """Heights of all models that state them, added up.

    ``start``: float64[M], before the round; ``rate``: float64[R, M] and ``amount``: float64[S, R], of which a task's
    size is the product; ``growth``: float64[M], size of the round's mean task; ``charges``: what the network's costs
    hold of these models.
    """

    start: Float64
    rate: Float64
    amount: Float64
    growth: Float64
    charges: Sequence[HeightCharge]

    def sizes(self, shapes: Int64, machines: Int64) -> Float64:
        """Return float64[A]: sizes of tasks of ``shapes[i]`` on ``machines[i]``."""
        size = np.zeros(len(shapes))
        for amount, rate in zip(self.amount.T, self.rate, strict=True):
            size += amount.take(shapes) * rate.take(machines)
        return size

    def sum_charged(self, shapes: Int64, machines: Int64) -> Float64:
        """Return float64[A]: what the network's costs hold of these models."""
        units = np.zeros(len(shapes))
        for charge in self.charges:
            units += charge.units(shapes, machines)
        return units


def entries(matrix: NDArray[Any], rows: Int64, columns: Int64) -> NDArray[Any]:
    """Return ``matrix[rows, columns]`` for ``matrix`` in order of its rows, by one index instead of two:
    twice as fast.
    """
    if not matrix.flags.c_contiguous:  # it would be written out as a whole for that
        return matrix[rows, columns]
    return matrix.take(rows * np.int64(matrix.shape[1]) + columns)


# --- Groups of tasks that would rather be apart, on machines and in domains of machines (zones), as costs.
#
# kube-scheduler adds to the score of a node what tasks of the same owner already run on it and in its zone. Here the
# same is a convex cost: the k-th task of a group on a machine costs ``machine_step`` x k (counted from 0) more than the
# first, and the k-th in a domain ``domain_step`` x k. Tasks that ran before the round count.


@dataclass(frozen=True, slots=True)
class SpreadTerms:
    """The groups of a round; G groups, C classes, M machines, D domains.

    ``group``: int64[C], -1 for classes of no group; ``domain``: int64[M], all 0 where domains do not matter;
    ``machine_step``, ``domain_step``: float64[G], units. Task i of group ``resident_group[i]`` is on machine row
    ``resident_machine[i]`` already: int64[A].
    """

    group: Int64
    domain: Int64
    machine_step: Float64
    domain_step: Float64
    resident_group: Int64
    resident_machine: Int64

    @property
    def groups(self) -> int:
        """G, the number of groups."""
        return len(self.machine_step)

    @property
    def domains(self) -> int:
        """D, the number of domains."""
        return int(self.domain.max(initial=0)) + 1

    def add_residents(self, groups: Int64, machines: Int64) -> SpreadTerms:
        """Return the same with further tasks of groups on machines."""
        return replace(
            self,
            resident_group=np.concatenate([self.resident_group, groups]),
            resident_machine=np.concatenate([self.resident_machine, machines]),
        )

    def count_near(self, group: int, machines: Int64) -> Int64:
        """Return int64[M]: tasks of a group on each machine, and one more on each of ``machines``."""
        there = self.resident_machine[self.resident_group == group]
        return np.bincount(np.concatenate([there, machines]), minlength=len(self.domain))

    def on_machines(self, groups: Int64, machines: Int64, counts: Int64) -> tuple[Int64, Int64]:
        """Return pairs group x M + machine with tasks, ascending, and how many: int64[P] each.

        Of those that ran before, and ``counts[i]`` more of ``groups[i]`` on ``machines[i]``.
        """
        width = np.int64(len(self.domain))
        before = self.resident_group * width + self.resident_machine
        return distinct(np.concatenate([before, np.repeat(groups * width + machines, counts)]))

    def in_domains(self, groups: Int64, machines: Int64, counts: Int64) -> Int64:
        """Return int64[G, D]: tasks of each group in each domain, counted likewise."""
        width = self.domains
        keys = np.concatenate([self.resident_group, groups]) * width
        keys += self.domain[np.concatenate([self.resident_machine, machines])]
        weights = np.concatenate([np.ones(len(self.resident_group), dtype=np.int64), counts])
        found = np.bincount(keys, weights=weights, minlength=self.groups * width).astype(np.int64)
        return found.reshape(self.groups, width)


# --- Groups of a round whose tasks share out over a tree of machines by rules.


@dataclass(frozen=True, slots=True)
class TreeGroup:
    """One group, all of whose waiting tasks are to be placed, or none.

    ``size``: its tasks, with those that are on machines of the tree already: ``held``, int64[L] over the tree's leaves;
    ``rules``: one per level; ``order``: int64[N], the problem class of each waiting task, neighbours next to each
    other; ``refused``: why it cannot be placed at all, empty if it can.
    """

    name: str
    size: int
    rules: tuple[Rule, ...]
    held: Int64
    order: Int64
    refused: str = ""


@dataclass(frozen=True, slots=True)
class GroupTerms:
    """The tree of a round and its groups, by number of the gang.

    ``position``: int64[M], where each machine stands among the leaves, L for those outside of the tree; ``counted``:
    int64[A], columns of the resources by which the rooms of units are compared, empty for all.
    """

    tree: Tree
    solver: ExactSolver
    groups: Mapping[int, TreeGroup]
    position: Int64
    counted: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))


# --- What tasks of some shapes were worth when a round ended: a start for the expected prices of the next one.


@dataclass(frozen=True, slots=True)
class DualPrices:
    """Prices of shapes in units: ``price``: float32[K], of the shapes numbered ``shape``: int64[K], ascending.

    They count relative to each other; their common level is found anew wherever they are used.
    """

    shape: Int64
    price: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.shape)

    @classmethod
    def from_shapes(cls, shapes: Int64, price: NDArray[np.float32]) -> DualPrices:
        """Return prices of ``shapes`` (int64[A], in any order); of a shape that occurs twice the first
        counts.
        """
        distinct, first = np.unique(shapes, return_index=True)
        return cls(distinct, price[first])

    @classmethod
    def none(cls) -> DualPrices:
        """Return prices without any shape."""
        return cls(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))

    def get(self, shapes: Int64) -> NDArray[np.float32]:
        """Return float32[A]: the prices of ``shapes``, NaN for those that have none."""
        found = np.full(len(shapes), np.nan, dtype=np.float32)
        if len(self.shape):
            place = np.minimum(np.searchsorted(self.shape, shapes), len(self.shape) - 1)
            known = self.shape[place] == shapes
            found[known] = self.price[place[known]]
        return found
