"""Exchanges tasks of different sizes between machines, so that use becomes more even.

A flow says how many tasks each machine takes, and counts all of them as of one size. Which sizes it sends where is left
open: exchanging a large task for a small one costs the network as much on one machine as it saves on the other. Here
pairs of tasks change places wherever that lowers what they cost by sums of sizes (``firmament.core.flow.terms``):
the fullest machines give large tasks to the emptiest, and take small ones for them.

Nothing else changes: machines keep their number of tasks, classes theirs, and every limit holds. Tasks that others
depend on, or that depend on others, stay where they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool, Float64, Int64
from firmament.core.board.moving import ExchangeRoom
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.terms import RoundHeights, entries
from firmament.core.ranks import runs
from firmament.core.search.driver import SearchBudget, SearchFigures, SearchLog, count_unsupported, search
from firmament.core.search.movable import find_staying, movable
from firmament.core.search.tuning import ExchangeTuning

GOLDEN = 0.6180339887498949
"""Part of their number by which pairs are shifted from turn to turn: no two turns form the same."""

STEPS = np.iinfo(np.uint16).max
"""Steps of height, from the lowest machine to the highest, that pairs are chosen by."""


def exchange_sizes(
    problem: PlacementProblem, placed: Assignments, tuning: ExchangeTuning, log: SearchLog
) -> Assignments:
    """Exchange tasks of ``placed`` while that lowers ``placement_cost``; the order of those that stay is kept.

    Deterministic; returns ``placed`` itself if nothing is to be gained.
    """
    heights = problem.heights
    if not heights.charges or not len(placed.cls):
        return placed
    staying = find_staying(problem, sharing=False)
    unsupported = count_unsupported(staying, placed.cls, placed.count)
    log.append(SearchFigures(ExchangeSizes.name, unsupported=unsupported))
    free: Bool = movable(problem, staying).take(placed.cls) & (heights.growth > 0).take(placed.machine)
    present = np.bincount(problem.shape.take(placed.cls[free]), minlength=len(heights.amount))
    sizes = heights.amount[present > 0]
    if not len(sizes) or (sizes == sizes[0]).all():
        return placed
    slots = _TaskPlaces(placed.select(free))
    figures = search(ExchangeSizes(problem, heights, placed, slots, tuning), SearchBudget(tuning.turns))
    log.append(figures)
    if not figures.accepted:
        return placed
    return Assignments.join([placed.select(~free), slots.assignments()])


class _TaskPlaces:
    """Places of single tasks, those of a machine side by side: ``cls``, ``machine``: int64[N].

    ``used``: int64[U], machines with places, ascending; ``first``, ``count``: int64[U], where theirs begin, how many.
    """

    def __init__(self, placed: Assignments) -> None:
        tasks = placed.select(np.lexsort((_narrow(placed.cls), _narrow(placed.machine)))).tasks()
        self.cls, self.machine = tasks.cls, tasks.machine
        self.first, self.count = runs(tasks.machine)
        self.used = tasks.machine[self.first]

    def assignments(self) -> Assignments:
        """Return how many tasks of each class are on each machine, by class, then machine."""
        order = np.argsort(_narrow(self.cls), kind="stable")  # machines ascend already
        cls, machine = self.cls[order], self.machine[order]
        first = np.flatnonzero(np.r_[True, (cls[1:] != cls[:-1]) | (machine[1:] != machine[:-1])])
        return Assignments(cls[first], machine[first], np.diff(first, append=len(cls)))


@dataclass(frozen=True, slots=True)
class Exchanges:
    """Exchanges of one turn that save something: of each pair the shapes, machines and places (int64[2, P] each), by
    how much the machines rise (float64[2, P]), and what all save.
    """

    shapes: Int64
    machines: Int64
    places: Int64
    rise: Float64
    saved: float


class ExchangeSizes:
    """The move: exchanges on ``slots``, whose ``cls`` it writes to, many at once.

    Machines with places go by their number in ``slots.used``. Pairs are int64[P] or, for both machines of each,
    [2, P]: the one that gives its large task, then the one that takes it.
    """

    name = "exchange"

    def __init__(
        self,
        problem: PlacementProblem,
        heights: RoundHeights,
        placed: Assignments,
        slots: _TaskPlaces,
        tuning: ExchangeTuning,
    ) -> None:
        self._tuning = tuning
        size = heights.sizes(problem.shape[placed.cls], placed.machine) * placed.count
        height = heights.start + np.bincount(placed.machine, weights=size, minlength=problem.machines)
        used = slots.used
        self._cost = problem.cost
        self._heights = heights
        self._slots = slots
        self._room = ExchangeRoom(problem, placed, used)
        self._height, self._growth = height.take(used), heights.growth.take(used)
        self._rate = heights.rate.take(used, axis=1)
        # Of the task in each place.
        self._shape = problem.shape.take(slots.cls)
        # One size of a shape for all machines, to choose pairs by; what is gained is computed by its size on each.
        self._relative = heights.amount @ (self._rate / self._growth).mean(axis=1)
        present = self._relative[np.bincount(self._shape, minlength=len(heights.amount)) > 0]
        self._smallest, self._largest = float(present.min()), float(present.max())
        self._turn, self._saved, self._last = 0, 0.0, (0.0, 0.0)

    def evaluate(self, budget: SearchBudget) -> Exchanges | None:
        """Return what a turn could exchange; None once the last two have saved little."""
        budget.spend()
        both, tuning = sum(self._last), self._tuning
        if self._turn > 1 and both <= tuning.enough * self._saved and both <= tuning.rest * self._uneven():
            return None
        found = self._compute_gains(*self._pairs(self._turn))
        self._turn += 1
        self._last = (self._last[1], found.saved)
        self._saved += found.saved
        return found

    def accepts(self, change: Exchanges) -> bool:
        """Return whether anything is saved."""
        return change.saved > 0

    def apply(self, change: Exchanges) -> None:
        """Let the tasks of each pair change places."""
        self._room.exchange(change.shapes, change.machines)
        self._height[change.machines] += change.rise
        self._shape[change.places] = change.shapes[::-1]
        self._slots.cls[change.places] = self._slots.cls.take(change.places[::-1])

    def undo(self, change: Exchanges) -> None:
        """Do nothing, as nothing has been done."""

    def _uneven(self) -> float:
        """Return what would be saved if the machines with places were all as high as they are on average: a
        bound.
        """
        return float((np.square(self._height - self._height.mean()) / (2 * self._growth)).sum())

    def _pairs(self, turn: int) -> tuple[Int64, Int64]:
        """Return the fullest machines and the emptiest, [2, P], and the places there whose tasks are to
        change, [2, P].
        """
        slots = self._slots
        place = slots.first + turn % slots.count
        size = self._relative.take(self._shape.take(place))
        height = _coarse(self._height)
        order = np.argsort(height, kind="stable")
        high = order.compress((size > self._smallest).take(order))[::-1]
        low = order.compress((size < self._largest).take(order))
        length = min(len(high), len(low))
        # Places in the two orders: heights fall in one and rise in the other.
        length = int(np.count_nonzero(height.take(high[:length]) > height.take(low[:length])))
        high, low = high[:length], low[:length]
        if turn % 3:
            start = length - int(length * (turn * GOLDEN % 1.0))
            low = np.concatenate((low[start:], low[:start]))
        machines = np.array((high, low))
        machines = machines.compress(size.take(high) > size.take(low), axis=1)
        return machines, place.take(machines)

    def _compute_gains(self, machines: Int64, places: Int64) -> Exchanges:
        """Return the exchanges among these pairs of places that save something, and are allowed."""
        shapes = self._shape.take(places)
        rise = self._rise(shapes, machines)
        growth = self._growth.take(machines)
        gain = -(rise * ((self._height.take(machines) + rise / 2) / growth + 0.5)).sum(axis=0)
        # What else tasks cost is looked at where sizes alone would gain: of that the flow has left little to save.
        first = np.flatnonzero(gain > 0)
        shapes, machines = shapes.take(first, axis=1), machines.take(first, axis=1)
        gain = gain.take(first) + self._other_gain(shapes, machines)
        worth = gain > self._tuning.worth * growth[0].take(first)
        good = np.flatnonzero(worth & self._room.allows(shapes, machines))
        first = first.take(good)
        return Exchanges(
            shapes.take(good, axis=1),
            machines.take(good, axis=1),
            places.take(first, axis=1),
            rise.take(first, axis=1),
            float(gain.take(good).sum()),
        )

    def _rise(self, shapes: Int64, machines: Int64) -> Float64:
        """Return by how much machines rise once tasks of ``shapes`` that are there change places: float64[2,
        P].
        """
        rise = np.zeros(machines.shape)
        for amount, rate in zip(self._heights.amount.T, self._rate, strict=True):
            of_both = amount.take(shapes)
            rise += (of_both[0] - of_both[1]) * rate.take(machines)
        np.negative(rise[0], out=rise[0])
        return rise

    def _other_gain(self, shapes: Int64, machines: Int64) -> Float64:
        """Return what tasks cost less, besides their part of the heights, once they have changed places:
        float64[P].
        """
        rows = self._slots.used.take(machines)
        now_and_then = np.concatenate((shapes, shapes[::-1])).ravel(), np.concatenate((rows, rows)).ravel()
        other = entries(self._cost, *now_and_then) - self._heights.sum_charged(*now_and_then)
        now, then = other.reshape(2, 2, -1).sum(axis=1)
        gain: Float64 = now - then
        return gain


def _coarse(heights: Float64) -> NDArray[np.uint16]:
    """Return heights in 16 bits, lowest to highest: enough to choose pairs by, and sorted in linear time."""
    lowest = heights.min()
    span = float(heights.max() - lowest) or 1.0
    return ((heights - lowest) * (STEPS / span)).astype(np.uint16)


def _narrow(numbers: Int64) -> NDArray[Any]:
    """Return numbers of at least 0 in as few bits as they need: 16-bit numbers are sorted in linear time."""
    return numbers.astype(np.min_scalar_type(numbers.max()))
