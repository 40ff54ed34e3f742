"""Which class -> machine arcs enter the network at first.

The full network has classes x machines arcs; nearly all are useless. Two selections at the prices of ``equilibrium``
make the start:

* the *cheapest* machines of each class, about as many as it has tasks. Among machines that cost it the same, a class
  begins where the one before it ended, so that classes stand side by side;
* a *sample* of all pairs in proportion to the flow that is expected on them. An error in a machine's price misleads
  all classes alike: it would be in nobody's selection, or in everybody's. The sample gives every machine columns of
  the classes that are likely to use it, with which the solver corrects the price.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool, Int64
from firmament.flow.equilibrium import UNWANTED, Spread, narrowed, nth_smallest
from firmament.flow.problem import Residual
from firmament.flow.refinement import FORBIDDEN
from firmament.solvers.base import Int32

CANDIDATES_ENOUGH = 200
"""A class looks beyond the machines that are likely to be used if fewer of them than this would do."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Class -> machine arcs, sorted by class, then machine, without repetition: ``cls``, ``machine``: int64[A]."""

    cls: Int64
    machine: Int64

    def __len__(self) -> int:
        return len(self.cls)

    @classmethod
    def of(cls, parts_cls: list[Int64], parts_machine: list[Int64], machines: int) -> Columns:
        """Columns from pairs in any order, repetitions allowed; ``machines`` is M."""
        if not parts_cls:
            return cls(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        key = np.concatenate(parts_cls) * machines + np.concatenate(parts_machine)
        key.sort()
        if len(key):
            key = key[np.r_[True, key[1:] != key[:-1]]]
        return cls(*np.divmod(key, machines))

    def merged(self, other: Columns, machines: int) -> Columns:
        """Both together; ``machines`` is M."""
        return Columns.of([self.cls, other.cls], [self.machine, other.machine], machines)


def starting_columns(
    residual: Residual, fits: dict[int, Bool], spread: Spread, *, base: int, samples: float, every_pair: int
) -> Columns:
    """Columns of all waiting classes.

    A class of n tasks gets its n / 2 + ``base`` cheapest machines, and with the others about ``samples`` x n more by
    expected flow, in each direction, or all pairs with likely machines if those are at most ``every_pair``. Pinned
    classes get all of their machines.
    """
    problem = residual.problem
    waiting = residual.remaining.sum(axis=1)
    parts_cls: list[Int64] = []
    parts_machine: list[Int64] = []
    keys: dict[int, tuple[Int32, Int64]] = {}
    level = narrowed(spread.price)
    unpinned = []
    begin = problem.rotation
    for cls in residual.active().tolist():
        shape = int(problem.shape[cls])
        pinned = problem.pins.get(cls)
        if pinned is not None:
            chosen = pinned[fits[shape][pinned]]
        else:
            if shape not in keys:
                keys[shape] = _keys(residual, shape, fits[shape], level, spread.candidates)
            chosen = _cheapest(*keys[shape], int(waiting[cls]) // 2 + base, begin)
            begin += int(waiting[cls])
            unpinned.append(cls)
        parts_cls.append(np.full(len(chosen), cls, dtype=np.int64))
        parts_machine.append(chosen)
    if len(unpinned) > 1 and len(spread.candidates) and samples > 0:
        cls_part, machine_part = _likely(residual, np.array(unpinned), fits, spread, samples, every_pair)
        parts_cls.append(cls_part)
        parts_machine.append(machine_part)
    return Columns.of(parts_cls, parts_machine, problem.machines)


def _keys(residual: Residual, shape: int, fits: Bool, level: Int32, candidates: Int64) -> tuple[Int32, Int64]:
    """Cost plus price per machine, and which machines those are: the candidates if the shape fits enough of them."""
    machines = candidates
    if fits[machines].sum() < min(CANDIDATES_ENOUGH, int(fits.sum())):
        machines = np.arange(residual.problem.machines)
    key = residual.problem.cost[shape, machines] + level[machines]
    key[~fits[machines]] = UNWANTED
    return key, machines


def _cheapest(key: Int32, machines: Int64, want: int, begin: int) -> Int64:
    """About ``want`` machines with the least key; of those that tie at the end, the ones from row ``begin`` on."""
    limit = nth_smallest(key, want)
    if limit == UNWANTED:
        return machines[key < UNWANTED]
    chosen = np.flatnonzero(key <= limit)
    if len(chosen) > want + want // 4 + 1:
        below, tied = np.flatnonzero(key < limit), np.flatnonzero(key == limit)
        first = int(np.searchsorted(machines[tied], begin % int(machines[-1] + 1)))
        after = tied[first : first + want - len(below)]
        chosen = np.concatenate([below, after, tied[: want - len(below) - len(after)]])
    return machines[chosen]


def _likely(
    residual: Residual, classes: Int64, fits: dict[int, Bool], spread: Spread, samples: float, every_pair: int
) -> tuple[Int64, Int64]:
    """Pairs sampled in proportion to the flow that the softened equilibrium expects on them; all, if they are few.

    Systematic sampling, once with the machines of a class side by side and once with the classes of a machine: every
    class and every machine is met in proportion to its tasks, and no pair by chance alone.
    """
    problem = residual.problem
    machines = spread.candidates
    waiting = residual.remaining.sum(axis=1)[classes]
    shapes, of_class = np.unique(problem.shape[classes], return_inverse=True)
    allowed = np.stack([fits[shape][machines] for shape in shapes.tolist()])
    if len(classes) * len(machines) <= every_pair:
        row, column = np.nonzero(allowed[of_class])
        return classes[row], machines[column]
    share = (problem.cost[np.ix_(shapes, machines)] + spread.price[machines]).astype(np.float32)
    share[~allowed] = FORBIDDEN
    least = share.min(axis=1)
    share -= least[:, None]
    share *= -1.0 / spread.temperature
    np.exp(share, out=share)
    share /= share.sum(axis=1, keepdims=True)
    share[least >= FORBIDDEN] = 0.0
    flow = share[of_class]
    flow *= waiting[:, None].astype(np.float32)
    by_class = _systematic(flow.ravel(), samples)
    by_machine = _systematic(np.ascontiguousarray(flow.T).ravel(), samples)
    row_a, column_a = np.divmod(by_class, len(machines))
    column_b, row_b = np.divmod(by_machine, len(classes))
    return classes[np.concatenate([row_a, row_b])], machines[np.concatenate([column_a, column_b])]


def _systematic(weight: NDArray[np.float32], rate: float) -> Int64:
    """Indices at every 1 / ``rate`` of the cumulative ``weight``, ascending, each once."""
    total = np.cumsum(weight, dtype=np.float64)
    points = np.arange(0.5 / rate, float(total[-1]) * (1.0 - 1e-9), 1.0 / rate)
    hit = np.searchsorted(total, points).astype(np.int64)
    return hit[np.r_[True, hit[1:] != hit[:-1]]] if len(hit) else hit
