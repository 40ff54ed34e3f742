"""Exchanges tasks of different sizes between machines, so that the machines' use becomes more even.

A flow decides how many tasks each machine takes, and counts all of them as equally large. The flow does not decide
which sizes go where: if a large task is exchanged for a small one, the network pays on one machine what it saves on the
other. This search exchanges pairs of tasks wherever that lowers the cost of the sums of sizes
(``firmament.core.flow.heights_and_prices``). The fullest machines give large tasks to the emptiest, and take small
tasks for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool, Float64, Int64
from firmament.core.board.room_while_moving import ExchangeRoom
from firmament.core.flow.heights_and_prices import RoundHeights, entries
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.ranks import find_runs
from firmament.core.search.driver import SearchBudget, SearchFigures, SearchLog, count_unsupported, search
from firmament.core.search.movable import find_movable, find_staying
from firmament.core.search.tuning import ExchangeTuning

GOLDEN = 0.6180339887498949
"""Pairs are shifted by this part of their number (golden section) each turn, so that no two turns form equal pairs."""

STEPS = np.iinfo(np.uint16).max
"""Number of steps, from the lowest machine to the highest, into which heights are rounded when pairs are chosen."""


def exchange_sizes(
    problem: PlacementProblem, placed: Assignments, tuning: ExchangeTuning, log: SearchLog
) -> Assignments:
    """Exchange tasks of ``placed`` while that lowers ``placement_cost``; all other tasks keep their order.

    Equal arguments give equal results; the function returns ``placed`` itself if nothing can be saved.
    """
    heights = problem.heights
    if not heights.charges or not len(placed.cls):
        return placed
    staying = find_staying(problem, sharing=False)
    unsupported = count_unsupported(staying, placed.cls, placed.count)
    log.append(SearchFigures(ExchangeSizes.name, unsupported=unsupported))
    free: Bool = find_movable(problem, staying).take(placed.cls) & (heights.growth > 0).take(placed.machine)
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
    """The places of single tasks, sorted by machine: ``cls``, ``machine``: int64[N].

    ``used``: int64[U], machines with places, ascending; ``first``, ``count``: int64[U], for each of these machines, the
    index of its first place and the number of its places.
    """

    def __init__(self, placed: Assignments) -> None:
        tasks = placed.select(np.lexsort((_narrow(placed.cls), _narrow(placed.machine)))).tasks()
        self.cls, self.machine = tasks.cls, tasks.machine
        self.first, self.count = find_runs(tasks.machine)
        self.used = tasks.machine[self.first]

    def assignments(self) -> Assignments:
        """Return the number of tasks of each class on each machine, sorted by class, then machine."""
        # The sort is stable, so that tasks of a class stay sorted by machine.
        order = np.argsort(_narrow(self.cls), kind="stable")
        cls, machine = self.cls[order], self.machine[order]
        first = np.flatnonzero(np.r_[True, (cls[1:] != cls[:-1]) | (machine[1:] != machine[:-1])])
        return Assignments(cls[first], machine[first], np.diff(first, append=len(cls)))


@dataclass(frozen=True, slots=True)
class Exchanges:
    """The exchanges of one turn that lower the cost.

    ``shapes``, ``machines``, ``places``: int64[2, P], those of both tasks of each pair; ``rise``: float64[2, P], by how
    much the machines' heights rise; ``saved``: what all exchanges together save, in units of cost.
    """

    shapes: Int64
    machines: Int64
    places: Int64
    rise: Float64
    saved: float


class ExchangeSizes:
    """A move that exchanges many pairs of tasks at once, on ``slots``, whose ``cls`` it changes.

    Machines are numbered by their index in ``slots.used``. Arrays of pairs are int64[P], or [2, P] for both machines of
    each pair: first the machine that gives its large task, then the one that takes it.
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
        # The shape of the task in each place.
        self._shape = problem.shape.take(slots.cls)
        # One size per shape, the same for all machines, decides which pairs are tried; gains are computed with the
        # size on each machine.
        self._relative = heights.amount @ (self._rate / self._growth).mean(axis=1)
        present = self._relative[np.bincount(self._shape, minlength=len(heights.amount)) > 0]
        self._smallest, self._largest = float(present.min()), float(present.max())
        self._turn, self._saved, self._last = 0, 0.0, (0.0, 0.0)

    def evaluate(self, budget: SearchBudget) -> Exchanges | None:
        """Return the exchanges of a turn, or None once the last two turns have saved little."""
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
        """Return whether the exchanges lower the cost."""
        return change.saved > 0

    def apply(self, change: Exchanges) -> None:
        """Exchange the tasks of each pair."""
        self._room.exchange(change.shapes, change.machines)
        self._height[change.machines] += change.rise
        self._shape[change.places] = change.shapes[::-1]
        self._slots.cls[change.places] = self._slots.cls.take(change.places[::-1])

    def undo(self, change: Exchanges) -> None:
        """Do nothing, as evaluating changes nothing."""

    def _uneven(self) -> float:
        """Return an upper bound on what can be saved: the gain if all machines with places were equally high."""
        return float((np.square(self._height - self._height.mean()) / (2 * self._growth)).sum())

    def _pairs(self, turn: int) -> tuple[Int64, Int64]:
        """Return the fullest and the emptiest machines, [2, P], and the places whose tasks to exchange, [2, P]."""
        slots = self._slots
        place = slots.first + turn % slots.count
        size = self._relative.take(self._shape.take(place))
        height = _coarse(self._height)
        order = np.argsort(height, kind="stable")
        high = order.compress((size > self._smallest).take(order))[::-1]
        low = order.compress((size < self._largest).take(order))
        length = min(len(high), len(low))
        # ``high`` begins with the highest machine and ``low`` with the lowest, so pairs that differ come first.
        length = int(np.count_nonzero(height.take(high[:length]) > height.take(low[:length])))
        high, low = high[:length], low[:length]
        if turn % 3:
            start = length - int(length * (turn * GOLDEN % 1.0))
            low = np.concatenate((low[start:], low[:start]))
        machines = np.array((high, low))
        machines = machines.compress(size.take(high) > size.take(low), axis=1)
        return machines, place.take(machines)

    def _compute_gains(self, machines: Int64, places: Int64) -> Exchanges:
        """Return those of the given pairs whose exchange is allowed and saves something."""
        shapes = self._shape.take(places)
        rise = self._rise(shapes, machines)
        growth = self._growth.take(machines)
        gain = -(rise * ((self._height.take(machines) + rise / 2) / growth + 0.5)).sum(axis=0)
        # Costs other than those of sizes are computed only for pairs where sizes alone gain, as the flow has left
        # little else to save.
        first = np.flatnonzero(gain > 0)
        shapes, machines = shapes.take(first, axis=1), machines.take(first, axis=1)
        gain = gain.take(first) + self._gain_beside_heights(shapes, machines)
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
        """Return by how much the heights of machines rise if tasks of ``shapes`` are exchanged: float64[2, P]."""
        rise = np.zeros(machines.shape)
        for amount, rate in zip(self._heights.amount.T, self._rate, strict=True):
            of_both = amount.take(shapes)
            rise += (of_both[0] - of_both[1]) * rate.take(machines)
        np.negative(rise[0], out=rise[0])
        return rise

    def _gain_beside_heights(self, shapes: Int64, machines: Int64) -> Float64:
        """Return how much less tasks cost after the exchange if heights do not count: float64[P]."""
        rows = self._slots.used.take(machines)
        now_and_then = np.concatenate((shapes, shapes[::-1])).ravel(), np.concatenate((rows, rows)).ravel()
        other = entries(self._cost, *now_and_then) - self._heights.sum_charged(*now_and_then)
        now, then = other.reshape(2, 2, -1).sum(axis=1)
        gain: Float64 = now - then
        return gain


def _coarse(heights: Float64) -> NDArray[np.uint16]:
    """Return heights rounded to 16 bits, which is exact enough to choose pairs, and can be sorted in linear time."""
    lowest = heights.min()
    span = float(heights.max() - lowest) or 1.0
    return ((heights - lowest) * (STEPS / span)).astype(np.uint16)


def _narrow(numbers: Int64) -> NDArray[Any]:
    """Return non-negative numbers in as few bits as they need: 16-bit numbers can be sorted in linear time."""
    return numbers.astype(np.min_scalar_type(numbers.max()))
