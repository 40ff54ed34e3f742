"""Chooses the class -> machine arcs with which the network starts.

The full network has classes x machines arcs, nearly all of them useless. The network starts with two selections, made
at the prices that ``equilibrium`` estimates:

* the *cheapest* machines of each class, about as many as it has tasks. Among machines of equal cost, a class begins
  where the previous class ended, so that classes do not compete for the same machines;
* a *sample* of all pairs of class and machine, in proportion to the expected flow. An error in a machine's price
  misleads all classes in the same way: all of them would select the machine, or none. The sample gives every machine
  columns of the classes that are likely to use it, and with these the solver corrects the price.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.price_estimate.equilibrium import UNWANTED, PriceEstimate, narrow_price
from firmament.core.flow.price_estimate.sampling import FlowSample
from firmament.core.flow.residual import Residual
from firmament.core.flow.tuning import ColumnTuning
from firmament.solvers.base import Int32

AT_ONCE = 300_000
"""Number of (class, machine) pairs that are handled together, which limits memory and suits the processor's cache."""


@dataclass(frozen=True, slots=True)
class ArcColumns:
    """Class -> machine arcs, sorted by class, then machine, without repetition: ``cls``, ``machine``: int64[A]."""

    cls: Int64
    machine: Int64

    def __len__(self) -> int:
        return len(self.cls)

    @classmethod
    def from_pairs(cls, pairs: tuple[Int64, Int64], classes: Int64, machines: Int64) -> ArcColumns:
        """Return the arcs ``classes[i]`` -> ``machines[j]`` of the pairs (i, j), in the order of ``pairs``."""
        return cls(classes[pairs[0]], machines[pairs[1]])

    @classmethod
    def join(cls, parts: list[ArcColumns], machines: int) -> ArcColumns:
        """Return the union of ``parts``, sorted, each arc once; parts may be unsorted and overlap.

        ``machines``: number of machines.
        """
        if not parts:
            return cls(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        key = np.concatenate([part.cls for part in parts]) * machines
        key += np.concatenate([part.machine for part in parts])
        if (key[1:] > key[:-1]).all():
            return cls(*_divide(key, machines))
        key.sort(kind="stable")  # most keys are in order already, which makes this kind of sort fast
        return cls(*_divide(key[np.r_[True, key[1:] != key[:-1]]], machines))

    def keys(self, machines: int) -> Int64:
        """Return a number for each arc, ascending: int64[A]; ``machines`` is the number of machines in the problem."""
        return self.cls * machines + self.machine

    def merge(self, other: ArcColumns, machines: int) -> ArcColumns:
        """Return the arcs of this object and of ``other``; ``machines``: number of machines in the problem."""
        return ArcColumns.join([self, other], machines)


def choose_first_columns(
    residual: Residual,
    unpinned: UnpinnedArcs,
    estimate: PriceEstimate,
    *,
    base: int,
    samples: float,
    samples_each: float,
    tuning: ColumnTuning,
) -> ArcColumns:
    """Return the columns (arcs class -> machine) with which the network starts, for all waiting classes.

    A class of n tasks gets about its n / 2 + ``base`` cheapest machines. If there are other classes, about ``samples``
    x n + ``samples_each`` more are sampled by expected flow, for each class and for each machine. Machines with columns
    of few classes get columns of further classes. A class with pins gets all of its machines. ``unpinned``: the arcs of
    ``residual``, with the candidates of ``estimate``.
    """
    problem = residual.problem
    classes = unpinned.classes
    parts = [_list_pinned(residual, unpinned)]
    if len(classes) == 0:
        return parts[0]
    likely, everyone, price = unpinned.likely, np.arange(problem.machines), narrow_price(estimate.price)
    tasks = residual.remaining[classes].sum(axis=1)
    want = tasks // 2 + base
    begin = (problem.rotation + np.cumsum(tasks) - tasks) % max(1, problem.machines)
    samples = min(samples, tuning.samples_per_machine * len(likely) / int(tasks.sum()))
    sampled = samples > 0 and len(classes) > 1
    sample = FlowSample(estimate, samples * tasks + samples_each, tuning.pairs_per_draw) if sampled else None
    least = np.empty(len(classes), dtype=np.int32)
    for at in _chunks(np.arange(len(classes)), len(likely)):
        key = _keys(unpinned, at, likely, price)
        least[at] = key.min(axis=1, initial=UNWANTED // 2)
        if sample is not None:
            sample.set_keys(at, key)
        few = _lacks_candidates(unpinned, at, key, tuning.candidates_enough)
        enough = at[~few]
        key = key[~few] if few.any() else key
        parts.append(_cheapest(key, classes[enough], likely, want[enough], begin[enough], tuning))
        for some in _chunks(at[few], problem.machines):
            key = _keys(unpinned, some, everyone, price)
            parts.append(_cheapest(key, classes[some], everyone, want[some], begin[some], tuning))
    if sample is None:
        return ArcColumns.join(parts, problem.machines)
    columns = ArcColumns.join(
        [*parts, ArcColumns.from_pairs(sample.draw(), classes, likely)], problem.machines
    )
    number = np.bincount(columns.machine, minlength=problem.machines)[likely]
    thin = likely[(number > 0) & (number < tuning.fewest)]
    dearer = _keys(unpinned, np.arange(len(classes)), thin, price) - least[:, None]
    return ArcColumns.join(
        [columns, *_most_eager(dearer.T.copy(), classes, thin, tuning.fewest)], problem.machines
    )


def _most_eager(dearer: Int32, classes: Int64, machines: Int64, most: int) -> list[ArcColumns]:
    """Return columns of each machine for the ``most`` classes that lose least by going there.

    A class loses the difference in cost to its cheapest machine.

    ``dearer``: int32[M', C'], the difference in cost; at least half of ``UNWANTED`` where a class does not fit. The
    function overwrites ``dearer``.
    """
    every, parts = np.arange(len(machines)), []
    for _ in range(most):
        best = dearer.argmin(axis=1)
        usable = dearer[every, best] < UNWANTED // 2
        parts.append(ArcColumns(classes[best[usable]], machines[usable]))
        dearer[every, best] = UNWANTED
    return parts


def _cheapest(
    key: Int32, classes: Int64, machines: Int64, want: Int64, begin: Int64, tuning: ColumnTuning
) -> ArcColumns:
    """Return each class's ``want`` (int64[C']) columns of least ``key`` (int32[C', M']).

    Of columns with equal keys, those from ``begin`` on are taken first.
    """
    return ArcColumns.from_pairs(
        find_cheapest(key, want, np.searchsorted(machines, begin), tuning.looked_at), classes, machines
    )


def _list_pinned(residual: Residual, unpinned: UnpinnedArcs) -> ArcColumns:
    """Return the columns of waiting classes with pins: all machines of their pins on which one task fits."""
    problem, parts = residual.problem, []
    for cls in np.setdiff1d(residual.active(), unpinned.classes, assume_unique=True).tolist():
        pins = problem.pins[cls]
        machines = pins[unpinned.fits[int(problem.shape[cls])][pins]]
        parts.append(ArcColumns(np.full(len(machines), cls, dtype=np.int64), machines))
    return ArcColumns.join(parts, problem.machines)


def _chunks(rows: Int64, width: int) -> list[Int64]:
    """Return ``rows`` in pieces, so that each piece has at most ``AT_ONCE`` pairs with ``width`` machines."""
    return np.array_split(rows, -(-len(rows) * max(1, width) // AT_ONCE)) if len(rows) else []


def _keys(unpinned: UnpinnedArcs, rows: Int64, machines: Int64, price: Int32) -> Int32:
    """Return each class's cost on ``machines`` plus ``price`` (int32[M]): int32[C', M'].

    The entry is ``UNWANTED`` where the class does not fit.
    """
    key, usable = unpinned.costs(rows, machines), unpinned.usable(rows, machines)
    key += price[machines]
    np.copyto(key, UNWANTED, where=np.logical_not(usable, out=usable))
    return key


def _lacks_candidates(unpinned: UnpinnedArcs, rows: Int64, key: Int32, enough: int) -> Bool:
    """Return which classes fit fewer than ``enough`` candidates although they also fit other machines: bool[C']."""
    few: Bool = (key.max(axis=1, initial=0) == UNWANTED) | (key.shape[1] < enough)
    for row in np.flatnonzero(few).tolist():
        usable = int(unpinned.fits[int(unpinned.shapes[rows[row]])].sum())
        few[row] = int((key[row] < UNWANTED).sum()) < min(enough, usable)
    return few


def _divide(index: Int64, width: int) -> tuple[Int64, Int64]:
    """Return the row and the column of each index into a flattened array of ``width`` columns."""
    row = index // width
    return row, index - row * width


# --- The cheapest machines of each class. Where many machines cost the same, each class starts at another machine.


def find_cheapest(key: Int32, want: Int64, begin: Int64, looked_at: int) -> tuple[Int64, Int64]:
    """Return about ``want`` machines with the least key for each row, as rows and columns of the pairs, in order.

    Among machines that tie for the last places, those from column ``begin`` on are taken. ``key``: int32[C', M'],
    ``UNWANTED`` for machines that the class does not fit; ``want``, ``begin``: int64[C'].
    """
    width = key.shape[1]
    seen, spare = key, want // 4 + 1
    if width >= 2 * looked_at:
        # A random choice of machines, the same in every run: machines of one kind may be listed at even intervals.
        some = np.random.default_rng(width).permutation(width)[:looked_at]
        seen, spare = key.take(np.sort(some), axis=1), want // 2 + 8
    limit = _nth_smallest(seen, want * seen.shape[1] // max(1, width))
    hit = np.flatnonzero(key <= np.minimum(limit, UNWANTED - 1)[:, None])
    count = np.diff(np.searchsorted(hit, np.arange(len(key) + 1) * width))
    row = np.repeat(np.arange(len(key)), count)
    place = hit - row * width
    many = (limit < UNWANTED) & (count > want + spare)
    kept = _in_turn(row, place, many[row] & (key.ravel().take(hit) == limit.take(row)), want, begin)
    return row[kept], place[kept]


def _nth_smallest(key: Int32, nth: Int64) -> Int32:
    """Return the ``nth`` smallest key (from 0) of each row, or the largest if there are fewer: int32[C'].

    A row without keys gets ``UNWANTED``.
    """
    if key.size == 0:
        return np.full(len(key), UNWANTED, dtype=np.int32)
    nth = np.minimum(nth, key.shape[1] - 1)
    last = int(nth.max())
    least = np.partition(key, last, axis=1)[:, : last + 1]
    least.sort(axis=1)
    return least[np.arange(len(key)), nth]


def _in_turn(row: Int64, place: Int64, at_limit: Bool, want: Int64, begin: Int64) -> Bool:
    """Return which of the pairs (``row``, ``place``) to keep: ``want`` pairs per row where possible.

    The result is a mask over the pairs. Only the pairs marked in ``at_limit`` are dropped. Pairs from column
    ``begin`` on are kept first, then those from the first column on.
    """
    kept = np.ones(len(row), dtype=np.bool_)
    some = np.flatnonzero(at_limit)
    tied = row[some]
    number = np.bincount(tied, minlength=len(want))
    turn = np.arange(len(some)) - (np.cumsum(number) - number)[tied]
    turn -= np.bincount(tied[place[some] < begin[tied]], minlength=len(want))[tied]
    turn += np.where(turn < 0, number[tied], 0)
    below = np.bincount(row, minlength=len(want)) - number
    kept[some[turn >= (want - below)[tied]]] = False
    return kept


# --- Costs of the arcs from which columns are chosen, read once for all users.
#
# The rows of costs together exceed a processor's cache, and reading each entry waits for memory. One pass over the
# costs therefore computes everything for which whole rows must be read: the least cost on each machine, and the costs
# on machines that are likely to be used. With the costs on likely machines, columns are chosen and most left-out arcs
# are priced.


class UnpinnedArcs:
    """The arcs of waiting classes without pins (all arcs of classes with pins are columns from the start).

    ``classes``: int64[U], ascending; ``shapes``: int64[U], their shapes; ``fits``: maps each waiting shape to
    ``residual.find_fitting(shape)``; ``likely``: machines that the flow is likely to use, ascending;
    ``likely_costs``: int32[U, L], cost of a task of each class on the likely machines; ``cheapest``: int32[M], least
    cost of any class.
    """

    def __init__(self, residual: Residual, fits: dict[int, Bool], likely: Int64) -> None:
        self.problem = problem = residual.problem
        self.fits, self.likely = fits, likely
        self.classes = np.setdiff1d(residual.active(), np.array(list(problem.pins), dtype=np.int64))
        self.shapes = problem.shape[self.classes]
        self.cheapest: Int32 = np.full(problem.machines, np.iinfo(np.int32).max, dtype=np.int32)
        self.likely_costs: Int32 = np.empty((len(self.shapes), len(likely)), dtype=np.int32)
        for row, shape in enumerate(self.shapes.tolist()):
            line = problem.cost[shape]
            np.minimum(self.cheapest, line, out=self.cheapest)
            line.take(likely, out=self.likely_costs[row], mode="clip")

    def costs(self, rows: Int64, machines: Int64) -> Int32:
        """Return what the classes ``rows`` (indices into ``classes``) cost on ``machines``: int32[A, M'], a new array.

        If ``machines`` is the ``likely`` array itself, the costs are looked up and not computed again.
        """
        if machines is self.likely:
            return self.likely_costs[rows]
        costs = np.empty((len(rows), len(machines)), dtype=np.int32)
        for row, shape in enumerate(self.shapes[rows].tolist()):
            self.problem.cost[shape].take(machines, out=costs[row], mode="clip")
        return costs

    def usable(self, rows: Int64, machines: Int64) -> Bool:
        """Return for each of the classes ``rows`` on which of ``machines`` one of its tasks fits: bool[A, M']."""
        usable = np.empty((len(rows), len(machines)), dtype=np.bool_)
        for row, shape in enumerate(self.shapes[rows].tolist()):
            self.fits[shape].take(machines, out=usable[row], mode="clip")
        return usable

    def find_within_reach(self, machine_price: Int64, dearest: int) -> Int64:
        """Return the machines to which an arc that was left out could be cheap enough to matter.

        ``dearest``: the highest price of a class, in half units.
        """
        return np.flatnonzero(2 * self.cheapest.astype(np.int64) + machine_price < dearest)
