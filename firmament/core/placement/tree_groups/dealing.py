"""Deals the tasks of a group to the places that have been counted for it.

Neighbours in the group's order go next to each other in the tree. Where not every task may use every place, a small
network gives the places to the classes; within a class neighbours still stand in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.problem import Assignments
from firmament.solvers.base import Arcs, FlowProblem, Solver


def deal(
    order: Int64, places: Int64, machine: Int64, slots: Int64, cost: Int64, solver: Solver
) -> Assignments | None:
    """Give a group's tasks to places, in order of the tree; None if they cannot all have one.

    ``order``: int64[N], the class of each task; ``places``: int64[L], N in all; ``machine``: int64[L], the row of each
    leaf; ``slots``, ``cost``: int64[B, L], tasks that each leaf takes of each of the B classes by itself, and what one
    is charged there, in ascending order of class.
    """
    classes, of_task = np.unique(order, return_inverse=True)
    used = np.flatnonzero(places)
    leaf = np.repeat(used, places[used])
    straight = np.zeros((len(classes), len(used)), dtype=np.int64)
    np.add.at(straight, (of_task, np.searchsorted(used, leaf)), 1)
    counts = straight
    if (straight > slots[:, used]).any():
        wanted = np.bincount(of_task, minlength=len(classes))
        found = _transport(wanted, places[used], slots[:, used], cost[:, used], solver)
        if found is None:
            return None
        counts = found
    at, cls = np.nonzero(counts.T)
    return Assignments(classes[cls], machine[used[at]], counts[cls, at])


class Choosy:
    """The classes of a group that may use fewer leaves than others, and where they could go."""

    def __init__(self, order: Int64, slots: Int64, cost: Int64) -> None:
        """``order``, ``slots``, ``cost``: as `deal` takes them."""
        self._wanted = np.unique(order, return_counts=True)[1]
        self._slots = slots
        self._cost = cost
        by_choice = np.argsort(slots.sum(axis=1), kind="stable")
        self._classes = by_choice[:-1].tolist()  # the others can follow the least choosy one

    def starts(self) -> Iterator[Int64]:
        """Yield ways to put the choosy classes: tasks per leaf, int64[L]; by what their first leaf costs.

        The tasks of a class stand on leaves in a row, as far as those take them.
        """
        first = [self._leaves(cls) for cls in self._classes]
        for leaves in product(*first):
            taken = np.zeros(self._slots.shape[1], dtype=np.int64)
            for cls, leaf in zip(self._classes, leaves, strict=True):
                left = np.roll(np.maximum(self._slots[cls] - taken, 0), -leaf)
                before = np.cumsum(left) - left
                taken += np.roll(np.clip(self._wanted[cls] - before, 0, left), leaf)
            if int(taken.sum()) == int(self._wanted[self._classes].sum()):
                yield taken

    def _leaves(self, cls: int) -> list[int]:
        leaves = np.flatnonzero(self._slots[cls])
        cheapest: list[int] = leaves[np.argsort(self._cost[cls, leaves], kind="stable")].tolist()
        return cheapest


def _transport(wanted: Int64, places: Int64, slots: Int64, cost: Int64, solver: Solver) -> Int64 | None:
    """The cheapest int64[B, U] with ``wanted`` (int64[B]) and ``places`` (int64[U]) as sums and at most ``slots``.

    None if there is none. Raises what the solver raises.
    """
    classes, leaves = slots.shape
    row, column = np.nonzero(slots)
    sink = classes + leaves
    dearest = int(cost.max(initial=0)) + 1
    tasks = int(wanted.sum())
    solution = solver.solve(
        FlowProblem.of(
            np.concatenate([wanted, np.zeros(leaves, dtype=np.int64), [-tasks]]),
            Arcs(row, classes + column, slots[row, column], cost[row, column]),
            Arcs(np.arange(classes, sink), sink, places, 0),
            # A task without a place costs more than all others together could save.
            Arcs(np.arange(classes), sink, wanted, dearest * tasks),
        )
    )
    if solution.flows[len(row) + leaves :].any():
        return None
    counts = np.zeros_like(slots)
    counts[row, column] = solution.flows[: len(row)]
    return counts
