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
from firmament.flow.equilibrium import UNWANTED, Spread, narrowed
from firmament.flow.problem import Residual
from firmament.solvers.base import Int32

CANDIDATES_ENOUGH = 200
"""A class looks beyond the machines that are likely to be used if fewer of them than this would do."""

PAIRS_PER_TASK = 50
"""All pairs of classes and likely machines are too many for a few tasks if there are more than this per task."""

SAMPLES_PER_MACHINE = 4.0
"""Sampled pairs per likely machine, in each direction: where machines take many tasks each, few classes share one."""

AT_ONCE = 1_000_000
"""Pairs of classes and machines of which the cheapest are chosen together; bounds memory, suits the cache."""


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
        return cls(*_divided(key, machines))

    def merged(self, other: Columns, machines: int) -> Columns:
        """Both together; ``machines`` is M."""
        return Columns.of([self.cls, other.cls], [self.machine, other.machine], machines)


def starting_columns(
    residual: Residual, fits: dict[int, Bool], spread: Spread, *, base: int, samples: float, every_pair: int
) -> Columns:
    """Columns of all waiting classes.

    A class of n tasks gets its n / 2 + ``base`` cheapest machines, and with the others about ``samples`` x n more by
    expected flow, in each direction, or all pairs with likely machines if those are at most ``every_pair``, and not
    many for the tasks. Pinned classes get all of their machines.
    """
    problem = residual.problem
    waiting = residual.remaining.sum(axis=1)
    active = residual.active()
    is_pinned = np.zeros(problem.classes, dtype=np.bool_)
    is_pinned[list(problem.pins)] = True
    parts_cls: list[Int64] = []
    parts_machine: list[Int64] = []
    for cls in active[is_pinned[active]].tolist():
        chosen = problem.pins[cls][fits[int(problem.shape[cls])][problem.pins[cls]]]
        parts_cls.append(np.full(len(chosen), cls, dtype=np.int64))
        parts_machine.append(chosen)
    classes = active[~is_pinned[active]]
    if len(classes) == 0:
        return Columns.of(parts_cls, parts_machine, problem.machines)
    tasks = waiting[classes]
    key = _keys(residual, classes, fits, spread.candidates, spread)
    want = tasks // 2 + base
    begin = (problem.rotation + np.cumsum(tasks) - tasks) % max(1, problem.machines)
    few = _lacks_candidates(residual, classes, fits, key)
    everyone = np.arange(problem.machines)
    for rows, machines in ((np.flatnonzero(~few), spread.candidates), (np.flatnonzero(few), everyone)):
        if len(rows) == 0 or len(machines) == 0:
            continue
        for at in np.array_split(rows, -(-len(rows) * len(machines) // AT_ONCE)):
            keys = (
                key[at] if machines is not everyone else _keys(residual, classes[at], fits, machines, spread)
            )
            row, machine = cheapest_machines(keys, machines, want[at], begin[at])
            parts_cls.append(classes[at[row]])
            parts_machine.append(machine)
    if len(classes) > 1 and len(spread.candidates) and samples > 0:
        if key.size <= min(every_pair, PAIRS_PER_TASK * int(tasks.sum())):
            row, place = np.nonzero(key < UNWANTED)
        else:
            rate = min(samples, SAMPLES_PER_MACHINE * len(spread.candidates) / int(tasks.sum()))
            row, place = _likely(key, tasks, spread.temperature, rate)
        parts_cls.append(classes[row])
        parts_machine.append(spread.candidates[place])
    return Columns.of(parts_cls, parts_machine, problem.machines)


def _keys(
    residual: Residual, classes: Int64, fits: dict[int, Bool], machines: Int64, spread: Spread
) -> Int32:
    """Cost plus price of each class on each of ``machines``, ``UNWANTED`` where it does not fit: int32[C', M']."""
    problem = residual.problem
    shapes = problem.shape[classes]
    level = narrowed(spread.price)[machines]
    key = np.empty((len(classes), len(machines)), dtype=np.int32)
    for row, shape in enumerate(shapes.tolist()):
        np.add(problem.cost[shape].take(machines), level, out=key[row])
        np.copyto(key[row], UNWANTED, where=~fits[shape].take(machines))
    return key


def _lacks_candidates(residual: Residual, classes: Int64, fits: dict[int, Bool], key: Int32) -> Bool:
    """bool[C']: classes that fit too few of the candidates, and more machines than those."""
    few: Bool = (key < UNWANTED).sum(axis=1) < CANDIDATES_ENOUGH
    for row in np.flatnonzero(few).tolist():
        usable = int(fits[int(residual.problem.shape[classes[row]])].sum())
        few[row] = int((key[row] < UNWANTED).sum()) < min(CANDIDATES_ENOUGH, usable)
    return few


def cheapest_machines(key: Int32, machines: Int64, want: Int64, begin: Int64) -> tuple[Int64, Int64]:
    """About ``want`` machines of each row with the least key: rows, and machines.

    Of those that tie at the end, the ones from machine ``begin`` on. ``key``: int32[C', M'] over ``machines``;
    ``want``, ``begin``: int64[C'].
    """
    nth = np.minimum(want, key.shape[1] - 1)
    last = int(nth.max())
    least = np.partition(key, last, axis=1)[:, : last + 1]
    least.sort(axis=1)
    limit = least[np.arange(len(key)), nth]
    chosen = key <= np.minimum(limit, UNWANTED - 1)[:, None]
    count = np.count_nonzero(chosen, axis=1)
    tied = np.flatnonzero((limit < UNWANTED) & (count > want + want // 4 + 1))
    if len(tied):
        chosen[tied] = _in_turn(key[tied], limit[tied], want[tied], np.searchsorted(machines, begin[tied]))
    row, place = _divided(np.flatnonzero(chosen.ravel()), key.shape[1])
    return row, machines[place]


def _in_turn(key: Int32, limit: Int32, want: Int64, begin: Int64) -> Bool:
    """bool[C', M']: ``want`` machines of each row with a key up to ``limit``, those at it from column ``begin`` on."""
    below, at_limit = key < limit[:, None], key == limit[:, None]
    nth = np.cumsum(at_limit, axis=1, dtype=np.int32)
    number = nth[:, -1]
    # Columns at the limit are numbered from 0 at ``begin``, and on from the left end.
    before = np.where(begin > 0, nth[np.arange(len(key)), np.maximum(begin - 1, 0)], 0)
    turn = nth - (before + 1)[:, None]
    turn += np.where(turn < 0, number[:, None], 0).astype(np.int32)
    chosen: Bool = below | (at_limit & (turn < (want - below.sum(axis=1))[:, None]))
    return chosen


def _likely(key: Int32, tasks: Int64, temperature: float, rate: float) -> tuple[Int64, Int64]:
    """Pairs sampled in proportion to the flow that the softened equilibrium expects on them: rows and columns of key.

    Systematic sampling, once with the machines of a class side by side and once with the classes of a machine: every
    class and every machine is met in proportion to its tasks, and no pair by chance alone.
    """
    least = key.min(axis=1)
    flow = (key - least[:, None]).astype(np.float32)
    flow *= np.float32(-1.0 / temperature)
    np.exp(flow, out=flow)
    flow *= (np.where(least < UNWANTED, tasks, 0) / flow.sum(axis=1)).astype(np.float32)[:, None]
    summed = np.empty_like(flow)
    sums = np.zeros(flow.shape[1], dtype=np.float32)
    for row, line in enumerate(flow):  # a cumulative sum down the columns, whole rows at a time
        sums += line
        summed[row] = sums
    place_b, row_b = systematic_sample(summed.T, rate)
    row_a, place_a = systematic_sample(np.cumsum(flow, axis=1, out=flow), rate)
    return np.concatenate([row_a, row_b]), np.concatenate([place_a, place_b])


def systematic_sample(summed: NDArray[np.float32], rate: float) -> tuple[Int64, Int64]:
    """Lines, and places in them, at every 1 / ``rate`` of the total over all lines, each once.

    ``summed``: float32[L, P], cumulative weights of the places of each line.
    """
    width = summed.shape[1]
    ends = np.cumsum(summed[:, -1], dtype=np.float64)
    points = np.arange(0.5 / rate, float(ends[-1]) * (1.0 - 1e-9), 1.0 / rate)
    line = np.searchsorted(ends, points)
    rest = (points - (ends - summed[:, -1])[line]).astype(np.float32)
    place = np.zeros(len(points), dtype=np.int64)
    for bit in reversed(range(width.bit_length())):  # count the places of the line that end before the rest
        beyond = np.minimum(place + (1 << bit), width)
        place = np.where((beyond < width) & (summed[line, beyond - 1] < rest), beyond, place)
    hit = line * width + place
    hit.sort()
    return _divided(hit[np.r_[True, hit[1:] != hit[:-1]]] if len(hit) else hit, width)


def _divided(index: Int64, width: int) -> tuple[Int64, Int64]:
    """Row and column of indices into a flattened array."""
    row = index // width
    return row, index - row * width
