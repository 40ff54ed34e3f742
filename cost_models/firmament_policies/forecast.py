"""Predicts where the tasks of each type in a round will go, before they are placed together.

Costs of single arcs cannot say that two tasks of one round will be neighbours. A forecast can, roughly: the types that
wait are grouped so that, each group on machines of its own, they disturb each other least; and a task pays for the
neighbours that are expected on the machines of each group. It does not know which machines other rules refuse. Where
those keep a group from its machines, tasks pay for neighbours that do not come, but are placed all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from cost_models.firmament_policies.task_types import TYPES
from cost_models.interface import Float64, Int64, MachineColumns, ShapeBatch

Group: TypeAlias = tuple[int, ...]

GOLDEN_RATIO = 0.6180339887498949
"""Multiples of it, modulo 1, are spread evenly: neighbouring rows, often alike, go to different groups."""


def forecast_tasks(
    machines: MachineColumns, shapes: ShapeBatch, types: Int64, present: Float64, table: Float64
) -> Float64:
    """Return how many of the waiting tasks of each type will go to each machine: float64[TYPES, M].

    Machines with room are shared out among groups of the types that wait.

    ``types``: int64[S]; ``present``: float64[TYPES, M], what a task of a type pays for residents: each group
    chooses machines where its types pay least. ``table``: float64[TYPES, TYPES], what a newcomer (column) pays for
    a neighbour (row). If a single type waits there is nothing to keep apart.
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

    ``waiting``, ``needs``: float64[TYPES], tasks, and the share of the room that they need, to which numbers of
    machines are proportional. Groups are ordered by falling stake; there are none if there is no machine or nothing is
    needed.
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
    """Return what tasks of some types pay in all if each type is spread evenly, and alone, over the machines."""
    each = tasks / machines
    whole = np.floor(each)
    alike = whole * (2 * each - whole - 1)  # ordered pairs of one type per machine
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
    """Return share of all free room that each type's tasks need, of the resource they need most of:
    float64[TYPES].
    """
    free = machines.free.sum(axis=0, dtype=np.float64)
    wanted = shapes.requests.astype(np.float64) * shapes.counts[:, None]
    by_type = np.zeros((TYPES, wanted.shape[1]))
    np.add.at(by_type, types, wanted)
    shares = np.divide(by_type, free, out=np.zeros_like(by_type), where=free > 0)
    return shares.max(axis=1, initial=0.0)


def _quotas(needs: Float64, machines: int) -> list[int]:
    """Return whole numbers in proportion to ``needs`` that add up to ``machines``; all 0 if nothing is
    needed.
    """
    total = float(needs.sum())
    if total <= 0:
        return [0] * len(needs)
    ends = np.rint(np.cumsum(needs) / total * machines).astype(np.int64)
    return np.diff(ends, prepend=0).tolist()
