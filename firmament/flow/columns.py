"""Which class -> machine arcs enter the network at first.

The full network has classes x machines arcs; nearly all are useless. Two selections at the prices of ``equilibrium``
make the start:

* *by class*: the machines that are cheapest for it, somewhat more than it has tasks. Machines that cost a class the
  same are rotated by a hash of the class, so that on identical machines each class starts somewhere else;
* *by machine*: the classes that want it most. An error in a machine's price misleads all classes alike; these columns
  are what lets the solver correct it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.flow.equilibrium import FORBIDDEN, Spread
from firmament.flow.problem import Residual


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
    residual: Residual, fits: dict[int, Bool], spread: Spread, *, base: int, per_machine: int
) -> Columns:
    """Columns of all waiting classes.

    A class of n tasks gets its n / 2 + ``base`` cheapest machines; each machine that is expected to be used gets
    columns from the ``per_machine`` classes that would gain most from it. Pinned classes get all of their machines.
    """
    problem = residual.problem
    waiting = residual.remaining.sum(axis=1)
    parts_cls: list[Int64] = []
    parts_machine: list[Int64] = []
    keys: dict[int, tuple[Int64, Int64]] = {}
    free_classes = []
    wanted = spread.load > 0
    for cls in residual.active().tolist():
        shape = int(problem.shape[cls])
        pinned = problem.pins.get(cls)
        if pinned is not None:
            chosen = pinned[fits[shape][pinned]]
        else:
            if shape not in keys:
                candidates = np.flatnonzero(fits[shape])
                keys[shape] = candidates, problem.cost[shape, candidates] + spread.price[candidates]
            candidates, key = keys[shape]
            want = int(waiting[cls]) // 2 + base
            chosen = _cheapest(candidates, key, want, int(problem.rotation[cls]), problem.machines)
            free_classes.append(cls)
            wanted[chosen] = True
        parts_cls.append(np.full(len(chosen), cls, dtype=np.int64))
        parts_machine.append(chosen)
    if len(free_classes) > 1:
        cls_part, machine_part = _keenest(residual, np.array(free_classes), wanted, fits, spread, per_machine)
        parts_cls.append(cls_part)
        parts_machine.append(machine_part)
    return Columns.of(parts_cls, parts_machine, problem.machines)


def _cheapest(candidates: Int64, key: Int64, want: int, rotation: int, machines: int) -> Int64:
    """``want`` of the candidates with the least key, ties rotated."""
    if want >= len(candidates):
        return candidates
    turned = candidates + (machines - rotation % machines)
    turned[turned >= machines] -= machines
    ranked = key * np.int64(machines) + turned
    return candidates[np.argpartition(ranked, want)[:want]]


def _keenest(
    residual: Residual,
    classes: Int64,
    wanted: Bool,
    fits: dict[int, Bool],
    spread: Spread,
    per_machine: int,
) -> tuple[Int64, Int64]:
    """For each wanted machine the classes with the least reduced cost: class and machine, int64[A] each.

    A class's own price is taken to be its cost on the n-th cheapest machine, where n is its number of tasks.
    """
    problem = residual.problem
    machines = np.flatnonzero(wanted)
    if per_machine >= len(classes):
        usable = np.stack([fits[int(shape)][machines] for shape in problem.shape[classes]])
        row, column = np.nonzero(usable)
        return classes[row], machines[column]
    waiting = residual.remaining.sum(axis=1)
    reduced = np.empty((len(classes), len(machines)), dtype=np.float32)
    price = spread.price[machines]
    for row, own in enumerate(classes.tolist()):
        shape = int(problem.shape[own])
        reduced[row] = problem.cost[shape, machines] + price
        reduced[row, ~fits[shape][machines]] = FORBIDDEN
        nth = min(int(waiting[own]), len(machines) - 1)
        reduced[row] -= min(np.partition(reduced[row], nth)[nth], FORBIDDEN / 2)
    by_machine = np.ascontiguousarray(reduced.T)
    best = np.argpartition(by_machine, per_machine, axis=1)[:, :per_machine]
    usable = np.take_along_axis(by_machine, best, axis=1) < FORBIDDEN / 4
    return classes[best[usable]], np.repeat(machines, per_machine)[usable.ravel()]
