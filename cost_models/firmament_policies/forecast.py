"""Predicts where the tasks of each type in a round will go, before they are placed together.

The cost of an arc cannot depend on which other tasks of the round become neighbours. A forecast fills this gap: it
divides the waiting types into groups, gives each group machines of its own so that the types disturb each other
least, and a task pays for the neighbours that its machine's group will bring. A forecast does not know which machines
other rules refuse. If a group cannot use the forecast's machines, its tasks pay for neighbours that do not come, but
are placed all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from cost_models.firmament_policies.task_types import TYPES
from cost_models.interface import Float64, Int64, MachineColumns, ShapeBatch

Group: TypeAlias = tuple[int, ...]

GOLDEN_RATIO = 0.6180339887498949
"""The golden ratio's multiples modulo 1 are spread evenly, so adjacent (often alike) rows go to different groups."""


def forecast_tasks(
    machines: MachineColumns, shapes: ShapeBatch, types: Int64, present: Float64, table: Float64
) -> Float64:
    """Return how many of the waiting tasks of each type will go to each machine: float64[TYPES, M].

    Divides the machines with room among groups of the waiting types.

    ``types``: int64[S]; ``present``: float64[TYPES, M], what a task of each type pays for residents; each group gets
    the machines where its types pay least. ``table``: float64[TYPES, TYPES], what a newcomer (column) pays for a
    neighbour (row). If only one type waits, there is nothing to keep apart.
    """
    waiting = np.bincount(types, weights=shapes.counts, minlength=TYPES).astype(np.float64)
    expected = np.zeros((TYPES, machines.count))
    column = machines.column("pods")  # machines that take at least one more pod; all, if pods are not counted
    free = np.ones(machines.count, np.bool_) if column is None else machines.free[:, column] > 0
    if np.count_nonzero(waiting) < 2:
        return expected
    groups, quotas = best_grouping(waiting, _needs(machines, shapes, types), int(free.sum()), table)
    spread = np.arange(machines.count) * GOLDEN_RATIO % 1.0
    for group, quota in zip(groups, quotas, strict=True):
        members = np.array(group, dtype=np.int64)
        left = np.flatnonzero(free)
        paid = waiting[members] @ present[members][:, left]
        chosen = left[np.lexsort((spread[left], paid))[:quota]]
        free[chosen] = False
        expected[np.ix_(members, chosen)] = (waiting[members] / max(1, quota))[:, None]
    return expected


def best_grouping(
    waiting: Float64, needs: Float64, machines: int, table: Float64
) -> tuple[Sequence[Group], Sequence[int]]:
    """Return the groups of waiting types that disturb each other least, and how many machines each gets.

    ``waiting``: float64[TYPES], how many tasks wait. ``needs``: float64[TYPES], the share of all room that they need; a
    group gets machines in proportion to it. The group with the most at stake comes first. Returns no group if there are
    no machines or nothing is needed.
    """
    kinds = np.flatnonzero(waiting).tolist()
    stake = table.sum(axis=0) + table.sum(axis=1)
    best: tuple[float, Sequence[Group], Sequence[int]] = (np.inf, (), ())
    for partition in _partitions(kinds):
        groups = sorted(partition, key=lambda group: -max(stake[kind] for kind in group))
        quotas = _quotas(np.array([needs[list(group)].sum() for group in groups]), machines)
        if 0 in quotas:
            continue
        cost = sum(
            _interference(waiting[list(group)], quota, table[np.ix_(group, group)])
            for group, quota in zip(groups, quotas, strict=True)
        )
        if cost < best[0]:
            best = (cost, groups, quotas)
    return best[1], best[2]


def _interference(tasks: Float64, machines: int, table: Float64) -> float:
    """Return what the tasks pay for each other in all if they are spread evenly over the machines."""
    each = tasks / machines
    whole = np.floor(each)
    alike = whole * (2 * each - whole - 1)  # ordered pairs of tasks of one type, per machine
    pairs = np.outer(each, each)
    np.fill_diagonal(pairs, alike)
    return float((pairs * table).sum()) * machines


def _partitions(kinds: Sequence[int]) -> Iterator[list[Group]]:
    """Yield all ways to put ``kinds`` into groups (15 for four)."""
    if not kinds:
        yield []
        return
    first, rest = kinds[0], kinds[1:]
    for partition in _partitions(rest):
        yield [(first,), *partition]
        for index, group in enumerate(partition):
            yield [*partition[:index], (first, *group), *partition[index + 1 :]]


def _needs(machines: MachineColumns, shapes: ShapeBatch, types: Int64) -> Float64:
    """Return which share of all free room each type's tasks need, in the resource with the largest share:
    float64[TYPES].
    """
    free = machines.free.sum(axis=0, dtype=np.float64)
    wanted = shapes.requests.astype(np.float64) * shapes.counts[:, None]
    by_type = np.zeros((TYPES, wanted.shape[1]))
    np.add.at(by_type, types, wanted)
    shares = np.divide(by_type, free, out=np.zeros_like(by_type), where=free > 0)
    return shares.max(axis=1, initial=0.0)


def _quotas(needs: Float64, machines: int) -> list[int]:
    """Divide ``machines`` in proportion to ``needs``, in whole numbers; all are 0 if nothing is needed."""
    total = float(needs.sum())
    if total <= 0:
        return [0] * len(needs)
    ends = np.rint(np.cumsum(needs) / total * machines).astype(np.int64)
    return np.diff(ends, prepend=0).tolist()
