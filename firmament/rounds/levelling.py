"""Which sizes a machine gets: tasks of a placement change places so that use ends more even.

A flow says how many tasks each machine takes, and counts all of them as of one size. Which sizes it sends where is left
open: exchanging a large task for a small one costs the network as much on one machine as it saves on the other. Here
pairs of tasks change places wherever that lowers what they cost by the sums of sizes (see ``firmament.flow.heights``):
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
from firmament.flow.heights import Heights, entries
from firmament.flow.problem import Assignments, PlacementProblem
from firmament.rounds.exchange_room import ExchangeRoom, movable

TURNS = 12
"""Most turns; in each, every machine takes part in at most one exchange, with one of its tasks after the other."""

GOLDEN = 0.6180339887498949
"""Part of their number by which pairs are shifted from turn to turn: no two turns form the same."""

ENOUGH = 0.03
"""No further turn is worth it once two in a row have saved less than this part of what all have ..."""

REST = 0.05
"""... and less than this part of what perfectly level heights would save beyond."""

STEPS = np.iinfo(np.uint16).max
"""Steps of height, from the lowest machine to the highest, that pairs are chosen by."""

WORTH = 1e-6
"""An exchange has to save this part of what a task of mean size adds: more than rounding does."""


def levelled(problem: PlacementProblem, placed: Assignments) -> Assignments:
    """Exchange tasks of ``placed`` while that lowers ``placement_cost``; the order of those that stay is kept.

    Deterministic; returns ``placed`` itself if nothing is to be gained.
    """
    heights = problem.heights
    if heights is None or not len(placed.cls):
        return placed
    free: Bool = movable(problem).take(placed.cls) & (heights.growth > 0).take(placed.machine)
    present = np.bincount(problem.shape.take(placed.cls[free]), minlength=len(heights.amount))
    sizes = heights.amount[present > 0]
    if not len(sizes) or (sizes == sizes[0]).all():
        return placed
    slots = _Slots.of(placed.taken(free))
    if not _Exchange(problem, heights, placed, slots).run():
        return placed
    return Assignments.joined([placed.taken(~free), slots.assignments()])


@dataclass(slots=True)
class _Slots:
    """Places of single tasks, those of a machine side by side: ``cls``, ``machine``: int64[N].

    ``used``: int64[U], machines with places, ascending; ``first``, ``count``: int64[U], where theirs begin, how many.
    """

    cls: Int64
    machine: Int64
    used: Int64
    first: Int64
    count: Int64

    @classmethod
    def of(cls, placed: Assignments) -> _Slots:
        """One place per task."""
        order = np.lexsort((_narrow(placed.cls), _narrow(placed.machine)))
        task, machine = (np.repeat(each[order], placed.count[order]) for each in (placed.cls, placed.machine))
        first = np.flatnonzero(np.r_[True, machine[1:] != machine[:-1]])
        return cls(task, machine, machine[first], first, np.diff(np.r_[first, len(machine)]))

    def assignments(self) -> Assignments:
        """Who is where, aggregated; by class, then machine."""
        order = np.argsort(_narrow(self.cls), kind="stable")  # machines ascend already
        cls, machine = self.cls[order], self.machine[order]
        first = np.flatnonzero(np.r_[True, (cls[1:] != cls[:-1]) | (machine[1:] != machine[:-1])])
        return Assignments(cls[first], machine[first], np.diff(np.r_[first, len(cls)]))


class _Exchange:
    """Turns of exchanges on ``slots``, whose ``cls`` it writes to."""

    def __init__(
        self, problem: PlacementProblem, heights: Heights, placed: Assignments, slots: _Slots
    ) -> None:
        size = heights.sizes(problem.shape[placed.cls], placed.machine) * placed.count
        self._cost = problem.cost
        self._heights = heights
        self._slots = slots
        self._room = ExchangeRoom(problem, placed)
        self._height = heights.start + np.bincount(placed.machine, weights=size, minlength=problem.machines)
        # Of the task in each place: its shape, its size there, and what else it costs there.
        self._shape = problem.shape[slots.cls]
        self._size = heights.sizes(self._shape, slots.machine)
        self._other = self._other_cost(self._shape, slots.machine)
        # One size of a shape for all machines, to choose pairs by; what is gained is computed by its size on each.
        mean = (heights.rate[:, slots.used] / heights.growth[slots.used]).mean(axis=1)
        self._relative = heights.amount @ mean
        present = self._relative[self._shape]
        self._smallest, self._largest = float(present.min()), float(present.max())

    def run(self) -> bool:
        """Exchange until a turn saves little; returns whether anything was exchanged."""
        saved = last = 0.0
        for turn in range(TURNS):
            before, last = last, self._turn(*self._pairs(turn))
            saved += last
            both = before + last
            if turn and both <= ENOUGH * saved and both <= REST * self._uneven():
                break
        return saved > 0

    def _uneven(self) -> float:
        """What would be saved if the machines with places were all as high as they are on average: a bound."""
        used = self._slots.used
        height = self._height[used]
        return float((np.square(height - height.mean()) / (2 * self._heights.growth[used])).sum())

    def _pairs(self, turn: int) -> tuple[Int64, Int64]:
        """Places of the fullest machines and of the emptiest, whose tasks are to change places: int64[P] each."""
        slots = self._slots
        place = slots.first + turn % slots.count
        size = self._relative.take(self._shape.take(place))
        height = _coarse(self._height[slots.used])
        order = np.argsort(height, kind="stable")
        down = order[::-1]
        high, low = down[size[down] > self._smallest], order[size[order] < self._largest]
        length = min(len(high), len(low))
        # Places in the two orders: heights fall in one and rise in the other.
        length = int(np.count_nonzero(height[high[:length]] > height[low[:length]]))
        high, low = high[:length], low[:length]
        if turn % 3:
            low = np.roll(low, int(length * (turn * GOLDEN % 1.0)))
        larger = size[high] > size[low]
        return place[high[larger]], place[low[larger]]

    def _turn(self, give: Int64, take: Int64) -> float:
        """Let the tasks of each pair of places change them where that saves something; returns how many units."""
        heights = self._heights
        source, target = self._slots.machine.take(give), self._slots.machine.take(take)
        large, small = self._shape.take(give), self._shape.take(take)
        there, here = heights.sizes(large, target), heights.sizes(small, source)
        less, more = self._size.take(give) - here, there - self._size.take(take)
        gain = less * ((self._height.take(source) - less / 2) / heights.growth.take(source) + 0.5)
        gain -= more * ((self._height.take(target) + more / 2) / heights.growth.take(target) + 0.5)
        # What else tasks cost is looked at where sizes alone would gain: of that the flow has left little to save.
        first = np.flatnonzero(gain > 0)
        give, take, source, target = give[first], take[first], source[first], target[first]
        large, small, gain = large[first], small[first], gain[first]
        other_there, other_here = self._other_cost(large, target), self._other_cost(small, source)
        gain += self._other[give] + self._other[take] - other_there - other_here
        good = np.flatnonzero(gain > WORTH * heights.growth[source])
        good = good[self._room.allows(large[good], small[good], source[good], target[good])]
        give, take, source, target = give[good], take[good], source[good], target[good]
        large, small, first = large[good], small[good], first[good]
        self._room.exchange(large, small, source, target)
        self._height[source] -= less[first]
        self._height[target] += more[first]
        for mine, at_give, at_take in (
            (self._shape, small, large),
            (self._size, here[first], there[first]),
            (self._other, other_here[good], other_there[good]),
            (self._slots.cls, self._slots.cls[take], self._slots.cls[give]),
        ):
            mine[give], mine[take] = at_give, at_take
        return float(gain[good].sum())

    def _other_cost(self, shapes: Int64, machines: Int64) -> Float64:
        """What tasks cost besides their part of the heights: float64[P]."""
        other: Float64 = entries(self._cost, shapes, machines) - self._heights.charged(shapes, machines)
        return other


def _coarse(heights: Float64) -> NDArray[np.uint16]:
    """Heights in 16 bits, lowest to highest: enough to choose pairs by, and sorted in linear time."""
    lowest = heights.min()
    span = float(heights.max() - lowest) or 1.0
    return ((heights - lowest) * (STEPS / span)).astype(np.uint16)


def _narrow(numbers: Int64) -> NDArray[Any]:
    """Numbers of at least 0 in as few bits as they need: those of 16 are sorted in linear time."""
    return numbers.astype(np.min_scalar_type(numbers.max()))
